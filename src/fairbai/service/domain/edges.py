"""Trials that others assign: batches of them, and the policies that they follow."""

import secrets
from dataclasses import dataclass, field
from typing import Any

from fairbai.service.domain import answers
from fairbai.service.domain.book import Book
from fairbai.service.domain.encoding import iso
from fairbai.service.domain.operation import Operation, key_used, over, paused, refused
from fairbai.service.domain.ranges import check_rewards
from fairbai.service.domain.refusals import Refusal, invalid
from fairbai.service.domain.unit import UnitOfWork
from fairbai.service.domain.waiting import least_epoch

SEED_BYTES = 16  # of the key of SipHash
MAX_NUMBERS = 4  # of trials that policies of an epoch are for, of rules that choose


@dataclass
class Batch(Operation[answers.Batched]):
    """Sufficient statistics of trials that were assigned elsewhere.

    With a stop that needs the probability of every draw, they count with all others of their policy: see ``waiting``.
    """

    pulls: list[int] = field(default_factory=list)
    sums: list[float] = field(default_factory=list)
    squares: list[float] | None = None
    policy: int | None = None
    quota: bool = False
    seed: str | None = None

    def key_names(self) -> list[str]:
        """Its own name, and that of its policy."""
        return super().key_names() + ([] if self.policy is None else [policy_key(self.experiment, self.policy)])

    def act(self, unit: UnitOfWork) -> answers.Batched:
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
            if {name: part for name, part in before.items() if name != "late"} != self._data(unit):
                raise key_used("batch name", "other pulls or sums", "these")
            return {"accepted": trials, "counted": 0, "counted_at": None, "head": None, **unit.book.answer()}
        if not self.replayed:
            check_rewards(unit.book, [total / n for n, total in zip(self.pulls, self.sums, strict=True) if n > 0])
        observed, policy = unit.book.observed, self._policy(unit)
        late = policy is not None and unit.book.queue.is_late(policy["version"], policy["counted_at"], unit.at)
        try:
            if policy is None:
                unit.book.tell_batch(self.pulls, self.sums, self.squares, self._probabilities(unit))  # all or nothing
            else:
                unit.book.hold_batch(policy, self.pulls, self.sums, self.squares, late)
        except ValueError as error:
            raise refused(error, unit.book, observed) from None
        unit.log("batch", self._data(unit) | ({"late": True} if late else {}), self.key)
        counted, at = 0 if late else trials, None if policy is None else iso(policy["counted_at"])
        return {"accepted": trials, "counted": counted, "counted_at": at, "head": None, **unit.book.answer()}

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
        version = unit.keyed.get(policy_key(self.experiment, self.policy))
        if version is None:
            raise invalid(f"policy must be a version that this experiment published, got {self.policy}")
        if self.seed is not None and self.seed != version.get("seed"):
            detail = f"Policy {self.policy} has another seed: the batch follows a policy of a history that was lost"
            raise Refusal(410, "Policy of a lost history", detail, policy=self.policy)

    def _probabilities(self, unit: UnitOfWork) -> list[float] | None:
        if not unit.book.drawn or self.policy is None:
            return None
        found: list[float] = unit.keyed[policy_key(self.experiment, self.policy)]["probabilities"]
        return found

    def _policy(self, unit: UnitOfWork) -> dict[str, Any] | None:
        """The policy with all of whose batches it is counted; None if it is counted at once."""
        book = unit.book
        if not book.drawn or self.policy is None or book.decided or book.final is not None:
            return None
        found = unit.keyed[policy_key(self.experiment, self.policy)]
        if "counted_at" not in found:
            return None  # an earlier version published it
        if found["tickets"] != book.tickets and not book.identifier.open_trials:  # which are refused by themselves
            raise invalid(
                f"policy must be one that was published after the last ticket, got {self.policy}: use either tickets "
                "or batches in an experiment"
            )
        return found


@dataclass
class Publish(Operation[answers.Policy]):
    """Probabilities by which others assign arms, under a version that their batches name.

    They stay the same for an epoch of so many seconds, whatever happens meanwhile, so that the nodes agree and a unit
    keeps its arm; where their batches wait, it is at least a part of that time. An epoch ends early with a decision, if
    an arm is switched off and, unless the rule draws its arms, after the trials that the policy is for. The hash seed
    is drawn now, so that nothing before could depend on it. A log that an earlier version wrote has neither seeds nor
    ends.
    """

    trials: int = 1000
    seconds: float = 60.0
    seed: str | None = field(default_factory=lambda: new_seed())
    until: float | None = None  # in a replay

    def act(self, unit: UnitOfWork) -> answers.Policy:
        """Publish them, unless there is a policy that is still valid."""
        book = unit.book
        found = None if self.replayed else valid_policy(book, self.trials, unit.at)
        if found is None:
            if not self.replayed and not book.identifier.sampling.draws:
                _check_number(book, unit.at)
            version = book.version + 1
            until = self.until if self.replayed else unit.at + epoch(book, self.seconds)
            found = book.publish(version, self.trials, self.seed, unit.at, until)
            unit.log("published", found, policy_key(self.experiment, version))
        return shown(book, found, self.seconds)


def epoch(book: Book, seconds: float) -> float:
    """How long a policy stays the same; longer than that where too many would have batches that wait."""
    return max(seconds, least_epoch(book.report_after or 0.0, len(book.labels))) if book.drawn else seconds


def valid_policy(book: Book, trials: int, at: float) -> dict[str, Any] | None:
    """The policy of the present epoch; a Refusal if nobody assigns arms now.

    The shares of rules that draw their arms do not depend on the number of trials, and all get the same policy.
    """
    if not book.assigns:
        raise over(book)
    if book.paused:
        raise paused(book)
    draws = book.identifier.sampling.draws
    return next((one for one in book.valid_policies(at) if draws or one["trials"] == trials), None)


def _check_number(book: Book, at: float) -> None:
    """Refuse a policy for yet another number of trials: readers could fill the log."""
    numbers = [policy["trials"] for policy in book.valid_policies(at)]
    if len(numbers) >= MAX_NUMBERS:
        listed = ", ".join(map(str, sorted(numbers)))
        detail = f"There are policies for {listed} trials, and at most {MAX_NUMBERS} at a time: ask for one of these"
        raise Refusal(409, "Too many policies", detail, trials=sorted(numbers))


def shown(book: Book, policy: dict[str, Any], seconds: float) -> answers.Policy:
    """A policy as nodes see it; only in a replay can it be without an end and a seed."""
    found: answers.Policy = {
        "version": policy["version"],
        "trials": policy["trials"],
        "seconds": epoch(book, seconds),
        "until": iso(policy.get("until", 0.0)),
        "arms": book.labels,
        "probabilities": dict(zip(book.labels, policy["probabilities"], strict=True)),
        "seed": policy.get("seed", ""),
    }
    if "counted_at" in policy:
        found["counted_at"] = iso(policy["counted_at"])
    return found


def new_seed() -> str:
    """The hash seed of a policy that is about to be published."""
    return secrets.token_hex(SEED_BYTES)


def policy_key(experiment: str, version: int) -> str:
    """The name of a version of the policy in the log."""
    return f"{experiment}:policy:{version}"
