"""Ties within a tolerance: arm a speaks against the named arm b if its mean v may be s u + e, where u is that of b.

The stretch s and the shift e are those of the rival; s = 1 and e = 0 is a tie of equal means, for which
``kernels.pairs`` has closed forms. For Gaussian arms every tie is one of equal means: with the mean of the rival pulled
back to (mean - e) / s, and its variance to variance / s^2. For the other families the hardest tie is found by Newton's
method. Its cost w_b d(b, u) + w_a d(a, v) has one minimum in u: it is convex in u, or in 1 / u for waiting times.
"""

import math

from fairbai.kernels.families import BERNOULLI, BOUNDED, divergence, domain, variance, variance_slope
from fairbai.kernels.jit import kernel, subroutine

MAX_ROUNDS = 200
CLOSE, PRECISE = 1e-9, 1e-13  # the last step of a cost, which is flat, and of a weight, over the way to the nearer end
NOTHING = 1e-100  # a weight that is as good as none, and not 0, which times infinity is nan
ROUNDING = 1e-12
LEAST = 1e-6  # of the way to the edge of the domain that is always kept


@kernel
def pulled_back(mean, stretch, shift):
    """The mean of the named arm at which the rival with this mean is at the tie."""
    return (mean - shift) / stretch


@kernel
def hardest_mean(family, best_mean, mean, stretch, shift):
    """The mean that the named arm has at a tie which leaves the rival's mean as it is, kept inside the domain."""
    low, target = domain(family)[0], pulled_back(mean, stretch, shift)
    outside = target < low or (target == low and shift > 0.0)
    return low + LEAST * (best_mean - low) if outside else target


@kernel
def _bracket(family, best_mean, mean, stretch, shift):
    """Means u of the named arm between which the hardest tie is: v from the rival's mean up, u from its own down."""
    first, last, high = hardest_mean(family, best_mean, mean, stretch, shift), best_mean, domain(family)[1]
    edge = pulled_back(high, stretch, shift)
    if last >= edge:
        last = edge - LEAST * (edge - first)
    return first, last


@kernel
def _slope(family, best_mean, best_weight, mean, weight, tie):
    """The slope of the cost in u, and its own slope, where ``tie`` is (u, s, v)."""
    u, stretch, v = tie
    noise, other = variance(family, u, 1.0), variance(family, v, 1.0)
    up, down = best_mean - u, v - mean
    value = weight * stretch * down / other - best_weight * up / noise
    bend = best_weight * (noise + up * variance_slope(family, u)) / (noise * noise)
    bend += weight * stretch * stretch * (other - down * variance_slope(family, v)) / (other * other)
    return value, bend


@kernel
def _guess(family, best, rival, tie, ends):
    """Where to look for the hardest tie first; for 0/1 rewards and a relative tolerance it is there already.

    With v = s u the slope vanishes where w_a (s u - mean) (1 - u) = w_b (best_mean - u) (1 - s u), which is quadratic.
    """
    (best_mean, best_weight), (mean, weight) = best, rival
    stretch, shift = tie
    first, last = ends
    if family in (BERNOULLI, BOUNDED) and shift == 0.0:
        square, rest = stretch * (weight + best_weight), weight * mean + best_weight * best_mean
        linear = weight * (stretch + mean) + best_weight * (1.0 + stretch * best_mean)
        u = 2.0 * rest / (linear + math.sqrt(max(0.0, linear * linear - 4.0 * square * rest)))
        if first < u < last:
            return u
    return first + (last - first) * (best_weight / (best_weight + weight))


@subroutine
def stretched_transport(family, best_mean, best_weight, mean, weight, stretch, shift):
    """``pairs.transport`` for such a tie of arms that are not Gaussian."""
    first, last = _bracket(family, best_mean, mean, stretch, shift)
    low, high, u, rounds = first, last, first, 0  # where both means are at an end of the domain, there is one tie only
    if first < last:
        u = _guess(family, (best_mean, best_weight), (mean, weight), (stretch, shift), (first, last))
        rounds = MAX_ROUNDS
    for _ in range(rounds):
        tie = (u, stretch, stretch * u + shift)
        value, bend = _slope(family, best_mean, best_weight, mean, weight, tie)
        low, high = (u, high) if value < 0.0 else (low, u)
        new = u - value / bend if bend > 0.0 else low
        if bend > 0.0 and abs(new - u) <= CLOSE * min(u - first, last - u):  # first: by rounding it may be outside
            u = min(max(new, low), high)
            break
        if not low < new < high:
            new = 0.5 * (low + high)
        if not low < new < high:
            break
        u = new
    v = min(stretch * u + shift, domain(family)[1])
    own = divergence(family, mean, v, v - mean, 1.0)
    best = divergence(family, best_mean, u, u - best_mean, 1.0)
    return weight * own + best_weight * best, best / own if own > 0.0 else 1e300


@kernel
def _weight_at(family, best_mean, mean, stretch, shift, u):
    """The relative weight of the rival at which the hardest tie has this u, its slope by u, and the two divergences."""
    v = stretch * u + shift
    noise, other = variance(family, u, 1.0), variance(family, v, 1.0)
    up, down = best_mean - u, v - mean
    psi = up * other / (noise * stretch * down)
    change = stretch * variance_slope(family, v) / other - variance_slope(family, u) / noise
    turn = psi * (change - 1.0 / up - stretch / down)
    return psi, turn, divergence(family, mean, v, down, 1.0), divergence(family, best_mean, u, -up, 1.0)


@kernel
def largest_level(family, best_mean, best_scale, mean, stretch, shift):
    """The level that no weight of the rival exceeds: the divergence to the mean at which it stays as it is.

    Where that mean is outside the domain, enough weight reaches every level; then it is one that takes a huge weight.
    """
    target, kept = pulled_back(mean, stretch, shift), hardest_mean(family, best_mean, mean, stretch, shift)
    if (stretch != 1.0 or shift != 0.0) and abs(best_mean - target) <= ROUNDING * abs(best_mean):
        return 0.0  # at the tie, but for the rounding of the tolerance
    if target == kept or kept >= best_mean:
        return divergence(family, best_mean, min(target, best_mean), min(target - best_mean, 0.0), best_scale)
    psi, _, own, best = _weight_at(family, best_mean, mean, stretch, shift, kept)
    return best + psi * own


@subroutine
def stretched_weight(family, best_mean, mean, stretch, shift, level):
    """``pairs.relative_weight`` for such a tie of arms that are not Gaussian.

    The level at which the hardest tie has a given u falls with u. Where the rival cannot be so good, because that is
    outside the domain, the named arm alone reaches some level, and the rival needs no weight below it.
    """
    first, last = _bracket(family, best_mean, mean, stretch, shift)
    if divergence(family, best_mean, last, last - best_mean, 1.0) >= level:
        return NOTHING, 0.0, 0.0
    low, high, psi, ratio, bend, u = first, last, math.inf, 0.0, 0.0, 0.5 * (first + last)
    for number in range(MAX_ROUNDS):
        psi, turn, own, best = _weight_at(family, best_mean, mean, stretch, shift, u)
        excess = best + psi * own - level
        ratio = best / own
        slope = own * turn  # of the level by u, as the cost does not depend on u to first order
        bend = -stretch * (stretch * u + shift - mean) / variance(family, stretch * u + shift, 1.0)
        bend /= own * own * slope
        low, high = (u, high) if excess > 0.0 else (low, u)
        new = u - excess / slope if slope < 0.0 else low
        if not low < new < high or (number % 4 == 3 and abs(excess) > 0.1 * level):
            new = 0.5 * (low + high)
        if abs(new - u) <= PRECISE * min(u - first, last - u) or not low < new < high:
            break
        u = new
    return psi, ratio, bend
