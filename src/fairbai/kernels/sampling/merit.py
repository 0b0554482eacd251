"""Rules whose promise is about merit, not floors: chains, proportional shares and exposure; see docs/earning.md."""

import math

import numpy as np

from fairbai.kernels.families import (
    GAUSSIAN,
    GAUSSIAN_UNKNOWN,
    MIRRORED_EXPONENTIAL,
    MIRRORED_POISSON,
    domain,
    variance,
)
from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.sampling.confidence import bound, exploration
from fairbai.kernels.state import ASSIGNED, INSIDE, MEAN, OBSERVED, ROUND, SCALE, TARGET, UNSEEN, fewest_useful

LOWER, UPPER = range(2)
"""Rows of the workspace: the ends of the confidence interval of every arm."""

ROUNDS = 50  # of the search for the most optimistic means, which takes a few


@kernel
def _fill_interval(family, state, arm, bonus, workspace):
    """The confidence interval of an arm: up to the end of the domain, if its mean lies there."""
    mean, inside, count, scale = state[MEAN, arm], state[INSIDE, arm], state[OBSERVED, arm], state[SCALE, arm]
    low, high = domain(family)
    workspace[LOWER, arm] = low if mean < inside else bound(family, inside, count, scale, bonus, -1.0)
    workspace[UPPER, arm] = high if mean > inside else bound(family, inside, count, scale, bonus, 1.0)


@subroutine
def fill_chain(config, state, scalars, policy, workspace):
    """Equal probabilities for the arms that are chained to the largest upper bound; the others are out for good.

    Row TARGET is 1 for an arm that is out. An interval is chained if it overlaps one that is.
    """
    arms, top, size = policy.size, -1, 0
    if scalars[UNSEEN] > 0.0:
        policy[:] = 1.0 / arms
        return
    for a in range(arms):
        bonus = math.log(arms * (math.pi * state[OBSERVED, a]) ** 2 / (3.0 * config.parameter))
        _fill_interval(config.family, state, a, bonus, workspace)
        if state[TARGET, a] == 0.0 and (top < 0 or workspace[UPPER, a] > workspace[UPPER, top]):
            top = a
    reach, grows = workspace[LOWER, top], True
    while grows:
        grows = False
        for a in range(arms):
            if state[TARGET, a] == 0.0 and workspace[UPPER, a] >= reach and workspace[LOWER, a] < reach:
                reach, grows = workspace[LOWER, a], True
    for a in range(arms):
        if workspace[UPPER, a] < reach:
            state[TARGET, a] = 1.0
        size += 1 if state[TARGET, a] == 0.0 else 0
    for a in range(arms):
        policy[a] = 1.0 / size if state[TARGET, a] == 0.0 else 0.0


@kernel
def _merit(family, state, arm):
    """What trials are to be proportional to: the mean, or 1 / mean where less is better.

    Gaussian means may be negative: their merit is at least their standard error.
    """
    if family in (GAUSSIAN, GAUSSIAN_UNKNOWN):
        return max(state[MEAN, arm], math.sqrt(variance(family, 0.0, state[SCALE, arm]) / state[OBSERVED, arm]))
    if family in (MIRRORED_POISSON, MIRRORED_EXPONENTIAL):
        return -1.0 / state[INSIDE, arm]
    return state[INSIDE, arm]


@kernel
def catch_up(config, state, scalars):
    """The arm that is furthest behind its share by merit; while arms are unseen, the one with the fewest trials."""
    if scalars[UNSEEN] > 0.0:
        return fewest_useful(state)
    total, furthest, lag = 0.0, 0, -np.inf
    for a in range(state.shape[1]):
        total += _merit(config.family, state, a)
    for a in range(state.shape[1]):
        behind = (scalars[ROUND] + 1.0) * _merit(config.family, state, a) / total - state[ASSIGNED, a]
        furthest, lag = (a, behind) if behind > lag else (furthest, lag)
    return furthest


@kernel
def _gain(steepness, mean, top, rate):
    """The numerator, less ``rate`` times the denominator, that an arm adds to the mean reward under its merit."""
    return math.exp(steepness * (mean - top)) * (mean - rate)


@subroutine
def fill_exposure(config, state, scalars, policy, workspace):
    """Probabilities proportional to exp(c theta), at the means within all intervals with the largest mean reward.

    That reward is a ratio, sum exp(c theta) theta / sum exp(c theta). Dinkelbach's method finds its maximum: for a rate
    r, take the means that maximise the numerator less r times the denominator, which are ends of intervals; then their
    ratio is the next r, until nothing changes.
    """
    arms, steepness, top = policy.size, config.parameter, -np.inf
    if scalars[UNSEEN] > 0.0:
        policy[:] = 1.0 / arms
        return
    bonus = exploration(scalars)
    for a in range(arms):
        _fill_interval(config.family, state, a, bonus, workspace)
        policy[a] = workspace[UPPER, a]  # for now, the means
        top = max(top, policy[a])
    rate = -np.inf
    for _ in range(ROUNDS):
        total, weight = 0.0, 0.0
        for a in range(arms):
            total += math.exp(steepness * (policy[a] - top)) * policy[a]
            weight += math.exp(steepness * (policy[a] - top))
        if total / weight <= rate:
            break
        rate = total / weight
        for a in range(arms):
            low, high = workspace[LOWER, a], workspace[UPPER, a]
            policy[a] = high if _gain(steepness, high, top, rate) >= _gain(steepness, low, top, rate) else low
    weight = 0.0
    for a in range(arms):
        policy[a] = math.exp(steepness * (policy[a] - top))
        weight += policy[a]
    for a in range(arms):
        policy[a] /= weight
