"""The three steps of an experiment: assign an arm, observe a reward, reconsider.

Each is written once: as a kernel that the run loop takes in line, and as the entry that Python calls. An entry takes
the configuration as two small arrays, so that a call from Python stays cheap.
"""

import numpy as np

from fairbai.kernels.config import configure
from fairbai.kernels.jit import borrowed, entry, kernel
from fairbai.kernels.rates import spare_share
from fairbai.kernels.sampling.choose import choose, refresh
from fairbai.kernels.state import (
    ASSIGNED,
    FLOOR,
    GIVEN_UP,
    LOST,
    OBSERVED,
    PENALTY,
    ROUND,
    SEEN,
    SPARE,
    SUM,
    UNSEEN,
    estimate,
    is_seen,
    learn,
)
from fairbai.kernels.stopping.scores import answer, evidence, penalty
from fairbai.kernels.stopping.standing import look, looks_now, score_of_answer
from fairbai.kernels.streams.philox import two_uniforms


@kernel
def count_reward(config, state, scalars, arm, reward):
    """Count a reward."""
    learn(config.family, state, scalars, arm, reward)
    _fill_penalty(config, state, arm)


@kernel
def _fill_penalty(config, state, arm):
    count, total = state[OBSERVED, arm], state[SUM, arm]
    state[PENALTY, arm] = penalty(config.family, config.stopping, config.kappa, config.size, count, total)


@kernel
def update_evidence(config, state, scalars, workspace, level):
    """Bring floors and allocation up to date with the rewards; returns the evidence, exact from ``level`` on.

    Now and then ``kernels.stopping.standing`` notes how sure the named arm is.
    """
    refresh(config, state, scalars, workspace)
    found = evidence(config, state, scalars, level)
    if looks_now(scalars):
        look(config, state, scalars)
    return found


@entry
def assign(codes, params, state, scalars, policy, workspace):
    """Choose the next arm and count it as assigned; -1 for a rule that has no kernel."""
    state, scalars = borrowed(state), borrowed(scalars)
    config = configure(borrowed(codes), borrowed(params))
    uniform, _ = two_uniforms(config.seed, config.run, int(scalars[ROUND]))
    return choose(config, state, scalars, borrowed(policy), borrowed(workspace), uniform)


@entry
def observe(codes, params, state, scalars, arm, reward):
    """Count a reward."""
    count_reward(configure(borrowed(codes), borrowed(params)), borrowed(state), borrowed(scalars), arm, reward)


@entry
def reconsider(codes, params, state, scalars, workspace, level):
    """Bring floors and allocation up to date with the rewards; returns the evidence, exact from ``level`` on."""
    config = configure(borrowed(codes), borrowed(params))
    return update_evidence(config, borrowed(state), borrowed(scalars), borrowed(workspace), level)


@entry
def exact_evidence(codes, params, state, scalars):
    """The evidence, exact at every level."""
    return evidence(configure(codes, params), state, scalars, -np.inf)


@entry
def how_sure(codes, params, state, scalars):
    """The best score that speaks for the named arm; and the evidence now, exact at every level."""
    config = configure(codes, params)
    found = evidence(config, state, scalars, -np.inf)
    return score_of_answer(config, state, scalars, answer(config, state, scalars), found[0]), found


@entry
def recount(codes, params, state, scalars):
    """What follows from the counts and sums, after these were changed from outside."""
    config = configure(codes, params)
    scalars[ROUND], scalars[SEEN], scalars[UNSEEN], scalars[GIVEN_UP] = 0.0, 0.0, 0.0, 0.0
    for arm in range(state.shape[1]):
        scalars[ROUND] += state[ASSIGNED, arm]
        scalars[SEEN] += state[OBSERVED, arm]
        scalars[GIVEN_UP] += state[LOST, arm]
        if state[OBSERVED, arm] > 0.0:
            estimate(config.family, state, arm)
            _fill_penalty(config, state, arm)
        if not is_seen(config.family, state, arm):
            scalars[UNSEEN] += 1.0
    scalars[SPARE] = spare_share(state[FLOOR])
    evidence(config, state, scalars, np.inf)  # for the costs of ties
