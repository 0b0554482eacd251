"""Whole experiments at the speed of the kernels: what `Identifier` does, in one compiled loop."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import fairbai as fb
from fairbai.kernels.experiment import FAMILY, assign, observe, reconsider
from fairbai.kernels.families import BERNOULLI, GAUSSIAN, POISSON
from fairbai.kernels.jit import entry, kernel
from fairbai.kernels.state import MEAN, SCALE, largest


class Arrays(NamedTuple):
    """What the kernels work on."""

    codes: np.ndarray
    reals: np.ndarray
    state: np.ndarray
    numbers: np.ndarray
    policy: np.ndarray
    room: np.ndarray


def arrays(ident: fb.Identifier) -> Arrays:
    held = ident._experiment
    return Arrays(held.codes, held.reals, held.state, held.numbers, held.policy, held.room)


@kernel
def draw(family, mean, variance, rng):
    """A reward."""
    if family == GAUSSIAN:
        return mean + np.sqrt(variance) * rng.standard_normal()
    if family == BERNOULLI:
        return 1.0 if rng.random() < mean else 0.0
    if family == POISSON:
        return float(rng.poisson(mean))
    return rng.exponential(mean)


@entry
def until_decided(codes, reals, state, numbers, policy, room, means, level, longest, rng):
    """Trials until the evidence reaches the level, and the arm that is then the best; -1 if it takes too long."""
    for number in range(longest):
        arm = assign(codes, reals, state, numbers, policy)
        reward = draw(codes[FAMILY], means[arm], state[SCALE, arm], rng)
        observe(codes, reals, state, numbers, arm, reward)
        if reconsider(codes, reals, state, numbers, room, level)[0] >= level:
            return number + 1, largest(state, MEAN)
    return longest, -1


def runs(means: list[float], count: int, longest: int, seed: int = 0, **settings: Any) -> tuple[np.ndarray, np.ndarray]:
    """Trials and answers of ``count`` experiments with these settings of an Identifier."""
    rng = np.random.default_rng(seed)
    trials, answers = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    truth = np.array(means)
    for run in range(count):
        ident = fb.Identifier(len(means), seed=seed + run, **settings)
        level = ident.stopping.level(ident.delta, len(means))
        trials[run], answers[run] = until_decided(*arrays(ident), truth, level, longest, rng)
    return trials, answers
