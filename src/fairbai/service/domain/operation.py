"""What all operations on an experiment share: each happens completely, or is refused and changes nothing."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from fairbai.service.domain import costs
from fairbai.service.domain.book import Book
from fairbai.service.domain.refusals import Refusal, invalid
from fairbai.service.domain.unit import UnitOfWork
from fairbai.service.domain.wording import by_label

Result = TypeVar("Result")


@dataclass
class Operation(ABC, Generic[Result]):
    """A change to one experiment.

    Attributes:
        experiment: Its id.
        key: The client's name for the operation; repeating the operation under the same name changes nothing.
        actor: The id of the key of who asks for it; None for what the server does by itself.
        replayed: Whether it comes from the log, which says that it was valid: limits, which may have changed since,
            are for new ones.
    """

    urgent: ClassVar[bool] = False  # what people do to an experiment: it is let in however much of that is waiting

    experiment: str
    key: str | None = None
    actor: str | None = field(default=None, kw_only=True)
    replayed: bool = field(default=False, kw_only=True)

    @property
    def size(self) -> int:
        """Approximately how many rows it writes."""
        return 1

    def cost(self, book: Book) -> float:
        """Approximately how many seconds it takes; see ``costs``."""
        return self.size * book.seconds_to_count

    @property
    def cost_unread(self) -> float:
        """The same while the book is not in memory, without reading it."""
        return costs.TRIAL * self.size

    def ticket_numbers(self) -> Sequence[int]:
        """The numbers of the tickets whose rows it needs."""
        return ()

    def unit_hashes(self, book: Book) -> Sequence[str]:
        """The hashes of the units whose rows it needs, with those of their tickets."""
        return ()

    def key_names(self) -> list[str]:
        """The names of earlier operations that it needs to know of."""
        return [] if self.key is None else [self.key]

    def apply(self, unit: UnitOfWork) -> Result:
        """Change the book and collect the rows to write; returns the answer to send once they are committed."""
        unit.actor = None
        _keep_time(unit)
        was, unit.actor = unit.book.stage, self.actor
        result = self.act(unit)
        unit.milestones(was)
        if isinstance(result, dict) and "head" in result:  # which is only now that of all that was done
            result["head"] = unit.head
        return result

    @abstractmethod
    def act(self, unit: UnitOfWork) -> Result:
        """The operation itself; raises a Refusal before anything changes."""


def _keep_time(unit: UnitOfWork) -> None:
    """Do what was due between the last event and now, in order: ends of cycles, the deadline, and batches to count."""
    book = unit.book
    if book.cycles is None and book.deadline is None and not book.queue.waiting:
        return
    steps: list[tuple[float | None, Callable[[UnitOfWork], None]]] = [
        (book.decides_at, _end_cycle),
        (book.deadline, _meet_deadline),
        *((batch.at, _count_waiting) for batch in book.queue.waiting),
    ]
    due = [(at, step) for at, step in steps if at is not None and at <= unit.at]
    for _, step in sorted(due, key=lambda one: one[0]):
        step(unit)


def _count_waiting(unit: UnitOfWork) -> None:
    """Count the batches of a policy."""
    was, first = unit.book.stage, unit.book.count_waiting()
    unit.log("summed", {"policy": first.policy, "trials": first.trials})
    unit.milestones(was)


def _end_cycle(unit: UnitOfWork) -> None:
    """Decide with what was counted up to the end of the cycle, if there is one between the last event and now.

    Without cycles, after the minimum duration, this is so before every operation: then it is logged if it decides.
    """
    book = unit.book
    was = book.stage
    repeated = book.cycles is not None and book.cycles.length is None
    if book.decide_if_due(unit.at) and (book.decided or not repeated):
        unit.log("looked", {"decided": book.decided})
        unit.milestones(was)


def _meet_deadline(unit: UnitOfWork) -> None:
    """Give out no further tickets if the deadline has passed; it is in the log as ``ended``."""
    was = unit.book.stage
    if unit.book.end_if_due(unit.at):
        unit.milestones(was)


def over(book: Book, more: str = "") -> Refusal:
    """409: no more trials are given out; ``more`` is said of the arm at the end."""
    arm = book.recommendation
    if book.decided:
        how = "was closed" if book.closed else "has stopped"
        detail = f"The experiment {how}; its recommendation is {arm!r}"
    else:
        ahead = "no arm is ahead" if arm is None else f"{arm!r} is ahead"
        if book.final is not None:
            ahead = ahead.replace(" is ", " was ")
        left = "without a decision" if book.stopped else "and rewards are still out, which may decide it"
        detail = f"The experiment {_ended(book)} {left}; {ahead}"
    return Refusal(409, "The experiment is over", detail + more, **book.answer())


def paused(book: Book) -> Refusal:
    """409: no trials are given out for now; pages can show the arm that is ahead, or their own default."""
    arm = book.recommendation
    ahead = "no arm is ahead yet" if arm is None else f"{arm!r} is ahead"
    detail = f"The experiment is paused, and gives out no trials until it is resumed; {ahead}"
    return Refusal(409, "The experiment is paused", detail, paused=True, decided=book.decided, recommendation=arm)


def _ended(book: Book) -> str:
    if book.ended_by == "deadline":
        return f"ended at its deadline, {book.config['deadline']},"
    return f"ended after {book.config['max_trials']:,} trials" if book.ended_by == "max_trials" else "was closed"


def refused(error: ValueError, book: Book, before: int) -> Exception:
    """422 if nothing was counted; else the error itself, as it is ours and the book will be discarded."""
    counted = int(book.identifier.status().observed.sum())
    return invalid(by_label(str(error), book.labels)) if counted == book.observed == before else error


def key_used(name: str, before: str, now: str) -> Refusal:
    """409: a client's name for an operation was already used for another."""
    return Refusal(409, "Key already used", f"This {name} was already used for {before}, got {now}")
