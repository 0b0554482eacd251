"""What happens to an experiment after an ask. Each operation happens completely, or is refused and changes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fairbai.experiment.defaults import drawn_seed
from fairbai.service.domain import ageing, answers, costs, drawing, tickets
from fairbai.service.domain.asking import LEADER, WINNER
from fairbai.service.domain.book import Book
from fairbai.service.domain.operation import Operation, refused
from fairbai.service.domain.ranges import check_rewards
from fairbai.service.domain.refusals import Refusal
from fairbai.service.domain.tickets import Claim
from fairbai.service.domain.unit import Ticket, UnitOfWork


@dataclass
class Tell(Operation[answers.Told]):
    """Rewards of tickets, as pairs of ticket (or its name: after the stop) and reward. All or nothing.

    In a replay the log, which holds no tokens, says that the tickets were valid. ``until`` is where it says that
    counting in order was left to later operations, if it was.
    """

    rewards: list[tuple[Claim | str, float]] = field(default_factory=list)
    until: int | None = None

    @property
    def size(self) -> int:
        """One row per reward."""
        return len(self.rewards)

    def ticket_numbers(self) -> Sequence[int]:
        """The tickets that have a number."""
        return [ticket.number for ticket, _ in self.rewards if isinstance(ticket, Claim)]

    def cost(self, book: Book) -> float:
        """That of its rewards, and of what they make ready."""
        return super().cost(book) + drawing.cost_of_ready(book, self.ticket_numbers())

    def act(self, unit: UnitOfWork) -> answers.Told:
        """Count the rewards that are new or, where they are counted at an age, keep them until then."""
        if not self.replayed:
            costs.check_size(self.size, unit.book.seconds_to_count, len(unit.book.labels))
        fresh = self._fresh(unit)
        if not self.replayed:
            check_rewards(unit.book, fresh.values())
        late = [number for number in fresh if self._late(unit, number)]
        counted = len(fresh)
        if fresh and unit.book.report_after is not None:
            if unit.book.drawn:
                drawing.tell(unit, fresh, late, _most_ready(self, unit.book))
            else:
                ageing.hold(unit, fresh, late)
            counted -= len(late)
        elif fresh:
            self._count(unit, fresh, late)
        told: answers.Told = {"accepted": len(self.rewards), "counted": counted, "late": len(late), "head": None,
                              **unit.book.answer()}  # fmt: skip
        return told

    def _fresh(self, unit: UnitOfWork) -> dict[int, float]:
        """The rewards that are not known yet."""
        fresh: dict[int, float] = {}
        for claim, reward in self.rewards:
            if isinstance(claim, str):
                if unit.book.decided or not unit.book.assigns:
                    continue  # the reward of a visitor who came after the end
                raise no_such_ticket(claim)
            ticket, number = self._found(unit, claim), claim.number
            if ticket.voided:
                detail = f"The reward of ticket {number} was voided; a ticket cannot be told again after that"
                raise Refusal(409, "Reward voided", detail, ticket=str(number))
            known = fresh.get(number) if ticket.reward is None else ticket.reward
            if known is None:
                fresh[number] = reward
            elif known != reward:
                shown = tickets.shown(*claim)
                detail = f"Ticket {shown} already has reward {known!r}, got {reward!r}"
                raise Refusal(409, "Reward already known", detail, ticket=shown, reward=known)
        return fresh

    def _found(self, unit: UnitOfWork, claim: Claim) -> Ticket:
        """A ticket, if the history that this server has gave it out."""
        ticket = unit.tickets.get(claim.number)
        if self.replayed and ticket is not None:
            return ticket
        if claim.token is not None:
            if ticket is None or ticket.token is None or not tickets.same(claim.token, ticket.token):
                raise tickets.lost(claim)
            return ticket
        if ticket is None and not unit.restores:
            raise no_such_ticket(str(claim.number))
        if ticket is None or ticket.token is not None or unit.restores:
            raise tickets.lost(claim)
        if ticket.reward is None and self._late(unit, claim.number):
            raise tickets.expired(claim)
        return ticket

    def _late(self, unit: UnitOfWork, number: int) -> bool:
        """Whether a ticket's lease has ended, or it is of age."""
        ticket = unit.tickets[number]
        return not ticket.waiting or (ticket.expires_at is not None and ticket.expires_at < unit.at)

    def _count(self, unit: UnitOfWork, fresh: dict[int, float], late: list[int]) -> None:
        numbers, rewards = list(fresh), list(fresh.values())
        arms = [unit.tickets[number].arm for number in numbers]
        expired = [unit.tickets[number].arm for number in late if not unit.tickets[number].waiting]
        observed = unit.book.observed
        try:
            unit.book.tell(arms, rewards, expired, len(late))  # checks all rewards before it counts one
        except ValueError as error:
            raise refused(error, unit.book, observed) from None
        data = {"tickets": numbers, "arms": arms, "rewards": rewards, "late": late, "expired": expired}
        unit.log("told", data)
        for number, reward in fresh.items():
            unit.tickets[number] = unit.tickets[number]._replace(waiting=False, reward=reward)
            unit.told.append({"of_experiment": unit.experiment, "of_number": number, "new_reward": reward})


@dataclass
class Expire(Operation[int]):
    """End the lease of tickets, or count those that are of age; ``until`` is as in ``Tell``."""

    tickets: list[int] = field(default_factory=list)
    until: int | None = None

    @property
    def size(self) -> int:
        """One row per ticket."""
        return len(self.tickets)

    def ticket_numbers(self) -> Sequence[int]:
        """The tickets."""
        return self.tickets

    def cost(self, book: Book) -> float:
        """That of its tickets, and of what they make ready."""
        return super().cost(book) + drawing.cost_of_ready(book, self.tickets)

    def act(self, unit: UnitOfWork) -> int:
        """Expire those that are still pending; returns how many."""
        rows = unit.tickets
        due = [number for number in self.tickets if number in rows and rows[number].waiting]
        if due and unit.book.drawn:
            drawing.silence(unit, due, _most_ready(self, unit.book))
        elif due and unit.book.report_after is not None:
            ageing.count_due(unit, due)
        elif due:
            arms = [rows[number].arm for number in due]
            unit.book.expire(arms)
            unit.log("expired", {"tickets": due, "arms": arms})
            for number in due:
                rows[number] = rows[number]._replace(waiting=False)
                unit.expired.append({"of_experiment": unit.experiment, "of_number": number})
        return len(due)


@dataclass
class Look(Operation[bool]):
    """Decide or end, if a cycle has ended or the deadline has passed; every other operation does so first, too.

    Then count tickets that earlier operations have left. In a replay ``until`` is where that ended; None if it did not
    happen. ``behind`` says that there are such tickets, by what is stored.
    """

    until: int | None = None
    behind: bool = False

    @property
    def cost_unread(self) -> float:
        """As much as it may do, if it has tickets to count."""
        return costs.MAX_OPERATION if self.behind else super().cost_unread

    def cost(self, book: Book) -> float:
        """That of the tickets."""
        return self._most(book) * book.seconds_to_count if book.behind else super().cost(book)

    def act(self, unit: UnitOfWork) -> bool:
        """Count on; returns whether there is still more."""
        book = unit.book
        if book.behind and self.replayed == (self.until is not None):
            drawing.go_on(unit, self._most(book) if self.until is None else self.until - book.summed)
        return book.behind

    def _most(self, book: Book) -> int:
        return costs.most_at_once(book.seconds_to_count, len(book.labels))


@dataclass
class Close(Operation[answers.Closed]):
    """End the experiment permanently. Closing it again changes nothing."""

    urgent = True

    def act(self, unit: UnitOfWork) -> answers.Closed:
        """Freeze the answer."""
        if not unit.book.closed:
            unit.book.close()
            assert unit.book.final is not None
            unit.log("closed", unit.book.final.to_dict())
        return {**unit.book.answer(), "head": None}


@dataclass
class Restore(Operation[None]):
    """Log that the experiment comes from a backup: what happened after the backup was made is lost.

    People may have seen arms that are lost, so the same ones must not be drawn again: it draws from another ``stream``.
    """

    stream: int = field(default_factory=drawn_seed)

    def act(self, unit: UnitOfWork) -> None:
        """From now on bare numbers are no tickets any more: they may be those of the lost history."""
        unit.restores += 1
        unit.book.identifier.procedure.restart_stream(self.stream)
        unit.log("restored", {"restores": unit.restores, "stream": self.stream})


def _most_ready(operation: Tell | Expire, book: Book) -> int | None:
    """How many tickets an operation may count in order; None for all that are ready, as the log of a replay has it."""
    if not operation.replayed:
        return operation.size + drawing.ready_at_once(book)
    return None if operation.until is None else operation.until - book.summed


def read_ticket(ticket: str) -> Claim | str:
    """What a client sends as a ticket; its name if it was given out after the end."""
    if ticket in (WINNER, LEADER):
        return ticket
    claim = tickets.read(ticket)
    if claim is None:
        raise no_such_ticket(ticket)
    return claim


def no_such_ticket(ticket: str) -> Refusal:
    """404: this ticket was never given out."""
    return Refusal(404, "No such ticket", f"This experiment has no ticket {ticket!r}", ticket=ticket)
