"""The three steps of an experiment: assign an arm, observe a reward, reconsider.

Each is written once: as a kernel that the run loop takes in line, and as the entry that Python calls. The configuration
is two small arrays, so that a call from Python stays cheap.
"""

import numpy as np

from fairbai.kernels.jit import borrowed, entry, kernel
from fairbai.kernels.rates import spare_share
from fairbai.kernels.sampling.rules import choose, refresh
from fairbai.kernels.state import ASSIGNED, FLOOR, OBSERVED, PENALTY, ROUND, SEEN, SPARE, SUM, UNSEEN, estimate, learn
from fairbai.kernels.stopping.scores import evidence, penalty
from fairbai.kernels.streams.philox import two_uniforms

FAMILY, RATE, LEARNED, RULE, ORIGIN, STOPPING, SEED, RUN = range(8)
"""Codes: the family, the rate (CONSTANT for one that Python computes), whether the rate depends on the means, the
sampling rule and how it starts, the stopping rule, and the stream."""

P0, TEMPERATURE, PARAMETER, KAPPA, SIZE = range(5)
"""Reals: the parameters of the rate (two), of the sampling rule, and of the stopping rule (two)."""


@kernel
def choose_arm(family, codes, reals, state, numbers, policy, uniform):
    """Choose the next arm and count it as assigned. ``family`` is that of the codes, or a constant."""
    rule, origin, learned = codes[RULE], codes[ORIGIN], codes[LEARNED] == 1
    return choose(family, rule, origin, reals[PARAMETER], learned, state, numbers, policy, uniform)


@kernel
def count_reward(family, codes, reals, state, numbers, arm, reward):
    """Count a reward."""
    learn(family, state, numbers, arm, reward)
    _fill_penalty(family, codes, reals, state, arm)


@kernel
def _fill_penalty(family, codes, reals, state, arm):
    count, total = state[OBSERVED, arm], state[SUM, arm]
    state[PENALTY, arm] = penalty(family, codes[STOPPING], reals[KAPPA], reals[SIZE], count, total)


@kernel
def weigh(family, codes, reals, state, numbers, room, level):
    """Bring floors and allocation up to date with the rewards; returns the evidence, exact from ``level`` on."""
    refresh(family, codes[RATE], reals[P0], reals[TEMPERATURE], codes[RULE], state, numbers, room)
    return evidence(family, codes[STOPPING], reals[KAPPA], reals[SIZE], state, numbers, level)


@entry
def assign(codes, reals, state, numbers, policy):
    """Choose the next arm and count it as assigned."""
    codes, reals, state, numbers = borrowed(codes), borrowed(reals), borrowed(state), borrowed(numbers)
    uniform, _ = two_uniforms(codes[SEED], codes[RUN], int(numbers[ROUND]))
    return choose_arm(codes[FAMILY], codes, reals, state, numbers, borrowed(policy), uniform)


@entry
def observe(codes, reals, state, numbers, arm, reward):
    """Count a reward."""
    codes, reals, state, numbers = borrowed(codes), borrowed(reals), borrowed(state), borrowed(numbers)
    count_reward(codes[FAMILY], codes, reals, state, numbers, arm, reward)


@entry
def reconsider(codes, reals, state, numbers, room, level):
    """Bring floors and allocation up to date with the rewards; returns the evidence, exact from ``level`` on."""
    codes, reals, state, numbers = borrowed(codes), borrowed(reals), borrowed(state), borrowed(numbers)
    return weigh(codes[FAMILY], codes, reals, state, numbers, borrowed(room), level)


@entry
def assess(codes, reals, state, numbers):
    """The evidence, exact."""
    return evidence(codes[FAMILY], codes[STOPPING], reals[KAPPA], reals[SIZE], state, numbers, -np.inf)


@entry
def recount(codes, reals, state, numbers):
    """What follows from the counts and sums, after these were changed from outside."""
    numbers[ROUND], numbers[SEEN], numbers[UNSEEN] = 0.0, 0.0, 0.0
    for arm in range(state.shape[1]):
        numbers[ROUND] += state[ASSIGNED, arm]
        numbers[SEEN] += state[OBSERVED, arm]
        if state[OBSERVED, arm] > 0.0:
            estimate(codes[FAMILY], state, arm)
            _fill_penalty(codes[FAMILY], codes, reals, state, arm)
        else:
            numbers[UNSEEN] += 1.0
    numbers[SPARE] = spare_share(state[FLOOR])
    evidence(codes[FAMILY], codes[STOPPING], reals[KAPPA], reals[SIZE], state, numbers, np.inf)  # for the costs of ties
