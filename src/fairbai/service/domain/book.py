"""One experiment in memory: its Identifier and what the service counts beside it.

The service and ``verify`` both call these few methods in the order of the log, so a replay gives exactly the same
state.
"""

import math
from dataclasses import asdict
from typing import Any, Self, cast

import numpy as np

from fairbai.experiment.open_trials import checked_silence
from fairbai.identifier import Identifier, Status, Trial
from fairbai.identifier.snapshot import FIRST_VERSION, changing
from fairbai.problems.short_forms import rates_of
from fairbai.service.domain.answers import Answer, Doubt
from fairbai.service.domain.cycles import Cycles
from fairbai.service.domain.encoding import decode, encode
from fairbai.service.domain.promises import ROUNDING, Promises
from fairbai.stopping import DesignBased

GROWTH = 1.05  # factor between the trials of two points of the history
REVISION = 2
"""Of how arms are chosen and evidence is computed. Logs of an earlier revision do not replay: revision 1 kept
waiting for expired tickets, and had a mixture without alpha, to which ties beyond the estimates were no evidence."""


class Book:
    """The state of an experiment. Arms are numbers here; their labels are in ``labels``.

    Args:
        config: The experiment as ``forms.Experiment`` describes it, with all defaults filled in.
    """

    def __init__(self, config: dict[str, Any], identifier: Identifier) -> None:
        self.config = config
        self.labels: list[str] = config["arms"]
        self.report_after: float | None = config.get("report_after")  # older experiments lack it
        self.silence: float | None = config.get("silence")
        self.lease: float | None = config["lease"] if self.report_after is None else self.report_after
        self.identifier = identifier
        self.revision = REVISION  # under which it was created
        identifier.procedure.doubts.warned = True  # the ledger logs it, with the id, once it is committed
        self.version = 0  # events so far
        self.tickets = 0  # number of the next ticket
        self.next_point = 1  # trials at which the history gets its next point
        self.expired = [0] * len(self.labels)  # tickets per arm whose lease ran out and that have no reward
        self.late = 0  # rewards that came after the lease
        self.held = 0  # rewards that were told and are not counted yet
        self.drawn = identifier.stopping.drift_proof  # whether tickets have a probability and are counted in order
        self.published: dict[str, Any] | None = None  # the last policy, if trials elsewhere are drawn from versions
        self.summed = 0  # number of the first ticket that is not counted, if they are counted in order
        self.closed: dict[str, Any] | None = None  # the answer when it was closed
        self.promises = Promises(identifier)
        self.cycles = Cycles.of(config)
        self._progress: float | None = None  # evidence over threshold, as of the last look
        self.observed = 0  # rewards so far
        self._next_look = 0  # trials plus rewards at which the progress is computed again

    @classmethod
    def read(cls, config: str, state: str) -> Self:
        """Restore the book that ``row`` wrote."""
        settings, form = decode(config), decode(state)
        identifier = form["identifier"]
        book = cls(settings, Identifier.from_dict({**_fixed(settings), **identifier}))
        book.version, book.tickets, book.next_point = form["version"], form["tickets"], form["next_point"]
        book.expired, book.late, book.closed = form["expired"], form["late"], form["closed"]
        book.held, book.summed = form.get("held", 0), form.get("summed", 0)
        book.published = form.get("published")
        book.revision = revision_of(form)
        if book.cycles is not None:
            book.cycles.begun, book.cycles.next = form["cycles"]
        book._give_up_expired()
        book.observed = int(sum(identifier["state"]["observed"]))
        counts = [int(count) for count in identifier["state"]["assigned"]]
        book.promises.restore(form["promises"], counts, book.identifier.decided or book.closed is not None)
        return book

    def row(self) -> dict[str, Any]:
        """The columns of ``experiments`` that change."""
        identifier, answer = changing(self.identifier), self.answer()
        return {
            "version": self.version,
            "state": self._state_text(identifier),
            **answer,
            "closed": self.closed is not None,
            "assigned": int(sum(identifier["state"]["assigned"])),
            "observed": int(sum(identifier["state"]["observed"])),
            "progress": 1.0 if answer["decided"] else self._progress,
            "floors_kept": self._floors_kept(identifier),
            "looks_at": self.decides_at,
        }

    @property
    def decides_at(self) -> float | None:
        """When it may next decide; None if with every reward, or if it is decided or over."""
        return None if self.cycles is None or self.decided or self.stopped else self.cycles.next

    def _floors_kept(self, identifier: dict[str, Any]) -> bool | None:
        """Whether every guarantee is kept so far; None while the only guarantees are for the stop."""
        promises = self.promises
        if promises.on_every_path and not promises.kept_on_every_path():
            return False
        ended = self.decided and self.identifier.stopped  # by itself: closing forgoes what is still owed
        if ended and (self.identifier.settle or not promises.on_every_path):
            return self._kept_at_the_end(identifier)
        return True if promises.on_every_path or promises.none else None

    def _kept_at_the_end(self, identifier: dict[str, Any]) -> bool:
        """Whether the shares are right to less than one trial: floors that sum to 1 cannot be met more exactly."""
        assigned, floors = identifier["state"]["assigned"], identifier["decision"]["floors"]
        trials = sum(assigned)
        lacking = [floor * trials - count for floor, count in zip(floors, assigned, strict=True)]
        return bool(max(lacking + self.promises.beyond(assigned)) < 1.0 - ROUNDING)

    def _state_text(self, identifier: dict[str, Any]) -> str:
        return encode(
            {
                "identifier": identifier,
                "revision": self.revision,
                "version": self.version,
                "tickets": self.tickets,
                "next_point": self.next_point,
                "expired": self.expired,
                "late": self.late,
                "closed": self.closed,
                "promises": self.promises.to_dict(),
                **({} if self.report_after is None else {"held": self.held}),
                **({"summed": self.summed, "published": self.published} if self.drawn else {}),
                **({} if self.cycles is None else {"cycles": [self.cycles.begun, self.cycles.next]}),
            }
        )

    # --- changing -----------------------------------------------------------------------------------------------

    def ask(self, n: int) -> list[int]:
        """The arms of the next n tickets; fewer if fewer trials are left."""
        arms: list[int] = self.identifier.ask(n)
        self._assigned(arms)
        return arms

    def draw(self, n: int) -> tuple[list[int], list[float | None]]:
        """The arms of the next n tickets, and their probabilities: None after the decision, when nothing is drawn."""
        trials: list[Trial] = self.identifier.ask_trial(n)
        arms = [cast(int, trial.arm) for trial in trials]
        self._assigned(arms)
        return arms, [trial.probability for trial in trials]

    def _assigned(self, arms: list[int]) -> None:
        self.tickets += len(arms)
        self.promises.assign(arms)

    def tell(self, arms: list[int], rewards: list[float], expired: list[int], late: int) -> None:
        """Count the rewards of tickets; ``expired`` are the arms of those whose lease had ended."""
        self.identifier.tell(arms, rewards)
        self._counted(len(arms))
        self.late += late
        for arm in expired:
            self.expired[arm] -= 1
        if expired:
            self._give_up_expired()

    def hold(self, rewards: list[float], late: int) -> None:
        """Keep rewards until their tickets are of age; ``late`` of them came after that, and are never counted."""
        for reward in rewards:
            self.identifier.family.statistic(reward)  # raises a ValueError for one that cannot be counted
        self.held += len(rewards) - late
        self.late += late

    def count_due(self, arms: list[int], rewards: list[float | None]) -> None:
        """Count tickets that are of age, with their rewards; those that stay silent without a value for it expire."""
        pairs = list(zip(arms, rewards, strict=True))
        known = [(arm, reward) for arm, reward in pairs if reward is not None]
        if known:
            self.identifier.tell([arm for arm, _ in known], [reward for _, reward in known])
            self._counted(len(known))
        self.expire([arm for arm, reward in pairs if reward is None])

    def sum_next(self, drawn: list[tuple[int, float | None]], rewards: list[float]) -> None:
        """Count the next tickets in the order of assignment: their arms, probabilities and rewards."""
        first = self.identifier.trials - self.identifier.open_trials
        trials = [Trial(number, arm, chance) for number, (arm, chance) in enumerate(drawn, first)]
        self.identifier.tell(trials, rewards)
        self.summed += len(trials)
        self._counted(len(trials))

    def publish(self, version: int, trials: int) -> None:
        """The policy from which trials elsewhere are drawn from now on."""
        shares = self.identifier.policy(trials).tolist()
        self.published = {"version": version, "trials": trials, "probabilities": shares}

    def tell_batch(
        self,
        pulls: list[int],
        sums: list[float],
        squares: list[float] | None = None,
        probabilities: list[float] | None = None,
    ) -> None:
        """Count trials that were assigned elsewhere."""
        if probabilities is not None and self.identifier.decided:  # they are no evidence, however they were drawn
            least = self.identifier.procedure.experiment.guarantees
            probabilities = (least + (1.0 - least.sum()) / least.size).tolist()  # type: ignore[union-attr]
        self.identifier.tell_batch(pulls, sums, squares, probabilities)
        self.promises.assign_batch(pulls)
        self._counted(sum(pulls))

    def _counted(self, rewards: int) -> None:
        self.observed += rewards
        if self.identifier.decided:
            self.promises.freeze()

    def expire(self, arms: list[int]) -> None:
        """Count tickets whose lease ended."""
        for arm in arms:
            self.expired[arm] += 1
        self._give_up_expired()

    def _give_up_expired(self) -> None:
        """The sampling rule expects no rewards of expired tickets."""
        self.identifier.procedure.experiment.lose(np.array(self.expired, dtype=float))

    def decide_if_due(self, at: float) -> bool:
        """Decide if this is a time for it and the evidence is enough; returns whether it is a time for it."""
        due = self.decides_at is not None and self.cycles is not None and self.cycles.due(at)
        if due and self.cycles is not None:
            self.cycles.passed(at)
            self.identifier.look()
            if self.identifier.decided:
                self.promises.freeze()
        return due

    def close(self) -> None:
        """Freeze the answer and the record of the guarantees."""
        self.promises.freeze()
        self.closed = {"recommendation": self.identifier.recommendation, "decided": self.identifier.decided}

    # --- reading ------------------------------------------------------------------------------------------------

    @property
    def decided(self) -> bool:
        """Whether the answer was found, and before the experiment was closed if it was."""
        return self.identifier.decided if self.closed is None else bool(self.closed["decided"])

    @property
    def closed_undecided(self) -> bool:
        """Whether it was closed without a decision; rewards that come later cannot decide it."""
        return self.closed is not None and not self.decided

    @property
    def stopped(self) -> bool:
        """Whether no more arms are given out."""
        return self.closed is not None or self.identifier.stopped

    @property
    def recommendation(self) -> str | None:
        """The label of the best arm so far."""
        arm = self.identifier.recommendation if self.closed is None else self.closed["recommendation"]
        return None if arm is None else self.labels[arm]

    def answer(self) -> Answer:
        """What clients need to know after every call."""
        return {"decided": self.decided, "stopped": self.stopped, "recommendation": self.recommendation}

    @property
    def doubted(self) -> bool:
        """Whether the rewards contradict the declared family."""
        return bool(self.identifier.procedure.doubts.found)

    def doubts(self) -> list[Doubt]:
        """What the rewards contradict the declared family by, oldest first."""
        found = self.identifier.procedure.doubts.listed(self.labels, quote="“{}”".format)
        return [cast(Doubt, asdict(doubt)) for doubt in found]

    def look(self) -> Status:
        """Compute the progress, which is too slow to do at every reward, and when to do it again."""
        status, seen = self.identifier.status(), self.identifier.trials + self.observed
        self._next_look = max(seen + 1, math.ceil(seen * GROWTH))
        self._progress = progress_of(status)
        return status

    def point(self, milestone: bool = False) -> tuple[int, dict[str, Any]] | None:
        """The trials so far and a point of the history; None unless one is due or this is a milestone."""
        trials = self.identifier.trials
        due = milestone or trials >= self.next_point
        if not due and trials + self.observed < self._next_look:
            return None
        status = self.look()
        if not due:
            return None
        self.next_point = max(trials + 1, math.ceil(trials * GROWTH))
        return trials, {
            "observed": int(status.observed.sum()),
            "shares": status.shares.tolist(),
            "means": means(status),
            "glr": finite(status.glr),
            "threshold": finite(status.threshold),
            **self._averages(),
        }

    def _averages(self) -> dict[str, Any]:
        """The running averages at a point of the history, with their bands."""
        if not self.drawn:
            return {}
        found = self.identifier.averages()
        averages = [finite(estimate) for estimate in found.estimates.tolist()]
        return {"averages": averages, "bands": found.intervals.tolist()}


def new_book(config: dict[str, Any]) -> Book:
    """The book of a new experiment; ``config`` must have every setting."""
    identifier = Identifier(
        arms=len(config["arms"]),
        delta=config["delta"],
        family=config["family"],
        rates=rates_of(config["rates"], config["arms"]),
        sampling=config["sampling"],
        stopping=config["stopping"],
        settle=config["settle"],
        seed=config["seed"],
        hold_trials=not is_drawn(config),
        look_every=1 if Cycles.of(config) is None else 0,
    )
    silence = checked_silence(config.get("silence"), identifier.family)
    if identifier.stopping.drift_proof and (config.get("report_after") is None or silence is None):
        raise ValueError(
            f"stopping rule {identifier.stopping.kind} counts every ticket: give report_after, the age in seconds at "
            f"which a ticket without a reward counts as silent, and silence, the reward that it then counts as"
        )
    form = identifier.to_dict()
    for name in ("rates", "sampling"):
        if form[name] is None:
            raise ValueError(f"{name} must not be Python code over HTTP, got kind {config[name]!r}")
    filled = {name: form[name] for name in ("family", "rates", "sampling", "stopping")}
    return Book({**config, **filled}, identifier)


def is_drawn(config: dict[str, Any]) -> bool:
    """Whether the stopping rule of a configuration needs the probability of every ticket."""
    stopping = config["stopping"]
    return DesignBased.kind == (stopping.get("kind") if isinstance(stopping, dict) else stopping)


def revision_of(state: dict[str, Any]) -> int:
    """The revision under which an experiment was created, by its stored state."""
    return int(state.get("revision", 1))


def _fixed(config: dict[str, Any]) -> dict[str, Any]:
    """The parts of a snapshot that never change; of the first version, without a digest: the log vouches for them."""
    names = ("delta", "family", "rates", "sampling", "stopping", "settle", "seed")
    form = {"version": FIRST_VERSION, "arms": len(config["arms"]), **{name: config[name] for name in names}}
    form |= {} if Cycles.of(config) is None else {"look_every": 0}
    return form | {"hold_trials": False} if is_drawn(config) else form


def progress_of(status: Status) -> float | None:
    """Evidence over threshold, from 0 to 1; None until every arm has a reward."""
    if status.recommendation is None or not math.isfinite(status.glr) or not status.threshold > 0.0:
        return None
    return min(1.0, max(0.0, status.glr / status.threshold))


def means(status: Status) -> list[float | None]:
    """The means, with None for an arm without rewards."""
    return [finite(mean) for mean in status.means.tolist()]


def finite(value: float) -> float | None:
    """The value, or None for infinity and nan, which JSON lacks."""
    return float(value) if math.isfinite(value) else None
