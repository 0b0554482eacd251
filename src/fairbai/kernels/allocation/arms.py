"""The arms of one allocation problem: the best and the hardest of them, and what each needs at a level.

``kernels.allocation.candidates`` explains the quantities r, psi and H.
"""

import math
from collections import namedtuple

import numpy as np

from fairbai.kernels.families import GAUSSIAN, GAUSSIAN_UNKNOWN, variance
from fairbai.kernels.jit import borrowed, kernel
from fairbai.kernels.pairs import relative_weight, transport
from fairbai.kernels.ties import largest_level, pulled_back, stretched_weight
from fairbai.kernels.unknown_variance import unknown_relative_weight

FAR = 1e200  # the excess of an arm that needs no weight at all: infinity, without its nan

EXCESS, KAPPA, LIMIT, MEAN, PSI, RATIO, BEND, STRETCH, SHIFT = range(9)
ROWS = 9
"""Rows of the workspace. Fixed: the excess (see ``prepare``), the variance over that of the best arm, and the floor
over that. For families other than the Gaussian also the mean and its tie and, at the present r, psi, H_a and
-(1 + r) dH_a/dr."""

Problem = namedtuple("Problem", "means scales ties named floors spare")
"""One entry per arm of means, variances, ties (two rows: see ``kernels.ties``) and floors; the arm that is the answer,
or -1 for the one with the largest mean; and 1 - sum of the floors."""

Arms = namedtuple("Arms", "family count best top scale level own_floor spare")
"""What the search needs beside the workspace: of the best arm also its mean, variance and floor. It holds numbers only:
an array in a tuple would cost reference counting at every call that the compiler does not take in line."""


@kernel
def problem_of(arms, floors, spare):
    """The problem with these floors, where ``arms`` is (means, scales, ties, named)."""
    return Problem(borrowed(arms[0]), borrowed(arms[1]), borrowed(arms[2]), arms[3], floors, spare)


@kernel
def _best_and_hardest(problem):
    """The answer b; and, of the others, the arm that is hardest to tell from it, and the mean of b at their tie."""
    means, ties = problem.means, problem.ties
    best = problem.named
    if best < 0:
        best = 0
        for a in range(1, means.size):
            if means[a] > means[best]:
                best = a
    hardest, highest = -1, 0.0
    for a in range(means.size):
        target = pulled_back(means[a], ties[0, a], ties[1, a])
        if a != best and (hardest < 0 or target > highest):
            hardest, highest = a, target
    return best, hardest, min(highest, means[best])


@kernel
def prepare(family, problem, workspace):
    """Fill the fixed rows; find the best arm b and the hardest arm.

    An arm's excess is d(b, a) / d(b, hardest) - 1, where d(b, a) is the divergence from b to its mean at the tie with
    a (see ``largest_level``). It is as good as infinite for b itself and, where several arms tie for the best, for all
    others: such an arm needs no weight.
    """
    means, scales, ties, floors = problem.means, problem.scales, problem.ties, problem.floors
    best, hardest, second = _best_and_hardest(problem)
    top, scale = means[best], scales[best]
    gap = top - second
    level = largest_level(family, top, scale, means[hardest], ties[0, hardest], ties[1, hardest])
    own = 1.0 / variance(family, top, scale)
    inverse = 1.0 / gap if gap > 0.0 else 0.0
    for a in range(means.size):
        target = pulled_back(means[a], ties[0, a], ties[1, a])
        kappa = variance(family, means[a], scales[a]) * own / (ties[0, a] * ties[0, a])
        workspace[KAPPA, a] = kappa
        workspace[LIMIT, a] = floors[a] / kappa
        if family != GAUSSIAN:
            workspace[MEAN, a], workspace[STRETCH, a], workspace[SHIFT, a] = means[a], ties[0, a], ties[1, a]
        if level == 0.0:
            workspace[EXCESS, a] = 0.0 if top - target <= gap else FAR
        elif family == GAUSSIAN:
            workspace[EXCESS, a] = ((second - target) * inverse) * ((top - target + gap) * inverse)
        else:
            most = largest_level(family, top, scale, means[a], ties[0, a], ties[1, a])
            workspace[EXCESS, a] = max(0.0, most / level - 1.0)
    workspace[EXCESS, best] = FAR
    if level == 0.0:
        family, level = GAUSSIAN, 1.0  # as the gap vanishes every family looks Gaussian
    arms = Arms(family, means.size, best, top, scale, level, floors[best], problem.spare)
    return arms, math.sqrt(workspace[KAPPA, hardest])


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
            stretch, shift = workspace[STRETCH, a], workspace[SHIFT, a]
            if arms.family == GAUSSIAN_UNKNOWN:
                rival = pulled_back(mean, stretch, shift), workspace[KAPPA, a] * arms.scale
                psi, ratio, bend = unknown_relative_weight(arms.top, arms.scale, *rival, level, shortfall, guess)
            elif stretch == 1.0 and shift == 0.0:
                psi, ratio, bend = relative_weight(arms.family, mean, arms.top, level, shortfall, guess)
            else:
                psi, ratio, bend = stretched_weight(arms.family, arms.top, mean, stretch, shift, level)
            workspace[PSI, a], workspace[RATIO, a], workspace[BEND, a] = psi, ratio, level * level * bend


@kernel
def least_cost(family, problem, weights, best):
    """The least transport cost of a pair (best, a): 1 / T at these weights."""
    means, scales, ties = problem.means, problem.scales, problem.ties
    least = np.inf
    for a in range(means.size):
        if a != best:
            named, rival = (means[best], scales[best], weights[best]), (means[a], scales[a], weights[a])
            least = min(least, transport(family, named, rival, (ties[0, a], ties[1, a]))[0])
    return least
