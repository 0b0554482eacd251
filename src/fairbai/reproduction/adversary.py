"""An adversary who knows the means of two arms and chooses the trials so that the wrong one may look better."""

import math

from fairbai.kernels.loop.steps import FAMILY, KAPPA, SEED, SIZE, STOPPING, count_reward
from fairbai.kernels.jit import entry, kernel
from fairbai.kernels.streams.rewards import MEAN as TRUE_MEAN
from fairbai.kernels.streams.rewards import reward
from fairbai.kernels.streams.philox import two_uniforms
from fairbai.kernels.state import ASSIGNED, MEAN, OBSERVED, ROUND, SUM, largest
from fairbai.kernels.stopping.scores import evidence

MOST_UNEQUAL = 10.0


@kernel
def _less_lucky(state, truth):
    """The arm that has deceived less: arm 0 by bad rewards, arm 1 by good ones. The lucky one rests."""
    count, other = state[OBSERVED, 0], state[OBSERVED, 1]
    if count == 0.0 or count * MOST_UNEQUAL < other:
        return 0
    if other == 0.0 or other * MOST_UNEQUAL < count:
        return 1
    bad = (truth[TRUE_MEAN, 0] * count - state[SUM, 0]) / math.sqrt(count)
    good = (state[SUM, 1] - truth[TRUE_MEAN, 1] * other) / math.sqrt(other)
    return 0 if bad < good else 1


@entry
def fooled(experiment, before, truth, level, longest, answers):
    """The answer of every run against the adversary, -1 for those that have none after ``longest`` trials.

    Args:
        experiment: Its codes, reals, state and numbers.
        before: The state and the numbers of an experiment that has not begun.
        truth: Of the rewards, as in ``kernels.rewards``.
        level: What the evidence must reach.
        longest: The number of trials after which a run is given up.
        answers: Filled, one entry a run.
    """
    codes, reals, state, numbers = experiment
    family = codes[FAMILY]
    for run in range(answers.size):
        state[:], numbers[:] = before[0], before[1]
        answers[run] = -1
        while answers[run] < 0 and numbers[ROUND] < longest:
            arm = _less_lucky(state, truth)
            uniform = two_uniforms(codes[SEED], run, int(numbers[ROUND]))[1]
            state[ASSIGNED, arm] += 1.0
            numbers[ROUND] += 1.0
            count_reward(family, codes, reals, state, numbers, arm, reward(family, truth, arm, uniform))
            score = evidence(family, codes[STOPPING], reals[KAPPA], reals[SIZE], state, numbers, level)[0]
            if score >= level:
                answers[run] = largest(state, MEAN)
