"""Intervals for the means that hold at all times simultaneously, from the mixtures of ``TwoSidedMixture``.

For every family and every arm, the mixture of likelihoods over a fixed prior, divided by the likelihood at the true
mean, is a martingale that begins at 1. By Ville's inequality it passes 1/α at any time with probability at most α, so
with probability at least 1 - α the true mean μ satisfies at all times

    N d(mean, μ) <= log(1/α) + regret,

where the regret is the log-likelihood at the arm's own mean less that of the mixture. Gaussian arms: the prior is a
normal distribution around μ with the variance of κ fewer rewards, which gives the same in closed form.
"""

import math

import numpy as np

from fairbai.kernels.families import divergence
from fairbai.kernels.stopping import scores as kernels
from fairbai.problems.checks import Array
from fairbai.problems.families import MAX_VALUE, Bernoulli, Bounded, Family, Gaussian
from fairbai.stopping.rules import Mixture, TwoSidedMixture

STEPS = 200  # of a bisection, which stops earlier when no number is left between its ends


def intervals(
    family: Family, observed: Array, means: Array, delta: float, rule: Mixture | TwoSidedMixture | None = None
) -> Array:
    """The ends of an interval for the mean of each arm, one row per arm.

    With probability at least 1 - delta all of them contain the true means, at all times at once: delta is divided by
    the number of arms. An arm without rewards gets the whole domain of its family, and so do all arms of a family that
    the proof does not cover.

    Example:
        >>> from fairbai.problems.families import Bernoulli
        >>> intervals(Bernoulli(), np.array([100.0, 0.0]), np.array([0.5, 0.0]), delta=0.1).round(2).tolist()
        [[0.34, 0.66], [0.0, 1.0]]
    """
    if isinstance(family, Bounded):  # of all rewards in [0, 1], those at its ends are the most spread
        ends: Array = family.in_units(intervals(Bernoulli(), observed, family.out_of_units(means), delta, rule))
        return ends
    mixture, covered = rule or Mixture(), TwoSidedMixture().proved(family)
    log_level = math.log(len(means)) - math.log(delta)
    result = np.empty((len(means), 2))
    for arm, (count, mean) in enumerate(zip(observed.tolist(), means.tolist(), strict=True)):
        if count == 0 or not covered:
            result[arm] = _domain(family)
        elif isinstance(family, Gaussian):
            variance = float(family.scales(len(means))[arm])
            result[arm] = _gaussian(mean, count, variance, mixture.kappa, log_level)
        else:
            two_sided = (kernels.TWO_SIDED_MIXTURE, mixture.kappa, mixture.prior_mean)
            room = log_level + float(kernels.penalty(family.code, *two_sided, count, count * mean))
            result[arm] = [_end(family, mean, room / count, end) for end in _domain(family)]
    return result


def _domain(family: Family) -> tuple[float, float]:
    low = family.low if family.low > -MAX_VALUE else -math.inf
    return low, family.high if family.high < MAX_VALUE else math.inf


def _gaussian(mean: float, count: float, variance: float, kappa: float, log_level: float) -> tuple[float, float]:
    room = log_level + 0.5 * math.log1p(count / kappa)
    radius = math.sqrt(2.0 * variance * (count + kappa) * room) / count
    return mean - radius, mean + radius


def _end(family: Family, mean: float, most: float, end: float) -> float:
    """The mean furthest towards ``end`` whose divergence is at most ``most``; never too close to ``mean``."""

    def within(other: float) -> bool:  # without the checks of ``Family.divergence``, which would take most of the time
        return bool(divergence(family.code, mean, other, other - mean, 1.0) <= most)

    inside = mean
    if math.isinf(end):
        outside = 2.0 * mean + 1.0
        while outside < family.high and within(outside):
            inside, outside = outside, 2.0 * outside
        outside = min(outside, family.high)
    else:
        outside = end
        if mean == end:  # else the divergence is infinite there
            return end
    for _ in range(STEPS):
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            break
        if within(middle):
            inside = middle
        else:
            outside = middle
    return outside
