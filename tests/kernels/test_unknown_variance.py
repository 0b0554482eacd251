"""Ties of Gaussian arms of unknown variance, against a search over a fine grid of ties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from fairbai.kernels.families import GAUSSIAN, GAUSSIAN_UNKNOWN
from fairbai.kernels.pairs import transport
from fairbai.kernels.unknown_variance import cheapest_tie, unknown_relative_weight

EQUAL = (1.0, 0.0)
PAIRS = 300


def pairs() -> list[tuple[float, float, float, float, float]]:
    """A gap, two variances and two weights, over several orders of magnitude."""
    rng = np.random.default_rng(3)
    numbers = np.exp(rng.normal(size=(PAIRS, 5)) * [1.5, 2.0, 2.0, 1.5, 1.5])
    return [tuple(row) for row in numbers.tolist()]


def divergence(change: float, variance: float) -> float:
    return 0.5 * math.log1p(change**2 / variance)


def searched(gap: float, best_variance: float, variance: float, best_weight: float, weight: float) -> float:
    """The least cost of a tie: of 20,001 of them, and then by a search around the best."""

    def cost(x: np.ndarray | float) -> np.ndarray | float:
        own, other = np.log1p(x**2 / best_variance), np.log1p((gap - x) ** 2 / variance)
        return 0.5 * (best_weight * own + weight * other)

    ties = np.linspace(0.0, gap, 20_001)
    at = int(np.argmin(cost(ties)))
    bounds = (ties[max(at - 1, 0)], ties[min(at + 1, ties.size - 1)])
    return float(minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-14}).fun)


def test_cost_of_a_tie() -> None:
    for gap, best_variance, variance, best_weight, weight in pairs():
        best, rival = (gap, best_variance, best_weight), (0.0, variance, weight)
        found, ratio = transport(GAUSSIAN_UNKNOWN, best, rival, EQUAL)
        expected = searched(gap, best_variance, variance, best_weight, weight)
        assert found == pytest.approx(expected, rel=1e-9)
        _, _, near, far = cheapest_tie(best_variance / gap**2, variance / gap**2, best_weight, weight)
        own, other = divergence(near * gap, best_variance), divergence(far * gap, variance)
        assert near + far == pytest.approx(1.0)
        assert best_weight * own + weight * other == pytest.approx(expected, rel=1e-9)
        assert ratio == pytest.approx(own / other)


def test_of_two_minima_the_lower_one_counts() -> None:
    """At a gap of ten standard deviations it is cheapest to move one arm by almost all of it: that with less weight."""
    for weight in (0.5, 2.0):
        _, _, near, far = cheapest_tie(0.01, 0.01, 1.0, weight)
        assert (far if weight < 1.0 else near) > 0.98


@pytest.mark.parametrize("gap", [1e-200, 1e-150, 1e-30, 1e-9, 1e-5])
def test_close_arms_are_like_those_of_known_variance(gap: float) -> None:
    best, rival = (gap, 2.0, 30.0), (0.0, 0.5, 10.0)
    known = transport(GAUSSIAN, best, rival, EQUAL)
    assert transport(GAUSSIAN_UNKNOWN, best, rival, EQUAL) == pytest.approx(known, rel=1e-9, abs=0.0)


def test_weight_that_an_arm_needs() -> None:
    """It brings the cost of the pair to the level, and its derivatives are those of differences."""
    for gap, best_variance, variance, part, _ in pairs():
        most = divergence(gap, best_variance)

        def needed(level: float, arms: tuple[float, ...] = (gap, best_variance, 0.0, variance), most: float = most):
            return unknown_relative_weight(*arms, level, most - level, 1.0)

        level = most * part / (1.0 + part)
        psi, ratio, bend = needed(level)
        cost, found = transport(GAUSSIAN_UNKNOWN, (gap, best_variance, 1.0), (0.0, variance, psi), EQUAL)
        assert cost == pytest.approx(level, rel=1e-10)
        assert ratio == pytest.approx(found, rel=1e-6)
        step = 1e-5 * min(level, most - level)
        (low, below, _), (high, above, _) = needed(level - step), needed(level + step)
        if abs(above / below - 1.0) < 1e-3:  # else two ties cost about the same, and psi has a kink there
            assert level * (high - low) / (2.0 * step) - psi == pytest.approx(ratio, rel=1e-4, abs=1e-6 * psi)
            assert (high - 2.0 * psi + low) / step**2 == pytest.approx(bend, rel=0.05, abs=1e-5 * psi / step**2)


def test_weight_is_the_same_from_every_guess() -> None:
    arms, most = (1.0, 2.0, 0.0, 0.5), divergence(1.0, 2.0)
    for share in (1e-6, 0.1, 0.5, 0.9, 1.0 - 1e-6):
        found = [
            unknown_relative_weight(*arms, share * most, (1.0 - share) * most, guess)[0] for guess in (1e-9, 1, 1e9)
        ]
        assert found == pytest.approx([found[1]] * 3, rel=1e-9)
