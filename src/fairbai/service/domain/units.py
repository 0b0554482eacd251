"""Units, such as visitors: each has one trial, keeps its arm and its ticket, and is stored as a hash (docs/units.md).

What a unit gets is decided in one place (``settled``), both before the writer is asked, for units that need no trial,
and by the writer, for those that came first at the same time.
"""

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from fairbai.service.domain import answers, tickets
from fairbai.service.domain.asking import LEADER, WINNER, give_out
from fairbai.service.domain.book import Book
from fairbai.service.domain.configs import is_drawn
from fairbai.service.domain.encoding import iso
from fairbai.service.domain.marks import Marks, mark_of
from fairbai.service.domain.newcomers import StoredUnit
from fairbai.service.domain.operation import Operation, over, paused
from fairbai.service.domain.unit import Ticket, UnitOfWork

HASH_BYTES = 16  # by which a unit is known: that two of ten million share one has probability 1e-25


class UnitName(NamedTuple):
    """What the service knows of a unit.

    Attributes:
        hash: By which it is stored.
        point: In [0, 1), of its own: it is enrolled if this is below the share of the traffic that is.
    """

    hash: str
    point: float

    @classmethod
    def of(cls, key: bytes, experiment: str, unit: str) -> "UnitName":
        """The hash of a unit, which is another in every experiment."""
        digest = blake2b(f"{experiment}:{unit}".encode(), key=key, digest_size=HASH_BYTES + 8).digest()
        point = int.from_bytes(digest[HASH_BYTES:]) >> 11  # 53 bits: what a float can hold
        return cls(urlsafe_b64encode(digest[:HASH_BYTES])[:22].decode(), point / 2.0**53)


class Terms(NamedTuple):
    """What never changes about an experiment, as far as units are concerned."""

    labels: Sequence[str]
    after_stop: str
    enrol: float
    drawn: bool

    @classmethod
    def of(cls, config: dict[str, Any]) -> "Terms":
        """Of its configuration."""
        return cls(config["arms"], config.get("after_stop", "stay"), config.get("enrol", 1.0), is_drawn(config))


class Standing(NamedTuple):
    """How far an experiment is, as far as units are concerned.

    Attributes:
        winner: The label of the winner, if it is decided and gives out no more tickets; else None.
        off: The numbers of the arms that are switched off.
    """

    winner: str | None
    off: Collection[int] = ()

    @classmethod
    def of(cls, book: Book) -> "Standing":
        """Of its book."""
        over = book.decided and not book.assigns
        return cls(book.recommendation if over else None, [one["arm"] for one in book.off])


def settled(
    terms: Terms, now: Standing, point: float, number: int = 0, ticket: Ticket | None = None
) -> answers.Assigned | None:
    """What a unit gets that needs no trial; None if it needs one.

    Args:
        terms: The experiment.
        now: How far it is.
        point: Of the unit.
        number: Of its ticket.
        ticket: Its ticket, if it came before.
    """
    if ticket is not None and ticket.arm in now.off and now.winner is None:
        return _without_ticket("switched_off")
    if now.winner is not None and (ticket is None or terms.after_stop == "move" or ticket.arm in now.off):
        return {**_without_ticket("winner"), "ticket": WINNER, "arm": now.winner}
    if ticket is not None:
        return assigned(terms, number, ticket, "returning")
    return None if point < terms.enrol else _without_ticket("not_enrolled")


def _without_ticket(reason: answers.UnitReason) -> answers.Assigned:
    return {"ticket": None, "arm": None, "expires_at": None, "reason": reason}


def assigned(terms: Terms, number: int, ticket: Ticket, reason: answers.UnitReason) -> answers.Assigned:
    """What a unit gets that has a ticket."""
    found: answers.Assigned = {
        "ticket": tickets.shown(number, ticket.token),
        "arm": terms.labels[ticket.arm],
        "expires_at": None if ticket.expires_at is None else iso(ticket.expires_at),
        "reason": reason,
    }
    return {**found, "probability": ticket.probability} if terms.drawn else found


@dataclass
class Visit(Operation[answers.Assigned]):
    """A unit comes, for the first time or again.

    Attributes:
        unit: What is known of it; None in a replay, where ``mark`` is its mark in the log.
        serve_winner: Whether a new unit gets the arm that is ahead if the experiment ended without a decision.
        seed: Of the token of its ticket.
        salt: Of its mark.
        missed: The version of the experiment at which a reader did not find it; None if nobody has looked.
    """

    unit: UnitName | None = None
    serve_winner: bool = False
    seed: str | None = field(default_factory=lambda: secrets.token_hex(16))
    salt: int = field(default_factory=lambda: secrets.randbits(63))
    mark: str = ""
    missed: int | None = None

    def cost(self, book: Book) -> float:
        """As a ticket; most units that get here are new."""
        return book.seconds_to_choose

    def unit_hashes(self, book: Book) -> Sequence[str]:
        """Its own, unless it is known whether it came since a reader missed it."""
        return [] if self.unit is None or book.newcomers.cover(self.missed) else [self.unit.hash]

    def act(self, unit: UnitOfWork) -> answers.Assigned:
        """Give it the arm that it has, or assign one."""
        book = unit.book
        terms = Terms.of(book.config)
        if self.unit is not None:
            known = unit.units.get(self.unit.hash) or book.newcomers.get(self.unit.hash)
            own = () if known is None else (known.number, unit.ticket(known.number))
            found = settled(terms, Standing.of(book), self.unit.point, *own)
            if found is not None:
                return found
            if not book.assigns:
                return self._leader(book)
            if book.paused:
                raise paused(book)
        return self._assign(unit, terms)

    def _leader(self, book: Book) -> answers.Assigned:
        """After an end without a decision."""
        if not self.serve_winner or book.recommendation is None:
            raise over(book)
        return {**_without_ticket("leader"), "ticket": LEADER, "arm": book.recommendation}

    def _assign(self, unit: UnitOfWork, terms: Terms) -> answers.Assigned:
        number = unit.book.tickets
        mark = self.mark if self.unit is None else mark_of(self.unit.hash, number, self.salt)
        _, given = give_out(unit, 1, self.serve_winner, self.seed, mark=mark)
        unit.book.marks.add(mark)
        if self.unit is not None:
            unit.units[self.unit.hash] = stored = StoredUnit(number, self.salt)
            unit.book.newcomers.add(self.unit.hash, stored, unit.book.version)
            unit.new_units.append(
                {"experiment": unit.experiment, "hash": self.unit.hash, "number": number, "salt": self.salt}
                | {"at": unit.at}
            )
        return assigned(terms, number, given[number], "assigned")


@dataclass
class Erase(Operation[int]):
    """Forget units: who they were, and not their trials, whose rewards are still counted.

    Attributes:
        units: Their hashes.
        marks: In a replay, how many they were, and the sum of their marks.
    """

    units: list[str] = field(default_factory=list)
    marks: Marks | None = None

    @property
    def size(self) -> int:
        """One row per unit."""
        return max(1, len(self.units))

    def unit_hashes(self, book: Book) -> Sequence[str]:
        """Theirs."""
        return self.units

    def act(self, unit: UnitOfWork) -> int:
        """Erase those that are stored; returns how many."""
        gone = Marks() if self.marks is None else self.marks
        for name in self.units:
            known = unit.units.pop(name, None)
            if known is not None:
                gone.add(mark_of(name, known.number, known.salt))
                unit.book.newcomers.forget(name)
                unit.erase(name)
        if gone.count:
            unit.book.marks.remove(gone)
            unit.log("erased", {"units": gone.count, "marks": gone.to_list()[1]})
        return gone.count
