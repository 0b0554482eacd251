"""Reward families as integer codes: divergence, variance, and the weight that an arm needs beside the best.

A family is named by its mean. ``scale`` is the known variance of a Gaussian arm; the others do not read it.
A second mean is given by its difference from the first, so that close means lose no digits.
"""

import math

from fairbai.kernels.jit import kernel

GAUSSIAN, BERNOULLI, POISSON, EXPONENTIAL = range(4)


@kernel
def log1p_minus(u):
    """log(1 + u) - u without cancellation, for u > -1.

    With t = u / (2 + u), log(1 + u) = 2 artanh(t) and 2 t - u = -u t. Thirteen terms: t is at most 1/4.
    """
    if u < -0.4 or u > 0.6:
        return math.log1p(u) - u
    t = u / (2.0 + u)
    square = t * t
    series = 0.0
    for odd in range(27, 1, -2):
        series = series * square + 1.0 / odd
    return 2.0 * t * square * series - u * t


@kernel
def _relative_entropy(mean, change):
    """The value of mean log(mean / (mean + change)) + change, and its limit for mean = 0."""
    if mean <= 0.0:
        return change
    return -mean * log1p_minus(change / mean)


@kernel
def divergence(family, mean, change, scale):
    """Kullback-Leibler divergence d(mean, mean + change)."""
    if family == GAUSSIAN:
        return 0.5 * change * change / scale
    if family == BERNOULLI:
        return _relative_entropy(mean, change) + _relative_entropy(1.0 - mean, -change)
    if family == POISSON:
        return _relative_entropy(mean, change)
    return -log1p_minus(-change / (mean + change))  # EXPONENTIAL


@kernel
def variance(family, mean, scale):
    """Variance of one reward."""
    if family == GAUSSIAN:
        return scale
    if family == BERNOULLI:
        return mean * (1.0 - mean)
    if family == POISSON:
        return mean
    return mean * mean  # EXPONENTIAL


@kernel
def transport_cost(family, best_mean, best_scale, best_weight, mean, scale, weight):
    """What it costs to make two arms tie: min over m of best_weight d(best_mean, m) + weight d(mean, m).

    NOTES part 1. The minimiser divides the gap in the inverse proportion of the weights (over the variances,
    for Gaussian arms).
    """
    pull, best_pull = weight, best_weight
    if family == GAUSSIAN:
        pull, best_pull = weight / scale, best_weight / best_scale
    if pull <= 0.0 or best_pull <= 0.0:
        return 0.0
    gap = best_mean - mean
    up = gap / (1.0 + pull / best_pull)
    down = gap / (1.0 + best_pull / pull)
    return weight * divergence(family, mean, up, scale) + best_weight * divergence(family, best_mean, -down, best_scale)


@kernel
def relative_weight(family, mean, gap, level, shortfall, guess):
    """The weight psi, relative to the best arm's, at which the pair's cost reaches ``level``.

    Solves g(psi) = d(best, m) + psi d(mean, m) = level with m = mean + gap / (1 + psi). ``shortfall`` is
    d(best, mean) - level; by the three-point identity d(best, mean) - g(psi) = (1 + psi) d(m, mean), which
    keeps all digits when psi is large. Newton on 1/g as a function of 1/psi, which is linear for Gaussian arms.

    Returns:
        psi, the ratio d(best, m) / d(mean, m) = level psi' - psi, and psi'' (derivatives by the level).
    """
    psi = guess
    ratio, bend = 0.0, 0.0
    for _ in range(60):
        up = gap / (1.0 + psi)
        middle = mean + up
        own = divergence(family, mean, up, 1.0)  # = g'(psi)
        if shortfall < level:
            excess = shortfall - (1.0 + psi) * divergence(family, middle, -up, 1.0)
            value = level + excess
            ratio = value / own - psi
        else:
            best = divergence(family, mean + gap, -psi * up, 1.0)
            value = best + psi * own
            excess = value - level
            ratio = best / own
        step = excess * value / (level * own * psi)
        if abs(step) < 1e-8:  # psi is exact for the level `value`; two Taylor terms carry it to `level`
            bend = up**3 / (variance(family, middle, 1.0) * gap * own**3)
            return psi - excess / own, ratio - level * bend * excess, bend
        psi = psi / (1.0 + step) if step > -0.75 else 4.0 * psi
    return psi, ratio, bend
