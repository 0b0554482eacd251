"""The shares of fair top-two without noise: what docs/optimality.md proves about them, on the way to the optimum.

Rewards are the means themselves, with so small a variance that the logarithm in the challenger's cost does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import fairbai as fb
from fairbai.sampling import FairTopTwo
from tests.sampling.hand_made import experiment, owed, uniform

VARIANCE, MARGIN = 1e-3, 2.0
CASES: dict[str, tuple[list[float], list[float]]] = {  # means, the best first, and floors
    "smooth": ([1.0, 0.5, 0.3, 0.0], [0.05, 0.02, 0.1, 0.1]),
    "kink, three arms": ([1.0, 0.0, 0.0], [0.0, 0.0, 0.3]),
    "kink, five arms": ([1.44, 0.64, 0.1, 0.09, 0.09], [0.0, 0.25, 0.22, 0.11, 0.21]),
    "best arm at its floor": ([1.5, 0.6, 0.0], [0.6, 0.05, 0.2]),
    "no floors": ([1.0, 0.7, 0.5, 0.2], [0.0, 0.0, 0.0, 0.0]),
}


class Fluid:
    """The rule at fixed means, in plain NumPy; arm 0 is the best."""

    def __init__(self, means: list[float], floors: list[float], counts: np.ndarray, seed: int = 0) -> None:
        self.gaps = (means[0] - np.array(means[1:])) ** 2 / (2.0 * VARIANCE)
        self.floors, self.counts = np.array(floors), np.array(counts, float)
        self.rng = np.random.default_rng(seed)

    def next(self, uniform: float) -> int:
        counts, trials = self.counts, self.counts.sum()
        arm, uniform = owed(counts, self.floors, uniform)
        if arm is not None:
            return arm
        ratio = counts[1:] / counts[0]
        above = counts[1:] > self.floors[1:] * trials + MARGIN
        pull = (ratio**2)[above].sum()
        if pull > 0.0 and np.log(uniform / (1.0 - uniform)) < np.sqrt(trials) * np.log(pull):
            return 0
        return 1 + int((self.gaps * ratio / (1.0 + ratio) * counts[0] + np.log(counts[1:])).argmin())

    def look(self) -> tuple[float, float]:
        """G over the arms that are clearly above their floors, and the least cost per trial."""
        shares = self.counts / self.counts.sum()
        ratio = shares[1:] / shares[0]
        above = shares[1:] > self.floors[1:] + 2e-3
        return float((ratio**2)[above].sum()), float((self.gaps * ratio / (1.0 + ratio)).min() * shares[0])

    def run(self, trials: int) -> Iterator[tuple[float, float]]:
        look = self.counts.sum()
        while self.counts.sum() < trials:
            if self.counts.sum() >= look:
                yield self.look()
                look *= 1.02
            self.counts[self.next(self.rng.random())] += 1.0


def start(floors: list[float], rng: np.random.Generator, trials: int) -> np.ndarray:
    """Counts above the floors, anywhere."""
    spare = (1.0 - sum(floors)) * rng.dirichlet(np.full(len(floors), 0.5))
    return np.maximum(1.0, np.round(trials * (floors + spare)))


@pytest.mark.parametrize("name", CASES)
def test_the_rule_here_is_that_of_the_library(name: str) -> None:
    means, floors = CASES[name]
    family, rates, rng = fb.Gaussian(VARIANCE), fb.rates.Constant(floors), np.random.default_rng(1)
    for trials in (30, 300, 3_000, 3_001, 3_002, 3_003):
        counts = start(floors, rng, trials)
        ident = experiment(counts.astype(int).tolist(), means, FairTopTwo(), family=family, rates=rates)
        number = uniform(ident)
        assert ident.ask() == Fluid(means, floors, counts).next(number)


@pytest.mark.parametrize("name", CASES)
def test_shares_go_to_the_optimum(name: str) -> None:
    means, floors = CASES[name]
    found = fb.solve(fb.Instance(means, fb.Gaussian(VARIANCE), fb.rates.Constant(floors)))
    fluid = Fluid(means, floors, start(floors, np.random.default_rng(0), 1_500))
    looks = np.array(list(fluid.run(12_000)))
    first = int(np.argmax(looks[:, 0] <= 1.0))
    ratios, costs = looks[first:].T
    assert ratios.max() < 1.02  # step 1
    assert np.max(np.maximum.accumulate(costs) - costs) < 0.005 / found.characteristic_time  # step 2
    assert costs[-1] > 0.99 / found.characteristic_time
    assert np.abs(fluid.counts / fluid.counts.sum() - found.weights).max() < 0.01
