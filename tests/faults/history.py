"""What clients asked for and were told, and whether an experiment's log agrees.

Every reward that a client sends is a number of its own, so that it is found in the log by its value, whatever tickets
look like. A call without an answer may have happened or not; one with an answer has.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.service.load import check_floors

UNIT = "user-"  # how the keys of asks for units begin


@dataclass(frozen=True)
class Asked:
    """An ask for n trials under a key of its own, or for a unit: tickets with their arms, or None without an answer."""

    experiment: str
    key: str
    n: int
    tickets: tuple[tuple[str, str], ...] | None
    began: float = 0.0
    ended: float = 0.0


@dataclass(frozen=True)
class Told:
    """The reward of a ticket of an arm, and whether it was acknowledged."""

    experiment: str
    arm: str
    reward: float
    acknowledged: bool


@dataclass(frozen=True)
class Seen:
    """When a call began and ended, and what its answer said of the decision; None if there was none."""

    experiment: str
    began: float
    ended: float
    decision: str | None


@dataclass(frozen=True)
class Voided:
    """A reward that was taken out, and whether that was acknowledged."""

    experiment: str
    arm: str
    reward: float
    acknowledged: bool


@dataclass(frozen=True)
class Paused:
    """From the answer to a pause to the next call that could end it."""

    experiment: str
    began: float
    ended: float


@dataclass(frozen=True)
class Kept:
    """A head of the log that was in an answer."""

    experiment: str
    head: str


@dataclass(frozen=True)
class Strange:
    """An answer that there should not have been."""

    what: str


Event = Asked | Told | Seen | Voided | Paused | Kept | Strange


@dataclass
class Log:
    """The log of an experiment: arms as they were assigned, and arms and rewards as they were counted and taken out."""

    asked: list[str]
    told: list[tuple[str, float]]
    arms: tuple[str, ...]
    floor: float
    voided: list[tuple[str, float]] = field(default_factory=list)


@dataclass
class Verdict:
    """What was found."""

    acknowledged: int = 0
    voided: int = 0
    pauses: int = 0
    heads: int = 0
    unanswered: int = 0
    visits: int = 0  # of units, with an answer
    units: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether nothing was lost, doubled or wrong."""
        return not (self.lost or self.doubled or self.wrong)

    def __str__(self) -> str:
        counts = (
            f"{self.acknowledged:,} rewards acknowledged, {self.voided:,} voided, {self.heads:,} heads of logs kept, "
            f"{self.pauses:,} pauses, {self.visits:,} visits of {self.units:,} units, "
            f"{self.unanswered:,} calls without an answer, "
            f"{len(self.lost)} lost, {len(self.doubled)} doubled, {len(self.wrong)} wrong"
        )
        return "\n  ".join([counts, *(self.lost + self.doubled + self.wrong)[:20]])


def check(events: Iterable[Event], logs: dict[str, Log]) -> Verdict:
    """Compare what clients know with the logs."""
    found, verdict = list(events), Verdict()
    verdict.wrong += [event.what for event in found if isinstance(event, Strange)]
    _check_tickets([event for event in found if isinstance(event, Asked)], logs, verdict)
    _check_rewards([event for event in found if isinstance(event, Told)], logs, verdict)
    _check_voids([event for event in found if isinstance(event, Voided)], logs, verdict)
    _check_pauses([event for event in found if isinstance(event, Paused)], found, verdict)
    verdict.heads = sum(isinstance(event, Kept) for event in found)
    _check_decisions([event for event in found if isinstance(event, Seen)], verdict)
    for experiment, log in logs.items():
        try:
            check_floors(log.asked, log.floor, log.arms)
        except AssertionError:
            verdict.wrong.append(f"experiment {experiment} did not keep its floors")
    return verdict


def _check_tickets(asks: list[Asked], logs: dict[str, Log], verdict: Verdict) -> None:
    """A ticket belongs to one ask, which always has the same tickets; the log has them, and no unknown others."""
    answers: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
    for ask in asks:
        if ask.tickets is None:
            verdict.unanswered += 1
            continue
        verdict.visits += ask.key.startswith(UNIT)
        if answers.setdefault((ask.experiment, ask.key), ask.tickets) != ask.tickets:
            before = answers[ask.experiment, ask.key]
            verdict.wrong.append(f"ask {ask.key} was answered with {before}, and then with {ask.tickets}")
    verdict.units += sum(key.startswith(UNIT) for _, key in answers)
    owners: dict[tuple[str, str], str] = {}
    given: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (experiment, key), tickets in answers.items():
        for ticket, arm in tickets:
            if owners.setdefault((experiment, ticket), key) != key:
                verdict.doubled.append(f"ticket {ticket} of {experiment} was given out twice")
            given[experiment][arm] += 1
    unsure: Counter[str] = Counter()
    for experiment, key, n in {(ask.experiment, ask.key, ask.n) for ask in asks}:
        unsure[experiment] += 0 if (experiment, key) in answers else n
    for experiment, log in logs.items():
        if (more := len(log.asked) - given[experiment].total() - unsure[experiment]) > 0:
            verdict.doubled.append(f"{more} tickets of {experiment} are in the log, and no client asked for them")
    for experiment, arms in given.items():
        for arm, missing in (arms - Counter(logs[experiment].asked)).items():
            verdict.lost.append(f"{missing} tickets of arm {arm} of {experiment} are not in the log")


def _check_rewards(tells: list[Told], logs: dict[str, Log], verdict: Verdict) -> None:
    """An acknowledged reward is in the log once; one without an answer at most once; and no others are."""
    sent = {(told.experiment, told.reward): told.arm for told in tells}
    acknowledged = {(told.experiment, told.reward) for told in tells if told.acknowledged}
    verdict.acknowledged += len(acknowledged)
    verdict.unanswered += sum(not told.acknowledged for told in tells)
    counted = Counter((experiment, reward) for experiment, log in logs.items() for _, reward in log.told)
    verdict.lost += [f"reward {reward!r} of {name} is not in the log" for name, reward in acknowledged - set(counted)]
    verdict.doubled += [f"reward {key[1]!r} of {key[0]} was counted {n} times" for key, n in counted.items() if n > 1]
    for experiment, log in logs.items():
        for arm, reward in log.told:
            expected = sent.get((experiment, reward))
            if expected != arm:
                verdict.wrong.append(f"reward {reward!r} of {experiment} is credited to {arm}, not {expected}")


def _check_voids(voids: list[Voided], logs: dict[str, Log], verdict: Verdict) -> None:
    """A reward that was taken out is so in the log, once; one without an answer at most once; and no others are."""
    sent = {(void.experiment, void.arm, void.reward) for void in voids}
    acknowledged = {(void.experiment, void.arm, void.reward) for void in voids if void.acknowledged}
    verdict.voided += len(acknowledged)
    taken = Counter((experiment, *one) for experiment, log in logs.items() for one in log.voided)
    verdict.lost += [f"the void of {one} is not in the log" for one in acknowledged - set(taken)]
    verdict.doubled += [f"{one} was voided {n} times" for one, n in taken.items() if n > 1]
    verdict.wrong += [f"{one} was voided, and nobody asked for it" for one in set(taken) - sent]


def _check_pauses(pauses: list[Paused], events: list[Event], verdict: Verdict) -> None:
    """No ticket is given out in a pause, unless an earlier attempt may have got it before."""
    verdict.pauses = len(pauses)
    asks: defaultdict[tuple[str, str], list[Asked]] = defaultdict(list)
    for event in events:
        if isinstance(event, Asked):
            asks[event.experiment, event.key].append(event)
    for (experiment, key), attempts in asks.items():
        began = min(ask.began for ask in attempts)
        ended = min((ask.ended for ask in attempts if ask.tickets), default=None)
        for pause in pauses:
            if ended is not None and experiment == pause.experiment and pause.began < began and ended < pause.ended:
                verdict.wrong.append(f"ask {key} of {experiment} got a ticket while it was paused")


def _check_decisions(seen: list[Seen], verdict: Verdict) -> None:
    """Whoever calls after a decision was told hears the same decision."""
    first: dict[str, Seen] = {}
    for answer in sorted(seen, key=lambda answer: answer.ended):
        if answer.decision is not None:
            first.setdefault(answer.experiment, answer)
    for answer in seen:
        known = first.get(answer.experiment)
        if known is None:
            continue
        after = answer.began > known.ended
        if answer.decision != known.decision and (after or answer.decision is not None):
            verdict.wrong.append(f"{answer.experiment} decided for {known.decision}, and then for {answer.decision}")
