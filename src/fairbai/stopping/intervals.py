"""Intervals for the means that hold at all times simultaneously, from the mixtures of ``TwoSidedMixture``.

For every family and every arm, the mixture of likelihoods over a fixed prior, divided by the likelihood at the true
mean, is a martingale that begins at 1. By Ville's inequality it passes 1/α at any time with probability at most α, so
with probability at least 1 - α the true mean μ satisfies at all times

    N d(mean, μ) <= log(1/α) + regret,

where the regret is the log-likelihood at the arm's own mean less that of the mixture. Gaussian arms: the prior is a
normal distribution around μ with the variance of κ fewer rewards, which gives the same in closed form. Where their
variance is unknown, μ must fit with some variance; docs/stopping.md has that martingale.
"""

import math

import numpy as np

from fairbai.kernels.stopping.intervals import interval_ends
from fairbai.kernels.stopping.unknown_parts import interval_reach
from fairbai.problems.checks import Array
from fairbai.problems.families import MAX_VALUE, Bernoulli, Bounded, Family, Gaussian
from fairbai.stopping.rules import Mixture, StoppingRule, TwoSidedMixture


def intervals(
    family: Family,
    observed: Array,
    means: Array,
    delta: float,
    rule: StoppingRule | None = None,
    variances: Array | None = None,
) -> Array:
    """The ends of an interval for the mean of each arm, one row per arm.

    With probability at least 1 - delta all of them contain the true means, at all times at once: delta is divided by
    the number of arms. An arm without rewards gets the whole domain of its family, and so do all arms of a family that
    the proof does not cover. The parameters are those of ``rule`` if it is a mixture, else those of ``Mixture()``.

    Args:
        family: The reward family.
        observed: The rewards of every arm.
        means: Their means.
        delta: The probability that any interval ever misses its mean.
        rule: Whose parameters to take; those of ``Mixture()`` by default.
        variances: The mean squared deviation of the rewards of every arm from their mean, if variances are unknown.

    Example:
        >>> from fairbai.problems.families import Bernoulli
        >>> intervals(Bernoulli(), np.array([100.0, 0.0]), np.array([0.5, 0.0]), delta=0.1).round(2).tolist()
        [[0.34, 0.66], [0.0, 1.0]]
    """
    if isinstance(family, Bounded):  # of all rewards in [0, 1], those at its ends are the most spread
        ends: Array = family.in_units(intervals(Bernoulli(), observed, family.out_of_units(means), delta, rule))
        return ends
    mixture = rule if isinstance(rule, (Mixture, TwoSidedMixture)) else Mixture()
    counts = observed if TwoSidedMixture().proved(family) else np.zeros(len(means))
    data = np.array([counts, means, family.scales(len(means))], dtype=np.float64)
    log_level = math.log(len(means)) - math.log(delta)
    if isinstance(family, Gaussian) and family.unknown_variance:
        spread = np.sqrt(np.zeros(len(means)) if variances is None else variances)
        return _of_unknown_variance(mixture.kappa, log_level, counts, means, spread)
    prior, domain = (mixture.kappa, mixture.prior_mean), (*_domain(family), family.high)
    found: Array = interval_ends(family.code, prior, log_level, data, domain)
    return found


def _of_unknown_variance(kappa: float, log_level: float, counts: Array, means: Array, spread: Array) -> Array:
    """The intervals of Gaussian arms, given the standard deviations of their rewards."""
    reach = np.array([interval_reach(kappa, count, log_level) for count in counts.tolist()])
    radius = np.full(means.size, math.inf)
    known = (spread > 0.0) & np.isfinite(reach)
    radius[known] = reach[known] * spread[known]
    return np.stack([means - radius, means + radius], axis=1)


def _domain(family: Family) -> tuple[float, float]:
    low = family.low if family.low > -MAX_VALUE else -math.inf
    return low, family.high if family.high < MAX_VALUE else math.inf
