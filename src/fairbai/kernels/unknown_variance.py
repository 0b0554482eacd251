"""Pairs of Gaussian arms of unknown variance: what a tie costs, and the weight that an arm then needs.

Moving an arm of variance s by x takes 1/2 log(1 + x^2 / s): of all normal laws around the new mean, the closest has the
variance s + x^2. A tie of two arms at the distance g moves one by x and the other by g - x; where the cost

    w 1/2 log(1 + x^2 / s) + v 1/2 log(1 + (g - x)^2 / s')

is least, x solves a cubic. It has one root between the means, or three, of which the middle one is a maximum. For every
tie, what it costs is linear in the weights: the cost is concave in them, and the need of an arm at a level,

    psi(level) = sup over ties of (level - d_best) / d_own,

is convex. Its derivatives come from the tie that attains it.
"""

import math

from fairbai.kernels.jit import kernel, subroutine

MAX_STEPS = 100
TINY = 1e-18  # a squared gap, in variances, below which the arms are as good as Gaussian ones of known variance
ROUNDING = 1e-15


@kernel
def _extremes(own, other, weight, other_weight):
    """Positive if the cubic has two extrema; it has the same ones seen from either arm."""
    lead, square = weight + other_weight, 2.0 * weight + other_weight
    return square * square - 3.0 * lead * (weight * (other + 1.0) + other_weight * own)


@kernel
def _least_root(own, other, weight, other_weight):
    """The least distance from an arm's own mean, in gaps, at which the cubic is 0; -1 if it is past a maximum of it.

    ``own`` and ``other`` are the variances in squared gaps. Up to its first extremum (or, without one, up to where it
    bends) the cubic rises and is concave, so that Newton's steps from 0 never pass the root.
    """
    lead, square = weight + other_weight, 2.0 * weight + other_weight
    slope = weight * (other + 1.0) + other_weight * own
    inside = _extremes(own, other, weight, other_weight)
    end = (square - (math.sqrt(inside) if inside > 0.0 else 0.0)) / (3.0 * lead)
    if ((lead * end - square) * end + slope) * end < other_weight * own:
        return -1.0
    root = 0.0
    for _ in range(MAX_STEPS):
        value = ((lead * root - square) * root + slope) * root - other_weight * own
        steep = (3.0 * lead * root - 2.0 * square) * root + slope
        if not (value < 0.0 < steep):
            break
        step = -value / steep
        root += step
        if step <= ROUNDING * root:
            break
    return root


@kernel
def _costs(own, other, near, far):
    """What moving each of two arms takes."""
    return 0.5 * math.log1p(near * near / own), 0.5 * math.log1p(far * far / other)


@subroutine
def cheapest_tie(own, other, weight, other_weight):
    """What moving each of two arms takes at their cheapest tie, and the distances from their means.

    Variances are in squared gaps, distances in gaps. Each end of the gap has a root of its own, so that no digits of a
    short distance are lost; where both are there, the cheaper tie counts.
    """
    total = weight + other_weight
    weight, other_weight = weight / total, other_weight / total
    near, far = _least_root(own, other, weight, other_weight), -1.0
    if near < 0.0 or _extremes(own, other, weight, other_weight) > 0.0:  # else there is no other root
        far = _least_root(other, own, other_weight, weight)
    if near < 0.0 and far < 0.0:  # by rounding only: where the cubic bends, it is 0
        near = (2.0 * weight + other_weight) / 3.0
    if near < 0.0:
        return (*_costs(own, other, 1.0 - far, far), 1.0 - far, far)
    one, two = _costs(own, other, near, 1.0 - near)
    if far >= 0.0:
        three, four = _costs(own, other, 1.0 - far, far)
        if weight * three + other_weight * four < weight * one + other_weight * two:
            return three, four, 1.0 - far, far
    return one, two, near, 1.0 - near


@kernel
def unknown_transport(best_mean, best_scale, best_weight, mean, scale, weight):
    """``pairs.transport`` for arms with a positive gap and positive weights."""
    gap = best_mean - mean
    square = gap * gap
    if square < TINY * min(scale, best_scale):
        relative = weight / best_weight if weight < 1e100 * best_weight else 1e100
        share = weight / (weight * best_scale + best_weight * scale)
        return (0.5 * square) * (best_weight * share), relative * relative * (best_scale / scale)
    best, own, _, _ = cheapest_tie(best_scale / square, scale / square, best_weight, weight)
    return weight * own + best_weight * best, best / own if own > 0.0 else 1e300


@subroutine
def unknown_relative_weight(best_mean, best_scale, mean, scale, level, shortfall, guess):
    """``pairs.relative_weight``: Newton's method on the cost of the cheapest tie, which is concave in psi.

    From the second step on it rises, and never passes the root. ``shortfall`` is d(best, mean) - level; with it
    level - d_best keeps its digits where psi is large and the tie close to the mean of the arm.
    """
    square = (best_mean - mean) * (best_mean - mean)
    top, own = best_scale / square, scale / square
    least = level / (0.5 * math.log1p(1.0 / own))  # the tie at the best arm's mean
    psi = max(guess, least)
    best_cost, cost, far, near = 0.0, 1.0, 0.0, 1.0
    for number in range(MAX_STEPS):
        best_cost, cost, far, near = cheapest_tie(top, own, 1.0, psi)
        room = level - best_cost
        if shortfall < level:
            room = 0.5 * math.log1p(near * (1.0 + far) / (top + far * far)) - shortfall
        cost = max(cost, 1e-300)
        new = max(room / cost, least)
        if abs(new - psi) <= ROUNDING * psi or (number > 0 and new <= psi):
            break
        psi = new
    steep = near / (own + near * near)
    bent = (top - far * far) / (top + far * far) ** 2 + psi * (own - near * near) / (own + near * near) ** 2
    bend = steep * steep / (max(bent, ROUNDING * steep * steep) * cost * cost * cost)
    return psi, best_cost / cost, bend
