"""The three steps of an experiment, as Python and the run loop call them: assign an arm, observe a reward, reconsider.

The configuration is two small arrays, so that a call from Python stays cheap.
"""

from fairbai.kernels.jit import entry
from fairbai.kernels.rates import spare_share
from fairbai.kernels.rng import two_uniforms
from fairbai.kernels.sampling import choose, refresh
from fairbai.kernels.state import ASSIGNED, FLOOR, OBSERVED, PENALTY, ROUND, SEEN, SPARE, SUM, UNSEEN, estimate, learn
from fairbai.kernels.stopping import evidence, penalty

FAMILY, RATE, LEARNED, RULE, ORIGIN, STOPPING, SEED, RUN = range(8)
"""Codes: the family, the rate (CONSTANT for one that Python computes), whether the rate depends on the means, the
sampling rule and how it starts, the stopping rule, and the stream."""

P0, TEMPERATURE, PARAMETER, THRESHOLD = range(4)
"""Reals: the parameters of the rate, of the sampling rule and of the stopping rule."""


@entry
def assign(codes, reals, state, numbers, policy):
    """Choose the next arm and count it as assigned."""
    uniform, _ = two_uniforms(codes[SEED], codes[RUN], int(numbers[ROUND]))
    return choose(
        codes[FAMILY],
        codes[RULE],
        codes[ORIGIN],
        reals[PARAMETER],
        codes[LEARNED] == 1,
        state,
        numbers,
        policy,
        uniform,
    )


@entry
def observe(codes, reals, state, numbers, arm, reward):
    """Count a reward."""
    learn(codes[FAMILY], state, numbers, arm, reward)
    count, total = state[OBSERVED, arm], state[SUM, arm]
    state[PENALTY, arm] = penalty(codes[FAMILY], codes[STOPPING], reals[THRESHOLD], count, total)


@entry
def recount(codes, reals, state, numbers):
    """What follows from the counts and sums of a restored experiment; returns the evidence."""
    numbers[ROUND], numbers[SEEN], numbers[UNSEEN] = 0.0, 0.0, 0.0
    for arm in range(state.shape[1]):
        numbers[ROUND] += state[ASSIGNED, arm]
        numbers[SEEN] += state[OBSERVED, arm]
        if state[OBSERVED, arm] > 0.0:
            estimate(codes[FAMILY], state, arm)
            state[PENALTY, arm] = penalty(
                codes[FAMILY], codes[STOPPING], reals[THRESHOLD], state[OBSERVED, arm], state[SUM, arm]
            )
        else:
            numbers[UNSEEN] += 1.0
    numbers[SPARE] = spare_share(state[FLOOR])
    return evidence(codes[FAMILY], codes[STOPPING], reals[THRESHOLD], state, numbers)


@entry
def reconsider(codes, reals, state, numbers, room):
    """Bring floors and allocation up to date with the rewards; returns the evidence."""
    refresh(codes[FAMILY], codes[RATE], reals[P0], reals[TEMPERATURE], codes[RULE], state, numbers, room)
    return evidence(codes[FAMILY], codes[STOPPING], reals[THRESHOLD], state, numbers)
