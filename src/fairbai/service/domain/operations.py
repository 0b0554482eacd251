"""What clients do to an experiment. Each operation happens completely, or is refused and changes nothing."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Generic, TypeVar

from fairbai.service.domain import ageing, answers, drawing
from fairbai.service.domain.book import Book
from fairbai.service.domain.encoding import iso
from fairbai.service.domain.refusals import Refusal, invalid
from fairbai.service.domain.unit import Ticket, UnitOfWork

# The tickets given out after the stop, with the winner or, without a decision, with the arm that was ahead when the
# experiment was closed. Their rewards are not counted.
WINNER, LEADER = "winner", "leader"

Result = TypeVar("Result")


@dataclass
class Operation(ABC, Generic[Result]):
    """A change to one experiment.

    Attributes:
        experiment: Its id.
        key: The client's name for the operation; repeating the operation under the same name changes nothing.
    """

    experiment: str
    key: str | None = None

    @property
    def size(self) -> int:
        """Approximately how many rows it writes."""
        return 1

    def ticket_numbers(self) -> Sequence[int]:
        """The numbers of the tickets whose rows it needs."""
        return ()

    def key_names(self) -> list[str]:
        """The names of earlier operations that it needs to know of."""
        return [] if self.key is None else [self.key]

    def apply(self, unit: UnitOfWork) -> Result:
        """Change the book and collect the rows to write; returns the answer to send once they are committed."""
        _end_cycle(unit)
        was = unit.book.decided, unit.book.stopped
        result = self.act(unit)
        unit.milestones(*was)
        return result

    @abstractmethod
    def act(self, unit: UnitOfWork) -> Result:
        """The operation itself; raises a Refusal before anything changes."""


@dataclass
class Ask(Operation[answers.Asked]):
    """Tickets for the next n trials."""

    n: int = 1
    serve_winner: bool = False

    @property
    def size(self) -> int:
        """One row per ticket."""
        return self.n

    def act(self, unit: UnitOfWork) -> answers.Asked:
        """Assign arms."""
        book = unit.book
        if self.key is not None and (before := unit.keyed.get(self.key)):
            if (before["n"], before["serve_winner"]) != (self.n, self.serve_winner):
                raise _key_used("Idempotency-Key", _shown(**before), _shown(self.n, self.serve_winner))
            return self._answer(book, before)
        if book.stopped:
            return self._after_the_stop(book)
        first = book.tickets
        arms, chances = book.draw(self.n) if book.drawn else (book.ask(self.n), [])
        expires_at = None if book.lease is None else unit.at + book.lease
        data = {"first": first, "n": self.n, "serve_winner": self.serve_winner, "arms": arms, "expires_at": expires_at}
        if book.drawn:
            data["probabilities"] = chances
        unit.log("asked", data, self.key)
        for number, (arm, chance) in enumerate(zip_longest(arms, chances), first):
            ticket = unit.tickets[number] = Ticket(arm, expires_at, True, None, chance)
            unit.new_tickets.append({"experiment": unit.experiment, "number": number, **ticket._asdict()})
        return self._answer(book, data)

    def _answer(self, book: Book, asked: dict[str, Any]) -> answers.Asked:
        labels, expires_at = book.labels, asked["expires_at"]
        tickets: list[answers.Ticket] = [
            {"ticket": str(number), "arm": labels[arm]} for number, arm in enumerate(asked["arms"], asked["first"])
        ]
        for ticket, chance in zip(tickets, asked.get("probabilities", ()), strict=False):
            ticket["probability"] = chance
        return {"tickets": tickets, "expires_at": None if expires_at is None else iso(expires_at), "winner": False}

    def _after_the_stop(self, book: Book) -> answers.Asked:
        arm, ticket = book.recommendation, WINNER if book.decided else LEADER
        if self.serve_winner and arm is not None:
            tickets: list[answers.Ticket] = [{"ticket": ticket, "arm": arm}] * self.n
            return {"tickets": tickets, "expires_at": None, "winner": book.decided}
        raise stopped(book)


@dataclass
class Tell(Operation[answers.Told]):
    """Rewards of tickets, as pairs of ticket number (or name: after the stop) and reward. All or nothing."""

    rewards: list[tuple[int | str, float]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """One row per reward."""
        return len(self.rewards)

    def ticket_numbers(self) -> Sequence[int]:
        """The tickets that have a number."""
        return [ticket for ticket, _ in self.rewards if isinstance(ticket, int)]

    def act(self, unit: UnitOfWork) -> answers.Told:
        """Count the rewards that are new or, where they are counted at an age, keep them until then."""
        fresh = self._fresh(unit)
        late = [number for number in fresh if not unit.tickets[number].waiting or self._overdue(unit, number)]
        counted = len(fresh)
        if fresh and unit.book.report_after is not None:
            hold = drawing.tell if unit.book.drawn else ageing.hold
            hold(unit, fresh, late)
            counted -= len(late)
        elif fresh:
            self._count(unit, fresh, late)
        return {"accepted": len(self.rewards), "counted": counted, "late": len(late), **unit.book.answer()}

    def _fresh(self, unit: UnitOfWork) -> dict[int, float]:
        """The rewards that are not known yet."""
        fresh: dict[int, float] = {}
        for number, reward in self.rewards:
            if isinstance(number, str) and (unit.book.stopped or unit.book.decided):
                continue  # the reward of a visitor who came after the stop
            ticket = None if isinstance(number, str) else unit.tickets.get(number)
            if isinstance(number, str) or ticket is None:
                raise no_such_ticket(str(number))
            known = fresh.get(number) if ticket.reward is None else ticket.reward
            if known is None:
                fresh[number] = reward
            elif known != reward:
                detail = f"Ticket {number} already has reward {known!r}, got {reward!r}"
                raise Refusal(409, "Reward already known", detail, ticket=str(number), reward=known)
        return fresh

    def _overdue(self, unit: UnitOfWork, number: int) -> bool:
        expires_at = unit.tickets[number].expires_at
        return expires_at is not None and expires_at < unit.at

    def _count(self, unit: UnitOfWork, fresh: dict[int, float], late: list[int]) -> None:
        numbers, rewards = list(fresh), list(fresh.values())
        arms = [unit.tickets[number].arm for number in numbers]
        expired = [unit.tickets[number].arm for number in late if not unit.tickets[number].waiting]
        observed = unit.book.observed
        try:
            unit.book.tell(arms, rewards, expired, len(late))  # checks all rewards before it counts one
        except ValueError as error:
            raise _refused(error, unit.book, observed) from None
        data = {"tickets": numbers, "arms": arms, "rewards": rewards, "late": late, "expired": expired}
        unit.log("told", data)
        for number, reward in fresh.items():
            unit.tickets[number] = unit.tickets[number]._replace(waiting=False, reward=reward)
            unit.told.append({"of_experiment": unit.experiment, "of_number": number, "new_reward": reward})


@dataclass
class Batch(Operation[answers.Reported]):
    """Sufficient statistics of trials that were assigned elsewhere."""

    pulls: list[int] = field(default_factory=list)
    sums: list[float] = field(default_factory=list)
    squares: list[float] | None = None
    policy: int | None = None
    quota: bool = False

    def key_names(self) -> list[str]:
        """Its own name, and that of its policy."""
        return super().key_names() + ([] if self.policy is None else [policy_key(self.experiment, self.policy)])

    def act(self, unit: UnitOfWork) -> answers.Reported:
        """Count it once."""
        assert self.key is not None
        if unit.book.drawn:
            self._check_drawn(unit)
        elif unit.book.report_after is not None:
            raise invalid(
                "batches need an experiment without report_after: they do not say when their rewards are of age"
            )
        trials = sum(self.pulls)
        if before := unit.keyed.get(self.key):
            if before != self._data(unit):
                raise _key_used("batch name", "other pulls or sums", "these")
            return {"accepted": trials, "counted": 0, **unit.book.answer()}
        observed = unit.book.observed
        try:
            unit.book.tell_batch(self.pulls, self.sums, self.squares, self._probabilities(unit))  # all or nothing
        except ValueError as error:
            raise _refused(error, unit.book, observed) from None
        unit.log("batch", self._data(unit), self.key)
        return {"accepted": trials, "counted": trials, **unit.book.answer()}

    def _data(self, unit: UnitOfWork) -> dict[str, Any]:
        data: dict[str, Any] = {"pulls": self.pulls, "sums": self.sums}
        data |= {} if self.squares is None else {"squares": self.squares}
        return data | {"policy": self.policy} if unit.book.drawn else data

    def _check_drawn(self, unit: UnitOfWork) -> None:
        """Refuse what was not drawn at random from a policy that this experiment published."""
        if self.quota:
            raise invalid(
                "stopping rule design_based needs trials that were drawn at random: draw every arm with its "
                "probability in the policy, and not by quotas"
            )
        if self.policy is None:
            raise invalid(
                "policy must be given with the stopping rule design_based: the version of the policy that the batch "
                "was drawn from, as GET policy returned it"
            )
        if policy_key(self.experiment, self.policy) not in unit.keyed:
            raise invalid(f"policy must be a version that this experiment published, got {self.policy}")

    def _probabilities(self, unit: UnitOfWork) -> list[float] | None:
        if not unit.book.drawn or self.policy is None:
            return None
        found: list[float] = unit.keyed[policy_key(self.experiment, self.policy)]["probabilities"]
        return found


@dataclass
class Publish(Operation[answers.Policy]):
    """Probabilities from which others draw, under a version that their batches name."""

    trials: int = 1000
    seconds: float = 60.0

    def act(self, unit: UnitOfWork) -> answers.Policy:
        """Publish them, unless nothing has happened since the last version."""
        book = unit.book
        if book.stopped:
            raise stopped(book)
        if book.published is None or book.published["version"] != book.version:
            version = book.version + 1
            book.publish(version, self.trials)
            assert book.published is not None
            unit.log("published", book.published, policy_key(self.experiment, version))
        return published(book, self.seconds)


def published(book: Book, seconds: float) -> answers.Policy:
    """The last policy that was published."""
    assert book.published is not None
    return {
        "version": book.published["version"],
        "trials": book.published["trials"],
        "seconds": seconds,
        "probabilities": dict(zip(book.labels, book.published["probabilities"], strict=True)),
    }


def policy_key(experiment: str, version: int) -> str:
    """The name of a version of the policy in the log."""
    return f"{experiment}:policy:{version}"


@dataclass
class Expire(Operation[int]):
    """End the lease of tickets, or count those that are of age."""

    tickets: list[int] = field(default_factory=list)

    @property
    def size(self) -> int:
        """One row per ticket."""
        return len(self.tickets)

    def ticket_numbers(self) -> Sequence[int]:
        """The tickets."""
        return self.tickets

    def act(self, unit: UnitOfWork) -> int:
        """Expire those that are still pending; returns how many."""
        rows = unit.tickets
        due = [number for number in self.tickets if number in rows and rows[number].waiting]
        if due and unit.book.drawn:
            drawing.silence(unit, due)
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
class Look(Operation[None]):
    """Decide if a cycle has ended and the evidence is enough; every other operation does so first, too."""

    def act(self, unit: UnitOfWork) -> None:
        """Nothing more."""


def _end_cycle(unit: UnitOfWork) -> None:
    """Decide with what was counted up to the end of the cycle, if there is one between the last event and now.

    Without cycles, after the minimum duration, this is so before every operation: then it is logged if it decides.
    """
    book = unit.book
    was = book.decided, book.stopped
    repeated = book.cycles is not None and book.cycles.length is None
    if book.decide_if_due(unit.at) and (book.decided or not repeated):
        unit.log("looked", {"decided": book.decided})
        unit.milestones(*was)


@dataclass
class Close(Operation[answers.Answer]):
    """End the experiment permanently. Closing it again changes nothing."""

    def act(self, unit: UnitOfWork) -> answers.Answer:
        """Freeze the answer."""
        if unit.book.closed is None:
            unit.book.close()
            unit.log("closed", unit.book.closed or {})
        return unit.book.answer()


def stopped(book: Book) -> Refusal:
    """409: no more trials are given out."""
    arm = book.recommendation
    if book.decided:
        how = "was closed" if book.closed is not None else "has stopped"
        detail = f"The experiment {how}; its recommendation is {arm!r}"
    else:
        ahead = "no arm was ahead" if arm is None else f"{arm!r} was ahead"
        detail = f"The experiment was closed without a decision; {ahead}"
    return Refusal(409, "The experiment is over", detail, **book.answer())


def no_such_ticket(ticket: str) -> Refusal:
    """404: this ticket was never given out."""
    return Refusal(404, "No such ticket", f"This experiment has no ticket {ticket!r}", ticket=ticket)


def _refused(error: ValueError, book: Book, before: int) -> Exception:
    """422 if nothing was counted; else the error itself, as it is ours and the book will be discarded."""
    counted = int(book.identifier.status().observed.sum())
    return invalid(str(error)) if counted == book.observed == before else error


def _shown(n: int, serve_winner: bool, **_: Any) -> str:
    return f"an ask of n = {n}{' with serve_winner' if serve_winner else ''}"


def _key_used(name: str, before: str, now: str) -> Refusal:
    return Refusal(409, "Key already used", f"This {name} was already used for {before}, got {now}")
