"""Cumulative tracking, for any policies: N_a >= Σ π_a - (H_K - 1) on every path."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbai.kernels.sampling.policies import track
from fairbai.kernels.state import ASSIGNED, TARGET
from tests.states import empty_state


def largest_lag(policies: np.ndarray) -> float:
    """The largest Σ π_a - N_a over time and arms, one row of ``policies`` a trial."""
    state = empty_state(policies.shape[1])
    worst = 0.0
    for policy in policies:
        arm = track(state, policy)
        state[ASSIGNED, arm] += 1.0
        worst = max(worst, float((state[TARGET] - state[ASSIGNED]).max()))
    return worst


def bound(arms: int) -> float:
    return float(np.sum(1.0 / np.arange(2, arms + 1)))


@pytest.mark.parametrize("arms", [2, 3, 5, 20])
@pytest.mark.parametrize("concentration", [0.05, 1.0, 20.0])
def test_random_policies(arms: int, concentration: float) -> None:
    rng = np.random.default_rng(arms)
    assert largest_lag(rng.dirichlet(np.full(arms, concentration), size=300)) <= bound(arms) + 1e-9


@given(st.lists(st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4), min_size=1, max_size=40))
def test_any_policies(rows: list[list[float]]) -> None:
    policies = np.array(rows) + 1e-3
    assert largest_lag(policies / policies.sum(axis=1, keepdims=True)) <= bound(4) + 1e-9


@pytest.mark.parametrize("arms", [2, 3, 5, 10])
def test_bound_is_reached(arms: int) -> None:
    """A policy that spreads over the arms not pulled yet drives the last one to H_K - 1 exactly."""
    state = empty_state(arms)
    for left in range(arms, 1, -1):
        rest = state[ASSIGNED] == 0.0
        state[ASSIGNED, track(state, rest / left)] += 1.0
    assert (state[TARGET] - state[ASSIGNED]).max() == pytest.approx(bound(arms))
