"""The posterior probability of being the best arm, by quadrature; see docs/earning.md.

In every family the posterior of a mean has a density exp(-n d(m, x)) in a parameter of x, up to a constant, for a
centre m and a count n. Its distribution function is Phi(r + log(q / r) / r), up to 1e-3 at the start and a relative
error of order n^(-3/2) later, where r = sign(x - m) sqrt(2 n d(m, x)) and q is the slope of n d in that parameter at x
over the root of its curvature at m (Barndorff-Nielsen's r*).

The probability of being the best is a sum over a grid with points near every arm that matters: of what the distribution
function of the arm gains from point to point, times the average product of all others.
"""

import math

import numpy as np

from fairbai.kernels.families import (
    BERNOULLI,
    BOUNDED,
    EXPONENTIAL,
    GAUSSIAN,
    GAUSSIAN_UNKNOWN,
    MIRRORED_EXPONENTIAL,
    MIRRORED_POISSON,
    POISSON,
    divergence,
    variance,
)
from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.state import INSIDE, OBSERVED, SCALE, SEEN, START, SUM, WEIGHT

LOWEST, STEP, POINTS = -3.6, 0.8, 10  # where the points of an arm are, in standard deviations, and their number
CERTAIN = 7.0  # standard deviations above which a mean cannot lie
GAUSS = 0.5 / math.sqrt(3.0)  # how far the points of a Gauss rule are from the middle
NEAR = 1e-4  # standard deviations: closer to the centre, the distribution function has too few digits
EDGE = 1e-12  # of the interval: no centre is nearer to its ends, however many rewards there are
GROWTH = 0.02  # of all rewards, between updates


@kernel
def _centre(family, state, arm):
    """The centre and the count of the posterior: the priors are flat, or Beta(1, 1) for rewards in [0, 1]."""
    count, total = state[OBSERVED, arm], state[SUM, arm]
    if family in (BERNOULLI, BOUNDED):
        return min(max((total + 1.0) / (count + 2.0), EDGE), 1.0 - EDGE), count + 2.0
    if family == POISSON:
        return (total + 1.0) / count, count
    if family == MIRRORED_POISSON:
        return (total - 1.0) / count, count
    if family == GAUSSIAN_UNKNOWN:
        return state[INSIDE, arm], count - 1.0
    if family in (GAUSSIAN, EXPONENTIAL, MIRRORED_EXPONENTIAL):
        return state[INSIDE, arm], count
    return math.nan, math.nan


@kernel
def _point(family, centre, deviation, steps):
    """The mean that is so many standard deviations above the centre, on the scale on which the posterior is even."""
    if family in (GAUSSIAN, GAUSSIAN_UNKNOWN):
        return centre + steps * deviation
    if family in (BERNOULLI, BOUNDED):
        odds = math.exp(-steps * deviation / (centre * (1.0 - centre)))
        return centre / (centre + (1.0 - centre) * odds)
    return centre * math.exp(steps * deviation / centre)


@kernel
def _distribution(family, centre, count, scale, deviation, x):
    """The probability that a mean is at most x."""
    change = x - centre
    if abs(change) < NEAR * deviation:
        change = NEAR * deviation
        x = centre + change
    sign = 1.0 if change > 0.0 else -1.0
    root = sign * math.sqrt(2.0 * count * divergence(family, centre, x, change, scale))
    slope = change / deviation
    if family in (EXPONENTIAL, MIRRORED_EXPONENTIAL):
        slope *= centre / x
    elif family == GAUSSIAN_UNKNOWN:
        slope /= 1.0 + change * change / scale
    if family != GAUSSIAN:
        root += math.log(slope / root) / root
    return 0.5 * math.erfc(-root / math.sqrt(2.0))


@kernel
def _fill_grid(family, state, deviations, tops, points):
    """Sorted points near every arm, from where the best arm can lie; returns how many there are.

    Also the standard deviation of every arm, and above what its mean cannot lie.
    """
    arms, lowest, found = state.shape[1], -math.inf, 0
    for a in range(arms):
        centre, count = _centre(family, state, a)
        deviations[a] = math.sqrt(variance(family, centre, state[SCALE, a]) / count)
        tops[a] = _point(family, centre, deviations[a], CERTAIN)
        lowest = max(lowest, _point(family, centre, deviations[a], LOWEST))
    for a in range(arms):
        centre = _centre(family, state, a)[0]
        for j in range(POINTS):
            x = _point(family, centre, deviations[a], LOWEST + STEP * j)
            if x >= lowest:
                points[found] = x
                found += 1
    points[:found].sort()
    return found


@kernel
def _add_gains(now, before, chances):
    """Add what every distribution function has gained since the point before, times the product of all others.

    The product is that of functions that are linear in between, by a Gauss rule of two points.
    """
    for part in (0.5 - GAUSS, 0.5 + GAUSS):
        product = 1.0
        for a in range(chances.size):
            product *= before[a] + part * (now[a] - before[a])
        for a in range(chances.size):
            gain = now[a] - before[a]
            chances[a] += 0.5 * gain * (product / (before[a] + part * gain)) if gain > 0.0 else 0.0


@subroutine
def _update(family, state):
    """Write the probability of every arm to be the best into row WEIGHT."""
    arms, chances, total = state.shape[1], state[WEIGHT], 0.0
    points, values = np.empty(arms * POINTS), np.zeros((4, arms))
    deviations, tops, now, before = values[0], values[1], values[2], values[3]
    chances[:] = 0.0
    for j in range(_fill_grid(family, state, deviations, tops, points)):
        for a in range(arms):
            now[a] = 1.0
            if points[j] < tops[a]:
                centre, count = _centre(family, state, a)
                one = _distribution(family, centre, count, state[SCALE, a], deviations[a], points[j])
                now[a] = max(one, 1e-300)
        if j > 0:  # below the first point there is next to nothing
            _add_gains(now, before, chances)
        before[:] = now
    now[:] = 1.0  # beyond the last point
    _add_gains(now, before, chances)
    for a in range(arms):
        total += chances[a]
    for a in range(arms):
        chances[a] /= total


@kernel
def update_chances(config, state, scalars):
    """Bring the probabilities of being the best up to date with the rewards, if that is due.

    It is due after every reward, and from the fiftieth on after every 2 % of them. All arms must be seen.
    """
    if scalars[SEEN] >= scalars[START]:
        _update(config.family, state)
        scalars[START] = max(scalars[SEEN] + 1.0, math.floor((1.0 + GROWTH) * scalars[SEEN]))
