"""The allocation problem of linear arms, with its certificate; see docs/linear.md.

    1 / T* = max over w of min over a of  gap_a^2 / (2 variance y_a' A(w)^-1 y_a),   A(w) = sum_i w_i x_i x_i'.

Few rivals and few arms matter at the optimum: ``interior.maximise`` solves the problem for some of them, with all other
arms at their floors, and those that the certificate finds missing join. With floors on groups all arms take part from
the beginning. The certificate: for multipliers l >= 0 of the rivals that sum to 1 and n >= 0 of the groups, with
c_i = sum_a l_a f_a (x_i'A^-1 y_a)^2 / y_a'A^-1 y_a + sum_g n_g M_gi, no allocation has a value above
max over w >= p with sum w = 1 of c'w, less n'g.
"""

import numpy as np

from fairbai.kernels.jit import entry, kernel, subroutine
from fairbai.kernels.linear.algebra import factor, whiten
from fairbai.kernels.linear.interior import Part, maximise, total_of
from fairbai.kernels.rates import EPSILON, unspent

ALL = 24  # arms up to which all take part from the beginning
ROUNDS = 60
PRECISION = 1e-9  # relative, of the interior-point method
AT_FLOOR = 1e-8  # an excess over the floor, relative to what the floors leave, that is taken for none
NEGLIGIBLE = 1e-13  # a multiplier that the certificate does without
SAME = 1e-20  # the squared length of a contrast, relative, that is no more than rounding


@subroutine
def contrasts_of(features, stretch, named):
    """The columns y_a = s_a x_b - x_a, and for every arm whether it is a rival: no arm that differs by rounding is."""
    found, is_rival = np.empty(features.shape), np.zeros(features.shape[1], dtype=np.bool_)
    for a in range(features.shape[1]):
        length, size = 0.0, 0.0
        for k in range(features.shape[0]):
            found[k, a] = stretch[a] * features[k, named] - features[k, a]
            length += found[k, a] * found[k, a]
            size += features[k, named] * features[k, named] + features[k, a] * features[k, a]
        is_rival[a] = a != named and length > SAME * size
    return found, is_rival


@kernel
def _costs(means, ties, named, variance, is_rival):
    """c_a = gap_a^2 / (2 variance), and whether some gaps are 0: then it is 1, and the others are no rivals."""
    costs, tied = np.zeros(means.size), False
    for a in range(means.size):
        gap = ties[0, a] * means[named] + ties[1, a] - means[a]
        costs[a] = 0.5 * gap * gap / variance if gap > 0.0 else 0.0
        tied = tied or (is_rival[a] and costs[a] == 0.0)
    for a in range(means.size):
        if tied:
            is_rival[a] = is_rival[a] and costs[a] == 0.0
            costs[a] = 1.0
    return costs, tied


@subroutine
def _spanning(features, chosen):
    """Choose arms that span the space, each the one that is furthest from the span of those before."""
    left = features.copy()
    for _ in range(features.shape[0]):
        far, most = 0, -1.0
        for a in range(left.shape[1]):
            length = 0.0
            for k in range(left.shape[0]):
                length += left[k, a] * left[k, a]
            far, most = (a, length) if length > most else (far, most)
        chosen[far] = True
        along = left[:, far] / np.sqrt(most)
        for a in range(left.shape[1]):
            part = 0.0
            for k in range(left.shape[0]):
                part += along[k] * left[k, a]
            for k in range(left.shape[0]):
                left[k, a] -= part * along[k]


@kernel
def _choose_more(scores, allowed, chosen, limit, count):
    """Choose up to ``count`` more of those allowed, with the least scores, below ``limit``. Whether there are any."""
    found = False
    for _ in range(count):
        least, place = limit, -1
        for a in range(scores.size):
            if allowed[a] and not chosen[a] and scores[a] < least:
                least, place = scores[a], a
        if place < 0:
            break
        chosen[place], found = True, True
    return found


@subroutine
def _part(features, contrasts, costs, floors, groups, free, rivals):
    """The problem of the arms that are free and of some rivals; all others are at their floors."""
    members, totals = groups
    fixed, size = np.zeros((features.shape[0], features.shape[0])), features.shape[0]
    inside, others = np.flatnonzero(free), np.flatnonzero(rivals)
    for a in range(floors.size):
        if not free[a] and floors[a] > 0.0:
            for k in range(size):
                for j in range(k, size):
                    fixed[k, j] += floors[a] * features[k, a] * features[j, a]
    few = np.empty((size, inside.size)), np.empty((size, others.size))
    for k in range(size):
        few[0][k] = features[k][inside]
        few[1][k] = contrasts[k][others]
    return Part(fixed, few[0], few[1], costs[others], floors[inside], members, totals), inside, others


@subroutine
def evaluate(features, contrasts, costs, is_rival, weights, reached):
    """f_a of every rival (else inf) at these weights; returns whitened arms and contrasts, empty if A is singular."""
    size = features.shape[0]
    upper, white, between = np.zeros((size, size)), features.copy(), contrasts.copy()
    reached[:] = np.inf
    for a in range(weights.size):
        if weights[a] > 0.0:
            for k in range(size):
                for j in range(k, size):
                    upper[k, j] += weights[a] * features[k, a] * features[j, a]
    if not factor(upper):
        reached[:] = 0.0
        return white[:0], between[:0]
    whiten(upper, white)
    whiten(upper, between)
    for a in range(weights.size):
        if is_rival[a]:
            length = 0.0
            for k in range(size):
                length += between[k, a] * between[k, a]
            reached[a] = costs[a] / length if length > 0.0 else np.inf
    return white, between


@subroutine
def _slopes(white, between, reached, costs, multipliers, slopes):
    """c_i of the certificate, without groups; the multipliers, one per arm, sum to 1."""
    slopes[:] = 0.0
    for a in range(slopes.size):
        if multipliers[a] > 0.0:
            size = multipliers[a] * reached[a] * reached[a] / costs[a]
            for i in range(slopes.size):
                z = 0.0
                for k in range(white.shape[0]):
                    z += white[k, i] * between[k, a]
                slopes[i] += size * z * z


@kernel
def _bound(slopes, floors, spare, groups, group_multipliers):
    """The upper bound of the certificate; ``slopes`` get the part of the groups, too."""
    members, totals = groups
    bound = 0.0
    for g in range(totals.size):
        bound -= group_multipliers[g] * totals[g]
        for i in range(slopes.size):
            slopes[i] += group_multipliers[g] * members[g, i]
    most = -np.inf  # ceilings may make all of them negative
    for i in range(slopes.size):
        bound += floors[i] * slopes[i]
        most = max(most, slopes[i])
    return bound + spare * most


@kernel
def _snap(weights, floors, spare):
    """Put arms that are as good as at their floors there; the others keep their proportions above theirs."""
    above = 0.0
    for a in range(weights.size):
        excess = weights[a] - floors[a]
        weights[a] = excess if excess > AT_FLOOR * spare else 0.0
        above += weights[a]
    for a in range(weights.size):
        weights[a] = floors[a] + weights[a] * (spare / above)


@subroutine
def _first_choice(features, is_rival, reached, named, has_groups):
    """The arms and the rivals to begin with: all, or the closest rivals, and as many arms as the space needs."""
    arms, count = reached.size, ALL if reached.size <= ALL else 2 * len(features)
    free, rivals = np.ones(arms, dtype=np.bool_), np.zeros(arms, dtype=np.bool_)
    _choose_more(reached, is_rival, rivals, np.inf, count)
    if arms > ALL and not has_groups:
        free[:] = rivals
        free[named] = True
        _spanning(features, free)
    return free, rivals


@subroutine
def _improve(features, contrasts, costs, limits, free, rivals, weights, multipliers):
    """Solve the problem of these arms and rivals, into ``weights`` and ``multipliers`` of all; the prices of groups."""
    floors, groups, inside = limits
    spare = unspent(floors)
    part, chosen, others = _part(features, contrasts, costs, floors, groups, free, rivals)
    some, prices = np.empty(chosen.size), np.empty(chosen.size + groups[1].size)
    mine = np.empty(others.size)
    for place in range(chosen.size):
        some[place] = inside[place] if inside.size > 0 else part.floors[place] + spare / chosen.size
    maximise(part, PRECISION, some, mine, prices)
    weights[:], multipliers[:] = floors, 0.0
    for place in range(chosen.size):
        weights[chosen[place]] = some[place]
    if groups[1].size == 0:
        _snap(weights, floors, spare)
    total = total_of(mine)
    for place in range(others.size):
        mine[place] = mine[place] if mine[place] > NEGLIGIBLE * total else 0.0
    total = total_of(mine)
    for place in range(others.size):
        multipliers[others[place]] = mine[place] / total
    return prices[chosen.size :] / total


@subroutine
def linear_shares(features, variance, means, ties, named, limits, tolerance, weights):
    """The optimal shares, into ``weights``.

    Args:
        features: One column per arm; they span the space.
        variance: Of every reward.
        means: One per arm.
        ties: The stretch and the shift of every rival.
        named: The arm that is the answer.
        limits: The floors of the arms; the members of every group (0 or 1, one row per group; -1 in
            that of a ceiling) and the groups' floors (the negatives of ceilings);
            and shares that are strictly within all limits, if there are groups, else empty.
        tolerance: The relative gap that is enough.
        weights: The result.

    Returns:
        1 / T (0 if arms tie, or if the floors leave nothing for an arm that needs trials), and the relative gap.
    """
    floors, groups, inside = limits
    arms, spare = floors.size, max(0.0, unspent(floors))
    contrasts, is_rival = contrasts_of(features, ties[0], named)
    costs, tied = _costs(means, ties, named, variance, is_rival)
    reached, slopes, multipliers = np.empty(arms), np.empty(arms), np.empty(arms)
    for a in range(arms):
        weights[a] = inside[a] if inside.size > 0 else floors[a] + spare / arms
    evaluate(features, contrasts, costs, is_rival, weights, reached)
    unit, gap, least = reached.min(), np.inf, 1.0  # the unit: so that the method works with numbers near 1
    if spare <= EPSILON or not is_rival.any() or not unit > 0.0:
        return 0.0 if tied or not np.isfinite(unit) else unit, 0.0
    for a in range(arms):
        costs[a], reached[a] = costs[a] / unit, reached[a] / unit
    free, rivals = _first_choice(features, is_rival, reached, named, groups[1].size > 0)
    for _ in range(ROUNDS):
        prices = _improve(features, contrasts, costs, limits, free, rivals, weights, multipliers)
        white, between = evaluate(features, contrasts, costs, is_rival, weights, reached)
        if len(white) == 0:
            break
        least, most, low = reached.min(), 0.0, np.inf
        _slopes(white, between, reached, costs, multipliers, slopes)
        gap = max(0.0, 1.0 - least / _bound(slopes, floors, spare, groups, prices))
        if gap <= tolerance:
            break
        for a in range(arms):
            most = max(most, slopes[a]) if free[a] else most
            low = min(low, reached[a]) if rivals[a] else low
        margin, count = 0.1 * tolerance, len(features)
        more = _choose_more(reached, is_rival, rivals, low * (1.0 - margin), count)
        if not (_choose_more(-slopes, ~free, free, -most * (1.0 + margin), count) or more):
            break
    return 0.0 if tied else least * unit, gap


@entry
def allocate_linear(features, variance, means, ties, named, limits, tolerance, weights):
    """``linear_shares`` for Python."""
    return linear_shares(features, variance, means, ties, named, limits, tolerance, weights)
