"""Rewards by inversion: one uniform, one reward. Inversion keeps a run the same on every machine and engine."""

from fairbai.kernels.families import draw
from fairbai.kernels.jit import kernel

MEAN, SPREAD, BELOW, FLOOR = range(4)
"""Rows of the truth of an instance: the means; the standard deviations of Gaussian and bounded arms (negative for
rewards at the two ends), or P(X = mode) of Poisson arms; P(X <= mode) of these; and the floors at the true means."""


@kernel
def reward(family, truth, arm, uniform):
    """A reward of an arm."""
    return draw(family, truth[MEAN, arm], truth[SPREAD, arm], truth[BELOW, arm], uniform)


@kernel
def drifting_reward(family, truth, mean, arm, uniform):
    """A reward of an arm whose mean is another at the moment; not for Poisson arms, whose other rows depend on it."""
    return draw(family, mean, truth[SPREAD, arm], truth[BELOW, arm], uniform)
