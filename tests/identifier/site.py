"""A simulated site: rewards that are late, out of order, or never come."""

from __future__ import annotations

from typing import Any

import numpy as np

import fairbai as fb
from fairbai.kernels.sampling.rules import earns
from tests.cases import SAMPLING_RULES, easy_means, proved_families

FAMILIES = proved_families(1.0, [1.0, 0.5, 2.0])
RULES = [
    fb.sampling.LUCB(delta=1e-9) if isinstance(rule, fb.sampling.LUCB) else rule  # else it leaves arms behind that the
    for rule in SAMPLING_RULES  # threshold still asks for
]
ANSWERING = [rule for rule in RULES if rule.code is None or not earns(rule.code)]
"""The rules that look for the answer: those that earn may leave arms behind that have no floor, and take for ever."""


def name(value: Any) -> str:
    """A short name for the ids of tests."""
    return getattr(value, "kind", None) or str(value)


class Site:
    """Serves trials to visitors; whatever happens here is decided by its own seed, not by the experiment."""

    def __init__(self, ident: fb.Identifier, seed: int = 0, late: int = 0, lost: float = 0.0) -> None:
        self.ident, self.late, self.lost = ident, late, lost
        self.rng = np.random.default_rng(seed)
        self.means = easy_means(ident.family)
        self.arms: list[Any] = []
        self.pending: list[tuple[Any, float]] = []

    def visit(self) -> None:
        """One trial; and rewards, in any order, until no more than ``late`` are missing."""
        arm = self.ident.ask()
        self.arms.append(arm)
        reward = self.ident.family.sample(self.means, self.rng)[self.ident.arms.index(arm)]
        if self.rng.random() >= self.lost:
            self.pending.append((arm, float(reward)))
        while len(self.pending) > self.late:
            self.deliver()

    def deliver(self) -> None:
        """One reward of those that wait, any of them."""
        arm, reward = self.pending.pop(int(self.rng.integers(len(self.pending))))
        self.ident.tell(arm, reward)

    def run(self, most: int = 5000) -> Site:
        """Until the experiment stops."""
        while not self.ident.stopped:
            assert len(self.arms) < most, "the experiment takes too long"
            self.visit()
        return self
