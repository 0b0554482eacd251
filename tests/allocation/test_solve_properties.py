"""What must hold for ``solve`` on every instance: monotonicity, symmetries, and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairbai as fb
from tests.allocation.questions import near
from tests.cases import families as all_families

FAMILIES = {family.kind: family for family in all_families()}
MEANS = st.floats(0.01, 0.99).map(lambda mean: round(mean, 6))
ROUNDING = 1e-10  # of the ratio of two times

some = settings(max_examples=60)


@st.composite
def instances(draw: Any, least_floor: float = 0.0) -> tuple[np.ndarray, np.ndarray, Any]:
    """Means with a single best arm, floors of a sum of at most 1, and a family."""
    arms = draw(st.integers(2, 7))
    means = np.array(draw(st.lists(MEANS, min_size=arms, max_size=arms, unique=True)))
    parts = np.array(draw(st.lists(st.floats(least_floor, 1.0), min_size=arms + 1, max_size=arms + 1)))
    floors = (parts / max(parts.sum(), 1e-6))[:arms]
    return means, floors * draw(st.sampled_from([0.0, 0.3, 0.9, 1.0])), draw(st.sampled_from(list(FAMILIES.values())))


def solve(means: Any, floors: Any = 0.0, family: Any = None) -> fb.Allocation:
    return fb.solve(fb.Instance(means, family, fb.rates.Constant(floors)))


@some
@given(instances(), st.data())
def test_a_higher_floor_never_shortens_the_time(problem: Any, data: Any) -> None:
    means, floors, family = problem
    arm = data.draw(st.integers(0, means.size - 1))
    raised = floors.copy()
    raised[arm] += data.draw(st.floats(0.0, 1.0)) * max(0.0, 1.0 - floors.sum())
    before, after = solve(means, floors, family), solve(means, raised, family)
    assert after.characteristic_time >= before.characteristic_time * (1.0 - ROUNDING)


@some
@given(instances())
def test_price_lies_between_one_and_its_bound(problem: Any) -> None:
    means, floors, family = problem
    price = fb.price_of_fairness(fb.Instance(means, family, fb.rates.Constant(floors)))
    spare = max(0.0, 1.0 - floors.sum())
    free = solve(means, family=family)
    assert price.fair >= price.unconstrained * (1.0 - ROUNDING)
    assert 1.0 <= price.ratio <= price.upper_bound
    assert price.upper_bound * spare <= 1.0 + 1e-9
    with np.errstate(divide="ignore"):
        bound = np.max(free.weights / (floors + spare * free.weights))
    assert price.ratio <= bound * (1.0 + ROUNDING)


@some
@given(instances(least_floor=0.01))
def test_price_of_equal_variances_is_bounded_by_the_least_floor(problem: Any) -> None:
    """docs/errata.md: no arm's unconstrained weight is above 1/2, hence at most 1 / (2 min p)."""
    means, floors, _ = problem
    price = fb.price_of_fairness(fb.Instance(means, fb.Gaussian(0.7), fb.rates.Constant(floors)))
    assert price.upper_bound * 2.0 * floors.min() <= 1.0 + 1e-6  # the weights in the bound are exact to 1e-6


@some
@given(instances(), st.floats(1e-6, 1.0))
def test_best_arm_is_at_its_floor_if_that_is_above_its_unconstrained_weight(problem: Any, above: float) -> None:
    """The part of a claim of the paper that is true; see the counterexample for other arms in ``test_solve``."""
    means, floors, family = problem
    best = int(np.argmax(means))
    own = solve(means, family=family).weights[best]
    raised = own + above * (1.0 - own)
    floors = floors * (1.0 - raised) * 0.999
    floors[best] = raised
    assert solve(means, floors, family).weights[best] == near(raised, rel=1e-9)


@some
@given(instances(), st.randoms(use_true_random=False))
def test_order_of_the_arms_does_not_matter(problem: Any, random: Any) -> None:
    means, floors, family = problem
    order = list(range(means.size))
    random.shuffle(order)
    plain, shuffled = solve(means, floors, family), solve(means[order], floors[order], family)
    assert shuffled.characteristic_time == near(plain.characteristic_time, rel=ROUNDING)
    assert shuffled.weights == pytest.approx(plain.weights[order], rel=1e-5, abs=1e-12)
    assert order[shuffled.best_arm] == plain.best_arm


@some
@given(instances(), st.floats(-8, 8))
def test_gaussian_units_do_not_matter(problem: Any, exponent: float) -> None:
    means, floors, _ = problem
    variances = 0.5 + means
    unit, shift = 10.0**exponent, 3.0
    plain = solve(means, floors, fb.Gaussian(variances))
    scaled = solve(means * unit, floors, fb.Gaussian(variances * unit**2))
    assert scaled.characteristic_time == near(plain.characteristic_time, rel=1e-9)
    assert scaled.weights == pytest.approx(plain.weights, rel=1e-5, abs=1e-12)
    moved = solve(means + shift, floors, fb.Gaussian(variances))
    assert moved.characteristic_time == near(plain.characteristic_time, rel=1e-8)


@some
@given(instances(), st.integers(-20, 20))
def test_powers_of_two_as_unit_keep_every_bit(problem: Any, exponent: int) -> None:
    means, floors, _ = problem
    unit = 2.0**exponent
    plain, scaled = solve(means, floors, fb.Gaussian(2.0)), solve(means * unit, floors, fb.Gaussian(2.0 * unit**2))
    assert scaled.weights.tolist() == plain.weights.tolist()
    assert scaled.characteristic_time == plain.characteristic_time


@some
@given(instances(), st.floats(0.1, 10.0))
def test_units_of_poisson_and_exponential_arms(problem: Any, unit: float) -> None:
    means, floors, _ = problem
    waits = [solve(scale * means, floors, fb.Exponential()).characteristic_time for scale in (1.0, unit)]
    counts = [solve(scale * means, floors, fb.Poisson()).characteristic_time for scale in (1.0, unit)]
    assert waits[1] == near(waits[0], rel=1e-8)
    assert counts[1] * unit == near(counts[0], rel=1e-8)


@some
@given(instances())
def test_solutions_are_feasible_and_certified(problem: Any) -> None:
    means, floors, family = problem
    instance = fb.Instance(means, family, fb.rates.Constant(floors))
    found = fb.solve(instance)
    assert np.all(found.weights >= instance.floors)
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert 0.0 <= found.duality_gap <= 1e-9
    assert found.best_arm == int(np.argmax(means))
