"""Settling: after the decision, the least number of further trials after which every share is as it must be.

Here an experiment with floors alone and one with ceilings and groups part ways; callers need not know which it is.
"""

import numpy as np

from fairbai.kernels.jit import entry, kernel, subroutine
from fairbai.kernels.settling.floors import arm_for_floors, floor_violation, settle_floors, trials_to_floors
from fairbai.kernels.settling.limits import arm_for_limits, limit_violation, settle_limits, trials_to_limits
from fairbai.kernels.state import has_limits

NOT, FROZEN, LEARNING = range(3)
"""How a run settles: not at all, with the floors of the decision, or with floors that follow the rewards."""


@entry
def settling_trials(state, scalars, floors, workspace):
    """The least m such that m further trials can meet these floors, or all limits; 0 where that is out of reach.

    ``workspace`` has two rows.
    """
    if has_limits(scalars):
        return trials_to_limits(state, scalars, workspace)
    return trials_to_floors(state, scalars, floors)


@entry
def settling_arm(state, scalars, floors, total, workspace):
    """The next arm on the way to ``total`` trials."""
    if has_limits(scalars):
        return arm_for_limits(state, scalars, total, workspace)
    return arm_for_floors(state, floors, total)


@subroutine
def settle(state, scalars, floors, workspace, pulls):
    """Write the trials of every arm after settling into ``pulls``; returns their sum. ``state`` stays as it was."""
    if has_limits(scalars):
        return settle_limits(state, scalars, workspace, pulls)
    return settle_floors(state, scalars, floors, pulls)


@kernel
def violation(state, scalars, floors, pulls, total):
    """By how much a share is outside the limits at most or, where there are none, below these floors."""
    if has_limits(scalars):
        return limit_violation(state, pulls, total, np.empty(pulls.size))
    return floor_violation(floors, pulls, total)
