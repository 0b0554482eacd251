"""The allocation problem of the lower bound, solved exactly: w*_p and T*_p for any family and any floors.

The problem is to maximise over w >= p, sum w = 1, the least cost c = min_a C_a(w_b, w_a) of making some arm a
tie with the best arm b; T*_p = 1 / c. Two numbers fix a candidate: the scale x = w_b and the level s = c / x.
At level s an arm needs the weight x psi_a(s) (``pairs.relative_weight``), so w_a = max(p_a, x psi_a(s)), and x
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

from fairbai.kernels.allocation.arms import BEND, EXCESS, FAR, KAPPA, LIMIT, MEAN, PSI, RATIO, SHIFT, STRETCH
from fairbai.kernels.families import GAUSSIAN, GAUSSIAN_UNKNOWN, divergence
from fairbai.kernels.jit import kernel
from fairbai.kernels.ties import pulled_back, stretched_transport
from fairbai.kernels.unknown_variance import unknown_transport

TOLERANCE = 1e-11
MAX_STEPS = 100_000
BLOCK = 512

Point = namedtuple("Point", "r x edge value inside floor mass pull mu root")
"""A candidate: r, x, the x by which U was decided, c = s x, [b in U]; P, S, H, mu; and the r that Newton goes to."""


@kernel
def _sum_gaussian(arms, r, edge, workspace):
    """``_sum_above_floors`` for Gaussian arms, whose psi = kappa / ((1 + r) excess + r) needs no row.

    Sums of sums: a million terms one by one would lose five digits.
    """
    all_floor, all_mass, all_pull, all_turn, least = 0.0, 0.0, 0.0, 0.0, 0.0
    grow = 1.0 + r
    for start in range(0, arms.count, BLOCK):
        floor, mass, pull, turn = 0.0, 0.0, 0.0, 0.0
        for a in range(start, min(start + BLOCK, arms.count)):
            need = grow * workspace[EXCESS, a] + r
            leaves = workspace[LIMIT, a] * need
            above = 1.0 if leaves < edge else 0.0  # arithmetic instead of a branch that nobody could predict
            kappa = above * workspace[KAPPA, a]
            floor += kappa * workspace[LIMIT, a]
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
def _sum_above_floors(arms, r, edge, workspace):
    """P, S, H and -(1 + r) dH/dr over the arms that have left their floors at x = edge, and the last x of these.

    An arm leaves its floor where x psi = p.
    """
    if arms.family == GAUSSIAN:
        return _sum_gaussian(arms, r, edge, workspace)
    floor, mass, pull, turn, least = 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(arms.count):
        held = workspace[KAPPA, a] * workspace[LIMIT, a]
        if a != arms.best and held < edge * workspace[PSI, a]:
            floor += held
            mass += workspace[PSI, a]
            pull += workspace[RATIO, a]
            turn += workspace[BEND, a]
            least = max(least, held / workspace[PSI, a])
    return floor, mass, pull, turn, least


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
def balance(arms, r, edge, workspace):
    """The candidate at r: x such that the weights sum to one, from a guess ``edge`` of it.

    The sum is convex and piecewise linear in x: after its first step Newton comes down to the root, dropping arms to
    their floors, and ends when it drops no more.
    """
    guess = True
    x, inside, floor, mass, pull, turn = edge, 0.0, 0.0, 0.0, 0.0, 0.0
    for _ in range(MAX_STEPS):
        floor, mass, pull, turn, least = _sum_above_floors(arms, r, edge, workspace)
        inside = 1.0 if edge > arms.own_floor else 0.0
        if mass + inside == 0.0:
            edge = np.inf  # the guess was so low that nothing is above its floor: begin with everything
            continue
        x = (arms.spare + floor + inside * arms.own_floor) / (mass + inside)
        if x < edge and least < x and (inside == 0.0 or x > arms.own_floor):
            break  # those that are above their floors at the edge are so at x, and no others
        if not (x < edge or guess):
            break  # only rounding can turn it round (or it is nan)
        edge, guess = x, False
    level = arms.level / (1.0 + r)
    mu = level / (pull + mass) if mass > 0.0 else np.inf
    root = _newton(arms, r, x, inside, mass, pull, -turn / (1.0 + r))
    return Point(r, x, edge, level * x, inside, floor, mass, pull, mu, root)


@kernel
def bound(arms, point):
    """An upper bound on the optimum c from the dual point of one candidate; see (bound)."""
    if point.mass == 0.0:
        return np.inf
    return point.mu * (point.floor + arms.own_floor * point.pull + arms.spare * max(1.0, point.pull))


@kernel
def mixed_bound(arms, low, high):
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
def crossing(low, high):
    """The r at which the tangents at two candidates meet."""
    low_slope, high_slope = _tangent(low), _tangent(high)
    start = low.value * low.r
    rise = high.value - low.value + low_slope * start - high_slope * high.value * high.r
    cross = rise / (low_slope - high_slope)
    return cross / (low.value + low_slope * (cross - start))


@kernel
def first_kink(arms, x, workspace):
    """The largest r at which an arm leaves its floor while the best arm alone has all that is spare."""
    largest = 0.0
    for a in range(arms.count):
        excess = workspace[EXCESS, a]
        if excess < FAR:
            psi = workspace[KAPPA, a] * workspace[LIMIT, a] / x
            if arms.family == GAUSSIAN:
                r = (x / workspace[LIMIT, a] - excess) / (1.0 + excess)
            elif arms.family == GAUSSIAN_UNKNOWN:
                target = pulled_back(workspace[MEAN, a], workspace[STRETCH, a], workspace[SHIFT, a])
                scale = workspace[KAPPA, a] * arms.scale
                r = arms.level / unknown_transport(arms.top, arms.scale, 1.0, target, scale, psi)[0] - 1.0
            elif workspace[STRETCH, a] != 1.0 or workspace[SHIFT, a] != 0.0:
                mean, stretch, shift = workspace[MEAN, a], workspace[STRETCH, a], workspace[SHIFT, a]
                r = arms.level / stretched_transport(arms.family, arms.top, 1.0, mean, psi, stretch, shift)[0] - 1.0
            else:
                up = (arms.top - workspace[MEAN, a]) / (1.0 + psi)
                shortfall = (1.0 + psi) * divergence(arms.family, workspace[MEAN, a] + up, workspace[MEAN, a], -up, 1.0)
                part = shortfall / arms.level - excess
                r = part / (1.0 - part)
            largest = max(largest, r)
    return largest * (1.0 - TOLERANCE)
