"""The allocation problem of the lower bound, solved exactly: w*_p and T*_p for any family and any floors.

The problem is to maximise over w >= p, sum w = 1, the least cost c = min_a C_a(w_b, w_a) of making some arm a
tie with the best arm b; T*_p = 1 / c. Two numbers fix a candidate: the scale x = w_b and the level s = c / x.
At level s an arm needs the weight x psi_a(s) (``families.relative_weight``), so w_a = max(p_a, x psi_a(s)), and x
follows from sum w = 1. What remains is one number: r = d / s - 1 in (0, inf), where d is the divergence of the
hardest arm, the one closest to the best. In r no digits are lost at either end.

Over the arms U above their floors let S = sum psi_a, H = sum (s psi_a' - psi_a), P = sum p_a, mu = s / (H + S).
    c is concave in x along the curve, with slope mu (H - [b above its floor])            (slope)
    c <= mu (P + p_b H + (1 - sum p) max(1, H)) for every level s and every set U         (bound)
So the optimum has H = 1 where c is smooth, and lies between slopes of opposite sign where an arm just reaches its
floor (a kink). (bound) is weak duality with the multipliers mu psi_a' on U; mixing those of two candidates so that
their slopes cancel is a dual point too, and closes the gap at a kink.
"""

import math
from collections import namedtuple

import numpy as np

from fairbai.kernels.families import GAUSSIAN, divergence, relative_weight, transport, variance
from fairbai.kernels.jit import borrowed, entry, kernel
from fairbai.kernels.rates import EPSILON, unspent

TOLERANCE = 1e-11
MOST_POINTS = 200
MOST_STEPS = 100_000
BLOCK = 512
AT_FLOOR = 1e-9  # a weight this close to its floor is at it: the accuracy to which a kink is found
NEARBY = 0.5  # how far x may have moved since a similar instance, over the number of arms: a wrong guess costs a pass
FAR = 1e200  # the excess of an arm that needs no weight at all: infinity, without its nan

EXCESS, KAPPA, LIMIT, MEAN, PSI, RATIO, BEND = range(7)
ROWS = 7
"""Rows of the workspace. Fixed: the excess (see ``prepare``), the variance over that of the best arm, and the floor
over that. For families other than the Gaussian also the mean and, at the present r, psi, H_a and -(1 + r) dH_a/dr."""

Arms = namedtuple("Arms", "family count best top level own_floor spare")
Point = namedtuple("Point", "r x edge value inside floor mass pull mu root")
"""A candidate: r, x, the x by which U was decided, c = s x, [b in U]; P, S, H, mu; and the r that Newton goes to.

These hold numbers only: an array in a tuple would cost reference counting at every call.
"""


@kernel
def workspace(arms):
    """Room for one solve with ``arms`` arms; a batch uses it again and again."""
    return np.empty((ROWS, arms))


@kernel
def prepare(family, means, scales, floors, spare, room):
    """Fill the fixed rows; find the best arm b and the hardest arm.

    An arm's excess is d(b, a) / d(b, hardest) - 1. It is as good as infinite for b itself and, where several arms tie
    for the best, for all others: such an arm needs no weight.
    """
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
        room[KAPPA, a] = kappa
        room[LIMIT, a] = floors[a] / kappa
        if family != GAUSSIAN:
            room[MEAN, a] = means[a]
        if level == 0.0:
            room[EXCESS, a] = 0.0 if top - means[a] <= gap else FAR
        elif family == GAUSSIAN:
            room[EXCESS, a] = ((second - means[a]) * inverse) * ((top - means[a] + gap) * inverse)
        else:
            room[EXCESS, a] = max(0.0, divergence(family, top, means[a], means[a] - top, 1.0) / level - 1.0)
    room[EXCESS, best] = FAR
    if level == 0.0:
        family, level = GAUSSIAN, 1.0  # as the gap vanishes every family looks Gaussian
    return Arms(family, means.size, best, top, level, floors[best], spare), math.sqrt(room[KAPPA, hardest])


@kernel
def _sum_gaussian(arms, r, edge, room):
    """``_sum_above_floors`` for Gaussian arms, whose psi = kappa / ((1 + r) excess + r) needs no room.

    Sums of sums: a million terms one by one would lose five digits.
    """
    all_floor, all_mass, all_pull, all_turn, least = 0.0, 0.0, 0.0, 0.0, 0.0
    grow = 1.0 + r
    for start in range(0, arms.count, BLOCK):
        floor, mass, pull, turn = 0.0, 0.0, 0.0, 0.0
        for a in range(start, min(start + BLOCK, arms.count)):
            need = grow * room[EXCESS, a] + r
            leaves = room[LIMIT, a] * need
            above = 1.0 if leaves < edge else 0.0  # arithmetic instead of a branch that nobody could predict
            kappa = above * room[KAPPA, a]
            floor += kappa * room[LIMIT, a]
            q = 1.0 / need
            psi = kappa * q
            mass += psi
            psi *= q
            pull += psi
            turn += psi * q
            leaves *= above
            least = leaves if leaves > least else least
        all_floor += floor
        all_mass += mass
        all_pull += pull
        all_turn += turn
    return all_floor, all_mass, all_pull, 2.0 * (all_pull + all_turn), least


@kernel
def _sum_above_floors(arms, r, edge, room):
    """P, S, H and -(1 + r) dH/dr over the arms that have left their floors at x = edge, and the last x of these.

    An arm leaves its floor where x psi = p.
    """
    if arms.family == GAUSSIAN:
        return _sum_gaussian(arms, r, edge, room)
    floor, mass, pull, turn, least = 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(arms.count):
        held = room[KAPPA, a] * room[LIMIT, a]
        if a != arms.best and held < edge * room[PSI, a]:
            floor += held
            mass += room[PSI, a]
            pull += room[RATIO, a]
            turn += room[BEND, a]
            least = max(least, held / room[PSI, a])
    return floor, mass, pull, turn, least


@kernel
def fill_weights(arms, r, first, room):
    """Rows PSI, RATIO and BEND at the level d / (1 + r), for the families that have no closed form."""
    if arms.family == GAUSSIAN:
        return
    level = arms.level / (1.0 + r)
    for a in range(arms.count):
        if a != arms.best:
            need = (1.0 + r) * room[EXCESS, a] + r
            guess = room[KAPPA, a] / need if first else room[PSI, a]  # as for Gaussian arms, or at the last level
            mean, shortfall = room[MEAN, a], arms.level * (room[EXCESS, a] + r / (1.0 + r))
            psi, ratio, bend = relative_weight(arms.family, mean, arms.top, level, shortfall, guess)
            room[PSI, a], room[RATIO, a], room[BEND, a] = psi, ratio, level * level * bend


@kernel
def _newton(arms, r, x, inside, mass, pull, turn):
    """Where H would be 1 if no arm met its floor on the way: Newton on H^(-1/2), which is close to linear in r.

    The best arm may meet its own floor before: going down from above it, or going up from below it, where c rises at
    least until then. That is where x = p_b, by d log x / d log(1 + r) = (H + S) / (S + [b above its floor]).
    """
    if pull == 0.0:
        return 0.0
    root = r + 2.0 * pull * (1.0 - math.sqrt(pull)) / turn
    if inside == 0.0:
        meet = r + (1.0 + r) * math.expm1(mass / (pull + mass) * math.log(arms.own_floor / x))
        root = max(root, meet) if pull > 1.0 else meet
    elif pull < 1.0:
        meet = r + (1.0 + r) * (arms.own_floor / x - 1.0) * (mass + 1.0) / (pull + mass)
        root = max(root, meet)
    return root


@kernel
def _balance(arms, r, edge, room):
    """The candidate at r: x such that the weights sum to one, from a guess ``edge`` of it.

    The sum is convex and piecewise linear in x: after its first step Newton comes down to the root, dropping arms to
    their floors, and ends when it drops no more.
    """
    guess = True
    x, inside, floor, mass, pull, turn = edge, 0.0, 0.0, 0.0, 0.0, 0.0
    for _ in range(MOST_STEPS):
        floor, mass, pull, turn, least = _sum_above_floors(arms, r, edge, room)
        inside = 1.0 if edge > arms.own_floor else 0.0
        if mass + inside == 0.0:
            edge = np.inf  # the guess was so low that nothing is above its floor: begin with everything
            continue
        x = (arms.spare + floor + inside * arms.own_floor) / (mass + inside)
        if x < edge and least < x and (inside == 0.0 or x > arms.own_floor):
            break  # those that are above their floors at the edge are so at x, and no others
        if x >= edge and not guess:
            break  # only rounding can turn it round
        edge, guess = x, False
    level = arms.level / (1.0 + r)
    mu = level / (pull + mass) if mass > 0.0 else np.inf
    root = _newton(arms, r, x, inside, mass, pull, -turn / (1.0 + r))
    return Point(r, x, edge, level * x, inside, floor, mass, pull, mu, root)


@kernel
def _bound(arms, point):
    """An upper bound on the optimum c from the dual point of one candidate; see (bound) above."""
    if point.mass == 0.0:
        return np.inf
    return point.mu * (point.floor + arms.own_floor * point.pull + arms.spare * max(1.0, point.pull))


@kernel
def _mixed_bound(arms, low, high):
    """The same from two candidates on either side of the optimum, mixed so that their slopes cancel."""
    up, down = low.mu * (low.pull - 1.0), high.mu * (1.0 - high.pull)
    if low.mass == 0.0 or high.mass == 0.0 or up <= 0.0 or down <= 0.0:
        return np.inf
    low_mu = low.mu * down / (up + down)
    high_mu = high.mu * up / (up + down)
    floors = low_mu * low.floor + high_mu * high.floor
    return floors + (low_mu + high_mu) * (arms.own_floor + arms.spare)


@kernel
def _tangent(point):
    """Slope of c by c r along the curve; (c r, c) is the plane of (x, c) in coordinates that lose no digits."""
    rest = point.pull * point.r + point.mass * (1.0 + point.r) + point.inside
    return (point.pull - point.inside) / rest


@kernel
def _crossing(low, high):
    """The r at which the tangents at two candidates meet."""
    low_slope, high_slope = _tangent(low), _tangent(high)
    start = low.value * low.r
    rise = high.value - low.value + low_slope * start - high_slope * high.value * high.r
    cross = rise / (low_slope - high_slope)
    return cross / (low.value + low_slope * (cross - start))


@kernel
def _first_kink(arms, x, room):
    """The largest r at which an arm leaves its floor while the best arm alone has all that is spare."""
    largest = 0.0
    for a in range(arms.count):
        excess = room[EXCESS, a]
        if excess < FAR:
            psi = room[KAPPA, a] * room[LIMIT, a] / x
            if arms.family == GAUSSIAN:
                r = (x / room[LIMIT, a] - excess) / (1.0 + excess)
            else:
                up = (arms.top - room[MEAN, a]) / (1.0 + psi)
                shortfall = (1.0 + psi) * divergence(arms.family, room[MEAN, a] + up, room[MEAN, a], -up, 1.0)
                part = shortfall / arms.level - excess
                r = part / (1.0 - part)
            largest = max(largest, r)
    return largest * (1.0 - TOLERANCE)


@kernel
def _next_r(arms, low, high, point, streak, room):
    """The next r between ``low`` and ``high``: Newton, the crossing of tangents at a kink, or halving."""
    r = point.root
    if point.pull == 0.0 and low.value == 0.0:
        r = _first_kink(arms, point.x, room)
    elif low.value > 0.0 and high.value > 0.0 and streak < 2 and low.root - high.root > 0.5 * (high.r - low.r):
        r = _crossing(low, high)  # Newton from either side points past the other: a kink is between
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
def _search(arms, r, edge, room):
    """Close in on the optimal r from both sides; returns the best candidate and the least dual bound."""
    low = Point(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    high = Point(np.inf, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    found, point, bound, streak, side = low, low, np.inf, 0, 0.0
    for number in range(MOST_POINTS):
        fill_weights(arms, r, number == 0, room)
        point = _balance(arms, r, edge, room)
        if point.value > found.value:
            found = point
        bound = min(bound, _bound(arms, point))
        if found.value >= (1.0 - TOLERANCE) * bound:
            break
        rising = 1.0 if point.pull > point.inside else -1.0
        streak = streak + 1 if rising == side else 0
        side = rising
        if rising > 0.0:
            low = point
        else:
            high = point
        bound = min(bound, _mixed_bound(arms, low, high))
        if found.value >= (1.0 - TOLERANCE) * bound:
            break
        r = _next_r(arms, low, high, point, streak, room)
        if not low.r < r < high.r:
            break
        edge = _expect(point, r)
    if found.r != point.r:
        fill_weights(arms, found.r, False, room)
        found = _balance(arms, found.r, found.edge, room)
    return found, bound


@kernel
def _write_weights(family, means, scales, floors, arms, point, room, weights):
    """Write the weights of a candidate; returns their least cost, which is 1 / T."""
    best = arms.best
    own = point.x if point.inside == 1.0 else arms.own_floor
    noise = scales[best] / own
    least = np.inf
    for a in range(arms.count):
        need = (1.0 + point.r) * room[EXCESS, a] + point.r
        psi = room[KAPPA, a] / need if arms.family == GAUSSIAN else room[PSI, a]
        above = room[EXCESS, a] < FAR
        if arms.family == GAUSSIAN:  # decided as in the sums, to the last bit
            above = above and room[LIMIT, a] * need < point.edge
        else:
            above = above and room[KAPPA, a] * room[LIMIT, a] < point.edge * psi
        weight = max(floors[a], point.x * psi) if above else floors[a]
        weights[a] = weight
        if family == GAUSSIAN:
            gap = arms.top - means[a]
            cost = 0.5 * gap * gap * weight / (scales[a] + noise * weight)
        else:
            cost = transport(family, arms.top, scales[best], own, means[a], scales[a], weight)[0]
        least = cost if cost < least and a != best else least
    weights[best] = own
    return least


@kernel
def least_cost(family, means, scales, weights, best):
    """The least transport cost of a pair (best, a): 1 / T at these weights."""
    least = np.inf
    for a in range(means.size):
        if a != best:
            cost, _ = transport(family, means[best], scales[best], weights[best], means[a], scales[a], weights[a])
            least = min(least, cost)
    return least


@kernel
def allocate_in_line(family, means, scales, floors, spare, start, weights, room):
    """``allocate``, for callers that solve again and again; what they do not use is not computed."""
    arms, r = prepare(family, means, scales, floors, spare, room)
    if spare <= 0.0:  # there is no choice
        weights[:] = floors
        return arms.best, least_cost(family, means, scales, weights, arms.best), 0.0, start
    edge = np.inf
    if start > 0.0:
        r, edge = start, (1.0 + NEARBY / arms.count) * weights[arms.best]
    point, bound = _search(arms, r, edge, room)
    cost = _write_weights(family, means, scales, floors, arms, point, room, weights)
    return arms.best, cost, max(0.0, 1.0 - cost / bound) if cost > 0.0 else 0.0, point.r


@entry
def allocate(family, means, scales, floors, spare, start, weights, room):
    """Write w*_p into ``weights``.

    ``start`` is the r of a similar instance whose solution is in ``weights``, to begin there, or 0; ``spare`` is
    1 - sum p, at least 0. With ties for the best arm the allocation is the limit of a vanishing gap: all that is spare
    goes to the tied arms.

    Returns:
        The best arm, 1 / T*_p, the certified relative gap between T*_p as returned and its dual bound, and r.
    """
    means, scales, floors = borrowed(means), borrowed(scales), borrowed(floors)
    weights, room = borrowed(weights), borrowed(room)
    if family == GAUSSIAN:  # a constant, so that the compiler drops the other families: twice as fast
        return allocate_in_line(GAUSSIAN, means, scales, floors, spare, start, weights, room)
    return allocate_in_line(family, means, scales, floors, spare, start, weights, room)


@kernel
def _legal(low, high, means, floors, rest):
    """Whether the means are inside the domain and the floors not negative, of sum at most 1 (nan is not)."""
    for a in range(means.size):
        if not (low < means[a] < high and 0.0 <= floors[a] <= 1.0):
            return False
    return rest >= -EPSILON


@entry
def allocate_batch(family, low, high, means, scales, floors, weights, best, costs, gaps):
    """``allocate`` for every row; ``scales`` are the same for all. Returns the first row that is not legal, or -1."""
    means, scales, floors, weights = borrowed(means), borrowed(scales), borrowed(floors), borrowed(weights)
    room = workspace(means.shape[1])
    for i in range(means.shape[0]):
        rest = unspent(floors[i])
        if not _legal(low, high, means[i], floors[i], rest):
            return i
        spare = rest if rest > EPSILON else 0.0
        if family == GAUSSIAN:  # in line: for ten arms a call is a tenth of the time
            solved = allocate_in_line(GAUSSIAN, means[i], scales, floors[i], spare, 0.0, weights[i], room)
        else:
            solved = allocate(family, means[i], scales, floors[i], spare, 0.0, weights[i], room)
        best[i], costs[i], gaps[i], _ = solved
    return -1
