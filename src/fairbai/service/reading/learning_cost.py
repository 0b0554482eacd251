"""What learning cost: the rewards that trials of other arms than the best forwent, as far as they can be estimated."""

import math

import numpy as np

from fairbai.problems.checks import Array
from fairbai.problems.gaps import gaps_of
from fairbai.service.domain.looking import finite
from fairbai.service.domain.status_answers import Arm, LearningCost, Status


def learning_cost(status: Status) -> LearningCost | None:
    """The regret Σ N_a Δ_a with the estimated gaps, and the least and the largest that the intervals allow.

    All intervals hold at all times at once with the target confidence, and so do these two ends. None before every arm
    has a reward, and where means may change: the best arm may then have been another one at any time.
    """
    arms = status["arms"]
    if "estimand" in status or any(arm["mean"] is None for arm in arms):
        return None
    counts = np.array([arm["assigned"] for arm in arms], dtype=np.float64)
    gaps = gaps_of(np.array([arm["mean"] for arm in arms]), status["goal"])
    ends = [(-math.inf if low is None else low, math.inf if high is None else high) for low, high in _intervals(arms)]
    low, high = cost_range(counts, np.array(ends), status["goal"])
    floors = np.array([arm["floor"] for arm in arms])
    return {
        "estimate": float(counts @ gaps),
        "low": finite(low),
        "high": finite(high),
        "floors": float(gaps @ floors) * status["trials"],
    }


def _intervals(arms: list[Arm]) -> list[list[float | None]]:
    return [arm["interval"] for arm in arms]


def cost_range(counts: Array, ends: Array, goal: str) -> tuple[float, float]:
    """The least and the largest Σ N_a Δ_a of all means within the intervals.

    The least has the best mean as low as it can be; the largest has one arm at the top of its interval, and all others
    at the bottom.

    Example:
        >>> cost_range(np.array([10.0, 4.0]), np.array([[0.5, 0.75], [0.0, 0.25]]), "max")
        (1.0, 3.0)
    """
    low, high = (ends[:, 0], ends[:, 1]) if goal == "max" else (-ends[:, 1], -ends[:, 0])
    least = float(counts @ np.maximum(low.max() - high, 0.0)) if math.isfinite(low.max()) else 0.0
    if not np.isfinite(ends).all():
        return least, math.inf
    largest = max(
        float(np.delete(counts * np.maximum(high[best] - low, 0.0), best).sum()) for best in range(counts.size)
    )
    return least, largest
