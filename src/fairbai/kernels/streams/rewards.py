"""Rewards by inversion: one uniform, one reward. Inversion keeps a run the same on every machine and engine."""

import math

from fairbai.kernels.families import draw
from fairbai.kernels.jit import kernel
from fairbai.kernels.special import normal_quantile

MEAN, SPREAD, BELOW, FLOOR = range(4)
"""Rows of the truth of an instance: the means; the standard deviations of Gaussian and bounded arms (negative for
rewards at the two ends), or P(X = mode) of Poisson arms; P(X <= mode) of these; and the floors at the true means. A law
other than the families has its own parameters in the second and the third."""

REVENUE = 1000
"""Laws that are no families, by codes that no family has."""


@kernel
def _revenue(mean, sigma, none, uniform):
    """Nothing with probability ``none``, else a log-normal amount with ``sigma``; ``mean`` is that of both together."""
    if uniform <= none:
        return 0.0
    share = 1.0 - none
    return mean / share * math.exp(sigma * (normal_quantile((uniform - none) / share) - 0.5 * sigma))


@kernel
def reward(law, truth, arm, uniform):
    """A reward of an arm; ``law`` is the code of a family or of another law."""
    return drifting_reward(law, truth, truth[MEAN, arm], arm, uniform)


@kernel
def drifting_reward(law, truth, mean, arm, uniform):
    """A reward of an arm whose mean is another at the moment; not for Poisson arms, whose other rows depend on it."""
    if law == REVENUE:
        return _revenue(mean, truth[SPREAD, arm], truth[BELOW, arm], uniform)
    return draw(law, mean, truth[SPREAD, arm], truth[BELOW, arm], uniform)
