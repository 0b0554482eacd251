"""Settling with limits on groups that overlap: further trials, one at a time, until every limit is kept.

The next arm is the one whose floors, its own and those of its groups, are behind by the most trials together; what a
group would be above its ceiling counts against its arms. If some shares leave room to all limits, this comes to an end
(Blackwell's approachability). Limits that leave no room may never be kept by whole trials: then it is enough that each
is missed by less than one.
"""

import numpy as np

from fairbai.kernels.jit import entry, kernel, subroutine
from fairbai.kernels.settling.floors import short_of
from fairbai.kernels.state import ASSIGNED

TIMES, MORE = 100.0, 10.0  # settling may take so many times the trials before, and so many more per arm


@subroutine
def _lags(model, floors, pulls, total, lags, coming):
    """By how many trials the floors of every arm are behind together; returns the largest lag of a single floor.

    A group with a ceiling is taken to get ``coming`` more trials: whether it may have the next one.
    """
    most = 0.0
    for a in range(pulls.size):
        lags[a] = short_of(floors[a] * total, pulls[a])
        most = max(most, lags[a])
    for g in range(model.totals.size):
        count = 0.0
        for a in range(pulls.size):
            count += model.members[g, a] * pulls[a]
        count -= coming if model.totals[g] < 0.0 else 0.0
        lag = short_of(model.totals[g] * total, count)
        most = max(most, lag)
        for a in range(pulls.size):
            lags[a] += model.members[g, a] * lag
    return most


@kernel
def _furthest_behind(model, floors, pulls, total, lags):
    _lags(model, floors, pulls, total + 1.0, lags, 1.0)
    return np.argmax(lags)


@subroutine
def settle_groups(model, floors, assigned, pulls):
    """Write the trials of every arm after settling into ``pulls``; returns their sum. It is as before if all fails."""
    lags, before = np.empty(assigned.size), assigned.sum()
    for allowed in (0.0, 1.0 - 1e-9):
        pulls[:], total = assigned, before
        most = TIMES * (before + MORE * assigned.size)
        while _lags(model, floors, pulls, total, lags, 0.0) > allowed and total < most:
            pulls[_furthest_behind(model, floors, pulls, total, lags)] += 1.0
            total += 1.0
        if _lags(model, floors, pulls, total, lags, 0.0) <= allowed:
            return total
    pulls[:] = assigned
    return before


@subroutine
def group_violation(model, pulls, total):
    """By how much the share of a group is below its floor, at most."""
    return _lags(model, np.zeros(pulls.size), pulls * 1.0, total, np.empty(pulls.size), 0.0) / total


@entry
def trials_to_groups(model, state, floors):
    """How many further trials meet all floors."""
    return settle_groups(model, floors, state[ASSIGNED], np.empty(floors.size)) - state[ASSIGNED].sum()


@entry
def arm_for_groups(model, state, floors):
    """The next arm on the way there."""
    return _furthest_behind(model, floors, state[ASSIGNED], state[ASSIGNED].sum(), np.empty(floors.size))
