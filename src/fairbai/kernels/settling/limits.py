"""Settling within limits: the least number of further trials after which floors, ceilings and groups are all met.

docs/limits.md proves the conditions that are checked here.
"""

import math

from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.settling.floors import OUT_OF_REACH, ROUNDING, WHOLE, owed, short_of
from fairbai.kernels.state import (
    ASSIGNED,
    CEILING,
    FLOOR,
    GROUP,
    GROUP_CEILING,
    GROUP_FLOOR,
    ROUND,
    SLACK,
    count_groups,
)

MAX_TOTALS = 1_000_000


@kernel
def allowed(ceiling, total, slack):
    """How many of ``total`` trials an arm or a group may have: its ceiling, rounded like floors, the other way."""
    share = ceiling * total
    return math.floor(share * (1.0 + ROUNDING)) if slack > WHOLE else math.ceil(share)


@kernel
def _needed(state, slack, total, arm):
    """The trials that an arm must have of ``total``, or has."""
    return max(state[ASSIGNED, arm], owed(state[FLOOR, arm], total, slack))


@kernel
def _fill_groups(state, slack, total, needed, possible):
    """What the arms of every group need and may have together; returns the same of the arms in no group."""
    needed[:] = 0.0
    possible[:] = 0.0
    need, may = 0.0, 0.0
    for a in range(state.shape[1]):
        group = int(state[GROUP, a])
        if group >= 0:
            needed[group] += _needed(state, slack, total, a)
            possible[group] += allowed(state[CEILING, a], total, slack)
        else:
            need += _needed(state, slack, total, a)
            may += allowed(state[CEILING, a], total, slack)
    return need, may


@kernel
def _room_again(state, slack, total, group):
    """A total below which the arms of a group need more than its ceiling allows, as they do at ``total``.

    An arm that has more than its floor asks for needs that at every larger total too, and any other arm its floor.
    """
    had, share = -1.0, 0.0  # one trial for the rounding of the ceiling
    for a in range(state.shape[1]):
        if state[GROUP, a] == group:
            if state[ASSIGNED, a] > owed(state[FLOOR, a], total, slack):
                had += state[ASSIGNED, a]
            else:
                share += state[FLOOR, a]
                had -= 0.0 if slack > WHOLE else 1.0  # floors are rounded down then
    left = state[GROUP_CEILING, group] - share
    if had < 0.0:
        return total
    return math.floor(had / left) if left > had / OUT_OF_REACH else math.inf


@kernel
def _next_total(state, slack, total, needed, possible):
    """``total`` if the limits can be met with so many trials; else a larger one, below which they cannot be."""
    for a in range(state.shape[1]):
        most = allowed(state[CEILING, a], total, slack)
        if state[ASSIGNED, a] > most:
            return max(total + 1.0, math.floor((state[ASSIGNED, a] - 1.0) / state[CEILING, a]))
        if owed(state[FLOOR, a], total, slack) > most:
            return total + 1.0
    need, may = _fill_groups(state, slack, total, needed, possible)
    crowded, following = False, total
    for group in range(needed.size):
        want = max(needed[group], owed(state[GROUP_FLOOR, group], total, slack))
        most = possible[group]
        if state[GROUP_CEILING, group] < 1.0:
            most = min(most, allowed(state[GROUP_CEILING, group], total, slack))
            if needed[group] > most:
                following = max(following, _room_again(state, slack, total, group))
        crowded = crowded or want > most
        need += want
        may += most
    following = max(following, need)
    if following > total:
        return following
    return total + 1.0 if crowded or may < total else total


@subroutine
def trials_to_limits(state, scalars, workspace):
    """The least m such that m further trials can meet every limit; 0 where that is out of reach.

    Limits that leave no play anywhere (``SLACK`` is 0) are met up to less than one trial. ``workspace`` has
    two rows.
    """
    total = scalars[ROUND]
    for _ in range(MAX_TOTALS):
        following = _next_total(state, scalars[SLACK], total, workspace[0], workspace[1])
        if following == total:
            return int(total - scalars[ROUND])
        total = following
        if total > OUT_OF_REACH:
            break
    return 0


@kernel
def _most_lacking_group(state, slack, total, counts):
    count_groups(state, counts)
    lacking, most = -1, 0.0
    for group in range(counts.size):
        lack = owed(state[GROUP_FLOOR, group], total, slack) - counts[group]
        lacking, most = (group, lack) if lack > most else (lacking, most)
    return lacking


@subroutine
def arm_for_limits(state, scalars, total, workspace):
    """The next arm on the way to ``total`` trials.

    The one that lacks most of its floor; if none does, of the group that lacks most (of all that are below their
    ceilings, if none does) the one that is furthest below its ceiling. Every step for a floor or a group lessens by one
    what is lacking in all.
    """
    slack = scalars[SLACK]
    arm, most = -1, 0.0
    for a in range(state.shape[1]):
        lack = owed(state[FLOOR, a], total, slack) - state[ASSIGNED, a]
        arm, most = (a, lack) if lack > most else (arm, most)
    if arm >= 0:
        return arm
    counts, most = workspace[0], -math.inf
    group = _most_lacking_group(state, slack, total, counts)
    for a in range(state.shape[1]):
        below = allowed(state[CEILING, a], total, slack) - state[ASSIGNED, a]
        own = int(state[GROUP, a])
        full = own >= 0 and counts[own] >= allowed(state[GROUP_CEILING, own], total, slack)
        if (group < 0 or own == group) and below > most and not full:
            arm, most = a, below
    return arm


@subroutine
def settle_limits(state, scalars, workspace, pulls):
    """The trials of every arm after settling; returns their sum. ``state`` stays as it was."""
    more = trials_to_limits(state, scalars, workspace)
    total = scalars[ROUND] + more
    for a in range(pulls.size):
        pulls[a] = state[ASSIGNED, a]
    for _ in range(more):
        state[ASSIGNED, arm_for_limits(state, scalars, total, workspace)] += 1.0
    for a in range(pulls.size):
        before = pulls[a]
        pulls[a] = state[ASSIGNED, a]
        state[ASSIGNED, a] = before
    return total


@subroutine
def limit_violation(state, pulls, total, counts):
    """By how much a share is outside its limits, at most."""
    most = 0.0
    counts[:] = 0.0
    for a in range(pulls.size):
        most = max(most, short_of(state[FLOOR, a] * total, pulls[a]), short_of(pulls[a], state[CEILING, a] * total))
        if state[GROUP, a] >= 0.0:
            counts[int(state[GROUP, a])] += pulls[a]
    for group in range(counts.size):
        floor, ceiling = state[GROUP_FLOOR, group] * total, state[GROUP_CEILING, group] * total
        most = max(most, short_of(floor, counts[group]), short_of(counts[group], ceiling))
    return most / total
