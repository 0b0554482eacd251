"""Pairs of arms: what it costs to make a worse arm tie with the best, and the weight it then needs.

Nothing here knows the families apart, except that Gaussian arms have closed forms; those of unknown variance are in
``kernels.unknown_variance``.
"""

import math

from fairbai.kernels.families import GAUSSIAN, GAUSSIAN_UNKNOWN, backwards, divergence, variance
from fairbai.kernels.jit import kernel
from fairbai.kernels.ties import pulled_back, stretched_transport
from fairbai.kernels.unknown_variance import unknown_transport


@kernel
def transport(family, best, rival, tie):
    """What it costs to make two arms tie: min over m of best_weight d(best_mean, m) + weight d(mean, s m + e).

    Where s is 1 and e is 0, the minimiser divides the gap in the inverse proportion of the weights (over the variances,
    for Gaussian arms).

    Args:
        family: Of both arms.
        best: The mean, scale and weight of the named arm.
        rival: Those of the other.
        tie: The s and the e of the rival: see ``kernels.ties``.

    Returns:
        The cost, and the ratio d(best_mean, m) / d(mean, s m + e) of what a trial of either arm adds to it.
    """
    best_mean, best_scale, best_weight = best
    mean, scale, weight = rival
    stretch, shift = tie
    target, scale = pulled_back(mean, stretch, shift), scale / (stretch * stretch)
    gap = best_mean - target
    if weight <= 0.0 or best_weight <= 0.0:
        return 0.0, 1.0
    relative = weight / best_weight if weight < 1e100 * best_weight else 1e100  # whose square is finite
    if gap <= 0.0:  # the limit of a vanishing gap, in which every family looks Gaussian
        return 0.0, relative * relative * (best_scale / scale)
    if family == GAUSSIAN:
        share = weight / (weight * best_scale + best_weight * scale)
        return (0.5 * gap * gap) * (best_weight * share), relative * relative * (best_scale / scale)
    if family == GAUSSIAN_UNKNOWN:
        return unknown_transport(best_mean, best_scale, best_weight, target, scale, weight)
    if stretch != 1.0 or shift != 0.0:
        return stretched_transport(family, best_mean, best_weight, mean, weight, stretch, shift)
    share = gap / (weight + best_weight)
    up, down = best_weight * share, weight * share
    own = divergence(family, mean, mean + up, up, scale)
    top = divergence(family, best_mean, mean + up, -down, best_scale)
    return weight * own + best_weight * top, top / own if own > 0.0 else 1e300


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
                excess = shortfall - (1.0 + psi) * backwards(family, mean, middle, up)
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
