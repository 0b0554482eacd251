"""Experiments in the middle of nowhere: counts and means as a test wants them, the next arm as the rule does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fairbai as fb
from fairbai.kernels import state as rows
from fairbai.kernels.streams.philox import two_uniforms

NEVER = 1e-300  # a delta that no test reaches


def identifier(arms: int, sampling: Any, *, seed: int = 0, **settings: Any) -> fb.Identifier:
    """An experiment that does not end."""
    settings = {"family": fb.Gaussian(), "stopping": fb.stopping.Heuristic(), **settings}
    return fb.Identifier(arms, NEVER, sampling=sampling, settle=False, seed=seed, **settings)


def experiment(
    assigned: Sequence[int],
    means: Sequence[float],
    sampling: Any,
    *,
    observed: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    seed: int = 0,
    **settings: Any,
) -> fb.Identifier:
    """An experiment with these counts and means; the optimal shares are solved for, or those given."""
    ident = identifier(len(means), sampling, seed=seed, **settings)
    state, scalars = ident._experiment.state, ident._experiment.scalars
    counts = np.array(assigned if observed is None else observed)
    state[rows.ASSIGNED], state[rows.OBSERVED] = assigned, counts
    state[rows.MEAN] = state[rows.INSIDE] = means
    state[rows.SUM] = counts * means
    scalars[[rows.ROUND, rows.SEEN, rows.UNSEEN]] = sum(assigned), counts.sum(), np.sum(counts == 0)
    ident._experiment.reconsider()
    if weights is not None:
        state[rows.WEIGHT] = weights
    return ident


def policy(ident: fb.Identifier) -> np.ndarray:
    """The probabilities with which the next arm is chosen."""
    ident.ask()
    return ident._experiment.policy.copy()


def uniform(ident: fb.Identifier) -> float:
    """The random number that the next choice uses."""
    return float(two_uniforms(ident.seed, 0, int(ident._experiment.scalars[rows.ROUND]))[0])


def drawn(probabilities: np.ndarray, number: float) -> int:
    """The arm that a uniform number stands for."""
    return int(np.searchsorted(np.cumsum(probabilities), number, side="right"))


def owed(assigned: Sequence[int], floors: Sequence[float], number: float) -> tuple[int | None, float]:
    """The arm that is drawn for what floors lack, if one is, and the number that the next choice uses."""
    lag = np.array(floors) * (sum(assigned) + 1) - assigned
    if lag.max() > 1.0:
        return int(np.argmax(lag)), number
    lacking = np.maximum(lag, 0.0)
    reached = np.cumsum(lacking) / max(1.0, lacking.sum())
    if number < reached[-1]:
        return int(np.searchsorted(reached, number, side="right")), number
    return None, (number - reached[-1]) / (1.0 - reached[-1])


def play(ident: fb.Identifier, means: Sequence[float], trials: int, seed: int = 0) -> list[int]:
    """The arms of a run with random rewards."""
    rewards = ident.family.sample(means, np.random.default_rng(seed), trials)
    arms = []
    for number in range(trials):
        arms.append(ident.ask())
        ident.tell(arms[-1], rewards[number, arms[-1]])
    return arms
