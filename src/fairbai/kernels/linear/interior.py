"""An interior-point method for the allocation problem of linear arms, over some arms and some rivals.

    maximise t  over  w, t  with  f_a(w) >= t,  w >= p,  M w >= g,  sum w = s,
    f_a(w) = c_a / (y_a' A(w)^-1 y_a),   A(w) = A_0 + sum_i w_i x_i x_i'.

Every f_a is concave: it is the least u'A(w)u over the u with y_a'u = sqrt(c_a), each linear in w. With
z_ai = x_i'A^-1 y_a, q_a = y_a'A^-1 y_a and K_ij = x_i'A^-1 x_j

    df_a / dw_i = c_a z_ai^2 / q_a^2,   -d2f_a / dw_i dw_j = 2 c_a (z_ai z_aj K_ij / q_a^2 - z_ai^2 z_aj^2 / q_a^3).

The method is the primal-dual one: every rival has a slack h_a > 0, in the end f_a(w) - t, and a multiplier l_a > 0;
every limit has its room w - p or M w - g and a price. A Newton step on the optimality conditions sets the products of
both to a target m that goes to 0. All but w and t is eliminated:

    (H + sum_a l_a/h_a df_a df_a' + B' diag(price/room) B) dw - k dt + v 1 = sum_a e_a df_a + B'(m/room),
    sum_a l_a/h_a dt - k'dw = 1 - sum_a e_a,   1'dw = s - 1'w,

with k = sum_a l_a/h_a df_a, e_a = (m - l_a (f_a - t - h_a)) / h_a, H the curvature and B the rows of all limits. A step
is one factorisation of a matrix with one row per arm; about 15 of them reach nine digits.
"""

import math
from collections import namedtuple

import numpy as np

from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.linear.algebra import add_gram, add_row, factor, solve_factored, whiten

STEPS = 100
BOUNDARY = 0.99  # the part of the way to the boundary that a step may go
CENTRING = 0.1  # the target, in the mean of the products
LEAST = 1e-15  # of the room of a limit
CLOSE = 1e-6  # a relative gap at which no step raises the value by much, unless it is an error of rounding
RIDGE = 1e-13  # added to the diagonal, relatively: where the best shares are not unique, the curvature is singular

Part = namedtuple("Part", "fixed features contrasts costs floors members totals")
"""The problem of some arms and rivals: A_0; x and y as columns; c; p; M and g."""


@kernel
def total_of(vector):
    """The sum, in this order: that of NumPy has other bits."""
    total = 0.0
    for i in range(vector.size):
        total += vector[i]
    return total


@kernel
def dot(one, other):
    """The sum of the products."""
    total = 0.0
    for i in range(one.size):
        total += one[i] * other[i]
    return total


@subroutine
def _values(part, weights, upper, contrasts, reached):
    """f_a at these weights, with the factor of A and the whitened contrasts; whether A is positive definite."""
    upper[:], contrasts[:] = part.fixed, part.contrasts
    add_gram(part.features, weights, upper)
    if not factor(upper):
        return False
    whiten(upper, contrasts)
    for a in range(reached.size):
        length = 0.0
        for k in range(len(upper)):
            length += contrasts[k, a] * contrasts[k, a]
        reached[a] = part.costs[a] / length
    return True


@subroutine
def _limits(part, weights, out):
    """B w: the weights, and their sums over the groups."""
    arms = weights.size
    for i in range(arms):
        out[i] = weights[i]
    for g in range(part.totals.size):
        out[arms + g] = dot(part.members[g], weights)


@subroutine
def _room(part, weights, room):
    _limits(part, weights, room)
    for i in range(part.floors.size):
        room[i] -= part.floors[i]
    for g in range(part.totals.size):
        room[part.floors.size + g] -= part.totals[g]
    for i in range(room.size):
        room[i] = max(room[i], LEAST)  # rounding may leave less


@subroutine
def _curvature(part, upper, contrasts, reached, rivals, matrix, slopes):
    """Row a of ``slopes`` becomes df_a / dw, and the upper triangle of ``matrix`` what the rivals have in a step."""
    slack, multipliers = rivals
    white, arms = part.features.copy(), slopes.shape[1]
    curved = np.zeros((arms, arms))
    whiten(upper, white)
    matrix[:], slopes[:] = 0.0, 0.0
    for k in range(len(white)):
        for i in range(arms):
            add_row(matrix[i], white[k, i], white[k], i)
        for a in range(len(slopes)):
            add_row(slopes[a], contrasts[k, a], white[k], 0)
    for a in range(len(slopes)):
        size = reached[a] * reached[a] / part.costs[a]  # c / q^2
        for i in range(arms):
            add_row(curved[i], 2.0 * multipliers[a] * size * slopes[a, i], slopes[a], i)
        for i in range(arms):
            slopes[a, i] *= size * slopes[a, i]
    for i in range(arms):
        for j in range(i, arms):
            matrix[i, j] *= curved[i, j]
    for a in range(len(slopes)):
        bend = multipliers[a] / slack[a] - 2.0 * multipliers[a] / reached[a]
        for i in range(arms):
            add_row(matrix[i], bend * slopes[a, i], slopes[a], i)


@subroutine
def _add_limits(part, room, prices, target, matrix, right):
    """What floors and groups have in the matrix and on the right-hand side of a step."""
    arms = right.size
    for i in range(arms):
        matrix[i, i] = (1.0 + RIDGE) * matrix[i, i] + prices[i] / room[i]
        right[i] += target / room[i]
    for g in range(part.totals.size):
        members, weight = part.members[g], prices[arms + g] / room[arms + g]
        add_row(right, target / room[arms + g], members, 0)
        for i in range(arms):
            if members[i] != 0.0:
                add_row(matrix[i], weight * members[i], members, i)


@subroutine
def _direction(matrix, right, pull, sums):
    """Solve for the steps in w, which overwrites ``right``, and in t; nan if the matrix is not positive definite.

    ``sums`` are that of l/h, and what those of e and of the weights lack.
    """
    if not factor(matrix):
        return math.nan
    ones, along = np.ones(right.size), pull.copy()
    solve_factored(matrix, right)
    solve_factored(matrix, along)
    solve_factored(matrix, ones)
    first = total_of(along), total_of(ones), sums[2] - total_of(right)  # dw = right + along dt - ones v
    second = sums[0] - dot(pull, along), dot(pull, ones), sums[1] + dot(pull, right)
    size = first[0] * second[1] + first[1] * second[0]
    rise = (first[2] * second[1] + first[1] * second[2]) / size
    level = (first[0] * second[2] - first[2] * second[0]) / size
    for i in range(right.size):
        right[i] += rise * along[i] - level * ones[i]
    return rise


@kernel
def _move(target, slack, step, prices):
    """``prices`` become their steps for these steps of the slacks; how far both may go, and the old prices."""
    before, far, far_prices = prices.copy(), 1.0, 1.0
    for i in range(slack.size):
        prices[i] = (target - before[i] * step[i]) / slack[i] - before[i]
        if step[i] < 0.0:
            far = min(far, -BOUNDARY * slack[i] / step[i])
        if prices[i] < 0.0:
            far_prices = min(far_prices, -BOUNDARY * before[i] / prices[i])
    return before, far, far_prices


@subroutine
def maximise(part, tolerance, weights, multipliers, prices):
    """Move ``weights``, which are strictly inside, to the optimum.

    ``multipliers`` of the rivals and ``prices`` of the floors and groups are results, near the optimal ones; the
    certificate needs no more. It ends when the gap is below ``tolerance``, or when rounding allows no more.
    """
    arms, rivals, size = weights.size, multipliers.size, len(part.fixed)
    upper, contrasts, matrix = np.empty((size, size)), np.empty((size, rivals)), np.empty((arms, arms))
    reached, slopes, room = np.empty(rivals), np.empty((rivals, arms)), np.empty(prices.size)
    right, pull, total, step = np.empty(arms), np.empty(arms), total_of(weights), np.empty(prices.size)
    slack, rise_of = np.empty(rivals), np.empty(rivals)
    if not _values(part, weights, upper, contrasts, reached):
        return
    value = 0.5 * reached.min()
    _room(part, weights, room)
    for a in range(rivals):
        slack[a] = reached[a] - value
        multipliers[a] = value / rivals / slack[a]
    for i in range(prices.size):
        prices[i] = value / rivals / room[i]
    for _ in range(STEPS):
        gap, off = dot(multipliers, slack) + dot(prices, room), abs(total_of(multipliers) - 1.0)
        for a in range(rivals):
            off = max(off, abs(reached[a] - value - slack[a]) / value)
        if gap <= tolerance * value and off <= tolerance:
            break
        target = CENTRING * gap / (rivals + prices.size)
        _curvature(part, upper, contrasts, reached, (slack, multipliers), matrix, slopes)
        right[:], pull[:], steep, wanted = 0.0, 0.0, 0.0, 0.0
        for a in range(rivals):
            push = (target - multipliers[a] * (reached[a] - value - slack[a])) / slack[a]
            add_row(right, push, slopes[a], 0)
            add_row(pull, multipliers[a] / slack[a], slopes[a], 0)
            steep, wanted = steep + multipliers[a] / slack[a], wanted + push
        _add_limits(part, room, prices, target, matrix, right)
        rise = _direction(matrix, right, pull, (steep, 1.0 - wanted, total - total_of(weights)))
        if not math.isfinite(rise) or (gap <= CLOSE * value and abs(rise) > 1e3 * gap):
            break  # rounding allows no more
        for a in range(rivals):
            rise_of[a] = dot(slopes[a], right) - rise + (reached[a] - value - slack[a])
        _limits(part, right, step)
        before, far, far_multipliers = _move(target, slack, rise_of, multipliers)
        before_prices, far_room, far_prices = _move(target, room, step, prices)
        far, far_prices = min(far, far_room), min(far_multipliers, far_prices)
        for a in range(rivals):
            slack[a] += far * rise_of[a]
            multipliers[a] = before[a] + far_prices * multipliers[a]
        for i in range(prices.size):
            prices[i] = before_prices[i] + far_prices * prices[i]
        add_row(weights, far, right, 0)
        value += far * rise
        _room(part, weights, room)
        if not _values(part, weights, upper, contrasts, reached):
            break
