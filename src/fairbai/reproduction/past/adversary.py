"""An adversary who knows the means of two arms and chooses the trials so that the wrong one may look better."""

import math

from fairbai.kernels.config import configure
from fairbai.kernels.jit import entry, kernel
from fairbai.kernels.loop.steps import count_reward
from fairbai.kernels.state import ASSIGNED, OBSERVED, ROUND, SUM
from fairbai.kernels.stopping.scores import answer, evidence
from fairbai.kernels.streams.philox import two_uniforms
from fairbai.kernels.streams.rewards import MEAN as TRUE_MEAN
from fairbai.kernels.streams.rewards import reward

MAX_IMBALANCE = 10.0  # between the trials of the two arms


@kernel
def _less_lucky(state, truth):
    """The arm that has misled less so far: arm 0 misleads by bad rewards, arm 1 by good ones."""
    count, other = state[OBSERVED, 0], state[OBSERVED, 1]
    if count == 0.0 or count * MAX_IMBALANCE < other:
        return 0
    if other == 0.0 or other * MAX_IMBALANCE < count:
        return 1
    bad = (truth[TRUE_MEAN, 0] * count - state[SUM, 0]) / math.sqrt(count)
    good = (state[SUM, 1] - truth[TRUE_MEAN, 1] * other) / math.sqrt(other)
    return 0 if bad < good else 1


@entry
def fooled(experiment, before, truth, level, longest, answers):
    """Fill in the answer of every run against the adversary; -1 if there is none after ``longest`` trials.

    Args:
        experiment: Its arrays, as the run loop takes them.
        before: The state and the scalars of an experiment that has not begun.
        truth: The distribution of the rewards, as in ``kernels.streams.rewards``.
        level: The threshold for the evidence.
        longest: The number of trials after which a run is abandoned.
        answers: The result, one entry per run.
    """
    codes, params, state, scalars, _, _ = experiment
    config = configure(codes, params)
    for run in range(answers.size):
        state[:], scalars[:] = before[0], before[1]
        answers[run] = -1
        while answers[run] < 0 and scalars[ROUND] < longest:
            arm = _less_lucky(state, truth)
            uniform = two_uniforms(config.seed, run, int(scalars[ROUND]))[1]
            state[ASSIGNED, arm] += 1.0
            scalars[ROUND] += 1.0
            count_reward(config, state, scalars, arm, reward(config.family, truth, arm, uniform))
            score = evidence(config, state, scalars, level)[0]
            if score >= level:
                answers[run] = answer(config, state, scalars)
