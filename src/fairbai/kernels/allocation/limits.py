"""The allocation problem with ceilings and groups beside the floors, solved exactly; see docs/limits.md.

Maximise over l <= w <= u, sum w = 1 and the floors g and ceilings h of the groups the least cost
c = min_a C_a(w_b, w_a). As in ``kernels.allocation.candidates`` let x be the scale, s = c / x the level, r = d / s - 1,
and x psi_a(s) what arm a needs; the best arm counts as an arm with psi = 1. What a group needs, and what all arms need
together,

    D_G(x, c) = sum_{a in G} max(l_a, x psi_a),
    D(x, c) = sum over the groups of max(g, D_G) + sum over the arms in no group of max(l_a, x psi_a),

are convex in (x, c), and so is what each arm needs. The pairs (x, c) with D <= 1, D_G <= h and x psi_a <= u_a are
therefore a convex set, and the question is how high it reaches. The ray of level s leaves it at a point whose tangent
bounds the set. Where two tangents, one rising and one falling, meet is an upper bound on c, and the next level to try.
"""

import math
from collections import namedtuple

import numpy as np

from fairbai.kernels.allocation.arms import (
    EXCESS,
    KAPPA,
    PSI,
    RATIO,
    ROWS,
    fill_weights,
    least_cost,
    prepare,
    problem_of,
)
from fairbai.kernels.allocation.candidates import MAX_STEPS, TOLERANCE
from fairbai.kernels.allocation.floors import MAX_POINTS
from fairbai.kernels.families import GAUSSIAN
from fairbai.kernels.jit import borrowed, entry, kernel
from fairbai.kernels.limits import fill_up, forced_shares

FIXED, MASS, PULL, HELD, ROOM = range(ROWS, ROWS + 5)
FORCED, WORK = ROWS + 5, ROWS + 5
LIMITED_ROWS = ROWS + 7
"""Rows of the workspace beside those of ``kernels.allocation.arms``: for every group the floors of its arms at their
floors, the sums S and H over the others, and the floors of these; what its own ceiling leaves beyond the floors of its
arms; what it is forced to have; and one row that ``fill_up`` needs besides."""

ROUNDING = 1e-15

Limits = namedtuple("Limits", "floors ceilings groups totals tops")
"""As in ``kernels.limits``."""

Tangent = namedtuple("Tangent", "r x value slope")
"""Where the ray of r leaves the set, and the slope of c by y = c r = d x - c there, which loses no digits."""


@kernel
def _psi_rows(arms, r, first, workspace):
    """Rows PSI and RATIO at r; the best arm, whose need is x itself, has psi = 1 and H = -1."""
    fill_weights(arms, r, first, workspace)
    if arms.family == GAUSSIAN:
        for a in range(arms.count):
            need = 1.0 / ((1.0 + r) * workspace[EXCESS, a] + r)
            workspace[PSI, a] = workspace[KAPPA, a] * need
            workspace[RATIO, a] = workspace[KAPPA, a] * need * need
    workspace[PSI, arms.best], workspace[RATIO, arms.best] = 1.0, -1.0


@kernel
def _fill_room(limits, workspace):
    """Row ROOM: h minus the sum of the floors of the arms."""
    workspace[ROOM] = limits.tops
    for a in range(limits.floors.size):
        group = int(limits.groups[a])
        if group >= 0:
            workspace[ROOM, group] -= limits.floors[a]


@kernel
def _demand(x, floors, groups, workspace):
    """What is needed at x beyond what is forced: returns S, H and the forced share of all that needs more."""
    workspace[FIXED, :] = 0.0
    workspace[MASS, :] = 0.0
    workspace[PULL, :] = 0.0
    workspace[HELD, :] = 0.0
    mass, pull, forced = 0.0, 0.0, 0.0
    for a in range(floors.size):
        group = int(groups[a])
        above = x * workspace[PSI, a] > floors[a]
        if group < 0:
            if above:
                mass += workspace[PSI, a]
                pull += workspace[RATIO, a]
                forced += floors[a]
        elif above:
            workspace[MASS, group] += workspace[PSI, a]
            workspace[PULL, group] += workspace[RATIO, a]
            workspace[HELD, group] += floors[a]
        else:
            workspace[FIXED, group] += floors[a]
    for group in range(floors.size):
        if (
            workspace[MASS, group] > 0.0
            and workspace[FIXED, group] + x * workspace[MASS, group] > workspace[FORCED, group]
        ):
            mass += workspace[MASS, group]
            pull += workspace[PULL, group]
            forced += workspace[FORCED, group] - workspace[FIXED, group]
    return mass, pull, forced


@kernel
def _fullest_group(x, mass, pull, tops, workspace):
    """Newton's step from x to where a group is at its ceiling: the least of them, with S and H, if it is below x."""
    for group in range(tops.size):
        if tops[group] < 1.0 and workspace[MASS, group] > 0.0:
            full = (max(0.0, workspace[ROOM, group]) + workspace[HELD, group]) / workspace[MASS, group]
            if full < x:
                x, mass, pull = full, workspace[MASS, group], workspace[PULL, group]
    return x, mass, pull


@kernel
def _tangent(arms, limits, r, first, workspace):
    """Where the ray of r leaves the set: at a ceiling of an arm or a group, or where the sum of all needs is 1."""
    _psi_rows(arms, r, first, workspace)
    x, mass, pull = np.inf, 1.0, 0.0
    ceilings = limits.ceilings
    for a in range(arms.count):
        if ceilings[a] < x * workspace[PSI, a]:
            x, mass, pull = ceilings[a] / workspace[PSI, a], workspace[PSI, a], workspace[RATIO, a]
    for _ in range(MAX_STEPS):
        needed, turned, forced = _demand(x, limits.floors, limits.groups, workspace)
        before = x
        x, mass, pull = _fullest_group(x, mass, pull, limits.tops, workspace)
        if needed > 0.0 and (arms.spare + forced) / needed < x:
            x, mass, pull = (arms.spare + forced) / needed, needed, turned
        if x == before:
            break  # no sum is too large; Newton's steps come down to that from above, and the last changes nothing
    return Tangent(r, x, arms.level / (1.0 + r) * x, pull / (mass * (1.0 + r) + pull * r))


@kernel
def _crossing(low, high):
    """Where two tangents meet: an upper bound on c, and its r."""
    start, end = low.value * low.r, high.value * high.r
    step = (high.value - low.value + high.slope * (start - end)) / (low.slope - high.slope)
    value = low.value + low.slope * step
    return value, (start + step) / value


@kernel
def _next_r(low, high, crossing, factor):
    """Between two tangents their crossing; else further out."""
    if low.value == 0.0:
        return high.r / factor
    if high.value == 0.0:
        return low.r * factor
    if low.r < crossing < high.r:
        return crossing
    return math.sqrt(low.r * high.r) if high.r > 4.0 * low.r else 0.5 * (low.r + high.r)


@kernel
def _search(arms, limits, r, factor, workspace):
    """Close in on the highest point from both sides; returns the best point found and the least bound."""
    low = Tangent(0.0, 0.0, 0.0, 0.0)
    high = Tangent(np.inf, 0.0, 0.0, 0.0)
    found, bound = low, np.inf
    for number in range(MAX_POINTS):
        point = _tangent(arms, limits, r, number == 0, workspace)
        if point.value > found.value or number == 0:
            found = point
        crossing = 0.0
        if point.slope == 0.0 or point.value == 0.0:
            return point, point.value
        if point.slope > 0.0:  # c rises with x, and so with r
            low = point
        else:
            high = point
        if low.value > 0.0 and high.value > 0.0:
            value, crossing = _crossing(low, high)
            bound = min(bound, value)
        if found.value >= (1.0 - TOLERANCE) * bound:
            break
        r = _next_r(low, high, crossing, factor)
        factor = min(factor * factor, 64.0)
        if not low.r < r < high.r:
            break
    if low.value > 0.0 and high.value > 0.0:
        r = low.r + (high.r - low.r) * low.slope / (low.slope - high.slope)
        point = _tangent(arms, limits, r, False, workspace)
        if point.value >= (1.0 - ROUNDING) * found.value:  # where c is smooth, c says little about x, the slope much
            found = point
    return found, bound


@entry
def allocate_within(family, arms, limits, start, weights, workspace):
    """``allocate`` with ceilings and groups; ``limits`` are a ``Limits``, or a tuple like one.

    Where ceilings or groups leave a choice that the least cost does not depend on, ``fill_up`` makes it.

    Returns:
        The best arm, 1 / T*, the certified relative gap between T* as returned and its bound, and r.
    """
    weights, workspace = borrowed(weights), borrowed(workspace)
    floors, ceilings, groups, totals, tops = limits
    floors, ceilings, groups = borrowed(floors), borrowed(ceilings), borrowed(groups)
    totals, tops = borrowed(totals), borrowed(tops)
    spare = forced_shares(floors, groups, totals, workspace[WORK:])
    problem = problem_of(arms, floors, spare)
    known, r = prepare(family, problem, workspace)
    factor = 4.0
    if start > 0.0:
        r, factor = start, 1.05
    within = Limits(floors, ceilings, groups, totals, tops)
    _fill_room(within, workspace)
    point, bound = _search(known, within, r, factor, workspace)
    _psi_rows(known, point.r, False, workspace)
    for a in range(known.count):
        weights[a] = min(ceilings[a], max(floors[a], point.x * workspace[PSI, a]))
    fill_up(ceilings, groups, totals, tops, weights, workspace[WORK:])
    cost = least_cost(family, problem, weights, known.best)
    return known.best, cost, max(0.0, 1.0 - cost / bound) if cost > 0.0 else 0.0, point.r
