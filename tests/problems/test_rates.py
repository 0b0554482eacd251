"""Fairness rates: every formula, every vector of means that learning can produce, and nonsense."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairbai as fb
from fairbai.problems.rates import Rate
from tests.cases import LEARNED

learned = pytest.mark.parametrize("rate", LEARNED.values(), ids=LEARNED)


# Formulas


@pytest.mark.parametrize("floor", [0.1, [0.1, 0.1, 0.1], np.full(3, 0.1)])
def test_constant_floors_do_not_depend_on_the_means(floor: Any) -> None:
    for means in ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]):
        assert fb.rates.Constant(floor).floors(means).tolist() == [0.1, 0.1, 0.1]


def test_proportional_floors() -> None:
    assert fb.rates.Proportional(0.8).floors([3.0, 1.0, -2.0, 0.0]) == pytest.approx([0.6, 0.2, 0.0, 0.0])


@pytest.mark.parametrize("temperature", [0.1, 1.0, 30.0])
def test_softmax_floors(temperature: float) -> None:
    means = np.array([1.0, 0.3, -2.0])
    shares = np.exp(means / temperature)
    found = fb.rates.Softmax(0.6, temperature).floors(means)
    assert found == pytest.approx(0.6 * shares / shares.sum(), rel=1e-12, abs=1e-15)


def test_inverse_gap_floors() -> None:
    """Gaps 0, 0.5, 2: the best arm counts with the least gap, 0.5."""
    shares = np.array([1 / 0.5, 1 / 0.5, 1 / 2.0])
    found = fb.rates.InverseGap(0.9).floors([1.0, 0.5, -1.0])
    assert found == pytest.approx(0.9 * shares / shares.sum(), rel=1e-14)


def test_gap_floors() -> None:
    assert fb.rates.Gap(0.9).floors([1.0, 0.5, 0.0]) == pytest.approx([0.0, 0.3, 0.6], rel=1e-14)


def test_custom_floors() -> None:
    assert fb.rates.Custom(lambda means: 0.5 * means / means.sum()).floors([3.0, 1.0]).tolist() == [0.375, 0.125]
    assert fb.rates.Custom(lambda means: 0.1).floors([3.0, 1.0]).tolist() == [0.1, 0.1]


def test_custom_function_cannot_change_the_means() -> None:
    def spoil(means: np.ndarray) -> float:
        means[:] = 0.0
        return 0.1

    instance = fb.Instance([3.0, 1.0], rates=fb.rates.Custom(spoil))
    assert instance.means.tolist() == [3.0, 1.0]


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.9, 1.0])
def test_blended_floors(alpha: float) -> None:
    instance = fb.Instance([0.5, 0.4, 0.1], fb.Bernoulli(), fb.rates.Constant(0.3))
    weights = fb.solve(fb.Instance(instance.means, instance.family)).weights  # without floors, whatever the rates
    inverse = (1 / weights) / np.sum(1 / weights)
    found = fb.rates.blended(instance, 0.7, alpha)
    assert isinstance(found, fb.rates.Constant)
    assert found.floors(instance.means) == pytest.approx(0.7 * (alpha * weights + (1 - alpha) * inverse), rel=1e-12)
    assert found.floors(instance.means).sum() == pytest.approx(0.7, rel=1e-12)


@pytest.mark.parametrize(
    ("p0", "alpha", "message"),
    [
        (1.1, 0.5, r"p0 must be in \[0, 1\], got 1.1"),
        (0.5, -0.1, r"alpha must be in \[0, 1\], got -0.1"),
        (0.5, math.nan, r"alpha must be in \[0, 1\], got nan"),
    ],
)
def test_blended_refuses_numbers_outside_zero_and_one(p0: float, alpha: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fb.rates.blended(fb.Instance([1.0, 0.0]), p0, alpha)


def test_blended_refuses_ties() -> None:
    with pytest.raises(ValueError, match=r"^instance must have a single best arm: with a tie w\* is not defined$"):
        fb.rates.blended(fb.Instance([1.0, 1.0, 0.0]), 0.9, 0.5)


# Every vector of means


ODD_MEANS = {
    "two tied best": [1.0, 0.0, 1.0],
    "all equal": [0.5, 0.5, 0.5],
    "all zero": [0.0, 0.0, 0.0],
    "negative": [-3.0, -1.0, -2.0],
    "negative and equal": [-1.0, -1.0],
    "far apart": [1e150, -1e150, 0.0],
    "huge": [1e308, 1e308, 5e307],
    "huge and negative": [1e308, -1e308, 0.0],
    "tiny": [1e-300, 2e-300, 0.0],
    "subnormal": [5e-324, 0.0, 1e-323],
    "within rounding": [1.0, 1.0 - 2.0**-53, 1.0 - 2.0**-52],
}


@learned
@pytest.mark.parametrize("means", ODD_MEANS.values(), ids=ODD_MEANS)
@pytest.mark.parametrize("p0", [0.0, 0.7, 1.0])
def test_learned_floors_are_defined_for_all_means(rate: Any, means: list[float], p0: float) -> None:
    floors = rate(p0).floors(means)
    assert np.all(floors >= 0.0)
    assert floors.sum() == pytest.approx(p0, rel=1e-15, abs=1e-15)


@learned
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9), st.floats(0.0, 1.0))
def test_learned_floors_sum_to_p0(rate: Any, means: list[float], p0: float) -> None:
    floors = rate(p0).floors(means)
    assert np.all(floors >= 0.0)
    assert floors.sum() == pytest.approx(p0, rel=1e-14, abs=1e-14)


@learned
def test_learned_floors_of_all_equal_means_are_equal(rate: Any) -> None:
    assert rate(0.6).floors([2.0, 2.0, 2.0]) == pytest.approx([0.2, 0.2, 0.2], rel=1e-15)


def test_proportional_floors_are_equal_where_no_mean_is_positive() -> None:
    assert fb.rates.Proportional(0.6).floors([-1.0, -2.0, 0.0]) == pytest.approx([0.2, 0.2, 0.2], rel=1e-15)


def test_tied_best_arms_share_the_inverse_gap_rate() -> None:
    assert fb.rates.InverseGap(0.6).floors([1.0, 0.0, 1.0]).tolist() == [0.3, 0.0, 0.3]


@pytest.mark.parametrize("temperature", [1e-300, 1e-9])
def test_softmax_with_a_tiny_temperature_is_for_the_best_arm(temperature: float) -> None:
    assert fb.rates.Softmax(0.6, temperature).floors([1.0, 0.5, -2.0]).tolist() == [0.6, 0.0, 0.0]


@learned
@pytest.mark.parametrize("means", [[], [1.0]])
def test_learned_floors_need_two_arms(rate: Any, means: list[float]) -> None:
    with pytest.raises(ValueError, match="means must hold at least two arms"):
        rate(0.5).floors(means)


@pytest.mark.parametrize(
    "rate",
    [
        fb.rates.Constant([0.1, 0.2, 0.3]),
        *(make(0.8) for make in LEARNED.values()),
        fb.rates.Custom(lambda means: 0.3 * (means == means.max())),
    ],
    ids=["constant", *LEARNED, "custom"],
)
def test_batch_of_floors_is_row_by_row(rate: Rate) -> None:
    means = np.random.default_rng(4).uniform(-1.0, 1.0, size=(6, 3))
    assert rate.floors_batch(means).tolist() == [rate.floors(row).tolist() for row in means]


# Nonsense


@pytest.mark.parametrize(
    ("floor", "message"),
    [
        (-0.1, r"floor must be in \[0, 1\], got -0.1"),
        (1.5, r"floor must be in \[0, 1\], got 1.5"),
        (math.nan, r"floor must be in \[0, 1\], got nan"),
        ("half", r"floor must be in \[0, 1\], got 'half'"),
        (None, r"floor must be in \[0, 1\], got None"),
        ([0.1, -0.2], "floors must not be negative, got -0.2 for arm 1"),
        ([0.1, math.nan], "floors must be finite, got nan for arm 1"),
        ([0.6, 0.6], "2 floors of 60 % add up to 120 %; at most 50 % each is possible"),
        ([0.5, 0.5 + 2e-9], "the floors add up to 100.0000002 %"),
        ([[0.1, 0.2]], r"floors must be a vector, got shape \(1, 2\)"),
        (["a", "b"], "floors must be numbers, got "),
    ],
)
def test_constant_floors_that_make_no_sense(floor: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        fb.rates.Constant(floor)


@pytest.mark.parametrize(
    ("floor", "message"),
    [
        ([0.1, 0.2], r"floors must have one entry per arm \(3\), got 2"),
        (0.4, "3 floors of 40 % add up to 120 %"),
    ],
)
def test_constant_floors_that_do_not_fit_the_arms(floor: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        fb.rates.Constant(floor).floors([1.0, 2.0, 3.0])


def test_a_sum_within_1e_minus_9_of_one_is_one() -> None:
    floors = fb.rates.Constant([0.5, 0.5 + 9e-10]).floors([1.0, 0.0])
    assert floors.sum() == pytest.approx(1.0, abs=1e-15)


@learned
@pytest.mark.parametrize("p0", [-0.1, 1.1, math.nan, "all", None])
def test_p0_must_be_a_share(rate: Any, p0: Any) -> None:
    with pytest.raises(ValueError, match=r"^p0 must be in \[0, 1\], got "):
        rate(p0)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf, "warm"])
def test_temperature_must_be_positive(temperature: Any) -> None:
    with pytest.raises(ValueError, match=r"^temperature must be positive, got "):
        fb.rates.Softmax(0.5, temperature)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (math.nan, "be finite, got nan for arm 0"),
        ([0.1, math.inf], "be finite, got inf for arm 1"),
        ([0.1, -0.1], "not be negative, got -0.1 for arm 1"),
        (-0.1, "not be negative, got -0.1 for arm 0"),
        ([0.1], r"have one entry per arm \(2\), got 1"),
        ([0.1, 0.1, 0.1], r"have one entry per arm \(2\), got 3"),
        ([0.7, 0.7], "sum to at most 1: 2 floors of 70 % add up to 140 %"),
        (0.7, "sum to at most 1: 2 floors of 70 % add up to 140 %"),
        ([[0.1, 0.1]], "be a vector, got shape"),
        ("high", "be numbers, got "),
        (None, "be "),
    ],
)
def test_custom_function_that_returns_nonsense(result: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^rates returned by the custom function must {message}"):
        fb.rates.Custom(lambda means: result).floors([1.0, 0.0])


@pytest.mark.parametrize("function", [None, 0.1, [0.1, 0.2]])
def test_custom_rate_needs_a_function(function: Any) -> None:
    with pytest.raises(ValueError, match=r"^function must be callable, got "):
        fb.rates.Custom(function)


def test_rates_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        fb.rates.Constant(0.1).floor = 0.2  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        fb.rates.Constant([0.1, 0.2]).floor[0] = 0.5  # type: ignore[index]
