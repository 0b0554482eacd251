"""One-sided mixtures of tilts: how badly does the best hypothesis under which two arms tie fit their rewards?

The martingale of an arm is a sum over tilts of its reward distribution, upwards for the arm that looks best and
downwards for the other. Its logarithm is convex in the mean (in 1 / mean for exponential arms), so the tie that fits
best is found by Newton's method, and the slope there proves how close it is. See docs/stopping.md.
"""

import math
from collections import namedtuple

import numpy as np

from fairbai.kernels.families import divergence, parameter, tilt_unit, tilted
from fairbai.kernels.jit import entry, kernel
from fairbai.kernels.state import MEAN, OBSERVED, SCALE

STEPS_OF_TILT = np.arange(-14.0, 9.0)
TILTS = 2.0 ** (0.5 * STEPS_OF_TILT)
"""In units of ``tilt_unit``."""

WEIGHTS = 1.0 / (2.0**STEPS_OF_TILT + 2.0 ** (-0.5 * STEPS_OF_TILT))
WEIGHTS /= WEIGHTS.sum()
EXACT = 1e-6  # how far the value that is found may be below the minimum, in nats
MAX_ROUNDS = 100


Arm = namedtuple("Arm", "count mean scale unit most")
"""The rewards of an arm: their number and mean, the variance of a Gaussian arm, the unit of its tilts and the largest
tilt. It holds numbers only, so that it is cheap to pass."""


@kernel
def arm_of(config, state, arm):
    """The rewards of an arm of an experiment."""
    scale = state[SCALE, arm]
    unit, most = tilt_unit(config.family, config.kappa, config.size, scale)
    return Arm(state[OBSERVED, arm], state[MEAN, arm], scale, unit, most)


@kernel
def _best_tilt(family, arm, side, tie):
    """The largest value that a tilt of this side could have: that of the tilt to the mean itself."""
    other = parameter(family, tie)
    change = other - arm.mean
    return 0.0 if side * change >= 0.0 else arm.count * divergence(family, arm.mean, other, change, arm.scale)


@entry
def one_sided(family, arm, side, tie):
    """Logarithm of the martingale of an arm if its parameter is ``tie``, its slope and its curvature in ``tie``.

    Args:
        family: The code of the family.
        arm: An ``Arm``.
        side: 1 for tilts upwards, -1 for tilts downwards.
        tie: The mean to be tested, as a ``families.parameter``.
    """
    top = _best_tilt(family, arm, side, tie)
    if top == np.inf:  # at the edge of the domain, where no tilt comes near the best
        top = -np.inf
        for j in range(TILTS.size):
            tilt = side * min(arm.unit * TILTS[j], arm.most)
            top = max(top, tilted(family, tilt, arm.count, arm.mean, arm.scale, tie)[0])
    total, slope, bend = 0.0, 0.0, 0.0
    for j in range(TILTS.size):
        tilt = side * min(arm.unit * TILTS[j], arm.most)
        value, steep, curved = tilted(family, tilt, arm.count, arm.mean, arm.scale, tie)
        share = WEIGHTS[j] * math.exp(min(value - top, 0.0))
        total += share
        slope += share * steep
        bend += share * (steep * steep + curved)
    if total == 0.0:
        return -np.inf, 0.0, 0.0
    slope /= total
    return top + math.log(total), slope, bend / total - slope * slope


@kernel
def _both(family, best, other, tie):
    """The sum over the pair, which is convex in ``tie``."""
    up = one_sided(family, best, 1.0, tie)
    down = one_sided(family, other, -1.0, tie)
    return up[0] + down[0], up[1] + down[1], up[2] + down[2]


@kernel
def _bracket(family, state, best, arm):
    """The two means and the tie of the likelihood ratio, as parameters in which the sum is convex, in order."""
    low, high = state[MEAN, arm], state[MEAN, best]
    weight, top_weight = state[OBSERVED, arm] / state[SCALE, arm], state[OBSERVED, best] / state[SCALE, best]
    tie = low + (high - low) * (top_weight / (weight + top_weight))
    one, other = parameter(family, low), parameter(family, high)
    return min(one, other), max(one, other), parameter(family, tie)


@entry
def tie_evidence(config, state, best, arm, level):
    """Logarithm of the least product of the two martingales over all means with which ``arm`` is as good as ``best``.

    Never above the truth but by rounding, and at most ``EXACT`` below; -inf where no tie between the two means is the
    minimum. If the truth is below ``level``, the answer may be any number below ``level``.
    """
    family, first, second = config.family, arm_of(config, state, best), arm_of(config, state, arm)
    low, high, tie = _bracket(family, state, best, arm)
    width = high - low
    left, right = low, high
    for _ in range(MAX_ROUNDS):
        value, slope, bend = _both(family, first, second, tie)
        if value < level:
            return value
        if abs(slope) * width <= EXACT:
            inside = _both(family, first, second, low)[1] <= 0.0
            inside = inside and _both(family, first, second, high)[1] >= 0.0
            return value - abs(slope) * width if inside else -np.inf
        left, right = (left, tie) if slope > 0.0 else (tie, right)
        new = tie - slope / bend if bend > 0.0 else left
        tie = new if left < new < right else 0.5 * (left + right)
    return -np.inf
