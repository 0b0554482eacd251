"""The arms of one allocation problem: the best and the hardest of them, and what each needs at a level.

``kernels.allocation.candidates`` explains the quantities r, psi and H.
"""

import math
from collections import namedtuple

import numpy as np

from fairbai.kernels.families import GAUSSIAN, divergence, variance
from fairbai.kernels.jit import kernel
from fairbai.kernels.pairs import relative_weight, transport

FAR = 1e200  # the excess of an arm that needs no weight at all: infinity, without its nan

EXCESS, KAPPA, LIMIT, MEAN, PSI, RATIO, BEND = range(7)
ROWS = 7
"""Rows of the workspace. Fixed: the excess (see ``prepare``), the variance over that of the best arm, and the floor
over that. For families other than the Gaussian also the mean and, at the present r, psi, H_a and -(1 + r) dH_a/dr."""

Problem = namedtuple("Problem", "means scales floors spare")
"""One entry per arm of each, and 1 - sum of the floors."""

Arms = namedtuple("Arms", "family count best top level own_floor spare")
"""What the search needs beside the workspace. It holds numbers only: an array in a tuple would cost reference counting
at every call that the compiler does not take in line."""


@kernel
def prepare(family, problem, workspace):
    """Fill the fixed rows; find the best arm b and the hardest arm.

    An arm's excess is d(b, a) / d(b, hardest) - 1. It is as good as infinite for b itself and, where several arms tie
    for the best, for all others: such an arm needs no weight.
    """
    means, scales, floors = problem.means, problem.scales, problem.floors
    best, hardest = 0, 1
    if means[1] > means[0]:
        best, hardest = 1, 0
    for a in range(2, means.size):
        if means[a] > means[hardest]:
            if means[a] > means[best]:
                best, hardest = a, best
            else:
                hardest = a
    top, second, scale = means[best], means[hardest], scales[best]
    gap = top - second
    level = divergence(family, top, second, -gap, scale)
    own = 1.0 / variance(family, top, scale)
    inverse = 1.0 / gap if gap > 0.0 else 0.0
    for a in range(means.size):
        kappa = variance(family, means[a], scales[a]) * own
        workspace[KAPPA, a] = kappa
        workspace[LIMIT, a] = floors[a] / kappa
        if family != GAUSSIAN:
            workspace[MEAN, a] = means[a]
        if level == 0.0:
            workspace[EXCESS, a] = 0.0 if top - means[a] <= gap else FAR
        elif family == GAUSSIAN:
            workspace[EXCESS, a] = ((second - means[a]) * inverse) * ((top - means[a] + gap) * inverse)
        else:
            workspace[EXCESS, a] = max(0.0, divergence(family, top, means[a], means[a] - top, 1.0) / level - 1.0)
    workspace[EXCESS, best] = FAR
    if level == 0.0:
        family, level = GAUSSIAN, 1.0  # as the gap vanishes every family looks Gaussian
    return Arms(family, means.size, best, top, level, floors[best], problem.spare), math.sqrt(workspace[KAPPA, hardest])


@kernel
def fill_weights(arms, r, first, workspace):
    """Rows PSI, RATIO and BEND at the level d / (1 + r), for the families that have no closed form."""
    if arms.family == GAUSSIAN:
        return
    level = arms.level / (1.0 + r)
    for a in range(arms.count):
        if a != arms.best:
            need = (1.0 + r) * workspace[EXCESS, a] + r
            guess = (
                workspace[KAPPA, a] / need if first else workspace[PSI, a]
            )  # as for Gaussian arms, or at the last level
            mean, shortfall = workspace[MEAN, a], arms.level * (workspace[EXCESS, a] + r / (1.0 + r))
            psi, ratio, bend = relative_weight(arms.family, mean, arms.top, level, shortfall, guess)
            workspace[PSI, a], workspace[RATIO, a], workspace[BEND, a] = psi, ratio, level * level * bend


@kernel
def least_cost(family, means, scales, weights, best):
    """The least transport cost of a pair (best, a): 1 / T at these weights."""
    least = np.inf
    for a in range(means.size):
        if a != best:
            cost, _ = transport(family, means[best], scales[best], weights[best], means[a], scales[a], weights[a])
            least = min(least, cost)
    return least
