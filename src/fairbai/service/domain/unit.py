"""What operations work on: one experiment in a transaction, and its tickets."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fairbai.service.domain import webhooks
from fairbai.service.domain.book import Book
from fairbai.service.domain.chain import hash_of, head_text
from fairbai.service.domain.encoding import decode, encode
from fairbai.service.domain.newcomers import StoredUnit
from fairbai.service.domain.record import Stage
from fairbai.service.domain.tally import Tally

ANNOUNCED: dict[str, webhooks.Kind] = {"decided": "decision", "stopped": "stop", "closed": "stop", "ended": "deadline"}


class Ticket(NamedTuple):
    """A trial that was assigned."""

    arm: int
    expires_at: float | None
    waiting: bool
    reward: float | None
    probability: float | None = None  # with which the arm was drawn, where the stop needs it
    token: int | None = None  # random, and part of what clients know it by
    voided: bool = False  # whether its reward was wrong


@dataclass
class UnitOfWork:
    """One experiment in a transaction: its book, the rows that the operations need, and the rows that they write.

    ``following`` reads some stored tickets from a number on; ``logged`` reads what the stored log says was counted
    without some tickets, up to an event, and goes on from a tally if it can.
    """

    experiment: str
    book: Book
    at: float
    tickets: dict[int, Ticket] = field(default_factory=dict)
    keyed: dict[str, dict[str, Any]] = field(default_factory=dict)
    units: dict[str, StoredUnit] = field(default_factory=dict)  # by their hashes
    new_events: list[dict[str, Any]] = field(default_factory=list)
    new_tickets: list[dict[str, Any]] = field(default_factory=list)
    new_points: list[dict[str, Any]] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    held: list[dict[str, Any]] = field(default_factory=list)
    expired: list[dict[str, Any]] = field(default_factory=list)
    voided: list[dict[str, Any]] = field(default_factory=list)
    new_units: list[dict[str, Any]] = field(default_factory=list)
    erased: list[dict[str, Any]] = field(default_factory=list)
    deliveries: list[dict[str, Any]] = field(default_factory=list)
    actor: str | None = None  # the id of the key of who asks for the present operation
    restores: int = 0  # how often the experiment was restored from a backup
    following: Callable[[int], dict[int, Ticket]] = lambda _: {}
    logged: Callable[[frozenset[int], int, Tally | None], Tally] | None = None

    def __post_init__(self) -> None:
        self.was_doubted = self._doubted = self.book.doubted

    def ticket(self, number: int) -> Ticket | None:
        """A ticket, read now if no operation needed it before; None if it was never given out."""
        if number not in self.tickets and number < self.book.tickets:
            self.tickets = self.following(number) | self.tickets
        return self.tickets.get(number)

    @property
    def head(self) -> str | None:
        """The head of the log, as clients see it."""
        return head_text(self.book.version, self.book.head)

    def recounted(self, without: frozenset[int], before: Tally | None) -> Tally:
        """What was counted so far, without these tickets and those that were void before; goes on from ``before``."""
        assert self.logged is not None
        events = [(event["sequence"], event["kind"], decode(event["data"])) for event in self.new_events]
        for _, kind, data in events:
            if kind == "voided":
                without |= frozenset(data["tickets"])
        tally = self.logged(without, self.book.version - len(events), before)
        for event in events:  # which are not stored yet
            tally.take(*event)
        return tally

    def create(self) -> None:
        """Log the creation of the experiment, from which its cycles are counted."""
        if self.book.cycles is not None:
            self.book.cycles.begin(self.at)
        self.log("created", self.book.config)

    def log(self, kind: str, data: dict[str, Any], key: str | None = None) -> None:
        """Append to the log."""
        book, text = self.book, encode(data)
        book.version += 1
        book.head = hash_of(book.head, self.experiment, book.version, self.at, kind, key, self.actor, text)
        self.new_events.append(
            {
                "experiment": self.experiment,
                "sequence": book.version,
                "at": self.at,
                "kind": kind,
                "key": key,
                "data": text,
                "actor": self.actor,
                "hash": book.head,
            }
        )
        if key is not None:
            self.keyed[key] = data
        if kind in ("decided", "stopped", "closed") or (kind == "ended" and data["by"] == "deadline"):
            self._announce(ANNOUNCED[kind])

    def erase(self, unit: str) -> None:
        """Delete the row of a unit, whether it is stored yet or not."""
        self.new_units = [row for row in self.new_units if row["hash"] != unit]
        self.erased.append({"of_experiment": self.experiment, "of_hash": unit})

    def _announce(self, kind: webhooks.Kind, **more: str) -> None:
        """Tell the webhook of the experiment, if it has one, once this is committed."""
        if "webhook" in self.book.config:
            said = {"version": self.book.version, **self.book.answer(), **more}
            self.deliveries.append(webhooks.delivery(self.experiment, self.book.config, kind, self.at, said))

    def milestones(self, was: Stage) -> None:
        """Log a decision, an end or a stop that an operation caused, and add a point to the history if one is due."""
        book = self.book
        if book.decided and not was.decided:
            book.end_epoch()
            status = book.identifier.status()
            self.log(
                "decided",
                {"recommendation": book.identifier.recommendation, "glr": status.glr, "threshold": status.threshold},
            )
        if was.assigns and book.cut_short is not None:
            self.log("ended", {"by": book.cut_short, "recommendation": book.identifier.recommendation})
        if book.stopped and not was.stopped and not book.closed:
            self._stop()
        if book.doubted and not self._doubted:
            self._doubted = True
            self._announce("doubt", doubt=book.doubts()[0]["reason"])
        if found := book.point(milestone=book.stage != was):
            trials, data = found
            if self.new_points and self.new_points[-1]["trials"] == trials:
                del self.new_points[-1]  # one point per number of trials: the latest
            point = {"experiment": self.experiment, "trials": trials, "at": self.at, "data": encode(data)}
            self.new_points.append(point)

    def _stop(self) -> None:
        """Log a stop; without a decision the best guess is now final."""
        book = self.book
        if book.decided:
            self.log("stopped", {"recommendation": book.identifier.recommendation})
            return
        book.finish("max_trials")  # if it is not the deadline
        assert book.final is not None
        self.log("stopped", book.final.to_dict())
