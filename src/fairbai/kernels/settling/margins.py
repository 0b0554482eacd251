"""Margins: floors that depend on the means are known only up to an error, and can be raised to make up for it.

The standard error of a floor follows from those of the means by the delta method, with differences over one standard
error of each mean, since rates have kinks.
"""

import math

from fairbai.kernels.families import domain, variance
from fairbai.kernels.jit import entry, kernel
from fairbai.kernels.rates import CONSTANT, fill_floors, spare_share
from fairbai.kernels.state import FLOOR, INSIDE, MEAN, OBSERVED, SCALE

MARGINS = 0.5  # the part of what the floors leave that their margins may take


@kernel
def reach(family, state, arm):
    """One standard error to either side of a mean, but at most half way to the edge of the domain; and that error."""
    mean, inside = state[MEAN, arm], state[INSIDE, arm]
    error = math.sqrt(variance(family, inside, state[SCALE, arm]) / state[OBSERVED, arm])
    low, high = mean - error, mean + error
    least, most = domain(family)
    return max(low, 0.5 * (least + mean)), min(high, 0.5 * (most + mean)), error


@kernel
def add_variances(below, above, slope, variances):
    """Add what the error of one mean contributes to the variance of every floor, by the delta method."""
    for a in range(variances.size):
        change = slope * (above[a] - below[a])
        variances[a] += change * change


@kernel
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
def raise_floors(config, margin, state, floors, workspace):
    """Write the floors at the present means, each raised by ``margin`` standard errors.

    ``workspace`` has four rows.
    """
    floors[:] = state[FLOOR]
    if config.rate == CONSTANT:
        return
    fill_floors(config.rate, config.p0, config.temperature, state[MEAN], floors)
    if margin > 0.0:
        variances, means, below, above = workspace[0], workspace[1], workspace[2], workspace[3]
        variances[:], means[:] = 0.0, state[MEAN]
        for a in range(floors.size):
            low, high, error = reach(config.family, state, a)
            if low < high:
                means[a] = low
                fill_floors(config.rate, config.p0, config.temperature, means, below)
                means[a] = high
                fill_floors(config.rate, config.p0, config.temperature, means, above)
                means[a] = state[MEAN, a]
                add_variances(below, above, error / (high - low), variances)
        add_margins(floors, variances, margin)
