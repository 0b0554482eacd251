"""What is known of one experiment in memory: its Identifier, what the service counts beside it, and how far it is."""

from dataclasses import asdict
from functools import cached_property
from typing import Any, NamedTuple, cast

from fairbai.identifier import Identifier, Status
from fairbai.problems.families import Bernoulli
from fairbai.service.domain import costs
from fairbai.service.domain.answers import Answer
from fairbai.service.domain.cycles import Cycles
from fairbai.service.domain.encoding import timestamp
from fairbai.service.domain.finals import EndedBy, Final
from fairbai.service.domain.looking import Looks
from fairbai.service.domain.marks import Marks
from fairbai.service.domain.newcomers import Newcomers
from fairbai.service.domain.promises import Promises
from fairbai.service.domain.status_answers import Doubt
from fairbai.service.domain.waiting import Queue

REVISION = 4
"""Of how arms are chosen and evidence is computed, and of what is kept. Logs of an earlier revision do not replay:
default rules of revision 3 did not draw, and its decisions did not wait for a declared variance; revision 2 did not
keep how sure it was, and revision 1 kept waiting for expired tickets, and had a mixture without alpha, to which ties
beyond the estimates were no evidence."""


class Stage(NamedTuple):
    """How far an experiment is."""

    decided: bool
    stopped: bool
    assigns: bool


class Record:
    """The state of an experiment. Arms are numbers here; their labels are in ``labels``.

    Args:
        config: The experiment as ``forms.Experiment`` describes it, with all defaults filled in.
    """

    def __init__(self, config: dict[str, Any], identifier: Identifier) -> None:
        self.config = config
        self.labels: list[str] = config["arms"]
        self.report_after: float | None = config.get("report_after")  # older experiments lack it
        self.silence: float | None = config.get("silence")
        usual = "max" if isinstance(identifier.family, Bernoulli) else "sum"
        self.earnings: str = config.get("earnings", usual)  # what a unit that earns several times has earned
        self.lease: float | None = config["lease"] if self.report_after is None else self.report_after
        self.identifier = identifier
        self.revision = REVISION  # under which it was created
        doubts = identifier.procedure.doubts
        doubts.warned = True  # the ledger logs it, with the id, once it is committed
        doubts.ratio = doubts.ratio if "sample_ratio" in config else None  # older experiments lack it
        self.version = 0  # events so far
        self.head: str | None = None  # the hash of the last of them
        self.tickets = 0  # number of the next ticket
        self.looks = Looks()
        self.expired = [0] * len(self.labels)  # tickets per arm whose lease ran out and that have no reward
        self.late = 0  # rewards that came after the lease
        self.held = 0  # rewards that were told and are not counted yet
        self.drawn = identifier.stopping.drift_proof  # whether tickets have a probability and are counted in order
        self.policies: list[dict[str, Any]] = []  # that were published for trials elsewhere and may still be valid
        self.queue = Queue()  # of batches that are to be counted with the others of their policy
        self.summed = 0  # number of the first ticket that is not counted, if they are counted in order
        self.behind = False  # whether more tickets are ready to be counted in order than one operation may count
        self.closed = False  # whether somebody has ended it
        self.final: Final | None = None  # the answer when it was closed, or the best guess when it stopped without one
        self.deadline = None if config.get("deadline") is None else timestamp(config["deadline"])
        self.promises = Promises(identifier)
        self.cycles = Cycles.of(config)
        self.observed = 0  # rewards so far
        self.paused = False
        self.off: list[dict[str, Any]] = []  # the arms that were switched off: arm, trial, reason
        self.voids: list[dict[str, Any]] = []  # what was voided: tickets, trial, reason, after_decision, told_before
        self.marks = Marks()  # of the units that have a trial
        self.newcomers = Newcomers()  # the last of them
        self.voided = [0] * len(self.labels)  # tickets per arm whose reward was taken out, and that have none now
        self.skipped = [0] * len(self.labels)  # trials in which each arm was not available

    @cached_property
    def seconds_to_choose(self) -> float:
        """What a ticket costs, approximately."""
        return costs.of_choosing(self)

    @cached_property
    def seconds_to_count(self) -> float:
        """What a reward costs, approximately."""
        return costs.of_counting(self)

    @property
    def decides_at(self) -> float | None:
        """When it may next decide; None if with every reward, or if it is decided or over."""
        return None if self.cycles is None or self.decided or self.stopped else self.cycles.next

    @property
    def wakes_at(self) -> float | None:
        """When something is to be done without a request.

        That is to count on at once, count batches, decide at the end of a cycle, or end at the deadline.
        """
        if self.behind:
            return 0.0
        times = (self.decides_at, self.deadline if self.assigns else None, self.queue.next_at)
        return min((at for at in times if at is not None), default=None)

    @property
    def decided(self) -> bool:
        """Whether the answer was found, and before the experiment ended if it did."""
        return self.identifier.decided if self.final is None else self.final.decided

    @property
    def undecided_for_good(self) -> bool:
        """Whether it ended without a decision; rewards that come later cannot decide it."""
        return self.final is not None and not self.decided

    @property
    def assigns(self) -> bool:
        """Whether there is a next ticket."""
        return self.final is None and self.identifier.can_ask

    @property
    def stopped(self) -> bool:
        """Whether no more arms are given out, and nothing changes the answer any more."""
        return self.final is not None or self.identifier.stopped

    @property
    def ended_by(self) -> EndedBy | None:
        """Why no more arms are given out; None while they are."""
        return cast(EndedBy | None, self.identifier.ended_by) if self.final is None else self.final.ended_by

    @property
    def cut_short(self) -> EndedBy | None:
        """What ended it before a decision, or before all floors were met after one; None if nothing did."""
        one, decision = self.identifier, self.identifier.decision
        if one.can_ask or (decision is not None and one.trials >= decision.final_round):
            return None
        return "max_trials" if one.procedure.ended is None else "deadline"

    @property
    def stage(self) -> Stage:
        """How far it is."""
        return Stage(self.decided, self.stopped, self.assigns)

    @property
    def recommendation(self) -> str | None:
        """The label of the best arm so far."""
        arm = self.identifier.recommendation if self.final is None else self.final.recommendation
        return None if arm is None else self.labels[arm]

    def valid_policies(self, at: float) -> list[dict[str, Any]]:
        """Those of the present epoch: of a rule that draws, one; of others, one per number of trials.

        A policy of these is the next so many choices, and would miss floors if it was followed for longer.
        """
        made = self.identifier.trials
        current = [one for one in self.policies if one.get("until", at) > at]
        return [one for one in current if "begun" not in one or made < one["begun"] + one["trials"]]

    def answer(self) -> Answer:
        """What clients need to know after every call."""
        return {
            "decided": self.decided,
            "stopped": self.stopped,
            "recommendation": self.recommendation,
            "ended_by": self.ended_by,
        }

    @property
    def doubted(self) -> bool:
        """Whether there is any doubt."""
        return bool(self.identifier.procedure.doubts.found)

    def doubts(self) -> list[Doubt]:
        """What speaks against what was declared, oldest first."""
        found = self.identifier.procedure.doubts.listed(self.labels, quote="“{}”".format)
        return [cast(Doubt, asdict(doubt)) for doubt in found]

    def look(self) -> Status:
        """Compute the progress."""
        return self.looks.look(self.identifier, self.observed)

    def point(self, milestone: bool = False) -> tuple[int, dict[str, Any]] | None:
        """The trials so far and a point of the history; None unless one is due or this is a milestone."""
        return self.looks.point(self.identifier, self.observed, milestone)


def revision_of(state: dict[str, Any]) -> int:
    """The revision under which an experiment was created, by its stored state."""
    return int(state.get("revision", 1))
