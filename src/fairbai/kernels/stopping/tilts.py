"""One-sided mixtures of tilts: how badly does the best hypothesis under which two arms tie fit their rewards?

The martingale of an arm is a sum over tilts of its reward distribution, upwards for the arm that looks best and
downwards for the other. Its logarithm is convex in the mean (in 1 / mean for exponential arms), so the tie that fits
best is found by Newton's method, and the slope there proves how close it is. See docs/stopping.md.
"""

import math

import numpy as np

from fairbai.kernels.families import (
    EXPONENTIAL,
    MIRRORED_EXPONENTIAL,
    parameter,
    parameter_domain,
    tilt_unit,
    tilted,
)
from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.state import MEAN, OBSERVED, SCALE
from fairbai.kernels.ties import hardest_mean, pulled_back

STEPS_OF_TILT = np.arange(-14.0, 9.0)
TILTS = 2.0 ** (0.5 * STEPS_OF_TILT)
"""In units of ``tilt_unit``."""

WEIGHTS = 1.0 / (2.0**STEPS_OF_TILT + 2.0 ** (-0.5 * STEPS_OF_TILT))
WEIGHTS /= WEIGHTS.sum()
INSIDE = 1.0 - 1e-9  # of the way to an end at which there is no parameter
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
def _at_tie(family, tie, own):
    """The parameter of the rival at a tie, its slope and its curvature in ``own``, that of the named arm."""
    stretch, shift = tie
    if family in (EXPONENTIAL, MIRRORED_EXPONENTIAL):
        rest = stretch + shift * own
        return own / rest, stretch / (rest * rest), -2.0 * shift * stretch / (rest * rest * rest)
    return stretch * own + shift, stretch, 0.0


@kernel
def _tie_domain(family, tie):
    """The least and the largest parameter of the named arm at which that of the rival is in its domain, too."""
    stretch, shift = tie
    first, last = parameter_domain(family)
    if family == MIRRORED_EXPONENTIAL:
        return (INSIDE * -stretch / shift if shift > 0.0 else first), last  # at the end itself the rival's mean is 0
    if family == EXPONENTIAL:
        return first, last
    return first, min(last, (last - shift) / stretch)


@kernel
def _both(config, state, pair, tie, own):
    """The sum over a pair (named arm, rival), which is convex in ``own``, the parameter of the named arm."""
    named, rival = pair
    up = one_sided(config, state, named, 1.0, own)
    one = _shared(config, up[0], up[1], up[2])
    at, slope, curve = _at_tie(config.family, tie, own)
    other = one_sided(config, state, rival, -1.0, at)
    bend = one[2] + slope * slope * other[2]
    if curve != 0.0:
        bend += curve * other[1]
    return one[0] + other[0], one[1] + slope * other[1], bend


@kernel
def _estimates(family, state, pair, tie):
    """The mean of the named arm if the rival's estimate is right, its own, and the tie of the likelihood ratio.

    They are parameters in which the sum is convex: the first two in order.
    """
    named, rival = pair
    high = state[MEAN, named]
    low = hardest_mean(family, high, state[MEAN, rival], tie[0], tie[1])
    weight = state[OBSERVED, rival] / (state[SCALE, rival] / (tie[0] * tie[0]))
    top_weight = state[OBSERVED, named] / state[SCALE, named]
    middle = low + (high - low) * (top_weight / (weight + top_weight))
    first, last = _tie_domain(family, tie)
    one, other = parameter(family, low), parameter(family, high)
    one, other = min(max(one, first), last), min(max(other, first), last)
    return min(one, other), max(one, other), min(max(parameter(family, middle), first), last)


@subroutine
def _bracket(config, state, pair, tie, estimates, slope):
    """Two parameters between which the sum has its minimum over the whole domain.

    The sum is convex and has this slope at the tie of the likelihood ratio. Downhill from there come the estimate on
    that side and, until the slope turns, points that are further and further away; where the domain ends first, its end
    is the minimum. Without a minimum (an arm with thousands of times the trials of the other), nothing is said.
    """
    low, high, behind = estimates
    first, last = _tie_domain(config.family, tie)
    ahead, step, end = (low, low - high, first) if slope > 0.0 else (high, high - low, last)
    for _ in range(MAX_DOUBLINGS):
        if _both(config, state, pair, tie, ahead)[1] * step >= 0.0:
            return min(behind, ahead), max(behind, ahead)
        if ahead == end:
            return end, end
        behind, ahead = ahead, min(max(ahead + step, first), last)
        step *= 2.0
    return -np.inf, np.inf


@subroutine
def tie_evidence(config, state, named, rival, tie, level):
    """Logarithm of the least product of the two martingales over all means with which ``rival`` is at the tie.

    Never above the truth but by rounding, and at most ``EXACT`` below; -inf where there is no minimum, or where the
    rival looks better than the tie. If the truth is below ``level``, the answer may be any number below ``level``.
    """
    if pulled_back(state[MEAN, rival], tie[0], tie[1]) > state[MEAN, named]:
        return -np.inf
    pair = (named, rival)
    low, high, own = _estimates(config.family, state, pair, tie)
    value, slope, bend = _both(config, state, pair, tie, own)
    if not value >= level:
        return value
    if low == high and tie[1] > 0.0:  # both estimates are at an end of the domain, and the ties elsewhere
        first, last = _tie_domain(config.family, tie)
        low, high = max(first, low - tie[1]), min(last, high + tie[1])
    left, right = -np.inf, np.inf
    if low < high:
        left, right = _bracket(config, state, pair, tie, (low, high, own), slope)
    if left == -np.inf:
        return -np.inf
    own = min(max(own, left), right)
    for number in range(MAX_ROUNDS):
        value, slope, bend = _both(config, state, pair, tie, own)
        most = slope * (own - left) if slope > 0.0 else slope * (own - right)  # above the minimum, as it is convex
        if value < level or most <= EXACT:
            break
        left, right = (left, own) if slope > 0.0 else (own, right)
        new = own - slope / bend if bend > 0.0 else left
        own = new if left < new < right and number % 4 < 3 else 0.5 * (left + right)
    return value - most
