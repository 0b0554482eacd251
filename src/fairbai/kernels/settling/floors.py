"""Settling for floors alone: the least number of further trials after which every arm has its floor."""

import math

from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.rates import spare_share
from fairbai.kernels.state import ASSIGNED, ROUND

OUT_OF_REACH = 1e9
WHOLE = 1e-9  # floors that leave less than this count as the whole
ROUNDING = 4.0 * 2.0**-53  # relative: 0.07 * 100 is above 7 by less than this


@kernel
def short_of(share, count):
    """By how much ``count`` is below ``share``; 0 if that is an error of rounding. Both are negative for a ceiling."""
    lag = share - count
    return lag if lag > ROUNDING * abs(share) else 0.0


@kernel
def owed(floor, total, spare):
    """How many of ``total`` trials an arm must have: its floor, rounded up, but not for an error of rounding.

    Floors that sum to 1 cannot all be rounded up; then they are rounded down, which misses a floor by less than one.
    """
    share = floor * total
    return math.ceil(share * (1.0 - ROUNDING)) if spare > WHOLE else math.floor(share)


@kernel
def _at_least(state, floors):
    """A lower bound on the total at which floors that sum to 1 are met: no arm may have had more than K too many."""
    total = 0.0
    for a in range(floors.size):
        if floors[a] == 0.0 and state[ASSIGNED, a] > 0.0:
            return math.inf
        excess = state[ASSIGNED, a] - floors.size
        if excess > floors[a] * total:
            total = excess / floors[a]
    return total


@subroutine
def trials_to_floors(state, scalars, floors):
    """The least m such that m further trials, all given to arms that lack some, meet every floor of the total.

    The least fixed point of m -> trials lacking after m more, from below. The second step is Newton's: without
    rounding, the arms that lack some now need at least that many. Floors that sum to 1 can be out of reach; then 0.
    """
    spare, more = spare_share(floors), 0
    if spare <= WHOLE:
        total = _at_least(state, floors)
        if total > OUT_OF_REACH:
            return 0
        more = max(0, math.ceil(total - scalars[ROUND]))
    while True:
        total = scalars[ROUND] + more
        lacking, share, short = 0, 0.0, 0.0
        for a in range(state.shape[1]):
            lack = owed(floors[a], total, spare) - state[ASSIGNED, a]
            if lack > 0.0:
                lacking += int(lack)
                share += floors[a]
                short += floors[a] * scalars[ROUND] - state[ASSIGNED, a]
        if lacking <= more:
            return more
        more = lacking
        if spare > WHOLE and short > 0.0:
            more = max(more, math.ceil(short / (1.0 - share) - 1e-6))


@subroutine
def arm_for_floors(state, floors, total):
    """The arm that lacks most of what it must have of ``total`` trials."""
    spare = spare_share(floors)
    furthest, most = 0, -math.inf
    for a in range(state.shape[1]):
        lack = owed(floors[a], total, spare) - state[ASSIGNED, a]
        if lack > most:
            furthest, most = a, lack
    return furthest


@kernel
def settle_floors(state, scalars, floors, pulls):
    """The trials of every arm after settling, as ``arm_for_floors`` would give them one by one; returns their sum.

    The further trials are as many as are lacking, so that every arm ends with what it is owed or what it had.
    """
    spare = spare_share(floors)
    more = trials_to_floors(state, scalars, floors)
    total = scalars[ROUND] + more
    for a in range(floors.size):
        pulls[a] = state[ASSIGNED, a]
        if more > 0:  # else all have what they are owed, or floors that sum to 1 are out of reach
            pulls[a] = max(state[ASSIGNED, a], owed(floors[a], total, spare))
    return total


@kernel
def floor_violation(floors, pulls, total):
    """By how much the share of an arm is below its floor, at most: max (p_a - N_a / t), or 0.

    The difference is taken in trials, so that an arm that has all that it is owed counts as exactly 0.
    """
    most = 0.0
    for a in range(floors.size):
        most = max(most, short_of(floors[a] * total, pulls[a]))
    return most / total
