"""Fair top-two within ceilings and groups; see docs/limits.md."""

import math

import numpy as np

from fairbai.kernels.jit import borrowed, kernel, subroutine
from fairbai.kernels.sampling.policies import draw_owed, draws_best
from fairbai.kernels.sampling.prices import slope_that_earns
from fairbai.kernels.state import (
    ASSIGNED,
    CEILING,
    COST,
    FLOOR,
    GROUP,
    GROUP_CEILING,
    GROUP_FLOOR,
    RATIO,
    ROUND,
    UNSEEN,
    awaits_rewards,
    count_groups,
    named_arm,
    pair_cost,
    useful,
)

HALF = 0.5  # a group is behind its floor, and an arm is full, if it is so by more than half a trial


@kernel
def furthest_behind(state, number, tolerance):
    """The arm that is furthest behind its share of so many trials, by more than the tolerance; or -1."""
    furthest, lag = -1, tolerance
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
def _headroom(state, number, counts, arm):
    """How many further trials keep an arm and its group below their ceilings, with half a trial of grace each.

    Below 1 the arm is full.
    """
    room, group = state[CEILING, arm] * number + HALF - state[ASSIGNED, arm], int(state[GROUP, arm])
    return room if group < 0 else min(room, state[GROUP_CEILING, group] * number + HALF - counts[group])


@kernel
def _within(state, arm, group):
    return group < 0 or state[GROUP, arm] == group


@kernel
def _draw_fewest_useful(state, number, counts, group, uniform):
    """Of the arms of a group (of all, if it is -1) that are not full one with the fewest useful trials; or -1."""
    least, ties = np.inf, 0.0
    for a in range(state.shape[1]):
        if _within(state, a, group) and _headroom(state, number, counts, a) >= 1.0 and useful(state, a) <= least:
            least, ties = useful(state, a), 1.0 if useful(state, a) < least else ties + 1.0
    place, arm = math.floor(uniform * ties), -1
    for a in range(state.shape[1]):
        tied = place >= 0.0 and useful(state, a) == least and _within(state, a, group)
        if tied and _headroom(state, number, counts, a) >= 1.0:
            arm, place = a, place - 1.0
    return arm


@kernel
def _roomiest(state, number, counts, group):
    """The arm of a group (of all, if it is -1) that is furthest below its ceiling and that of its group."""
    roomiest, most = -1, -np.inf
    for a in range(state.shape[1]):
        room = _headroom(state, number, counts, a)
        if _within(state, a, group) and room > most:
            roomiest, most = a, room
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
def _in_group_at_ceiling(state, scalars, counts, margin, arm):
    """Whether the ceiling of an arm's group is what holds the trials of the group down."""
    group = int(state[GROUP, arm])
    if group < 0 or state[GROUP_CEILING, group] == 1.0:
        return False
    return counts[group] >= state[GROUP_CEILING, group] * scalars[ROUND] - margin


@kernel
def _by_evidence(config, state, scalars, counts, group, uniform):
    """The best arm or its challenger, as in ``top_two``, but from a group only (any arm, if it is -1); or -1."""
    number, margin = scalars[ROUND] + 1.0, config.parameter
    best = named_arm(config, state, scalars)
    pending, own = awaits_rewards(scalars), state[GROUP, best]
    crowded = _in_group_at_ceiling(state, scalars, counts, margin, best)
    rival, least, chosen, cheapest, pull = -1, np.inf, -1, np.inf, 0.0
    for a in range(state.shape[1]):
        if a != best:
            cost, ratio = state[COST, a], state[RATIO, a]
            if pending:
                cost, ratio = pair_cost(config.family, state, best, a)
            cost += math.log(useful(state, a))
            rival, least = (a, cost) if cost < least or rival < 0 else (rival, least)
            room = _headroom(state, number, counts, a)
            if _within(state, a, group) and room >= 1.0 and (cost < cheapest or chosen < 0):
                chosen, cheapest = a, cost
            # the floor of another group pays for its arms; that of the best arm's own group pays for either of them;
            # and what the ceiling of that group keeps from it goes to all others anyway
            held = crowded or _in_group_at_floor(state, scalars, counts, margin, a)
            elsewhere = state[GROUP, a] != own and held
            pull += 0.0 if elsewhere or _at_floor(state, scalars, margin, a) else ratio
    if not (_within(state, best, group) and _headroom(state, number, counts, best) >= 1.0):
        return chosen
    free = own != state[GROUP, rival] and _in_group_at_floor(state, scalars, counts, margin, best)
    if chosen < 0 or free or _headroom(state, number, counts, rival) < 1.0:
        return best
    if config.second > 0.0:
        pull = max(pull, slope_that_earns(config, best, least, state, scalars))
    return best if draws_best(pull, scalars[ROUND], uniform) else chosen


@subroutine
def fair_top_two_within(config, state, scalars, counts, uniform):
    """What floors lack; else, from a group behind its floor or from all, an unseen arm or by the evidence.

    The best arm is drawn as H says over the arms that neither their floor nor that of another group holds up, nor the
    ceiling of its own group, if they are not in it; if its challenger is full; or if the floor of its own group pays
    for it (the challenger being in another). An arm is full, and not chosen unless all are, if one more trial would
    take it or its group more than half a trial above a ceiling.
    """
    state, scalars, counts = borrowed(state), borrowed(scalars), borrowed(counts)
    number = scalars[ROUND] + 1.0
    arm, uniform = draw_owed(state, FLOOR, number, uniform)
    if arm >= 0:
        return arm
    count_groups(state, counts)
    group = _group_behind(state, number, counts)
    arm = _draw_fewest_useful(state, number, counts, group, uniform)
    if scalars[UNSEEN] == 0.0 and (arm < 0 or useful(state, arm) > 0.0):
        arm = _by_evidence(config, state, scalars, counts, group, uniform)
    return arm if arm >= 0 else _roomiest(state, number, counts, group)
