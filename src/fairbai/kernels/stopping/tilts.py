"""One-sided mixtures of tilts: how badly does the best hypothesis under which two arms tie fit their rewards?

The martingale of an arm is a sum over tilts of its reward distribution, upwards for the arm that looks best and
downwards for the other. Its logarithm is convex in the mean (in 1 / mean for exponential arms), so the tie that fits
best is found by Newton's method, and the slope there proves how close it is. See docs/stopping.md.
"""

import math

import numpy as np

from fairbai.kernels.families import parameter, parameter_domain, tilt_unit, tilted
from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.state import MEAN, OBSERVED, SCALE

STEPS_OF_TILT = np.arange(-14.0, 9.0)
TILTS = 2.0 ** (0.5 * STEPS_OF_TILT)
"""In units of ``tilt_unit``."""

WEIGHTS = 1.0 / (2.0**STEPS_OF_TILT + 2.0 ** (-0.5 * STEPS_OF_TILT))
WEIGHTS /= WEIGHTS.sum()
EXACT = 1e-6  # how far the value that is found may be below the minimum, in nats
MAX_ROUNDS = 100
MAX_DOUBLINGS = 100


@subroutine
def one_sided(config, state, arm, side, tie):
    """Logarithm of the martingale of an arm if its parameter is ``tie``, its slope and its curvature in ``tie``.

    Args:
        config: Of the family, ``kappa`` (the larger, the smaller the tilts) and the typical size of Poisson means.
        state: Of the experiment.
        arm: Whose martingale.
        side: 1 for tilts upwards, -1 for tilts downwards.
        tie: The mean to be tested, as a ``families.parameter``.
    """
    family, count, mean, scale = config.family, state[OBSERVED, arm], state[MEAN, arm], state[SCALE, arm]
    unit, most = tilt_unit(family, config.kappa, config.size, scale)
    top, total, slope, bend = -np.inf, 0.0, 0.0, 0.0
    for j in range(TILTS.size):
        value, steep, curved = tilted(family, side * min(unit * TILTS[j], most), count, mean, scale, tie)
        share = WEIGHTS[j]
        if value > top:  # a sum of exponentials, kept relative to the largest
            less, top = math.exp(top - value), value
            total, slope, bend = total * less, slope * less, bend * less
        else:
            share *= math.exp(value - top)
        total += share
        slope += share * steep
        bend += share * (steep * steep + curved)
    slope /= total
    return top + math.log(total), slope, bend / total - slope * slope


@kernel
def _shared(config, value, slope, bend):
    """Of log((1 - alpha) U + bonus) what was given of log U: a sum of exponentials again."""
    if config.bonus == 0.0:
        return value, slope, bend
    own, bonus = math.log1p(-config.alpha) + value, math.log(config.bonus)
    top = max(own, bonus)
    total = math.exp(own - top) + math.exp(bonus - top)
    share = math.exp(own - top) / total
    return top + math.log(total), share * slope, share * (bend + (1.0 - share) * slope * slope)


@kernel
def _both(config, state, best, arm, tie):
    """The sum over the pair, which is convex in ``tie``."""
    up = one_sided(config, state, best, 1.0, tie)
    one = _shared(config, up[0], up[1], up[2])
    other = one_sided(config, state, arm, -1.0, tie)
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


@kernel
def _estimates(family, state, best, arm):
    """The two means and the tie of the likelihood ratio, as parameters in which the sum is convex, in order."""
    low, high = state[MEAN, arm], state[MEAN, best]
    weight, top_weight = state[OBSERVED, arm] / state[SCALE, arm], state[OBSERVED, best] / state[SCALE, best]
    tie = low + (high - low) * (top_weight / (weight + top_weight))
    one, other = parameter(family, low), parameter(family, high)
    return min(one, other), max(one, other), parameter(family, tie)


@subroutine
def _bracket(config, state, best, arm, estimates, slope):
    """Two parameters between which the sum has its minimum over the whole domain.

    The sum is convex and has this slope at the tie of the likelihood ratio. Downhill from there come the estimate on
    that side and, until the slope turns, points that are further and further away; where the domain ends first, its end
    is the minimum. Without a minimum (an arm with thousands of times the trials of the other), nothing is said.
    """
    low, high, behind = estimates
    first, last = parameter_domain(config.family)
    ahead, step, end = (low, low - high, first) if slope > 0.0 else (high, high - low, last)
    for _ in range(MAX_DOUBLINGS):
        if _both(config, state, best, arm, ahead)[1] * step >= 0.0:
            return min(behind, ahead), max(behind, ahead)
        if ahead == end:
            return end, end
        behind, ahead = ahead, min(max(ahead + step, first), last)
        step *= 2.0
    return -np.inf, np.inf


@subroutine
def tie_evidence(config, state, best, arm, level):
    """Logarithm of the least product of the two martingales over all means with which ``arm`` is as good as ``best``.

    Never above the truth but by rounding, and at most ``EXACT`` below; -inf where there is no minimum, or no difference
    between the two means. If the truth is below ``level``, the answer may be any number below ``level``.
    """
    low, high, tie = _estimates(config.family, state, best, arm)
    value, slope, bend = _both(config, state, best, arm, tie)
    if not value >= level:
        return value
    left, right = -np.inf, np.inf
    if low < high:
        left, right = _bracket(config, state, best, arm, (low, high, tie), slope)
    if left == -np.inf:
        return -np.inf
    tie = min(max(tie, left), right)
    for number in range(MAX_ROUNDS):
        value, slope, bend = _both(config, state, best, arm, tie)
        most = slope * (tie - left) if slope > 0.0 else slope * (tie - right)  # above the minimum, as it is convex
        if value < level or most <= EXACT:
            break
        left, right = (left, tie) if slope > 0.0 else (tie, right)
        new = tie - slope / bend if bend > 0.0 else left
        tie = new if left < new < right and number % 4 < 3 else 0.5 * (left + right)
    return value - most
