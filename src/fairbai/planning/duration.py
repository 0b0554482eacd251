"""How long single experiments take: quantiles of the trials until the stop."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from fairbai.planning.noise import Noise
from fairbai.problems import Bounded, Gaussian, Instance, Linear, Poisson
from fairbai.problems.checks import Array
from fairbai.problems.rates import Custom
from fairbai.simulation.scenario import MAX_POISSON_MEAN, make_scenario
from fairbai.stopping import StoppingRule

LEVELS = (0.1, 0.5, 0.9)
MIN_RUNS, MAX_RUNS = 500, 1000  # the mean of fewer is less exact than the estimate
WORK = 1_500_000  # arms times trials, of all runs together: well below a second
GIVE_UP_AFTER = 20.0  # expected durations after which a run is given up
SEED = 0  # the same plan has the same quantiles


@dataclass(frozen=True)
class Duration:
    """Trials until the stop, floors met.

    Attributes:
        p10: One experiment in ten takes no more.
        p50: Half of them take no more.
        p90: Nine in ten take no more.
        runs: The experiments, simulated reward by reward, that this comes from; 0 where it is an approximation.
    """

    p10: float
    p50: float
    p90: float
    runs: int

    @property
    def simulated(self) -> bool:
        """Whether this comes from experiments simulated reward by reward; else it is an approximation."""
        return self.runs > 0

    @classmethod
    def of(cls, trials: Array, runs: int) -> Self:
        """The quantiles of these experiments."""
        low, middle, high = np.quantile(trials, LEVELS, method="inverted_cdf")
        return cls(float(low), float(middle), float(high), runs)

    @classmethod
    def approximate(cls, noise: Noise, mean: float) -> Self:
        """The quantiles of experiments with this mean, without simulation."""
        low, middle, high = noise.quantiles(mean, np.array(LEVELS)).tolist()
        return cls(low, middle, high, 0)


def simulated(instance: Instance, stopping: StoppingRule, delta: float, expected: float) -> Array | None:
    """The durations of experiments with the default sampling rule, if that is quick; else None.

    It is quick if the kernels are compiled already, and enough runs fit into about a second.

    Args:
        instance: The means, as they are guessed, with family and floors.
        stopping: The rule.
        delta: The error probability.
        expected: The expected trials, about.
    """
    runs = min(MAX_RUNS, int(_work(instance) / (expected * instance.means.size)))
    if runs < MIN_RUNS:
        return None
    scenario = make_scenario(instance, delta, None, stopping, True, SEED, math.ceil(GIVE_UP_AFTER * expected))
    if not scenario.is_compiled():
        return None
    found = scenario.simulate(0, runs)
    given_up = float(found.censored.mean())
    return found.stopping_time[:, 0].astype(np.float64) if given_up < 1.0 - LEVELS[-1] else None


def _work(instance: Instance) -> float:
    """What may be simulated; nothing of rates in Python, which are slow, and less of other slow rewards."""
    if isinstance(instance.rates, Custom):
        return 0.0
    if isinstance(instance.family, Poisson):
        largest = float(instance.means.max())
        return 0.0 if largest > MAX_POISSON_MEAN else WORK / (1.0 + 0.1 * math.sqrt(largest))
    if isinstance(instance.family, Bounded) and instance.family.variance is not None:  # Beta laws
        return WORK / 10.0
    if isinstance(instance.family, Gaussian) and instance.family.unknown_variance:
        return WORK / 4.0
    if isinstance(instance.family, Linear):  # a trial is a fit, and now and then a larger problem to solve
        return WORK / (10.0 + instance.family.dimension)
    return WORK
