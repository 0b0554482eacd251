"""Reward families as integer codes: everything that differs from one family to the next, and nothing else.

A family is named by its mean. ``scale`` is the known variance of a Gaussian arm, or the one that is estimated or
guessed if it is unknown; the others do not read it. Every switch names every family and ends in nan, so that a family
that is only half added here gives rewards, evidence and shares that are nan, and never those of another family.

Gaussian arms of unknown variance have the divergence 1/2 log(1 + change^2 / scale): the least one over all variances of
the other law. Their ties are in ``kernels.unknown_variance`` and their martingales in ``kernels.stopping.unknown``.

Bounded rewards are in [0, 1] here: Python moves them there. No law with the same mean is more spread than that of 0 and
1, whose divergence, variance and martingales they therefore have; see docs/families.md.

Larger is better here. Where less is better, Python mirrors the rewards: a Gaussian arm is Gaussian again, and a reward
in [0, 1] stays there; counts and waiting times become negative, and have codes of their own.
"""

import math

from fairbai.kernels.jit import kernel
from fairbai.kernels.special import (
    bounded_quantile,
    log1p_minus,
    log_gamma,
    normal_quantile,
    poisson_quantile,
    relative_entropy,
    stirling,
    xlogy,
)

GAUSSIAN, BERNOULLI, POISSON, EXPONENTIAL, BOUNDED, GAUSSIAN_UNKNOWN = range(6)
MIRRORED_POISSON, MIRRORED_EXPONENTIAL = range(6, 8)

SCALES = 25  # powers of 4, up and down, over which the priors of Poisson and exponential arms are spread
MAX_TILT = 30.0  # standard deviations: a larger tilt is of no use, and would cost the digits of its probabilities


MIRRORED = {POISSON: MIRRORED_POISSON, EXPONENTIAL: MIRRORED_EXPONENTIAL}
UPRIGHT = {mirrored: code for code, mirrored in MIRRORED.items()}
"""For Python: the code of a family whose rewards are mirrored, and the reverse; all others are the same."""


@kernel
def domain(family):
    """The least and the largest mean (neither is attained)."""
    if family in (GAUSSIAN, GAUSSIAN_UNKNOWN):
        return -math.inf, math.inf
    if family in (BERNOULLI, BOUNDED):
        return 0.0, 1.0
    if family == POISSON:
        return 0.0, math.inf
    if family == EXPONENTIAL:
        return 0.0, math.inf
    if family in (MIRRORED_POISSON, MIRRORED_EXPONENTIAL):
        return -math.inf, 0.0
    return math.nan, math.nan


@kernel
def moved_inside(family, mean, count):
    """The mean of ``count`` rewards, moved inside the domain.

    The mean of a Bernoulli or Poisson arm can lie at the edge, where divergences are infinite; half a pseudo-count
    moves it inside. Gaussian and exponential rewards have their mean inside anyway.
    """
    edge = 0.5 / (count + 1.0)
    if family in (GAUSSIAN, GAUSSIAN_UNKNOWN):
        return mean
    if family in (BERNOULLI, BOUNDED):
        return min(max(mean, edge), 1.0 - edge)
    if family == POISSON:
        return max(mean, edge)
    if family == MIRRORED_POISSON:
        return min(mean, -edge)
    if family in (EXPONENTIAL, MIRRORED_EXPONENTIAL):
        return mean
    return math.nan


@kernel
def _between_waits(mean, other, change):
    """The divergence of two exponential laws."""
    if mean < 0.6 * other:
        return -change / other - math.log(mean / other)
    return -log1p_minus(-change / other)


@kernel
def divergence(family, mean, other, change, scale):
    """Kullback-Leibler divergence d(mean, other); ``change`` is other - mean, to all its digits."""
    if family == GAUSSIAN:
        return 0.5 * change * change / scale
    if family == GAUSSIAN_UNKNOWN:
        return 0.5 * math.log1p(change * change / scale)
    if family in (BERNOULLI, BOUNDED):
        rest = 1.0 - mean
        other_rest = rest - change if change < 0.5 * rest else 1.0 - other  # whichever loses fewer digits
        return relative_entropy(mean, other, change) + relative_entropy(rest, other_rest, -change)
    if family == POISSON:
        return relative_entropy(mean, other, change)
    if family == EXPONENTIAL:
        return _between_waits(mean, other, change)
    if family == MIRRORED_POISSON:
        return relative_entropy(-mean, -other, -change)
    if family == MIRRORED_EXPONENTIAL:
        return _between_waits(-mean, -other, -change)
    return math.nan


@kernel
def backwards(family, mean, middle, up):
    """The divergence d(middle, mean) for middle = mean + up."""
    if family in (BERNOULLI, BOUNDED):  # close to 1 it keeps the digits of 1 - middle
        rest = 1.0 - mean
        return relative_entropy(middle, mean, -up) + relative_entropy(rest - up, rest, up)
    return divergence(family, middle, mean, -up, 1.0)


@kernel
def variance(family, mean, scale):
    """Variance of one reward."""
    if family in (GAUSSIAN, GAUSSIAN_UNKNOWN):
        return scale
    if family in (BERNOULLI, BOUNDED):
        return mean * (1.0 - mean)
    if family == POISSON:
        return mean
    if family == MIRRORED_POISSON:
        return -mean
    if family in (EXPONENTIAL, MIRRORED_EXPONENTIAL):
        return mean * mean
    return math.nan


@kernel
def variance_slope(family, mean):
    """The derivative of ``variance`` by the mean."""
    if family == GAUSSIAN:
        return 0.0
    if family in (BERNOULLI, BOUNDED):
        return 1.0 - 2.0 * mean
    if family == POISSON:
        return 1.0
    if family == MIRRORED_POISSON:
        return -1.0
    if family in (EXPONENTIAL, MIRRORED_EXPONENTIAL):
        return 2.0 * mean
    return math.nan


@kernel
def draw(family, mean, spread, below, uniform):
    """The reward at a quantile.

    ``spread`` is the standard deviation of a Gaussian arm, and of a bounded arm that has a Beta law; it is negative for
    a bounded arm with rewards at the ends. For a Poisson arm it is P(X = mode), and ``below`` is P(X <= mode).
    """
    if family in (GAUSSIAN, GAUSSIAN_UNKNOWN):
        return mean + spread * normal_quantile(uniform)
    if family == BERNOULLI:
        return 1.0 if uniform < mean else 0.0
    if family == POISSON:
        return poisson_quantile(mean, spread, below, uniform)
    if family == MIRRORED_POISSON:
        return -poisson_quantile(-mean, spread, below, uniform)
    if family in (EXPONENTIAL, MIRRORED_EXPONENTIAL):
        return -mean * math.log(uniform)
    if family == BOUNDED:
        return bounded_quantile(mean, spread, uniform)
    return math.nan


@kernel
def parameter(family, mean):
    """The parameter in which the martingales of ``tilted`` are convex: the mean, or 1 / mean. It is its own inverse."""
    if family in (GAUSSIAN, GAUSSIAN_UNKNOWN):
        return mean
    if family in (BERNOULLI, BOUNDED):
        return mean
    if family in (POISSON, MIRRORED_POISSON):
        return mean
    if family in (EXPONENTIAL, MIRRORED_EXPONENTIAL):
        return 1.0 / mean
    return math.nan


@kernel
def parameter_domain(family):
    """The least and the largest ``parameter``; the martingales of ``tilted`` are finite at an end that is finite."""
    if family in (GAUSSIAN, GAUSSIAN_UNKNOWN):
        return -math.inf, math.inf
    if family in (BERNOULLI, BOUNDED):
        return 0.0, 1.0
    if family == POISSON:
        return 0.0, math.inf
    if family == EXPONENTIAL:
        return 0.0, math.inf
    if family in (MIRRORED_POISSON, MIRRORED_EXPONENTIAL):
        return -math.inf, 0.0
    return math.nan, math.nan


@kernel
def tilt_unit(family, kappa, size, scale):
    """The unit of tilts, 1 / sqrt(kappa v) with v the typical variance, and the largest tilt.

    ``size`` is the typical mean of Poisson arms. Tilts of exponential arms are those of the logarithm of the mean.
    """
    if family == GAUSSIAN:
        return 1.0 / (math.sqrt(kappa) * math.sqrt(scale)), MAX_TILT / math.sqrt(scale)
    typical = math.nan
    if family in (BERNOULLI, BOUNDED):
        typical = 0.25
    elif family in (POISSON, MIRRORED_POISSON):
        typical = size
    elif family in (EXPONENTIAL, MIRRORED_EXPONENTIAL):
        typical = 1.0
    return 1.0 / (math.sqrt(kappa) * math.sqrt(typical)), MAX_TILT


@kernel
def tilted(family, tilt, count, mean, scale, tie):
    """Log-likelihood ratio of ``count`` rewards: the tilt of an arm with parameter ``tie`` against that arm.

    Returns:
        The value, its slope and its curvature in ``tie``.
    """
    if family == GAUSSIAN:
        return count * (tilt * (mean - tie) - 0.5 * tilt * tilt * scale), -count * tilt, 0.0
    if family in (BERNOULLI, BOUNDED):
        change = math.expm1(tilt)
        relative = change / (1.0 + tie * change)
        value = count * (tilt * mean - math.log1p(tie * change))
        return value, -count * relative, count * relative * relative
    if family == POISSON:
        change = count * math.expm1(tilt)
        return count * tilt * mean - change * tie, -change, 0.0
    if family == EXPONENTIAL:
        change = count * mean * math.expm1(-tilt)
        return -count * tilt - change * tie, -change, 0.0
    if family == MIRRORED_POISSON:
        change = -count * math.expm1(-tilt)
        return count * tilt * mean - change * tie, -change, 0.0
    if family == MIRRORED_EXPONENTIAL:
        change = count * mean * math.expm1(tilt)
        return count * tilt - change * tie, -change, 0.0
    return math.nan, math.nan, math.nan


@kernel
def regret(family, kappa, size, count, total):
    """Log-likelihood of an arm at its own mean, less that of the mixture of its family over a fixed prior.

    The priors: a Gaussian with the weight of ``kappa`` rewards on a Gaussian mean (the rest of its regret is a factor,
    see ``kernels.stopping``); Beta(1/2, 1/2) on a Bernoulli mean; Gamma(1/2, rate) on a Poisson mean and Gamma(1, rate)
    on 1 / mean of an exponential arm, each with the rates of many scales of the mean. ``total`` is the sum of the
    rewards.
    """
    if family == GAUSSIAN:
        return 0.5 * math.log1p(count / kappa)
    if family in (BERNOULLI, BOUNDED):
        rest = count - total
        best = xlogy(total, total / count) + xlogy(rest, rest / count)
        mixed = log_gamma(total + 0.5) + log_gamma(rest + 0.5) - log_gamma(count + 1.0) - math.log(math.pi)
        return best - mixed
    if family == POISSON:
        return _regret_over_scales(family, size, count, total) - stirling(total, 0.5)
    if family == EXPONENTIAL:
        return _regret_over_scales(family, size, count, total) - stirling(count, 1.0)
    if family == MIRRORED_POISSON:
        return _regret_over_scales(POISSON, size, count, -total) - stirling(-total, 0.5)
    if family == MIRRORED_EXPONENTIAL:
        return _regret_over_scales(EXPONENTIAL, size, count, -total) - stirling(count, 1.0)
    return math.nan


@kernel
def _regret_over_scales(family, size, count, total):
    """The regret, but for what all scales have in common, of a mixture over the scales 4^j ``size`` of the mean.

    Scale j has the weight 2 / (3 (|j| + 1) (|j| + 2)): a scale that is far off costs a few nats.
    """
    least, mixed = math.inf, 0.0
    for j in range(-SCALES, SCALES + 1):
        scale, one = size * 4.0**j, math.nan
        if family == POISSON:
            rate = 0.5 / scale
            one = 0.5 * math.log(math.pi * (rate + count) / rate) + total * math.log1p(rate / count)
        elif family == EXPONENTIAL:
            one = math.log((scale + total) / scale) + count * math.log1p(scale / total)
        one += math.log(1.5 * (abs(j) + 1) * (abs(j) + 2))
        if one < least:  # a sum of exponentials, kept relative to the largest
            mixed = mixed * math.exp(one - least) + 1.0
            least = one
        else:
            mixed += math.exp(least - one)
    return least - math.log(mixed)
