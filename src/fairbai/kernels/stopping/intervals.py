"""Intervals for the means by two-sided mixtures: {m : N d(mean, m) <= log(1/alpha) + regret}."""

import math

import numpy as np

from fairbai.kernels.families import GAUSSIAN, divergence, regret
from fairbai.kernels.jit import entry, kernel

STEPS = 200  # of a bisection, which stops earlier when no number is left between its ends


@entry
def interval_ends(family, prior, log_level, data, domain):
    """The ends of an interval for the mean of each arm, one row per arm.

    Args:
        family: Its code.
        prior: The kappa and the typical mean of the mixtures.
        log_level: log(1/alpha).
        data: Rows of counts, means and variances.
        domain: The least and the largest mean, which may be infinite, and the largest number that is one.
    """
    kappa, size = prior
    ends = np.empty((data.shape[1], 2))
    for a in range(data.shape[1]):
        count, mean, scale = data[0, a], data[1, a], data[2, a]
        if count == 0.0:
            ends[a, 0], ends[a, 1] = domain[0], domain[1]
        elif family == GAUSSIAN:
            room = log_level + regret(family, kappa, size, count, count * mean)
            radius = math.sqrt(2.0 * scale * (count + kappa) * room) / count
            ends[a, 0], ends[a, 1] = mean - radius, mean + radius
        else:
            most = (log_level + regret(family, kappa, size, count, count * mean)) / count
            ends[a, 0] = _end(family, mean, most, domain[0], domain[2])
            ends[a, 1] = _end(family, mean, most, domain[1], domain[2])
    return ends


@kernel
def _within(family, mean, other, most):
    return divergence(family, mean, other, other - mean, 1.0) <= most


@kernel
def _end(family, mean, most, end, largest):
    """The mean furthest towards ``end`` whose divergence is at most ``most``; never too close to ``mean``."""
    inside, outside = mean, end
    if math.isinf(end):
        outside = 2.0 * mean + 1.0
        while outside < largest and _within(family, mean, outside, most):
            inside, outside = outside, 2.0 * outside
        outside = min(outside, largest)
    elif mean == end:  # else the divergence is infinite there
        return end
    for _ in range(STEPS):
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            break
        if _within(family, mean, middle, most):
            inside = middle
        else:
            outside = middle
    return outside
