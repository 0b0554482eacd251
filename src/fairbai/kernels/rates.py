"""Fairness rates as integer codes: the floor of every arm, given the means.

The theta-dependent rates are defined for every vector of means that learning can produce; where a formula divides
by zero its limit is used, or equal rates where it has none.
"""

import math

from fairbai.kernels.jit import entry, kernel

EPSILON = 2.0**-51  # what the rounding of floors can add to their sum, however many they are
CONSTANT, PROPORTIONAL, SOFTMAX, INVERSE_GAP, GAP = range(5)


@kernel
def unspent(floors):
    """1 - sum(floors); where little is left, summed with compensation so that it keeps its digits."""
    rest = 1.0
    for a in range(floors.size):
        rest -= floors[a]
    if rest > 0.01:
        return rest
    rest, lost = 1.0, 0.0
    for a in range(floors.size):
        new = rest - floors[a]
        lost += (rest - new) - floors[a] if rest >= floors[a] else rest - (floors[a] + new)
        rest = new
    return rest + lost


@kernel
def spare_share(floors):
    """What the floors leave; where that is within rounding of 0 it is 0, and the floors are the only allocation."""
    rest = unspent(floors)
    return rest if rest > EPSILON else 0.0


@kernel
def _extremes(means):
    """Half the largest, second largest (the same if two arms tie) and least mean.

    Halves, because the difference of two means may exceed the largest number.
    """
    top, second = max(means[0], means[1]), min(means[0], means[1])
    least = second
    for a in range(2, means.size):
        least = min(least, means[a])
        if means[a] > top:
            top, second = means[a], top
        elif means[a] > second:
            second = means[a]
    return 0.5 * float(top), 0.5 * float(second), 0.5 * float(least)


@kernel
def fill_floors(rate, p0, temperature, means, floors):
    """Write the theta-dependent floors p0 f_a / sum f; CONSTANT leaves ``floors`` as it is.

    f is the mean clipped at 0 (PROPORTIONAL), exp(mean / temperature) (SOFTMAX), 1 / max(gap, least gap)
    (INVERSE_GAP) or the gap (GAP), each over its largest value. A rate that is none of these gives nan.
    """
    if rate == CONSTANT:
        return
    top, second, least = _extremes(means)
    total = 0.0
    for a in range(means.size):
        mean = 0.5 * float(means[a])
        gap = top - mean
        share = math.nan
        if rate == PROPORTIONAL:
            share = max(mean, 0.0) / top if top > 0.0 else 0.0
        elif rate == SOFTMAX:
            share = math.exp(-2.0 * (gap / temperature))
        elif rate == INVERSE_GAP:
            share = 1.0 if gap <= top - second else (top - second) / gap
        elif rate == GAP:
            share = gap / (top - least) if top > least else 0.0
        floors[a] = share
        total += share
    for a in range(means.size):
        floors[a] = p0 / means.size if total == 0.0 else p0 * (floors[a] / total)


@entry
def fill_floors_batch(rate, p0, temperature, means, floors):
    """``fill_floors`` for every row."""
    for i in range(means.shape[0]):
        fill_floors(rate, p0, temperature, means[i], floors[i])
