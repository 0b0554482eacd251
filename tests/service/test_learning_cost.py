"""What learning cost: the estimate, and the least and the most that the intervals of the means allow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from fairbai.service.reading.learning_cost import cost_range, learning_cost


def status(**changes: Any) -> Any:
    arms = [
        {"assigned": 60, "mean": 0.5, "interval": [0.4, 0.6], "floor": 0.1},
        {"assigned": 40, "mean": 0.3, "interval": [0.1, 0.45], "floor": 0.2},
    ]
    return {"arms": arms, "goal": "max", "trials": 100, **changes}


def test_estimate_and_range() -> None:
    found = learning_cost(status())
    assert found is not None
    assert found["estimate"] == pytest.approx(40 * 0.2)
    assert found["floors"] == pytest.approx(0.2 * 100 * 0.2)
    assert found["low"] == pytest.approx(0.0)  # both may have a mean of 0.4 to 0.45
    assert found["high"] == pytest.approx(40 * 0.5)


def test_less_is_better() -> None:
    found = learning_cost(status(goal="min"))
    assert found is not None
    assert (found["estimate"], found["high"]) == (pytest.approx(60 * 0.2), pytest.approx(60 * 0.5))


def test_there_is_none_before_rewards_and_where_means_may_change() -> None:
    unseen = status()
    unseen["arms"][1]["mean"] = None
    assert learning_cost(unseen) is None
    assert learning_cost(status(estimand="average")) is None
    open_ended = status()
    open_ended["arms"][1]["interval"] = [None, None]
    found = learning_cost(open_ended)
    assert found is not None
    assert (found["low"], found["high"]) == (0.0, None)


@pytest.mark.parametrize("seed", range(5))
def test_the_range_is_that_of_all_means_within_the_intervals(seed: int) -> None:
    """For each arm as the best, both ends by linear programs over the means."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 100, 4).astype(float)
    ends = np.sort(rng.random((4, 2)), axis=1)
    least, most = math.inf, 0.0
    for best in range(4):
        cost = -counts.copy()
        cost[best] += counts.sum()
        below = np.eye(4) - np.eye(4)[best]
        for sign in (1.0, -1.0):
            found = linprog(sign * cost, below, np.zeros(4), bounds=ends.tolist())
            if found.success:
                least, most = min(least, sign * found.fun), max(most, sign * found.fun)
    assert cost_range(counts, ends, "max") == pytest.approx((least, most))
