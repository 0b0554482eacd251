"""One-sided mixtures of tilts: how badly does the best story in which two arms tie fit their rewards?

The martingale of an arm is a sum over tilts of its reward distribution, upwards for the arm that looks best and
downwards for the other. Its logarithm is convex in the mean (in 1 / mean for exponential arms), so the tie that fits
best is found by Newton's method, and the slope there proves how close it is. See docs/stopping.md.
"""

import math

import numpy as np

from fairbai.kernels.families import BERNOULLI, EXPONENTIAL, GAUSSIAN, POISSON, divergence
from fairbai.kernels.jit import entry, kernel
from fairbai.kernels.state import MEAN, OBSERVED, SCALE

STEPS_OF_TILT = np.arange(-14.0, 9.0)
TILTS = 2.0 ** (0.5 * STEPS_OF_TILT)
"""Relative to 1 / sqrt(kappa v), with v the typical variance."""

WEIGHTS = 1.0 / (2.0**STEPS_OF_TILT + 2.0 ** (-0.5 * STEPS_OF_TILT))
WEIGHTS /= WEIGHTS.sum()
MOST = 30.0  # standard deviations: a larger tilt is of no use, and would cost the digits of its probabilities
EXACT = 1e-6  # how far the value that is found may be below the minimum, in nats
ROUNDS = 100


@kernel
def _unit(family, kappa, size, scale):
    """What ``TILTS`` are multiples of, and the largest tilt."""
    if family == GAUSSIAN:
        return 1.0 / (math.sqrt(kappa) * math.sqrt(scale)), MOST / math.sqrt(scale)
    typical = 1.0  # EXPONENTIAL: of the logarithm of the mean
    if family == BERNOULLI:
        typical = 0.25
    elif family == POISSON:
        typical = size
    return 1.0 / (math.sqrt(kappa) * math.sqrt(typical)), MOST


@kernel
def _tilted(family, tilt, count, mean, scale, tie):
    """Log-likelihood ratio of the tilt of an arm with mean ``tie`` against that arm; slope and curvature in ``tie``."""
    if family == GAUSSIAN:
        return count * (tilt * (mean - tie) - 0.5 * tilt * tilt * scale), -count * tilt, 0.0
    if family == BERNOULLI:
        change = math.expm1(tilt)
        relative = change / (1.0 + tie * change)
        value = count * (tilt * mean - math.log1p(tie * change))
        return value, -count * relative, count * relative * relative
    if family == POISSON:
        change = count * math.expm1(tilt)
        return count * tilt * mean - change * tie, -change, 0.0
    change = count * mean * math.expm1(-tilt)  # EXPONENTIAL, for which ``tie`` is 1 / mean
    return -count * tilt - change * tie, -change, 0.0


@kernel
def _best_tilt(family, side, count, mean, scale, tie):
    """The largest value that a tilt of this side could have: that of the tilt to the mean itself."""
    other = 1.0 / tie if family == EXPONENTIAL else tie
    change = other - mean
    return 0.0 if side * change >= 0.0 else count * divergence(family, mean, other, change, scale)


@entry
def one_sided(family, kappa, size, side, count, mean, scale, tie):
    """Logarithm of the martingale of an arm if its mean is ``tie``, its slope and its curvature in ``tie``.

    Args:
        family: The code of the family.
        kappa: The larger, the smaller the tilts.
        size: The typical mean of Poisson arms.
        side: 1 for tilts upwards, -1 for tilts downwards.
        count: The number of rewards.
        mean: Their mean.
        scale: The variance of a Gaussian arm.
        tie: The mean to be tested; 1 / mean for exponential arms.
    """
    unit, most = _unit(family, kappa, size, scale)
    top = _best_tilt(family, side, count, mean, scale, tie)
    if top == np.inf:  # at the edge of the domain, where no tilt comes near the best
        top = -np.inf
        for j in range(TILTS.size):
            top = max(top, _tilted(family, side * min(unit * TILTS[j], most), count, mean, scale, tie)[0])
    total, slope, bend = 0.0, 0.0, 0.0
    for j in range(TILTS.size):
        value, steep, curved = _tilted(family, side * min(unit * TILTS[j], most), count, mean, scale, tie)
        share = WEIGHTS[j] * math.exp(min(value - top, 0.0))
        total += share
        slope += share * steep
        bend += share * (steep * steep + curved)
    if total == 0.0:
        return -np.inf, 0.0, 0.0
    slope /= total
    return top + math.log(total), slope, bend / total - slope * slope


@kernel
def _both(family, kappa, size, state, best, arm, tie):
    """The sum over the pair, which is convex in ``tie``."""
    count, mean, scale = state[OBSERVED, best], state[MEAN, best], state[SCALE, best]
    one = one_sided(family, kappa, size, 1.0, count, mean, scale, tie)
    count, mean, scale = state[OBSERVED, arm], state[MEAN, arm], state[SCALE, arm]
    other = one_sided(family, kappa, size, -1.0, count, mean, scale, tie)
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


@kernel
def _bracket(family, state, best, arm):
    """The two means and the tie of the likelihood ratio, as parameters in which the sum is convex, in order."""
    low, high = state[MEAN, arm], state[MEAN, best]
    weight, top_weight = state[OBSERVED, arm] / state[SCALE, arm], state[OBSERVED, best] / state[SCALE, best]
    tie = low + (high - low) * (top_weight / (weight + top_weight))
    if family == EXPONENTIAL:
        return 1.0 / high, 1.0 / low, 1.0 / tie
    return low, high, tie


@entry
def tie_evidence(family, kappa, size, state, best, arm, level):
    """Logarithm of the least product of the two martingales over all means with which ``arm`` is as good as ``best``.

    Never above the truth but by rounding, and at most ``EXACT`` below; -inf where no tie between the two means is the
    minimum. If the truth is below ``level``, the answer may be any number below ``level``.
    """
    low, high, tie = _bracket(family, state, best, arm)
    width = high - low
    left, right = low, high
    for _ in range(ROUNDS):
        value, slope, bend = _both(family, kappa, size, state, best, arm, tie)
        if value < level:
            return value
        if abs(slope) * width <= EXACT:
            inside = _both(family, kappa, size, state, best, arm, low)[1] <= 0.0
            inside = inside and _both(family, kappa, size, state, best, arm, high)[1] >= 0.0
            return value - abs(slope) * width if inside else -np.inf
        left, right = (left, tie) if slope > 0.0 else (tie, right)
        new = tie - slope / bend if bend > 0.0 else left
        tie = new if left < new < right else 0.5 * (left + right)
    return -np.inf
