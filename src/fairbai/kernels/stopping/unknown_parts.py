"""The martingale of one Gaussian arm of unknown variance.

With n rewards of mean x and sum of squared deviations S, and p = (x - mean) / sigma, the process

    exp(n (lambda p - lambda^2 / 2)) (1 + t)^((n - 1) / 2) n^(-t / (2 (1 + t))) exp(-t S / (2 sigma^2))

is at most a supermartingale from 1 under the true mean and sigma, for every tilt lambda and every t >= 0: see
docs/stopping.md. Averaged over lambda > 0 and over t it is a product U(p) V(S / sigma^2). U speaks against the mean, V
against a sigma that is too large.

Distances and sigmas are in estimated standard deviations here, and rho is 1 / sigma: U is that of p = distance rho, and
V that of r = rho^2.
"""

import math
from collections import namedtuple

import numpy as np

from fairbai.kernels.jit import kernel

STEPS_OF_TILT = np.arange(-24.0, 9.0)
TILTS = 2.0 ** (0.5 * STEPS_OF_TILT)
"""In units of 1 / sqrt(kappa): as in ``kernels.stopping.tilts``, and smaller ones for long experiments."""

WEIGHTS = 1.0 / (2.0**STEPS_OF_TILT + 2.0 ** (-0.5 * STEPS_OF_TILT))
WEIGHTS /= WEIGHTS.sum()
MAX_TILT = 30.0

STEPS_OF_SHRINK = np.arange(-24.0, 11.0, 2.0)
SHRINKS = 1.5 * 2.0**STEPS_OF_SHRINK
"""The t, in units of 1 / kappa: the alternative is a variance of 1 / (1 + t) times that of the hypothesis."""

NO_SHRINK = 0.8  # the weight of t = 0
SHRINK_WEIGHTS = 1.0 / (2.0**STEPS_OF_SHRINK + 2.0 ** (-0.2 * STEPS_OF_SHRINK))
SHRINK_WEIGHTS *= (1.0 - NO_SHRINK) / SHRINK_WEIGHTS.sum()
LOG_SHRINK_WEIGHTS = np.log(SHRINK_WEIGHTS)
LOG_NO_SHRINK = math.log(NO_SHRINK)
MAX_SHRINK = 64.0

CONSTANT = 0.04  # the share of a one-sided martingale that stays 1, for ties beyond the mean of the arm itself
INTERVAL_STEPS = 50

Arm = namedtuple("Arm", "count gap part rest")
"""Of an arm: its rewards, the gap between the two means in its standard deviations, and the two numbers with which its
part in the evidence is log(part U V + rest)."""


@kernel
def against_mean(kappa, two_sided, count, p):
    """Log U, its slope and its curvature in p."""
    if two_sided:
        steep = count * count / (count + kappa)
        return 0.5 * steep * p * p - 0.5 * math.log1p(count / kappa), steep * p, steep
    unit = 1.0 / math.sqrt(kappa)
    top, total, slope, bend = -np.inf, 0.0, 0.0, 0.0
    for j in range(TILTS.size):
        tilt = min(unit * TILTS[j], MAX_TILT)
        value, share = count * tilt * (p - 0.5 * tilt), WEIGHTS[j]
        if value > top:  # a sum of exponentials, kept relative to the largest
            less, top = math.exp(top - value), value
            total, slope, bend = total * less, slope * less, bend * less
        else:
            share *= math.exp(value - top)
        total += share
        slope += share * tilt
        bend += share * tilt * tilt
    slope /= total
    return top + math.log(total), count * slope, count * count * (bend / total - slope * slope)


@kernel
def against_spread(kappa, count, r):
    """Log V, its slope and its curvature in r = rho^2."""
    unit, log_count = 1.0 / kappa, math.log(count)
    top, total, slope, bend = LOG_NO_SHRINK, 1.0, 0.0, 0.0
    for j in range(SHRINKS.size):
        t = min(unit * SHRINKS[j], MAX_SHRINK)
        gain = (count - 1.0) * math.log1p(t) - t / (1.0 + t) * log_count
        value = LOG_SHRINK_WEIGHTS[j] + 0.5 * (gain - count * t * r)
        share = 1.0
        if value > top:
            less, top = math.exp(top - value), value
            total, slope, bend = total * less, slope * less, bend * less
        else:
            share = math.exp(value - top)
        total += share
        slope -= share * t
        bend += share * t * t
    slope /= total
    return top + math.log(total), 0.5 * count * slope, 0.25 * count * count * (bend / total - slope * slope)


@kernel
def joined(arm, value):
    """log(part exp(value) + rest), and the share of the first term in the sum."""
    if arm.rest == 0.0:
        return math.log(arm.part) + value, 1.0
    own, rest = math.log(arm.part) + value, math.log(arm.rest)
    top = max(own, rest)
    total = math.exp(own - top) + math.exp(rest - top)
    return top + math.log(total), math.exp(own - top) / total


@kernel
def part_at(kappa, two_sided, arm, distance, log_rho):
    """The part of an arm, its share; and slope and curvature of log U V by the distance, and by log rho."""
    rho = math.exp(log_rho)
    p, r = distance * rho, rho * rho
    up, steep, bent = against_mean(kappa, two_sided, arm.count, p)
    down, fall, curved = against_spread(kappa, arm.count, r)
    value, share = joined(arm, up + down)
    bend = p * steep + p * p * bent + 4.0 * r * (fall + r * curved)
    return value, share, rho * steep, r * bent, p * steep + 2.0 * r * fall, bend


@kernel
def part_beyond(kappa, two_sided, arm):
    """The least that an arm's part can be for ties beyond its own mean."""
    if two_sided:
        return joined(arm, against_mean(kappa, two_sided, arm.count, 0.0)[0] + LOG_NO_SHRINK)[0]
    return math.log(arm.rest)


def interval_reach(kappa, count, log_level):
    """How far from its mean, in estimated standard deviations, the two-sided evidence of an arm reaches a level.

    Infinite if it never does. At a distance g it is least over r = rho^2 where the slope of log V is -steep g^2 / 2: a
    larger g has a smaller r there, so that r is found by bisection. For Python.
    """
    if count < 2.0:
        return math.inf
    least, _, steep = against_mean(kappa, True, count, 0.0)
    low, high = 0.0, 2.0
    for _ in range(INTERVAL_STEPS):
        middle = 0.5 * (low + high)
        value, slope, _ = against_spread(kappa, count, middle)
        low, high = (middle, high) if value - middle * slope >= log_level - least else (low, middle)
    return math.sqrt(-2.0 * against_spread(kappa, count, low)[1] / steep) if low > 0.0 else math.inf
