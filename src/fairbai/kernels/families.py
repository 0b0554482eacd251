"""Reward families as integer codes: divergence, variance, and the weight that an arm needs beside the best.

A family is named by its mean. ``scale`` is the known variance of a Gaussian arm; the others do not read it.
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
def _relative_entropy(mean, other, change):
    """The value of mean log(mean / other) + other - mean, and its limit for mean = 0."""
    if mean <= 0.0:
        return change
    if other <= 0.0:
        return math.inf
    if other < 0.6 * mean:
        return mean * math.log(mean / other) + change
    return -mean * log1p_minus(change / mean)


@kernel
def divergence(family, mean, other, change, scale):
    """Kullback-Leibler divergence d(mean, other); ``change`` is other - mean, to all its digits."""
    if family == GAUSSIAN:
        return 0.5 * change * change / scale
    if family == BERNOULLI:
        rest = 1.0 - mean
        other_rest = rest - change if change < 0.5 * rest else 1.0 - other  # whichever loses fewer digits
        return _relative_entropy(mean, other, change) + _relative_entropy(rest, other_rest, -change)
    if family == POISSON:
        return _relative_entropy(mean, other, change)
    if mean < 0.6 * other:  # EXPONENTIAL
        return -change / other - math.log(mean / other)
    return -log1p_minus(-change / other)


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
def transport(family, best_mean, best_scale, best_weight, mean, scale, weight):
    """What it costs to make two arms tie: min over m of best_weight d(best_mean, m) + weight d(mean, m).

    The minimiser divides the gap in the inverse proportion of the weights (over the variances, for
    Gaussian arms).

    Returns:
        The cost, and the ratio d(best_mean, m) / d(mean, m) of what a trial of either arm adds to it.
    """
    gap = best_mean - mean
    if weight <= 0.0 or best_weight <= 0.0:
        return 0.0, 1.0
    relative = weight / best_weight if weight < 1e100 * best_weight else 1e100  # whose square is finite
    if gap <= 0.0:  # the limit of a vanishing gap, in which every family looks Gaussian
        return 0.0, relative * relative * (best_scale / scale)
    if family == GAUSSIAN:
        share = weight / (weight * best_scale + best_weight * scale)
        return (0.5 * gap * gap) * (best_weight * share), relative * relative * (best_scale / scale)
    share = gap / (weight + best_weight)
    up, down = best_weight * share, weight * share
    own = divergence(family, mean, mean + up, up, scale)
    best = divergence(family, best_mean, mean + up, -down, best_scale)
    return weight * own + best_weight * best, best / own if own > 0.0 else 1e300


@kernel
def _back(family, mean, middle, up):
    """d(middle, mean) for middle = mean + up; a Bernoulli middle close to 1 keeps the digits of 1 - middle."""
    if family == BERNOULLI:
        rest = 1.0 - mean
        return _relative_entropy(middle, mean, -up) + _relative_entropy(rest - up, rest, up)
    return divergence(family, middle, mean, -up, 1.0)


@kernel
def relative_weight(family, mean, best_mean, level, shortfall, guess):
    """The weight psi, relative to the best arm's, at which the pair's cost reaches ``level``.

    Solves g(psi) = d(best, m) + psi d(mean, m) = level with m = mean + gap / (1 + psi). ``shortfall`` is
    d(best, mean) - level; by the three-point identity d(best, mean) - g(psi) = (1 + psi) d(m, mean), which
    keeps all digits when psi is large. Newton on 1/g as a function of 1/psi, which is linear for Gaussian arms; where
    that leaves the bracket, or is slow, the geometric mean of its ends.

    Returns:
        psi, the ratio d(best, m) / d(mean, m) = level psi' - psi, and psi'' (derivatives by the level).
    """
    gap = best_mean - mean
    psi, low, high = guess, 0.0, math.inf
    for number in range(300):
        up = gap / (1.0 + psi)
        middle = mean + up
        own = divergence(family, mean, middle, up, 1.0)  # = g'(psi)
        new = 0.0
        if own * psi > 0.0:
            if shortfall < level:
                excess = shortfall - (1.0 + psi) * _back(family, mean, middle, up)
                value = level + excess
                ratio = value / own - psi
            else:
                best = divergence(family, best_mean, middle, -psi * up, 1.0)
                value = best + psi * own
                excess = value - level
                ratio = best / own
            step = excess * (value / level) / (own * psi)
            if (
                abs(step) < 1e-8 and abs(excess) < 0.1 * level
            ):  # psi is exact for the level `value`; two Taylor terms carry it to `level`
                third = up / own
                bend = third * third * third / (variance(family, middle, 1.0) * gap)
                return psi - excess / own, ratio - level * bend * excess, bend
            low, high = (psi, high) if excess < 0.0 else (low, psi)
            if value > 0.1 * level:  # else its digits are lost, and only its side is known
                new = psi / (1.0 + step) if step > -0.75 else 4.0 * psi
        else:
            high = psi  # so large that nothing is left of the gap
        if not low < new < high or number % 4 == 3:
            if low > 0.0 and high < math.inf:
                new = math.sqrt(low) * math.sqrt(high)
            elif not low < new < high:
                new = 1e3 * psi if high == math.inf else 1e-3 * psi
        psi = new
    return psi, 0.0, 0.0
