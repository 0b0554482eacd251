"""Asking for trials: which arms, of which tickets, and what there is after the end."""

import secrets
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from fairbai.service.domain import answers, costs, tickets
from fairbai.service.domain.book import Book
from fairbai.service.domain.encoding import iso
from fairbai.service.domain.operation import Operation, key_used, over, paused
from fairbai.service.domain.refusals import Refusal, invalid
from fairbai.service.domain.unit import Ticket, UnitOfWork
from fairbai.service.domain.waiting import Waiting

# The tickets given out after the end, with the winner or, without a decision, with the arm that is ahead. Their rewards
# are not counted.
WINNER, LEADER = "winner", "leader"


@dataclass
class Ask(Operation[answers.Asked]):
    """Tickets for the next n trials.

    Their tokens come from ``seed``; in a log that an earlier version wrote it is None, and there are none. With
    ``available``, arms are chosen among these numbers.
    """

    n: int = 1
    serve_winner: bool = False
    seed: str | None = field(default_factory=lambda: secrets.token_hex(16))
    available: list[int] | None = None

    @property
    def size(self) -> int:
        """One row per ticket."""
        return self.n

    def cost(self, book: Book) -> float:
        """Some rules take longer to choose an arm than to count its reward."""
        return self.n * book.seconds_to_choose

    def act(self, unit: UnitOfWork) -> answers.Asked:
        """Assign arms."""
        book = unit.book
        if self.key is not None and (before := unit.keyed.get(self.key)):
            asked = (self.n, self.serve_winner, self.available)
            earlier = (before["n"], before["serve_winner"], before.get("available"))
            if earlier != asked:
                raise key_used("Idempotency-Key", _shown(book, *earlier), _shown(book, *asked))
            return self._answer(book, before, asked_tickets(unit.experiment, before))
        if self.available is not None:
            check_skips(book)
        if not book.assigns:
            return self._after_the_end(book)
        if book.paused:
            raise paused(book)
        if not self.replayed:
            costs.check_size(self.n, book.seconds_to_choose, len(book.labels))
        if self.available is not None and {one["arm"] for one in book.off}.issuperset(self.available):
            raise Refusal(409, "No arm is available", "All arms in available are switched off")
        data, given = give_out(unit, self.n, self.serve_winner, self.seed, self.key, available=self.available)
        return self._answer(book, data, given)

    def _answer(self, book: Book, asked: dict[str, Any], given: dict[int, Ticket]) -> answers.Asked:
        expires_at, found = asked["expires_at"], list[answers.Ticket]()
        for number, ticket in given.items():
            found.append({"ticket": tickets.shown(number, ticket.token), "arm": book.labels[ticket.arm]})
            if "probabilities" in asked:
                found[-1]["probability"] = ticket.probability
        until = None if expires_at is None else iso(expires_at)
        return {"tickets": found, "expires_at": until, "winner": False}

    def _after_the_end(self, book: Book) -> answers.Asked:
        arm, ticket = book.recommendation, WINNER if book.decided else LEADER
        if not self.serve_winner or arm is None:
            raise over(book)
        if self.available is not None and arm not in [book.labels[one] for one in self.available]:
            raise over(book, ", which is not in available")
        found: list[answers.Ticket] = [{"ticket": ticket, "arm": arm}] * self.n
        return {"tickets": found, "expires_at": None, "winner": book.decided}


def give_out(
    unit: UnitOfWork,
    n: int,
    serve_winner: bool,
    seed: str | None,
    key: str | None = None,
    mark: str | None = None,
    available: list[int] | None = None,
) -> tuple[dict[str, Any], dict[int, Ticket]]:
    """Assign the next n trials; returns what the log says of it, and the tickets."""
    book, first = unit.book, unit.book.tickets
    if book.queue.waiting and not book.decided:
        raise _batches_wait(book.queue.waiting[0])
    arms, chances = book.draw(n) if book.drawn else (book.ask(n, available), [])
    expires_at = None if book.lease is None else unit.at + book.lease
    data = {"first": first, "n": n, "serve_winner": serve_winner, "arms": arms, "expires_at": expires_at}
    data |= {"probabilities": chances} if book.drawn else {}
    data |= {} if seed is None else {"seed": seed}
    data |= {} if mark is None else {"unit": mark}
    data |= {} if available is None else {"available": available}
    unit.log("asked", data, key)
    given = asked_tickets(unit.experiment, data)
    unit.tickets |= given
    unit.new_tickets += [
        {"experiment": unit.experiment, "number": number, **ticket._asdict()} for number, ticket in given.items()
    ]
    return data, given


def _batches_wait(first: Waiting) -> Refusal:
    """409: a ticket would come between the batches of a policy and their count."""
    when = iso(first.at)
    detail = (
        f"Batches of policy {first.policy} are counted at {when}, and before that there are no tickets: use either "
        "tickets or batches in an experiment"
    )
    return Refusal(409, "Batches wait", detail, counted_at=when)


def check_skips(book: Book) -> None:
    """Refuse to choose among some arms only, where the rule needs every arm."""
    sampling = book.identifier.sampling
    if not sampling.skips_arms:
        raise invalid(
            f"available must be left out: the floors of {sampling.kind} are proved for arms that are always "
            "available. The sampling rule virtual_queues can skip arms"
        )


def asked_tickets(experiment: str, asked: dict[str, Any]) -> dict[int, Ticket]:
    """The tickets that an event "asked" gave out, by number."""
    seed = None if "seed" not in asked else bytes.fromhex(asked["seed"])
    found = {}
    for number, (arm, chance) in enumerate(zip_longest(asked["arms"], asked.get("probabilities", ())), asked["first"]):
        token = None if seed is None else tickets.token_of(seed, experiment, number, arm)
        found[number] = Ticket(arm, asked["expires_at"], True, None, chance, token)
    return found


def _shown(book: Book, n: int, serve_winner: bool, available: list[int] | None) -> str:
    among = "" if available is None else f" among {', '.join(repr(book.labels[arm]) for arm in available)}"
    return f"an ask of n = {n}{' with serve_winner' if serve_winner else ''}{among}"
