"""Cumulative tracking, for any policies: N_a >= Σ π_a - H_(K-1) on every path, or H_K - 1 without chance."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbai.kernels.sampling.policies import track
from fairbai.kernels.sampling.rules import CUMULATIVE, FAIR_CUMULATIVE
from fairbai.kernels.state import ASSIGNED, TARGET
from tests.states import empty_state

BOTH = pytest.mark.parametrize("rule", [FAIR_CUMULATIVE, CUMULATIVE])


def largest_lag(rule: int, policies: np.ndarray, seed: int = 0) -> float:
    """The largest Σ π_a - N_a over time and arms, one row of ``policies`` per trial."""
    state, rng = empty_state(policies.shape[1]), np.random.default_rng(seed)
    worst = 0.0
    for policy in policies:
        arm = track(rule, state, policy, rng.random())
        assert state[TARGET, arm] > state[ASSIGNED, arm] - 1e-9
        state[ASSIGNED, arm] += 1.0
        worst = max(worst, float((state[TARGET] - state[ASSIGNED]).max()))
    return worst


def bound(rule: int, arms: int) -> float:
    return float(np.sum(1.0 / np.arange(2, arms + 1)) if rule == CUMULATIVE else np.sum(1.0 / np.arange(1, arms)))


@BOTH
@pytest.mark.parametrize("arms", [2, 3, 5, 20])
@pytest.mark.parametrize("concentration", [0.05, 1.0, 20.0])
def test_random_policies(rule: int, arms: int, concentration: float) -> None:
    rng = np.random.default_rng(arms)
    assert largest_lag(rule, rng.dirichlet(np.full(arms, concentration), size=300)) <= bound(rule, arms) + 1e-9


@BOTH
@given(st.lists(st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4), min_size=1, max_size=40), st.integers(0, 99))
def test_any_policies(rule: int, rows: list[list[float]], seed: int) -> None:
    policies = np.array(rows) + 1e-3
    lag = largest_lag(rule, policies / policies.sum(axis=1, keepdims=True), seed)
    assert lag <= bound(rule, 4) + 1e-9


@pytest.mark.parametrize("arms", [2, 3, 5, 10])
def test_bound_is_reached(arms: int) -> None:
    """A policy that spreads over the arms not pulled yet drives the last one to H_K - 1 exactly."""
    state = empty_state(arms)
    for left in range(arms, 1, -1):
        rest = state[ASSIGNED] == 0.0
        state[ASSIGNED, track(CUMULATIVE, state, rest / left, 0.5)] += 1.0
    assert (state[TARGET] - state[ASSIGNED]).max() == pytest.approx(bound(CUMULATIVE, arms))


def test_equal_shares_are_random_orders_within_blocks() -> None:
    """Each block of as many trials as arms has every arm once, and every order as often: 6 orders in 600 blocks."""
    state, rng, orders = empty_state(3), np.random.default_rng(1), Counter[tuple[int, ...]]()
    for _ in range(600):
        block = []
        for _ in range(3):
            block.append(track(FAIR_CUMULATIVE, state, np.full(3, 1 / 3), rng.random()))
            state[ASSIGNED, block[-1]] += 1.0
        orders[tuple(block)] += 1
    assert len(orders) == 6
    assert min(orders.values()) > 60  # 100 are expected, with a standard deviation of 9
