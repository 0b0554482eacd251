"""Floors alone: the search for the optimal allocation w*_p and its characteristic time T*_p.

``kernels.allocation.candidates`` has the mathematics.
"""

import math

import numpy as np

from fairbai.compiling.entry import patiently
from fairbai.kernels.allocation.arms import (
    EXCESS,
    FAR,
    KAPPA,
    LIMIT,
    PSI,
    ROWS,
    Problem,
    fill_weights,
    least_cost,
    prepare,
    problem_of,
)
from fairbai.kernels.allocation.candidates import (
    TOLERANCE,
    Point,
    balance,
    bound,
    crossing,
    first_kink,
    mixed_bound,
)
from fairbai.kernels.families import GAUSSIAN
from fairbai.kernels.jit import borrowed, entry, kernel
from fairbai.kernels.pairs import transport
from fairbai.kernels.rates import EPSILON, spare_share, unspent
from fairbai.kernels.ties import pulled_back

MAX_POINTS = 200
AT_FLOOR = 1e-9  # a weight this close to its floor is at it: the accuracy to which a kink is found
MANY = 10_000  # arms from which on a solve as Python takes longer than compiling
NEARBY = 0.5  # how far x may have moved since a similar instance, over the number of arms: a wrong guess costs a pass


@kernel
def new_workspace(arms):
    """An array for one solve with ``arms`` arms; a batch uses it again and again."""
    return np.empty((ROWS, arms))


@kernel
def _next_r(arms, low, high, point, streak, workspace):
    """The next r between ``low`` and ``high``: Newton, the crossing of tangents at a kink, or halving."""
    r = point.root
    if point.pull == 0.0 and low.value == 0.0:
        r = first_kink(arms, point.x, workspace)
    elif low.value > 0.0 and high.value > 0.0 and streak < 2 and low.root - high.root > 0.5 * (high.r - low.r):
        r = crossing(low, high)  # Newton from either side points past the other: a kink is between
    if streak <= 4 and low.r < r < high.r:
        return r
    if high.r == np.inf:
        return 8.0 * low.r
    if high.r > 4.0 * low.r:
        return math.sqrt(low.r * high.r) if low.r > 0.0 else high.r / 8.0
    return 0.5 * (low.r + high.r)


@kernel
def _expect(point, r):
    """About where x will be at r, a little too high: d log x / d log(1 + r) = (H + S) / (S + [b above its floor])."""
    power = (point.pull + point.mass) / (point.mass + point.inside)
    step = (r - point.r) / (1.0 + point.r)
    return point.x * max(0.1, 1.0 + power * step * (1.0 + 0.5 * (power - 1.0) * step) + 0.1 * step * step + 1e-9)


@kernel
def _search(arms, r, edge, workspace):
    """Close in on the optimal r from both sides; returns the best candidate and the least dual bound."""
    low = Point(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    high = Point(np.inf, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    found, point, least, streak, side = low, low, np.inf, 0, 0.0
    for number in range(MAX_POINTS):
        fill_weights(arms, r, number == 0, workspace)
        point = balance(arms, r, edge, workspace)
        if point.value > found.value:
            found = point
        least = min(least, bound(arms, point))
        if found.value >= (1.0 - TOLERANCE) * least:
            break
        rising = 1.0 if point.pull > point.inside else -1.0
        streak = streak + 1 if rising == side else 0
        side = rising
        if rising > 0.0:
            low = point
        else:
            high = point
        least = min(least, mixed_bound(arms, low, high))
        if found.value >= (1.0 - TOLERANCE) * least:
            break
        r = _next_r(arms, low, high, point, streak, workspace)
        if not low.r < r < high.r:
            break
        edge = _expect(point, r)
    if found.r != point.r:
        fill_weights(arms, found.r, False, workspace)
        found = balance(arms, found.r, found.edge, workspace)
    return found, least


@kernel
def _write_weights(family, problem, arms, point, weights, workspace):
    """Write the weights of a candidate; returns their least cost, which is 1 / T."""
    means, scales, ties, floors = problem.means, problem.scales, problem.ties, problem.floors
    best = arms.best
    own = point.x if point.inside == 1.0 else arms.own_floor
    noise = scales[best] / own
    least = np.inf
    for a in range(arms.count):
        need = (1.0 + point.r) * workspace[EXCESS, a] + point.r
        psi = workspace[KAPPA, a] / need if arms.family == GAUSSIAN else workspace[PSI, a]
        above = workspace[EXCESS, a] < FAR
        if arms.family == GAUSSIAN:  # decided as in the sums, to the last bit
            above = above and workspace[LIMIT, a] * need < point.edge
        else:
            above = above and workspace[KAPPA, a] * workspace[LIMIT, a] < point.edge * psi
        weight = max(floors[a], point.x * psi) if above else floors[a]
        weights[a] = weight
        if family == GAUSSIAN:
            gap = max(0.0, arms.top - pulled_back(means[a], ties[0, a], ties[1, a]))
            cost = 0.5 * gap * gap * weight / (scales[a] / (ties[0, a] * ties[0, a]) + noise * weight)
        else:
            named, rival = (arms.top, scales[best], own), (means[a], scales[a], weight)
            cost = transport(family, named, rival, (ties[0, a], ties[1, a]))[0]
        least = cost if cost < least and a != best else least
    weights[best] = own
    return least


@kernel
def allocate_in_line(family, problem, start, weights, workspace):
    """``allocate``, for callers that solve again and again; what they do not use is not computed."""
    arms, r = prepare(family, problem, workspace)
    if problem.spare <= 0.0:  # there is no choice
        weights[:] = problem.floors
        return arms.best, least_cost(family, problem, weights, arms.best), 0.0, start
    edge = np.inf
    if start > 0.0:
        r, edge = start, (1.0 + NEARBY / arms.count) * weights[arms.best]
    point, most = _search(arms, r, edge, workspace)
    cost = _write_weights(family, problem, arms, point, weights, workspace)
    return arms.best, cost, max(0.0, 1.0 - cost / most) if cost > 0.0 else 0.0, point.r


def allocate(family, arms, floors, start, weights, workspace):
    """Write w*_p into ``weights``: what Python calls.

    ``arms`` are the means, variances, ties and the answer of a ``Problem``. ``start`` is the r of a similar instance
    whose solution is in ``weights``, to begin there, or 0. With ties for the best arm the allocation is the limit of a
    vanishing gap: all that the floors leave goes to the tied arms.

    Returns:
        The best arm, 1 / T*_p, the certified relative gap between T*_p as returned and its dual bound, and r.
    """
    solver = allocate_gaussian if family == GAUSSIAN else allocate_others
    if floors.size > MANY:
        solver = patiently(solver)
    return solver(family, arms, floors, start, weights, workspace)


@entry
def allocate_gaussian(family, arms, floors, start, weights, workspace):
    """``allocate`` for Gaussian arms. The family is a constant, and the compiler drops the others: twice as fast."""
    problem = problem_of(arms, borrowed(floors), spare_share(borrowed(floors)))
    return allocate_in_line(GAUSSIAN, problem, start, borrowed(weights), borrowed(workspace))


@entry
def allocate_others(family, arms, floors, start, weights, workspace):
    """``allocate`` for arms of any other family."""
    problem = problem_of(arms, borrowed(floors), spare_share(borrowed(floors)))
    return allocate_in_line(family, problem, start, borrowed(weights), borrowed(workspace))


@kernel
def _legal(domain, means, floors, rest):
    """Whether the means are inside the domain and the floors not negative, of sum at most 1 (nan is not)."""
    for a in range(means.size):
        if not (domain[0] < means[a] < domain[1] and 0.0 <= floors[a] <= 1.0):
            return False
    return rest >= -EPSILON


@entry
def allocate_batch(family, domain, means, scales, floors, results):
    """``allocate`` for every row; ``scales`` are the same for all. Returns the first row that is not legal, or -1.

    ``domain`` are the ends between which the means must lie. ``results`` are the arrays that are filled: the weights
    (one row per instance), the best arms, the costs 1 / T*_p and the certified gaps.
    """
    weights, best, costs, gaps = results
    means, scales, floors, weights = borrowed(means), borrowed(scales), borrowed(floors), borrowed(weights)
    workspace, ties = new_workspace(means.shape[1]), np.zeros((2, means.shape[1]))
    ties[0] = 1.0
    for i in range(means.shape[0]):
        rest = unspent(floors[i])
        if not _legal(domain, means[i], floors[i], rest):
            return i
        if family == GAUSSIAN:  # in line: for ten arms a call is a tenth of the time
            problem = Problem(means[i], scales, ties, -1, floors[i], rest if rest > EPSILON else 0.0)
            solved = allocate_in_line(GAUSSIAN, problem, 0.0, weights[i], workspace)
        else:
            solved = allocate_others(family, (means[i], scales, ties, -1), floors[i], 0.0, weights[i], workspace)
        best[i], costs[i], gaps[i], _ = solved
    return -1
