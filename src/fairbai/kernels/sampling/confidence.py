"""Confidence bounds of the means, for every family: the ends of {m : n d(mean, m) <= bonus}; see docs/earning.md.

Gaussian arms of known variance have the bound mean +- sqrt(2 v bonus / n), and of unknown variance the same interval
of Student's t, widened by counting two rewards less. The others have no closed form: with s = |m - mean|, the slope of
n d(mean, mean +- s) is n s / V(m) in every one-parameter exponential family, and Newton's method finds the end.
"""

import math

from fairbai.kernels.families import GAUSSIAN, GAUSSIAN_UNKNOWN, divergence, domain, variance
from fairbai.kernels.jit import kernel
from fairbai.kernels.state import INSIDE, ROUND, SCALE, useful

NEAR = 1e-12  # relative, at which Newton's method ends
ROUNDING = 4e-16  # relative, by which a bound stays away from the end of the domain
EDGE = 1.0 - 1e-9  # of the way to the end of the domain: as far as a bound goes


@kernel
def exploration(scalars):
    """log(1 + t log(t)^2), the bonus with which upper confidence bounds have the least regret in the limit."""
    number = scalars[ROUND] + 1.0
    return math.log1p(number * math.log(number) ** 2)


@kernel
def _weight(family, count):
    return count - 2.0 if family == GAUSSIAN_UNKNOWN else count


@kernel
def bound(family, mean, count, scale, bonus, sign):
    """The upper (``sign`` = 1.0) or the lower (-1.0) bound of a mean."""
    weight = _weight(family, count)
    if family == GAUSSIAN:
        return mean + sign * math.sqrt(2.0 * scale * bonus / weight)
    if family == GAUSSIAN_UNKNOWN:
        return mean + sign * math.sqrt(scale * math.expm1(min(2.0 * bonus / weight, 500.0)))
    return mean + sign * _distance(family, mean, scale, bonus / weight, sign)


@kernel
def _distance(family, mean, scale, most, sign):
    """The largest s with d(mean, mean + sign s) <= ``most``, by Newton's method within brackets."""
    low, high = domain(family)
    reach = high - mean if sign > 0.0 else mean - low
    inside, outside = 0.0, min(EDGE * reach, reach - ROUNDING * abs(mean))
    step = math.sqrt(2.0 * most * variance(family, mean, scale))
    step = step if step < outside else 0.5 * outside
    if not step > 0.0:  # a mean that rounds to the end of its domain
        return 0.0
    for _ in range(60):
        change = sign * step
        excess = divergence(family, mean, mean + change, change, scale) - most
        inside, outside = (step, outside) if excess < 0.0 else (inside, step)
        following = step - excess * variance(family, mean + change, scale) / step
        if not inside < following < outside:
            following = 0.5 * (inside + outside) if outside < math.inf else 2.0 * step
        if abs(following - step) <= NEAR * step:
            break
        step = following
    return step


@kernel
def upper_bound(family, state, arm, bonus):
    """The upper confidence bound of an arm, as if the rewards that are still to come would not change its mean."""
    return bound(family, state[INSIDE, arm], useful(state, arm), state[SCALE, arm], bonus, 1.0)


@kernel
def _is_below(family, state, arm, bonus, level):
    """Whether the upper confidence bound of an arm is at most ``level``, which is quicker to tell than the bound."""
    mean = state[INSIDE, arm]
    if level <= mean:
        return False
    return (
        _weight(family, useful(state, arm)) * divergence(family, mean, level, level - mean, state[SCALE, arm]) >= bonus
    )


@kernel
def fill_upper_bounds(family, state, scalars, uppers):
    """The upper confidence bound of every arm; all arms must be seen."""
    bonus = exploration(scalars)
    for a in range(uppers.size):
        uppers[a] = upper_bound(family, state, a, bonus)


@kernel
def most_promising(family, state, scalars):
    """The first arm with the largest upper confidence bound; all arms must be seen."""
    bonus, best = exploration(scalars), 0
    top = upper_bound(family, state, 0, bonus)
    for a in range(1, state.shape[1]):
        if not _is_below(family, state, a, bonus, top):
            upper = upper_bound(family, state, a, bonus)
            best, top = (a, upper) if upper > top else (best, top)
    return best
