"""What units earn: several times within the window of their trial, which counts once, when the window is over.

Until then the ticket holds what the unit has earned so far: the sum, the last or the maximum. A bounded reward is
capped when it is counted and not before, so that the order of gains and losses does not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fairbai.problems.families import Bounded
from fairbai.service.domain import answers, costs
from fairbai.service.domain.book import Book
from fairbai.service.domain.interventions import check_revision
from fairbai.service.domain.operation import Operation, key_used
from fairbai.service.domain.ranges import MAX_END, check_rewards
from fairbai.service.domain.refusals import Refusal, invalid
from fairbai.service.domain.unit import UnitOfWork
from fairbai.service.domain.units import Standing, Terms, UnitName, settled


class Earning(NamedTuple):
    """What a unit earned at once.

    Attributes:
        unit: The unit.
        value: What it earned.
        key: The name of the event in the log; the same event counts once.
    """

    unit: UnitName
    value: float
    key: str


class _Fresh(NamedTuple):
    number: int
    arm: int
    value: float
    late: bool
    key: str

    def data(self) -> dict[str, Any]:
        """As in the log, in the form of what is told."""
        late = [self.number] if self.late else []
        return {"tickets": [self.number], "arms": [self.arm], "rewards": [self.value], "late": late}


class _Found(NamedTuple):
    fresh: list[_Fresh]
    ignored: int = 0
    unknown: int = 0


@dataclass
class Earn(Operation[answers.Earned]):
    """What units have earned, all or nothing.

    Attributes:
        earnings: In the order in which they came.
        lenient: Whether those of units that are not known are skipped, and counted as such, instead of refused: one of
            many must not hold up the others.
        logged: In a replay, what the log says of one earning.
    """

    earnings: list[Earning] = field(default_factory=list)
    lenient: bool = False
    logged: dict[str, Any] | None = None

    @property
    def size(self) -> int:
        """One event per earning."""
        return max(1, len(self.earnings))

    def unit_hashes(self, book: Book) -> Sequence[str]:
        """Those that earned."""
        return [earning.unit.hash for earning in self.earnings]

    def key_names(self) -> list[str]:
        """The names of the events."""
        return super().key_names() + [earning.key for earning in self.earnings]

    def act(self, unit: UnitOfWork) -> answers.Earned:
        """Add what is new to what the tickets hold."""
        if unit.book.report_after is None:
            raise invalid(
                "rewards of units need an experiment with report_after: the time from its assignment on within which a "
                "unit may earn, after which its trial is counted"
            )
        check_revision(unit.book)
        found = _Found([self._replayed()]) if self.logged is not None else self._checked(unit)
        for one in found.fresh:
            _add(unit, one)
        late = sum(one.late for one in found.fresh)
        counts = {"accepted": len(self.earnings), "counted": len(found.fresh) - late, "late": late}
        skipped = {"ignored": found.ignored, "unknown": found.unknown}
        return {**counts, **skipped, "head": None, **unit.book.answer()}  # type: ignore[typeddict-item]

    def _replayed(self) -> _Fresh:
        assert self.logged is not None
        assert self.key is not None
        number, arm, value = (self.logged[name][0] for name in ("tickets", "arms", "rewards"))
        return _Fresh(number, arm, value, bool(self.logged["late"]), self.key)

    def _checked(self, unit: UnitOfWork) -> _Found:
        """The earnings that are new, and how many are of units that have no trial."""
        costs.check_size(self.size, unit.book.seconds_to_count, len(unit.book.labels))
        fresh: dict[str, _Fresh] = {}
        ignored = unknown = 0
        for place, earning in enumerate(self.earnings):
            _check_value(unit.book, earning.value)
            known = unit.units.get(earning.unit.hash)
            before = fresh[earning.key].data() if earning.key in fresh else unit.keyed.get(earning.key)
            if before is not None:
                same = known is None or before["tickets"] == [known.number]  # it may be erased since
                if not same or before["rewards"] != [earning.value]:
                    raise key_used("event_id", "another unit or value", f"{earning.value!r}")
            elif known is not None and _sees_its_arm(unit, earning.unit, known.number):
                fresh[earning.key] = _fresh(unit, known.number, earning)
            elif known is not None or _takes_no_part(unit.book, earning.unit):
                ignored += 1
            elif self.lenient:
                unknown += 1
            else:
                raise _no_such_unit(place)
        return _Found(list(fresh.values()), ignored, unknown)


def _sees_its_arm(unit: UnitOfWork, name: UnitName, number: int) -> bool:
    """Whether a unit is still shown the arm of its trial, and not the winner, which is what it earns for."""
    now = settled(Terms.of(unit.book.config), Standing.of(unit.book), name.point, number, unit.tickets[number])
    return now is not None and now["reason"] == "returning"


def _takes_no_part(book: Book, unit: UnitName) -> bool:
    """Whether a unit without a trial may well have come: it is not enrolled, or came in a pause or after the end."""
    return not book.assigns or book.paused or unit.point >= book.config.get("enrol", 1.0)


def _no_such_unit(place: int) -> Refusal:
    detail = f"The unit of reward {place} has no trial: it never asked, or it was erased"
    return Refusal(404, "No such unit", detail, place=place)


def _fresh(unit: UnitOfWork, number: int, earning: Earning) -> _Fresh:
    ticket = unit.tickets[number]
    if ticket.voided:
        raise Refusal(409, "Reward voided", "The reward of this unit was voided; it cannot earn after that")
    late = not ticket.waiting or (ticket.expires_at is not None and ticket.expires_at < unit.at)
    return _Fresh(number, ticket.arm, earning.value, late, earning.key)


def _add(unit: UnitOfWork, one: _Fresh) -> None:
    """Add an earning to what a ticket holds; a late one is in the log only."""
    book = unit.book
    if one.late:
        book.late += 1
    else:
        ticket = unit.tickets[one.number]
        total = together(book.earnings, ticket.reward, one.value)
        book.held += ticket.reward is None
        unit.tickets[one.number] = ticket._replace(reward=total)
        unit.held.append({"of_experiment": unit.experiment, "of_number": one.number, "new_reward": total})
    unit.log("earned", one.data(), one.key)


def together(how: str, before: float | None, value: float) -> float:
    """What a unit has earned, after another earning; a sum is kept within what can be counted."""
    if before is None or how == "last":
        return value
    return max(before, value) if how == "max" else min(MAX_END, max(-MAX_END, before + value))


def _check_value(book: Book, value: float) -> None:
    """Refuse an earning that cannot be counted. A bounded one may be beyond the bounds, as it is capped."""
    if isinstance(book.identifier.family, Bounded):
        return
    check_rewards(book, [value])
    try:
        book.identifier.family.statistic(value)
    except ValueError as error:
        raise invalid(str(error)) from None
