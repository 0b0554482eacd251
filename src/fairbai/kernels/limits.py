"""Shares within limits: floors l, ceilings u, and floors g and ceilings h on the sums over groups of arms.

No two groups overlap. A group is a number: ``groups[a]`` is that of arm a, or -1, ``totals[g]`` the floor of group g,
and ``tops[g]`` its ceiling; a ceiling of 1 is none.
"""

from fairbai.kernels.jit import entry, kernel
from fairbai.kernels.rates import EPSILON, unspent

SUM, HEADROOM = range(2)
"""Rows of the workspace, with one entry per group: the sum of its shares, and how far they are below the ceilings."""


@kernel
def _sum_groups(ceilings, groups, weights, work):
    """The sum of every group, and how much its arms are below their ceilings."""
    work[SUM, :] = 0.0
    work[HEADROOM, :] = 0.0
    for a in range(weights.size):
        group = int(groups[a])
        if group >= 0:
            work[SUM, group] += weights[a]
            work[HEADROOM, group] += max(0.0, ceilings[a] - weights[a])


@kernel
def _raise_by(part, ceiling, weight):
    return min(ceiling, weight + part * (ceiling - weight)) if part > 0.0 else weight


@kernel
def _part_of_room(tops, group, work):
    """The part of the distance to their ceilings that the arms of a group may take, because of its own ceiling."""
    if group < 0 or tops[group] == 1.0 or work[SUM, group] + work[HEADROOM, group] <= tops[group]:
        return 1.0
    return max(0.0, tops[group] - work[SUM, group]) / work[HEADROOM, group]


@entry
def fill_up(ceilings, groups, totals, tops, weights, work):
    """Raise ``weights``, which are within the limits but for what they lack, to the groups' floors and to sum 1.

    Every arm takes the same part of its room: first within each group, then all together. The room of an arm is its
    distance to its ceiling; where a group's ceiling is below those of its arms, theirs shrink alike to what it leaves.
    """
    _sum_groups(ceilings, groups, weights, work)
    for a in range(weights.size):
        group = int(groups[a])
        if group >= 0 and totals[group] > work[SUM, group] and work[HEADROOM, group] > 0.0:
            part = (totals[group] - work[SUM, group]) / work[HEADROOM, group]
            weights[a] = _raise_by(part, ceilings[a], weights[a])
    _sum_groups(ceilings, groups, weights, work)
    total, headroom = 0.0, 0.0
    for a in range(weights.size):
        total += weights[a]
        headroom += _part_of_room(tops, int(groups[a]), work) * (ceilings[a] - weights[a])
    part = (1.0 - total) / headroom if headroom > 0.0 else 0.0
    for a in range(weights.size):
        weights[a] = _raise_by(part * _part_of_room(tops, int(groups[a]), work), ceilings[a], weights[a])


@kernel
def forced_shares(floors, groups, totals, work):
    """Row SUM of ``work``: what every group must have, its own floor or the sum of its arms'. Returns what is left."""
    work[SUM, :] = 0.0
    for a in range(floors.size):
        group = int(groups[a])
        if group >= 0:
            work[SUM, group] += floors[a]
    for group in range(totals.size):
        work[SUM, group] = max(work[SUM, group], totals[group])
    for a in range(floors.size):
        work[HEADROOM, a] = floors[a] if groups[a] < 0.0 else 0.0
    rest = unspent(work[: HEADROOM + 1].ravel())
    return rest if rest > EPSILON else 0.0
