"""Replaying a log: rewards that are known already are counted in one call, by the same kernels as those of a live one.

The evidence is that of several stopping rules of one kind, with different parameters. The exponentials of their scores
are e-values, and so is their average: what it reaches is evidence as strong as if that rule had been the only one.
"""

import math

import numpy as np

from fairbai.kernels.config import configure
from fairbai.kernels.doubts import update_test
from fairbai.kernels.jit import borrowed, entry, kernel
from fairbai.kernels.loop.steps import count_reward
from fairbai.kernels.state import ASSIGNED, MEAN, ROUND, SHIFT, STRETCH, UNSEEN
from fairbai.kernels.stopping.design import bet
from fairbai.kernels.stopping.scores import answer, evidence, pair_evidence

NEGLIGIBLE = 5.0  # nats below the level, from which on the score of a rule is left out of the average


@kernel
def _averaged(codes, rules, state, scalars, level):
    """The logarithm of the average of exp(score) over the rules; scores below ``level`` may be left out."""
    top, total = -math.inf, 0.0
    for j in range(rules.shape[0]):
        score = evidence(configure(codes, rules[j]), state, scalars, level)[0]
        if score >= level and score > -math.inf:
            if score > top:
                total, top = total * math.exp(top - score) + 1.0, score
            else:
                total += math.exp(score - top)
    return top + math.log(total / rules.shape[0]) if total > 0.0 else -math.inf


@kernel
def _reaches(codes, rules, state, scalars, level):
    """Whether the average reaches the level: only if one of the rules does, which is quick to rule out."""
    for j in range(rules.shape[0]):
        if evidence(configure(codes, rules[j]), state, scalars, level)[0] >= level:
            return _averaged(codes, rules, state, scalars, level - NEGLIGIBLE) >= level
    return False


@kernel
def _count(config, state, scalars, arm, reward):
    """Count a trial and its reward."""
    state[ASSIGNED, arm] += 1.0
    scalars[ROUND] += 1.0
    count_reward(config, state, scalars, arm, reward)


@entry
def replay_rewards(codes, rules, state, scalars, arms, rewards, level):
    """Count trials with their rewards.

    Args:
        codes: Of the experiment.
        rules: Its parameters, one row per stopping rule.
        state: Of the experiment.
        scalars: Of the experiment.
        arms: The arm of every trial.
        rewards: The reward of every trial.
        level: What the evidence must reach; infinite if nobody asks.

    Returns:
        The row in which the evidence first reaches the level, and the arm that is named then; or -1 and -1.
    """
    codes, rules, state, scalars = borrowed(codes), borrowed(rules), borrowed(state), borrowed(scalars)
    arms, rewards = borrowed(arms), borrowed(rewards)
    config, first, named = configure(codes, rules[0]), -1, -1
    for row in range(arms.size):
        _count(config, state, scalars, arms[row], rewards[row])
        if first < 0 and level < math.inf and _reaches(codes, rules, state, scalars, level):
            first, named = row, answer(config, state, scalars)
    return first, named


@entry
def averaged_evidence(codes, rules, state, scalars):
    """The arm to name now, and the evidence for it: its least against another arm, each averaged over the rules.

    It is at least what ``replay_rewards`` finds, which takes the least of every rule first.
    """
    config, least = configure(codes, rules[0]), math.inf
    evidence(config, state, scalars, math.inf)  # which finds the arm to name
    named = answer(config, state, scalars)
    if scalars[UNSEEN] > 0.0:
        return named, -math.inf
    for arm in range(state.shape[1]):
        if arm != named:
            least = min(least, _against(codes, rules, state, named, arm))
    return named, least


@entry
def exclude(codes, rules, state, scalars, level, excluded):
    """Write 1 for every arm that another arm excludes from being the best, and 0 for the others.

    Whatever the tolerance, to be the best is to have the largest mean.
    """
    excluded[:] = 0.0
    state = state.copy()
    state[STRETCH], state[SHIFT] = 1.0, 0.0
    if scalars[UNSEEN] == 0.0:
        order = np.argsort(-state[MEAN])  # the better ones first: they exclude the most
        for arm in range(excluded.size):
            for other in order:
                if not state[MEAN, other] > state[MEAN, arm]:
                    break
                if _against(codes, rules, state, other, arm) >= level:
                    excluded[arm] = 1.0
                    break


@kernel
def _against(codes, rules, state, better, arm):
    """The evidence that one arm is better than another, or less worse than the tie, averaged over the rules."""
    top, total = -math.inf, 0.0
    for j in range(rules.shape[0]):
        score = pair_evidence(configure(codes, rules[j]), state, better, arm)
        if score > top:  # a sum of exponentials, kept relative to the largest
            total, top = total * math.exp(top - score) + 1.0, score
        elif score > -math.inf:
            total += math.exp(score - top)
    return top + math.log(total / rules.shape[0]) if total > 0.0 else -math.inf


@entry
def replay_draws(codes, params, state, scalars, arms, rewards, probabilities, level):
    """Count drawn trials with their rewards in [0, 1], for evidence that survives drift.

    ``codes`` name that stop, and ``state`` and ``scalars`` have its rows; else as ``replay_rewards``.
    """
    state, scalars = borrowed(state), borrowed(scalars)
    arms, rewards, probabilities = borrowed(arms), borrowed(rewards), borrowed(probabilities)
    config, first, named = configure(borrowed(codes), borrowed(params)), -1, -1
    for row in range(arms.size):
        _count(config, state, scalars, arms[row], rewards[row])
        bet(state, scalars, arms[row], rewards[row], probabilities[row])
        if first < 0 and level < math.inf and evidence(config, state, scalars, level)[0] >= level:
            first, named = row, answer(config, state, scalars)
    return first, named


@entry
def replay_tests(family, tests, scales, arms, rewards, levels, fired):
    """Test rewards against the declared family, until a test fires that has not fired before.

    Args:
        family: Its code.
        tests: As ``kernels.doubts`` has them.
        scales: The declared variances.
        arms: The arm of every reward.
        rewards: The rewards.
        levels: What the log e-values must reach, that of an arm and that of all arms together.
        fired: 1 for every test that has fired already: one per arm, and the last for all arms together.

    Returns:
        The first row in which a test fired, which is counted then, with the two log e-values; -1 if none did.
    """
    tests, scales, arms, rewards = borrowed(tests), borrowed(scales), borrowed(arms), borrowed(rewards)
    together = fired.size - 1
    for row in range(arms.size):
        arm = arms[row]
        alone, all_arms = update_test(family, tests, scales, arm, rewards[row])
        new = alone >= levels[0] and fired[arm] == 0.0
        if new or (all_arms >= levels[1] and fired[together] == 0.0):
            return row, alone, all_arms
    return -1, 0.0, 0.0
