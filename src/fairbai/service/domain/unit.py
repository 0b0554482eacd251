"""What operations work on: one experiment in a transaction, and its tickets."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fairbai.service.domain.book import Book
from fairbai.service.domain.encoding import encode


class Ticket(NamedTuple):
    """A trial that was assigned."""

    arm: int
    expires_at: float | None
    waiting: bool
    reward: float | None
    probability: float | None = None  # with which the arm was drawn, where the stop needs it


@dataclass
class UnitOfWork:
    """One experiment in a transaction: its book, the rows that the operations need, and the rows that they write.

    ``following`` reads some stored tickets from a number on.
    """

    experiment: str
    book: Book
    at: float
    tickets: dict[int, Ticket] = field(default_factory=dict)
    keyed: dict[str, dict[str, Any]] = field(default_factory=dict)
    new_events: list[dict[str, Any]] = field(default_factory=list)
    new_tickets: list[dict[str, Any]] = field(default_factory=list)
    new_points: list[dict[str, Any]] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    held: list[dict[str, Any]] = field(default_factory=list)
    expired: list[dict[str, Any]] = field(default_factory=list)
    following: Callable[[int], dict[int, Ticket]] = lambda _: {}

    def __post_init__(self) -> None:
        self.was_doubted = self.book.doubted

    def ticket(self, number: int) -> Ticket | None:
        """A ticket, read now if no operation needed it before; None if it was never given out."""
        if number not in self.tickets and number < self.book.tickets:
            self.tickets = self.following(number) | self.tickets
        return self.tickets.get(number)

    def create(self) -> None:
        """Log the creation of the experiment, from which its cycles are counted."""
        if self.book.cycles is not None:
            self.book.cycles.begin(self.at)
        self.log("created", self.book.config)

    def log(self, kind: str, data: dict[str, Any], key: str | None = None) -> None:
        """Append to the log."""
        self.book.version += 1
        self.new_events.append(
            {
                "experiment": self.experiment,
                "sequence": self.book.version,
                "at": self.at,
                "kind": kind,
                "key": key,
                "data": encode(data),
            }
        )
        if key is not None:
            self.keyed[key] = data

    def milestones(self, was_decided: bool, was_stopped: bool) -> None:
        """Log a decision or stop that an operation caused, and add a point to the history if one is due."""
        book = self.book
        if book.decided and not was_decided:
            status = book.identifier.status()
            self.log(
                "decided",
                {"recommendation": book.identifier.recommendation, "glr": status.glr, "threshold": status.threshold},
            )
        if book.stopped and not was_stopped and book.closed is None:
            self.log("stopped", {"recommendation": book.identifier.recommendation})
        if found := book.point(milestone=(book.decided, book.stopped) != (was_decided, was_stopped)):
            trials, data = found
            if self.new_points and self.new_points[-1]["trials"] == trials:
                del self.new_points[-1]  # one point per number of trials: the latest
            point = {"experiment": self.experiment, "trials": trials, "at": self.at, "data": encode(data)}
            self.new_points.append(point)
