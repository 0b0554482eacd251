"""The three steps of an experiment, as Python and the run loop call them: assign an arm, observe a reward, reconsider.

The configuration is two small arrays, so that a call from Python stays cheap.
"""

from fairbai.kernels.jit import entry
from fairbai.kernels.rng import two_uniforms
from fairbai.kernels.sampling import choose, refresh
from fairbai.kernels.state import OBSERVED, PENALTY, ROUND, SUM, learn
from fairbai.kernels.stopping import evidence, penalty

FAMILY, RATE, LEARNED, RULE, ORIGIN, STOPPING, SEED, RUN = range(8)
"""Codes: the family, the rate (CONSTANT for one that Python computes), whether the rate depends on the means, the
sampling rule and how it starts, the stopping rule, and the stream."""

P0, TEMPERATURE, PARAMETER, KAPPA = range(4)
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
    state[PENALTY, arm] = penalty(codes[FAMILY], codes[STOPPING], reals[KAPPA], count, total)


@entry
def reconsider(codes, reals, state, numbers, room):
    """Bring floors and allocation up to date with the rewards; returns the evidence."""
    refresh(codes[FAMILY], codes[RATE], reals[P0], reals[TEMPERATURE], codes[RULE], state, numbers, room)
    return evidence(codes[FAMILY], codes[STOPPING], reals[KAPPA], state, numbers)
