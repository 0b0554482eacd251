"""The numerical bodies of the rates, against exact fractions and the formulas."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbai.kernels import rates as kernels
from fairbai.kernels.rates import CONSTANT, EPSILON, GAP, INVERSE_GAP, PROPORTIONAL, SOFTMAX

CODES = {"proportional": PROPORTIONAL, "softmax": SOFTMAX, "inverse gap": INVERSE_GAP, "gap": GAP}
codes = pytest.mark.parametrize("code", CODES.values(), ids=CODES)


def spare(floors: Any) -> Fraction:
    return 1 - sum(map(Fraction, np.asarray(floors).tolist()), Fraction(0))


def filled(code: int, p0: float, means: Any, temperature: float = 1.0) -> np.ndarray:
    floors = np.full(len(means), math.nan)
    kernels.fill_floors(code, p0, temperature, np.array(means, dtype=float), floors)
    return floors


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=40), st.floats(1e-16, 1e-3))
def test_spare_share_is_exact_however_little_is_left(parts: list[float], left: float) -> None:
    floors = np.array([*parts, 1e-3]) / (sum(parts) + 1e-3) * (1.0 - left)
    exact = float(spare(floors))
    found = kernels.spare_share(floors)
    if exact > 2 * floors.size * EPSILON:
        assert found == pytest.approx(exact, rel=1e-14, abs=0.0)
    else:
        assert found in (0.0, pytest.approx(exact, rel=1e-14, abs=0.0))


@pytest.mark.parametrize(
    ("floors", "expected"),
    [
        ([0.0, 0.0], 1.0),
        ([0.5, 0.25], 0.25),
        ([0.5, 0.5], 0.0),
        ([0.1] * 10, 0.0),
        ([1.0, 1e-17], 0.0),
        ([1.0 + 1e-12, 0.0], 0.0),
        ([1.0 - 2.0**-50, 0.0], 2.0**-50),
        ([0.0, 0.0, 1.0], 0.0),
    ],
)
def test_spare_share_of_simple_floors(floors: list[float], expected: float) -> None:
    assert kernels.spare_share(np.array(floors)) == expected


def test_constant_floors_are_left_alone() -> None:
    floors = np.array([0.1, 0.2])
    kernels.fill_floors(CONSTANT, 0.9, 1.0, np.array([1.0, 0.0]), floors)
    assert floors.tolist() == [0.1, 0.2]


FORMULAS = {
    PROPORTIONAL: lambda means: np.maximum(means, 0.0),
    SOFTMAX: lambda means: np.exp((means - means.max()) / 0.7),
    INVERSE_GAP: lambda means: 1.0 / np.maximum(means.max() - means, np.diff(np.sort(means))[-1]),
    GAP: lambda means: means.max() - means,
}


@codes
@given(st.lists(st.floats(-3.0, 3.0), min_size=2, max_size=8, unique=True), st.floats(0.0, 1.0))
def test_floors_follow_their_formula(code: int, numbers: list[float], p0: float) -> None:
    means = np.round(numbers, 6)
    if np.sum(means == means.max()) > 1 or (code == PROPORTIONAL and means.max() <= 0.0):
        return  # the limits, below
    shares = FORMULAS[code](means)
    floors = filled(code, p0, means, temperature=0.7)
    assert floors == pytest.approx(p0 * shares / shares.sum(), rel=1e-12, abs=1e-15)
    assert floors.sum() == pytest.approx(p0, rel=1e-13, abs=1e-300)


@codes
def test_all_equal_means_have_equal_floors(code: int) -> None:
    assert filled(code, 0.8, [0.5, 0.5, 0.5, 0.5]) == pytest.approx([0.2] * 4, rel=1e-15)


def test_arms_that_tie_for_the_best_share_all_of_the_inverse_gap_rate() -> None:
    assert filled(INVERSE_GAP, 0.8, [2.0, 0.5, 2.0]).tolist() == [0.4, 0.0, 0.4]


def test_arms_that_tie_for_the_best_have_no_floor_of_the_gap_rate() -> None:
    assert filled(GAP, 0.9, [2.0, 0.5, 2.0, 1.25]) == pytest.approx([0.0, 0.6, 0.0, 0.3], rel=1e-15)


@pytest.mark.parametrize("means", [[-1.0, -2.0], [0.0, 0.0], [-1.0, 0.0]])
def test_proportional_floors_are_equal_where_no_mean_is_positive(means: list[float]) -> None:
    assert filled(PROPORTIONAL, 0.5, means).tolist() == [0.25, 0.25]


@codes
def test_batch_is_row_by_row(code: int) -> None:
    means = np.random.default_rng(3).normal(size=(20, 5))
    floors = np.empty_like(means)
    kernels.fill_floors_batch(code, 0.6, 0.7, means, floors)
    assert floors.tolist() == [filled(code, 0.6, row, 0.7).tolist() for row in means]
