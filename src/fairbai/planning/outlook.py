"""How an experiment goes with one stopping rule."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from fairbai.allocation import Allocation, solve
from fairbai.planning.drawn import durations, guarantees_of, policy_of, without_noise
from fairbai.planning.duration import Duration, simulated
from fairbai.planning.expected import Forecast
from fairbai.planning.noise import Noise
from fairbai.problems import Instance
from fairbai.problems.checks import Array
from fairbai.stopping import DesignBased, StoppingRule

Estimate = Callable[[Instance, Allocation], float]
"""The expected trials of a question with the floors of an instance and its solution, before they are scaled."""


@dataclass(frozen=True)
class Outlook:
    """How an experiment is expected to go with one stopping rule.

    Attributes:
        stopping: The rule.
        trials: Expected trials.
        without_floors: Expected trials if there were no floors.
        shares: The shares of the arms that the default sampling rule aims at.
        duration: Quantiles of the trials.
        scale: The expected trials over the estimate in a closed form, by which estimates with other floors are scaled.
            It is 1 where nothing was simulated.
    """

    stopping: StoppingRule
    trials: float
    without_floors: float
    shares: Array
    duration: Duration
    scale: float

    @classmethod
    def of(
        cls,
        instance: Instance,
        stopping: StoppingRule,
        delta: float,
        solutions: tuple[Allocation, Allocation],
        simulate: bool = True,
    ) -> "Outlook":
        """The outlook of an instance; without simulations it is only estimated, however short its experiments are.

        Args:
            instance: The means, as they are guessed, with family and floors.
            stopping: The rule.
            delta: The error probability.
            solutions: With the floors, and without.
            simulate: Whether to simulate short experiments reward by reward.
        """
        fair, free = solutions
        estimate = estimate_of(instance, stopping, delta)
        expected, shares = estimate(instance, fair), fair.weights
        if isinstance(stopping, DesignBased):
            shares = solve(policy_of(instance, guarantees_of(instance, stopping))).weights
            found: Array | None = durations(instance, stopping, delta)
            runs = 0
        else:
            found = simulated(instance, stopping, delta, expected) if simulate else None
            runs = 0 if found is None else found.size
        if found is None:
            trials, spread = expected, Duration.approximate(Noise.of(instance, fair), expected)
        else:
            trials, spread = float(found.mean()), Duration.of(found, runs)
        scale = trials / expected if math.isfinite(expected) else 1.0
        unlimited = scale * estimate(instance.with_rates(None), free)
        return cls(stopping, trials, min(trials, unlimited), shares, spread, scale)


def estimate_of(instance: Instance, stopping: StoppingRule, delta: float) -> Estimate:
    """The estimate in a closed form, for any floors; infinite where floors leave the rule nothing to work with."""
    if isinstance(stopping, DesignBased):
        return lambda one, _: without_noise(one, stopping, delta)
    forecast = Forecast(instance, stopping, delta)
    return forecast.expected
