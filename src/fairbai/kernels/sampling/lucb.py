"""LUCB with Kullback-Leibler confidence bounds; see docs/sampling.md."""

import math

import numpy as np

from fairbai.kernels.families import divergence, domain
from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.state import ASSIGNED, INSIDE, MEAN, OBSERVED, ROUND, SCALE, largest


@kernel
def _upper_end(family, mean, count, scale, bonus):
    """The upper end of the interval {m : count d(mean, m) <= bonus}, by bisection."""
    inside, outside = 0.0, domain(family)[1] - mean
    if outside == math.inf:
        outside = 1.0
        while count * divergence(family, mean, mean + outside, outside, scale) < bonus and outside < 1e12:
            inside, outside = outside, 2.0 * outside
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        if count * divergence(family, mean, mean + middle, middle, scale) < bonus:
            inside = middle
        else:
            outside = middle
    return mean + inside


@subroutine
def lucb(family, delta, state, scalars):
    """The best arm or the one with the largest upper confidence bound among the others: whichever has fewer trials."""
    count = state.shape[1]
    best = largest(state, MEAN)
    bonus = math.log(12.0 * count / delta) + 1.1 * math.log(scalars[ROUND])
    challenger, highest = -1, -np.inf
    for a in range(count):
        if a != best:
            upper = _upper_end(family, state[INSIDE, a], state[OBSERVED, a], state[SCALE, a], bonus)
            if upper > highest or challenger < 0:
                challenger, highest = a, upper
    return best if state[ASSIGNED, best] <= state[ASSIGNED, challenger] else challenger
