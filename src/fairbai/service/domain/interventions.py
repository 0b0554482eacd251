"""What people do to a running experiment: pause and resume it, switch an arm off, void rewards that were wrong."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from fairbai.service.domain import answers
from fairbai.service.domain.book import Book
from fairbai.service.domain.operation import Operation, over
from fairbai.service.domain.operations import no_such_ticket
from fairbai.service.domain.record import REVISION
from fairbai.service.domain.refusals import Refusal, unavailable
from fairbai.service.domain.tally import LogChangedError, Tally
from fairbai.service.domain.tickets import Claim, lost, same
from fairbai.service.domain.unit import UnitOfWork

BARE = (
    "must be given in full, as in the column full_ticket of the export: the database was restored from a backup, "
    "and the history that was lost may have given the number to another trial"
)
MAX_VOIDS = 100  # of an experiment: they are in its state, which every operation writes
OUTDATED = "Other rewards of the experiment were voided at the same time"  # who voids reads the log again, then


@dataclass
class Pause(Operation[answers.Paused]):
    """Give out no tickets until it is resumed. Rewards are still counted, and deadlines pass."""

    urgent = True

    def act(self, unit: UnitOfWork) -> answers.Paused:
        """Pause it; nothing changes if it is paused."""
        if not unit.book.paused:
            if not unit.book.assigns:
                raise over(unit.book)
            unit.book.paused = True
            unit.log("paused", {})
        return {"paused": True, **unit.book.answer()}


@dataclass
class Resume(Operation[answers.Paused]):
    """Give out tickets again."""

    urgent = True

    def act(self, unit: UnitOfWork) -> answers.Paused:
        """Resume it; nothing changes if it is not paused."""
        if unit.book.paused:
            unit.book.paused = False
            unit.log("resumed", {})
        return {"paused": False, **unit.book.answer()}


@dataclass
class SwitchOff(Operation[answers.SwitchedOff]):
    """Give out no further tickets of an arm; the answer is then the best of the others."""

    urgent = True

    arm: str = ""
    reason: str = ""

    def act(self, unit: UnitOfWork) -> answers.SwitchedOff:
        """Switch it off; nothing changes if it is."""
        book = unit.book
        if self.arm not in book.labels:
            raise Refusal(404, "No such arm", f"This experiment has no arm {self.arm!r}")
        arm = book.labels.index(self.arm)
        if all(one["arm"] != arm for one in book.off):
            if not book.assigns:
                raise over(book)
            check_revision(book)
            try:
                book.switch_off(arm, self.reason)  # checks everything before it changes anything
            except ValueError as error:
                raise Refusal(409, "The arm cannot be switched off", _sentence(error)) from None
            unit.log("switched_off", {"arm": arm, "reason": self.reason})
            book.look()  # so that lists do not show how sure it was before
        return {"switched_off": [book.labels[one["arm"]] for one in book.off], **book.answer()}


@dataclass
class Void(Operation[answers.Voided]):
    """Take rewards out that were wrong. After a decision that is only recorded, as decisions are final.

    Attributes:
        tickets: Their numbers.
        reason: Why they were wrong.
        tokens: The tokens of the tickets, or None for those that are known by their number only.
        before: What the log said when it was read for this, so that only what came since must be read: everybody waits
            for that. If it no longer fits, the operation is refused with ``OUTDATED``.
    """

    tickets: list[int] = field(default_factory=list)
    reason: str = ""
    tokens: list[int | None] = field(default_factory=list)
    before: Tally | None = None

    @property
    def size(self) -> int:
        """One row per ticket."""
        return len(self.tickets)

    def ticket_numbers(self) -> Sequence[int]:
        """The tickets."""
        return self.tickets

    def act(self, unit: UnitOfWork) -> answers.Voided:
        """Void those that are not void yet."""
        fresh = self._fresh(unit)
        if fresh:
            check_revision(unit.book)
            if len(unit.book.voids) >= MAX_VOIDS and not self.replayed:
                detail = f"Rewards of an experiment can be voided in at most {MAX_VOIDS} calls, each for many tickets"
                raise Refusal(409, "Too many voids", detail)
            self._void(unit, fresh)
        return {"voided": len(fresh), **unit.book.answer()}

    def _fresh(self, unit: UnitOfWork) -> list[int]:
        """The tickets that are not void yet; all of them must have a reward."""
        fresh = []
        for number, token in dict(zip_longest(self.tickets, self.tokens)).items():
            ticket = unit.tickets.get(number)
            if ticket is None:
                raise no_such_ticket(str(number))
            if token is not None and (ticket.token is None or not same(token, ticket.token)):
                raise lost(Claim(number, token))
            if token is None and ticket.token is not None and unit.restores and not self.replayed:
                raise _refused(number, BARE)
            if ticket.reward is None and not ticket.voided:
                raise _refused(number, "has no reward")
            if not ticket.voided:
                fresh.append(number)
        return fresh

    def _void(self, unit: UnitOfWork, fresh: list[int]) -> None:
        book, tickets = unit.book, {number: unit.tickets[number] for number in fresh}
        final = book.decided or book.final is not None
        before, self.before = self.before, None  # what is read now is not yet committed
        try:
            tally = unit.recounted(frozenset(fresh), before)
        except LogChangedError:
            raise unavailable(OUTDATED) from None
        if not final:
            _check_possible(book, tally, tickets)
        arms = [ticket.arm for ticket in tickets.values()]
        rewards = [ticket.reward for ticket in tickets.values()]
        told = sum(tally.told[number] for number in fresh)
        data = {"tickets": fresh, "arms": arms, "rewards": rewards, "reason": self.reason}
        unit.log("voided", data | {"after_decision": final, "told_before": told})
        book.voids.append(
            {"tickets": len(fresh), "trial": book.identifier.trials, "reason": self.reason}
            | {"after_decision": final, "told_before": told}
        )
        if not final:
            # one that is of age may wait for its turn, where tickets are counted in order
            held = fresh if book.drawn else [number for number in fresh if number not in tally.counted]
            book.void(arms, tally, len(held))
            book.look()
        for number, ticket in tickets.items():
            open_still = ticket.waiting and book.drawn  # it counts as silent when it is of age, and in its turn
            now = ticket if final else ticket._replace(reward=None, waiting=open_still)
            unit.tickets[number] = now._replace(voided=True)
            row: dict[str, Any] = {"of_experiment": unit.experiment, "of_number": number}
            unit.voided.append({**row, "new_reward": now.reward, "new_waiting": now.waiting})


def _check_possible(book: Book, tally: Tally, tickets: dict[int, Any]) -> None:
    """Refuse rewards that cannot be taken out."""
    for number, ticket in tickets.items():
        if book.drawn and number < book.summed:
            raise _refused(
                number,
                "is counted, and with the stopping rule design_based a counted reward is in the evidence for good",
            )
        if book.report_after is not None and not book.drawn and not ticket.waiting and number not in tally.in_time:
            raise _refused(number, "has a reward that came late and was not counted")


def _refused(number: int, why: str) -> Refusal:
    return Refusal(409, "The reward cannot be voided", f"Ticket {number} {why}", ticket=str(number))


def check_revision(book: Book) -> None:
    """Refuse what the log of an experiment of an earlier revision could not show."""
    if book.revision < REVISION:
        detail = "The experiment was created by an earlier version, whose log cannot be replayed with such a change"
        raise Refusal(409, "Created by an earlier version", detail)


def _sentence(error: ValueError) -> str:
    text = str(error)
    return f"{text[0].upper()}{text[1:]}"
