"""Fair top-two within ceilings and group floors; see docs/limits.md."""

import math

import numpy as np

from fairbai.kernels.jit import borrowed, kernel, subroutine
from fairbai.kernels.pairs import transport
from fairbai.kernels.state import (
    ASSIGNED,
    CEILING,
    COST,
    FLOOR,
    GROUP,
    GROUP_FLOOR,
    MEAN,
    RATIO,
    ROUND,
    SCALE,
    UNSEEN,
    awaits_rewards,
    count_groups,
    largest,
    useful,
)

MAX_LAG = 0.25  # by how many trials an arm may fall behind its floor
HALF = 0.5  # a group is behind its floor, and an arm is full, if it is so by more than half a trial


@kernel
def _behind(state, number):
    """The arm that is furthest behind its floor, by more than it may be; or -1."""
    furthest, lag = -1, MAX_LAG
    for a in range(state.shape[1]):
        behind = state[FLOOR, a] * number - state[ASSIGNED, a]
        furthest, lag = (a, behind) if behind > lag else (furthest, lag)
    return furthest


@kernel
def _group_behind(state, number, counts):
    """The group that is furthest behind its floor, by more than half a trial; or -1."""
    furthest, lag = -1, HALF
    for group in range(counts.size):
        behind = state[GROUP_FLOOR, group] * number - counts[group]
        furthest, lag = (group, behind) if behind > lag else (furthest, lag)
    return furthest


@kernel
def _headroom(state, number, arm):
    """How many further trials keep an arm below its ceiling, with half a trial of grace: it is full below 1."""
    return state[CEILING, arm] * number + HALF - state[ASSIGNED, arm]


@kernel
def _within(state, arm, group):
    return group < 0 or state[GROUP, arm] == group


@kernel
def _fewest_useful(state, number, group):
    """Of the arms of a group (of all, if it is -1) that are not full the one with the fewest useful trials; or -1."""
    least = -1
    for a in range(state.shape[1]):
        fewer = least < 0 or useful(state, a) < useful(state, least)
        least = a if fewer and _within(state, a, group) and _headroom(state, number, a) >= 1.0 else least
    return least


@kernel
def _roomiest(state, number, group):
    """The arm of a group (of all, if it is -1) that is furthest below its ceiling."""
    roomiest = -1
    for a in range(state.shape[1]):
        if _within(state, a, group) and (
            roomiest < 0 or _headroom(state, number, a) > _headroom(state, number, roomiest)
        ):
            roomiest = a
    return roomiest


@kernel
def _at_floor(state, scalars, margin, arm):
    """Whether an arm's floor is what holds its trials up: it then needs none for the evidence."""
    return state[ASSIGNED, arm] <= state[FLOOR, arm] * scalars[ROUND] + margin


@kernel
def _in_group_at_floor(state, scalars, counts, margin, arm):
    """Whether the floor of an arm's group is what holds the trials of the group up."""
    group = int(state[GROUP, arm])
    return group >= 0 and counts[group] <= state[GROUP_FLOOR, group] * scalars[ROUND] + margin


@kernel
def _by_evidence(family, margin, state, scalars, counts, group):
    """The best arm or its challenger, as in ``top_two``, but from a group only (any arm, if it is -1); or -1."""
    number = scalars[ROUND] + 1.0
    best = largest(state, MEAN)
    top, top_scale, top_count = state[MEAN, best], state[SCALE, best], useful(state, best)
    pending, own = awaits_rewards(scalars), state[GROUP, best]
    rival, least, chosen, cheapest, pull = -1, np.inf, -1, np.inf, 0.0
    for a in range(state.shape[1]):
        if a != best:
            count = useful(state, a)
            cost, ratio = state[COST, a], state[RATIO, a]
            if pending:
                cost, ratio = transport(family, top, top_scale, top_count, state[MEAN, a], state[SCALE, a], count)
            cost += math.log(count)
            rival, least = (a, cost) if cost < least or rival < 0 else (rival, least)
            if _within(state, a, group) and _headroom(state, number, a) >= 1.0 and (cost < cheapest or chosen < 0):
                chosen, cheapest = a, cost
            # the floor of another group pays for its arms; that of the best arm's own group pays for either of them
            elsewhere = state[GROUP, a] != own and _in_group_at_floor(state, scalars, counts, margin, a)
            pull += 0.0 if elsewhere or _at_floor(state, scalars, margin, a) else ratio
    if not (_within(state, best, group) and _headroom(state, number, best) >= 1.0):
        return chosen
    free = own != state[GROUP, rival] and _in_group_at_floor(state, scalars, counts, margin, best)
    return best if chosen < 0 or pull > 1.0 or free or _headroom(state, number, rival) < 1.0 else chosen


@subroutine
def fair_top_two_within(family, margin, state, scalars, counts):
    """An arm behind its floor; else, from a group behind its floor or from all, an unseen arm or by the evidence.

    The best arm is pulled if H > 1 over the arms that neither their floor nor that of another group holds up, if its
    challenger is full, or if the floor of its own group pays for it (the challenger being in another). An arm that
    would pass its ceiling by more than half a trial is not chosen, unless all are such.
    """
    state, scalars, counts = borrowed(state), borrowed(scalars), borrowed(counts)
    number = scalars[ROUND] + 1.0
    arm = _behind(state, number)
    if arm >= 0:
        return arm
    count_groups(state, counts)
    group = _group_behind(state, number, counts)
    arm = _fewest_useful(state, number, group)
    if scalars[UNSEEN] == 0.0 and (arm < 0 or useful(state, arm) > 0.0):
        arm = _by_evidence(family, margin, state, scalars, counts, group)
    return arm if arm >= 0 else _roomiest(state, number, group)
