"""Batches that wait until all of their policy count: in an order, and at a time, that nothing they hold decides.

With a stop that needs the probability of every draw, all batches of a policy count as one, when its time is over:
``report_after`` seconds after the end of its epoch, which is known when it is published. Policies count in their order.
So neither which batch comes first nor when one comes can depend on its arms or rewards; docs/edge.md says why that
matters. Until then the trials of a batch are assigned, and their rewards are held.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbai.identifier.batches import Counts

MIN_POLICIES, MAX_POLICIES = 10, 100  # that have batches which wait
MAX_ENTRIES = 1_000  # of arms in all of these


@dataclass
class Waiting:
    """The batches of a policy, summed, and when they count."""

    policy: int
    at: float
    probabilities: list[float]
    told: Counts

    @property
    def trials(self) -> int:
        """How many trials they have."""
        return int(self.told.pulls.sum())


def least_epoch(wait: float, arms: int) -> float:
    """How long an epoch is at least, so that few policies have batches that wait: they are written with every state."""
    return wait / max(MIN_POLICIES, min(MAX_POLICIES, MAX_ENTRIES // arms))


class Queue:
    """The policies that have batches to count, in their order.

    Attributes:
        waiting: What is to be counted.
        last: The time at which batches of the last policy that was published count; no later one counts before.
        counted: The last policy whose batches were counted; those of earlier ones come too late.
    """

    def __init__(self) -> None:
        self.waiting: list[Waiting] = []
        self.last, self.counted = 0.0, -1

    def publish(self, at: float) -> float:
        """When batches of a new policy count that need not count before ``at``."""
        self.last = max(self.last, at)
        return self.last

    def is_late(self, policy: int, at: float, now: float) -> bool:
        """Whether batches of a policy that count at ``at`` come too late."""
        return policy <= self.counted or now >= at

    def add(self, batch: Waiting) -> None:
        """Keep a batch."""
        for one in self.waiting:
            if one.policy == batch.policy:
                one.told = one.told.plus(batch.told)
                return
        self.waiting.append(batch)
        self.waiting.sort(key=lambda one: one.policy)

    def take(self) -> Waiting:
        """The next to be counted."""
        first = self.waiting.pop(0)
        self.counted = first.policy
        return first

    @property
    def next_at(self) -> float | None:
        """When the next are to be counted; None if none wait."""
        return self.waiting[0].at if self.waiting else None

    @property
    def trials(self) -> int:
        """How many trials wait."""
        return sum(one.trials for one in self.waiting)

    def to_list(self) -> list[Any]:
        """The JSON form."""
        waiting = [
            [one.policy, one.at, one.probabilities, *(part.tolist() for part in one.told)] for one in self.waiting
        ]
        return [self.last, self.counted, waiting]

    @classmethod
    def read(cls, form: list[Any] | None) -> "Queue":
        """What ``to_list`` wrote; an empty one from None."""
        found = cls()
        if form is not None:
            found.last, found.counted, waiting = form
            found.waiting = [
                Waiting(policy, at, probabilities, Counts(*(np.array(part, dtype=float) for part in told)))
                for policy, at, probabilities, *told in waiting
            ]
        return found
