"""What the noise of rewards does to the duration of an experiment, whose trials without noise are known.

After t trials of a rule that follows the optimal shares the evidence about a rival is about (sqrt(t / T*_p) + e)^2,
with a normal error e. Its variance is 1/2 for one rival alone, and less for several that are as close: the rule gives
trials to the rival that is behind, so that their errors are averaged (with the weights of the dual of the allocation).

Where floors take those trials, nothing can be given to the rival that is behind, and the last of m rivals is waited
for: the least of m errors is about -sqrt(1/2) z(m) below none. docs/dashboard.md has the constants, and how well they
fit simulations.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import gammaincinv, ndtri

from fairbai.allocation import Allocation
from fairbai.problems import Instance
from fairbai.problems.checks import Array

TINY = 1e-4  # a relative difference of means
EARLY = 0.1  # characteristic times by which noise ends an experiment early
FREE, BOUND, SLACK = 0.08, 0.65, 0.07  # how much of the least error is waited for: by rules that are free, and not free


@dataclass(frozen=True)
class Noise:
    """What noise does to experiments with these shares.

    Attributes:
        time: The characteristic time of the shares.
        variance: That of the error e.
        rivals: How many rivals hold the experiment up: 1 if one does; it need not be whole.
        lag: By how much the square root of the evidence must be larger, because the last of them is waited for.
        early: Characteristic times by which noise ends an experiment early.
        least: Trials that every experiment takes.
    """

    time: float
    variance: float
    rivals: float
    lag: float
    early: float
    least: float

    @classmethod
    def of(cls, instance: Instance, fair: Allocation, follows: bool = True) -> Self:
        """The noise with the shares of a solution; for arms that share parameters as if there were one rival.

        Args:
            instance: The means, as they are guessed, with family and floors.
            fair: The solution.
            follows: Whether the rule gives trials to the rival that is behind; else its probabilities are fixed.
        """
        time, arms = fair.characteristic_time, instance.means.size
        if instance.family.structured:
            return cls(time, 0.5, 1.0, 0.0, 0.0, arms)
        means, best = instance.means, fair.best_arm
        others = np.flatnonzero(np.arange(arms) != best)
        waited = others[~fair.at_floor[others]]  # rivals at their floors have trials to spare
        rivals = waited if waited.size else others
        gaps = np.abs(means[best] - instance.question.pulled_back(means)[rivals])
        closest = int(rivals[np.argmin(gaps)])
        variances = np.array([_variance(instance, int(arm), best) for arm in rivals])
        own, shared = variances / fair.weights[rivals], _variance(instance, best, closest) / fair.weights[best]
        both = own + shared
        weights = variances * (both / (gaps * own)) ** 2  # inverse to what a trial of the rival adds to its evidence
        weights /= weights.sum()
        slopes = weights * gaps / both
        variance = float((slopes.sum() ** 2 * shared + (slopes**2 * own).sum()) * time) / 4.0
        count = float(1.0 / (weights**2).sum())
        slack = float(weights @ (1.0 - fair.floors[rivals] / fair.weights[rivals])) if follows else 0.0
        waits = FREE + BOUND / (1.0 + slack / SLACK)
        lag = waits * math.sqrt(0.5 * float(weights @ (own / both))) * _largest(count)
        return cls(time, variance, count, lag, EARLY, arms)

    def mean(self, trials: float) -> float:
        """The expected trials, of experiments that would take so many without noise."""
        if not math.isfinite(trials):
            return math.inf
        found = self.time * ((math.sqrt(trials / self.time) + self.lag) ** 2 - self.early)
        return max(found, self.least)

    def quantiles(self, mean: float, levels: Array | float) -> Array:
        """The quantiles of experiments with this mean: those of a gamma law with the variance 4 e^2 t T*_p."""
        shape = mean / (4.0 * self.variance * self.time)
        found: Array = np.maximum(mean * gammaincinv(shape, levels) / shape, self.least)
        return found


def _largest(count: float) -> float:
    """About the mean of the largest of so many independent normal numbers (Blom's formula)."""
    return max(0.0, float(ndtri((count - 0.375) / (count + 0.25))))


def _variance(instance: Instance, arm: int, other: int) -> float:
    """The variance of an arm's rewards, as it matters for telling it from another."""
    mean, target = float(instance.means[arm]), float(instance.means[other])
    if mean == target:  # as they may be with a tolerance
        target = mean * (1.0 + TINY) if mean else TINY
    return (mean - target) ** 2 / (2.0 * instance.family.divergence(mean, target, arm))
