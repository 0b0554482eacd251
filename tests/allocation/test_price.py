"""``lower_bound`` and ``price_of_fairness``."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import mpmath
import numpy as np
import pytest

import fairbai as fb
from tests.allocation.questions import FAMILIES, near

families = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
deltas = pytest.mark.parametrize("delta", [1e-300, 1e-10, 0.01, 0.05, 0.3, 0.499999])
bad_deltas = pytest.mark.parametrize("delta", [0.0, -0.1, 0.5, 0.7, 1.0, math.nan, math.inf, "small", None])


def instance_of(family: Any, floors: Any = (0.1, 0.5, 0.2)) -> fb.Instance:
    return fb.Instance([0.5, 0.3, 0.4], family(), fb.rates.Constant(floors))


@families
@deltas
def test_lower_bound_is_the_time_by_the_binary_divergence(family: Any, delta: float) -> None:
    instance = instance_of(family)
    with mpmath.workdps(50):
        error, rest = mpmath.mpf(delta), 1 - mpmath.mpf(delta)
        information = float(error * mpmath.log(error / rest) + rest * mpmath.log(rest / error))
    expected = fb.solve(instance).characteristic_time * information
    assert fb.lower_bound(instance, delta) == near(expected, rel=1e-9)


def test_lower_bound_with_several_right_answers() -> None:
    """kl((1 - delta) / m, delta): below what a proved stop takes, and nothing where a guess is good enough."""
    for arms, delta in ((2, 0.05), (3, 0.01), (10, 0.05)):
        instance = fb.Instance([0.5] * arms, tolerance=0.5)
        least, rest = (1.0 - delta) / arms, 1.0 - (1.0 - delta) / arms
        information = least * math.log(least / delta) + rest * math.log(rest / (1.0 - delta))
        assert fb.lower_bound(instance, delta) == near(fb.solve(instance).characteristic_time * information, rel=1e-12)
    assert fb.lower_bound(fb.Instance([0.5] * 19, tolerance=0.5), 0.05) == pytest.approx(0.0, abs=1e-9)
    assert fb.lower_bound(fb.Instance([0.5] * 20, tolerance=0.5), 0.05) == 0.0
    assert fb.lower_bound(fb.Instance([1.0] * 20), 0.05) == math.inf
    one = fb.Instance([1.0, 0.0], tolerance=0.5)
    assert fb.lower_bound(one, 0.05) == near(fb.solve(one).characteristic_time * 0.9 * math.log(19.0), rel=1e-12)


@pytest.mark.slow_without_jit
def test_a_tie_within_a_tolerance_takes_fewer_trials_than_the_bound_for_one_right_answer() -> None:
    """Which is why it is no bound there: it would be 527, and the proved stop takes about 415."""
    instance = fb.Instance([0.5, 0.5], "bernoulli", tolerance=0.1)
    stopping = fb.plan(instance).stopping
    found = fb.simulate(instance, 0.05, stopping=stopping, runs=400, seed=1).stopping_time.mean()
    assert fb.lower_bound(instance, 0.05) < found < 450.0
    assert fb.solve(instance).characteristic_time * 0.9 * math.log(19.0) > 520.0


def test_lower_bound_falls_with_delta_and_is_zero_at_one_half() -> None:
    instance = instance_of(fb.Gaussian)
    bounds = [fb.lower_bound(instance, delta) for delta in (1e-9, 1e-3, 0.1, 0.4, 0.49)]
    assert bounds == sorted(bounds, reverse=True)
    assert fb.lower_bound(instance, math.nextafter(0.5, 0.0)) == pytest.approx(0.0, abs=1e-10)


def test_lower_bound_has_no_second_factor_two() -> None:
    """The paper's theorem has 2 T*_p: twice too much (docs/errata.md)."""
    information = 0.05 * math.log(0.05 / 0.95) + 0.95 * math.log(0.95 / 0.05)
    assert fb.lower_bound(fb.Instance([1.0, 0.0]), 0.05) == near(8.0 * information, rel=1e-10)


@bad_deltas
def test_lower_bound_refuses_delta_outside_zero_and_one_half(delta: Any) -> None:
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1/2\), got ") as caught:
        fb.lower_bound(instance_of(fb.Gaussian), delta)
    assert repr(delta) in str(caught.value)


def test_lower_bound_of_a_tie_is_infinite() -> None:
    assert fb.lower_bound(fb.Instance([1.0, 1.0, 0.0]), 0.05) == math.inf


@families
def test_price_is_made_of_the_two_times(family: Any) -> None:
    instance = instance_of(family)
    free = fb.solve(fb.Instance(instance.means, instance.family))
    price = fb.price_of_fairness(instance)
    assert price.fair == fb.solve(instance).characteristic_time
    assert price.unconstrained == free.characteristic_time
    assert price.ratio == price.fair / price.unconstrained
    reached = instance.floors + instance.spare * free.weights
    assert price.upper_bound == near(np.max(free.weights / reached), rel=1e-12)
    assert 1.0 < price.ratio < price.upper_bound


@families
def test_price_of_no_floors_is_one(family: Any) -> None:
    price = fb.price_of_fairness(instance_of(family, 0.0))
    assert price.ratio == 1.0
    assert price.upper_bound == near(1.0, rel=1e-10)


@pytest.mark.parametrize("share", [0.51, 0.8, 0.99])
def test_price_of_two_arms(share: float) -> None:
    price = fb.price_of_fairness(fb.Instance([1.0, 0.0], rates=fb.rates.Constant([0.0, share])))
    assert price.ratio == near(1 / (4 * share * (1 - share)), rel=1e-10)


def test_paper_bound_fails_for_equal_gaps() -> None:
    """docs/errata.md: the paper's min(1 / (1 - psum), 1 / (K p_min)) with its constant 1 is 1.010, the price 1.205."""
    price = fb.price_of_fairness(fb.Instance([1.0] + [0.0] * 9, rates=fb.rates.Constant(0.099)))
    assert price.ratio == near(2 * (1 / 0.099 + 1 / 0.109) / 32, rel=1e-10)
    assert round(price.ratio, 3) == 1.205
    assert min(1 / 0.01, 1 / (10 * 0.099)) < price.ratio <= price.upper_bound


def test_paper_bound_fails_up_to_any_constant_with_a_zero_floor() -> None:
    """docs/errata.md: the paper's p_min leaves out floors of 0; its bound is 0.505, the price 25.25."""
    price = fb.price_of_fairness(fb.Instance([1.0, 0.0], rates=fb.rates.Constant([0.99, 0.0])))
    assert price.ratio == near(1 / (4 * 0.99 * 0.01), rel=1e-10)
    assert price.ratio > 49 * min(1 / 0.01, 1 / (2 * 0.99))
    assert price.ratio <= price.upper_bound


def test_price_is_infinite_where_the_floors_leave_nothing_for_an_arm() -> None:
    price = fb.price_of_fairness(fb.Instance([1.0, 0.0], rates=fb.rates.Constant([1.0, 0.0])))
    assert (price.ratio, price.fair, price.upper_bound) == (math.inf, math.inf, math.inf)
    assert price.unconstrained == near(8.0, rel=1e-10)


@families
def test_price_of_a_tie_is_refused(family: Any) -> None:
    instance = fb.Instance([0.5, 0.3, 0.5], family(), fb.rates.Constant(0.1))
    with pytest.raises(ValueError, match=r"means must have a single best arm: with a tie T\* is infinite"):
        fb.price_of_fairness(instance)


def test_price_cannot_be_changed() -> None:
    price = fb.price_of_fairness(instance_of(fb.Gaussian))
    with pytest.raises(dataclasses.FrozenInstanceError):
        price.ratio = 1.0  # type: ignore[misc]
