"""Settling: after the decision, the least number of further trials after which every arm has its floor.

Floors that depend on the means can be raised by a margin first, because they are known only up to an error.
"""

import math

from fairbai.kernels.families import BERNOULLI, GAUSSIAN, variance
from fairbai.kernels.jit import entry, kernel
from fairbai.kernels.rates import CONSTANT, fill_floors, spare_share
from fairbai.kernels.state import ASSIGNED, FLOOR, INSIDE, MEAN, OBSERVED, ROUND, SCALE

NOT, FROZEN, LEARNING = range(3)
"""How a run settles: not at all, with the floors of the decision, or with floors that follow the rewards."""

OUT_OF_REACH = 1e9
WHOLE = 1e-9  # floors that leave less than this count as the whole
MARGINS = 0.5  # the part of what the floors leave that their margins may take


@kernel
def owed(floor, total, spare):
    """How many of ``total`` trials an arm must have: its floor, rounded up.

    Floors that sum to 1 cannot all be rounded up; then they are rounded down, which misses a floor by less than one.
    """
    share = floor * total
    return math.ceil(share) if spare > WHOLE else math.floor(share)


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


@entry
def settling_trials(state, numbers, floors, spare):
    """The least m such that m further trials, all given to arms that lack some, meet every floor of the total.

    The least fixed point of m -> trials lacking after m more, from below. The second step is Newton's: without
    rounding, the arms that lack some now need at least that many. Floors that sum to 1 can be out of reach; then 0.
    """
    more = 0
    if spare <= WHOLE:
        total = _at_least(state, floors)
        if total > OUT_OF_REACH:
            return 0
        more = max(0, math.ceil(total - numbers[ROUND]))
    while True:
        total = numbers[ROUND] + more
        lacking, share, short = 0, 0.0, 0.0
        for a in range(state.shape[1]):
            lack = owed(floors[a], total, spare) - state[ASSIGNED, a]
            if lack > 0.0:
                lacking += int(lack)
                share += floors[a]
                short += floors[a] * numbers[ROUND] - state[ASSIGNED, a]
        if lacking <= more:
            return more
        more = lacking
        if spare > WHOLE and short > 0.0:
            more = max(more, math.ceil(short / (1.0 - share) - 1e-6))


@entry
def furthest_behind(state, floors, total, spare):
    """The arm that lacks most of what it must have of ``total`` trials."""
    furthest, most = 0, -math.inf
    for a in range(state.shape[1]):
        lack = owed(floors[a], total, spare) - state[ASSIGNED, a]
        if lack > most:
            furthest, most = a, lack
    return furthest


@kernel
def settle(state, numbers, floors, spare, pulls):
    """The trials of every arm after settling, as ``furthest_behind`` would give them one by one; returns their sum.

    The further trials are as many as are lacking, so that every arm ends with what it is owed or what it had.
    """
    more = settling_trials(state, numbers, floors, spare)
    total = numbers[ROUND] + more
    for a in range(floors.size):
        pulls[a] = state[ASSIGNED, a]
        if more > 0:  # else all have what they are owed, or floors that sum to 1 are out of reach
            pulls[a] = max(state[ASSIGNED, a], owed(floors[a], total, spare))
    return total


@kernel
def reach(family, state, arm):
    """One standard error to either side of a mean, inside the domain of the family, and the standard error."""
    mean, inside = state[MEAN, arm], state[INSIDE, arm]
    error = math.sqrt(variance(family, inside, state[SCALE, arm]) / state[OBSERVED, arm])
    low, high = mean - error, mean + error
    if family != GAUSSIAN:
        low = max(low, 0.5 * mean)
    if family == BERNOULLI:
        high = min(high, 0.5 * (1.0 + mean))
    return low, high, error


@kernel
def add_variances(below, above, slope, variances):
    """Add what the error of one mean contributes to the variance of every floor, by the delta method."""
    for a in range(variances.size):
        change = slope * (above[a] - below[a])
        variances[a] += change * change


@entry
def add_margins(floors, variances, margin):
    """Raise every floor by ``margin`` standard errors, or by as many as take MARGINS of what the floors leave."""
    total = 0.0
    for a in range(floors.size):
        total += math.sqrt(variances[a])
    most = MARGINS * spare_share(floors)
    factor = margin if margin * total <= most else most / total
    for a in range(floors.size):
        floors[a] += factor * math.sqrt(variances[a])


@entry
def raise_floors(family, rate, p0, temperature, margin, state, floors, room):
    """Write the floors at the present means, each raised by its margin; returns what they leave.

    The standard error of a floor follows from those of the means by the delta method, with differences over one
    standard error, since rates have kinks. ``room`` has four numbers an arm.
    """
    floors[:] = state[FLOOR]
    if rate == CONSTANT:
        return spare_share(floors)
    fill_floors(rate, p0, temperature, state[MEAN], floors)
    if margin > 0.0:
        variances, means, below, above = room[0], room[1], room[2], room[3]
        variances[:], means[:] = 0.0, state[MEAN]
        for a in range(floors.size):
            low, high, error = reach(family, state, a)
            if low < high:
                means[a] = low
                fill_floors(rate, p0, temperature, means, below)
                means[a] = high
                fill_floors(rate, p0, temperature, means, above)
                means[a] = state[MEAN, a]
                add_variances(below, above, error / (high - low), variances)
        add_margins(floors, variances, margin)
    return spare_share(floors)
