"""How long single experiments take: quantiles of the trials until the stop.

They come from simulated experiments where that is quick: the kernels are compiled already, and enough runs fit into
about a second. Otherwise they are an approximation, and say so.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from fairbai.allocation import Allocation
from fairbai.problems import Instance, Linear, Poisson
from fairbai.problems.rates import Custom
from fairbai.simulation.scenario import MAX_POISSON_MEAN, make_scenario
from fairbai.stopping import StoppingRule

LEVELS = (0.1, 0.5, 0.9)
MIN_RUNS, MAX_RUNS = 100, 400
WORK = 1_500_000  # arms times trials, of all runs together: well below a second
GIVE_UP_AFTER = 5.0  # expected durations after which a run is given up
TINY = 1e-4  # a relative difference of means
SEED = 0  # the same plan has the same quantiles


@dataclass(frozen=True)
class Duration:
    """Trials until the stop, floors met.

    Attributes:
        p10: One experiment in ten takes no more.
        p50: Half of them take no more.
        p90: Nine in ten take no more.
        runs: The simulated experiments that this comes from; 0 where it is an approximation.
    """

    p10: float
    p50: float
    p90: float
    runs: int

    @property
    def simulated(self) -> bool:
        """Whether this comes from simulated experiments; else it is an approximation."""
        return self.runs > 0


def duration(
    instance: Instance, stopping: StoppingRule, delta: float, fair: Allocation, expected: float
) -> tuple[Duration, float]:
    """The quantiles for an experiment with the default sampling rule, and the mean, from the same experiments.

    Args:
        instance: The means, as they are guessed, with family and floors.
        stopping: The rule.
        delta: The error probability.
        fair: The solution of the instance.
        expected: The expected trials.
    """
    runs = min(MAX_RUNS, int(_work(instance) / (expected * instance.means.size)))
    if runs >= MIN_RUNS:
        scenario = make_scenario(instance, delta, None, stopping, True, SEED, math.ceil(GIVE_UP_AFTER * expected))
        found = scenario.simulate(0, runs) if scenario.is_compiled() else None
        if found is not None and float(found.censored.mean()) < 1.0 - LEVELS[-1]:
            low, middle, high = np.quantile(found.stopping_time[:, 0], LEVELS, method="inverted_cdf")
            return Duration(float(low), float(middle), float(high), runs), float(found.stopping_time.mean())
    return estimated(instance, stopping, delta, fair, expected)


def estimated(
    instance: Instance, _stopping: StoppingRule, _delta: float, fair: Allocation, expected: float
) -> tuple[Duration, float]:
    """The same without simulation."""
    return approximate(instance, fair, expected), expected


def _work(instance: Instance) -> float:
    """What may be simulated; nothing of rates in Python, which are slow, and less of large Poisson rewards."""
    if isinstance(instance.rates, Custom):
        return 0.0
    if isinstance(instance.family, Poisson):
        largest = float(instance.means.max())
        return 0.0 if largest > MAX_POISSON_MEAN else WORK / (1.0 + 0.1 * math.sqrt(largest))
    if isinstance(instance.family, Linear):  # a trial is a fit, and now and then a larger problem to solve
        return WORK / (10.0 + instance.family.dimension)
    return WORK


def approximate(instance: Instance, fair: Allocation, expected: float) -> Duration:
    """The quantiles if the observed means had normal errors, and the rule were checked once.

    The evidence after t trials is then about (sqrt(t / T*_p) + e)^2 with a normal error e, which is 1/2 in variance for
    one rival alone, and less for several: the rule gives trials to the rival that is behind, so that their errors are
    averaged (with the weights of the dual of the allocation). An error at its q-quantile ends the experiment at the
    q-quantile of its duration; the median is the expected duration.

    Args:
        instance: The means, as they are guessed, with family and floors.
        fair: The solution of the instance.
        expected: The expected trials.
    """
    low, middle, high = (trials_at(instance, fair, expected, float(ndtri(level))) for level in LEVELS)
    return Duration(low, middle, high, runs=0)


def trials_at(instance: Instance, fair: Allocation, expected: float, error: float) -> float:
    """The trials of an experiment whose error, in standard deviations, is this one; see ``approximate``."""
    spread = math.sqrt(_error_variance(instance, fair))
    time, root = fair.characteristic_time, math.sqrt(expected / fair.characteristic_time)
    return max(time * max(0.0, root + spread * error) ** 2, float(instance.means.size))


def _error_variance(instance: Instance, fair: Allocation) -> float:
    """The variance of e in ``approximate``; for arms that share parameters as if there were one rival."""
    if instance.family.structured:
        return 0.5
    means, best = instance.means, fair.best_arm
    rivals = np.flatnonzero(np.arange(means.size) != best)
    waited = rivals[~fair.at_floor[rivals]]  # rivals at their floors have trials to spare
    rivals = waited if waited.size else rivals
    targets = instance.question.pulled_back(means)  # a tie within a tolerance is taken for one of equal means
    gaps = np.abs(means[best] - targets[rivals])
    closest = int(rivals[np.argmin(gaps)])
    variances = np.array([_variance(instance, int(arm), best) for arm in rivals])
    own, shared = variances / fair.weights[rivals], _variance(instance, best, closest) / fair.weights[best]
    both = own + shared
    weights = variances * (both / (gaps * own)) ** 2  # inverse to what a trial of the rival adds to its evidence
    slopes = weights / weights.sum() * gaps / both
    return float((slopes.sum() ** 2 * shared + (slopes**2 * own).sum()) * fair.characteristic_time) / 4.0


def _variance(instance: Instance, arm: int, other: int) -> float:
    """The variance of an arm's rewards, as it matters for telling it from another."""
    mean, target = float(instance.means[arm]), float(instance.means[other])
    if mean == target:  # as they may be with a tolerance
        target = mean * (1.0 + TINY) if mean else TINY
    return (mean - target) ** 2 / (2.0 * instance.family.divergence(mean, target, arm))
