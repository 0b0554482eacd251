"""The instances of the paper's experiments."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import fairbai as fb
from fairbai.reproduction import scenarios
from fairbai.reproduction.scenarios import PaperScenario

KEYS = [
    (table, constraints, side)
    for table in ("synthetic", "scheduling")
    for constraints in ("prespecified", "theta_dependent")
    for side in ("agonistic", "antagonistic")
]


@pytest.fixture(params=range(10), ids=lambda index: f"scenario-{index}")
def scenario(request: pytest.FixtureRequest) -> PaperScenario:
    index: int = request.param
    return scenarios.select()[index]  # not at import: the first solve compiles the kernels


def one(model: str, constraints: str, side: str) -> PaperScenario:
    (found,) = scenarios.select(model, constraints, side)  # type: ignore[arg-type]
    return found


def test_the_tables_have_eight_settings_in_the_order_of_their_columns() -> None:
    assert [(s.table, s.constraints, s.side) for s in scenarios.table_scenarios()] == KEYS
    assert [(s.table, s.model) for s in scenarios.equal_gap_scenarios()] == [(None, "equal gaps")] * 2


def test_settings_are_built_once_and_frozen() -> None:
    assert scenarios.table_scenarios() is scenarios.table_scenarios()
    with pytest.raises(dataclasses.FrozenInstanceError):
        scenarios.select()[0].title = "other"  # type: ignore[misc]


def test_names_and_titles_tell_settings_apart() -> None:
    every = scenarios.select()
    assert len(every) == len({s.name for s in every}) == len({s.title for s in every}) == 10
    assert one("equal gaps", "prespecified", "agonistic").name == "equal-gaps-prespecified-agonistic"
    assert one("scheduling", "theta_dependent", "agonistic").title == "Scheduling, θ-dependent floors, agonistic"


def test_rewards_are_gaussian_with_variance_one_and_one_arm_is_best(scenario: PaperScenario) -> None:
    assert scenario.instance.family == fb.Gaussian(variance=1.0)
    assert np.sum(scenario.instance.means == scenario.instance.means.max()) == 1


def test_floors_sum_to_p0(scenario: PaperScenario) -> None:
    p0 = {"equal gaps": 0.99, "scheduling": 0.9, "linear": 0.9}[scenario.model]
    if (scenario.model, scenario.constraints) == ("linear", "theta_dependent"):
        p0 = 0.7
    assert scenario.instance.floors.sum() == pytest.approx(p0, rel=1e-12)


def test_means_are_those_of_the_paper() -> None:
    np.testing.assert_allclose(one("linear", "prespecified", "agonistic").instance.means, np.arange(10) * 4 / 9)
    np.testing.assert_allclose(one("linear", "theta_dependent", "agonistic").instance.means, np.arange(15) * 5 / 14)
    np.testing.assert_array_equal(one("equal gaps", "prespecified", "agonistic").instance.means, [0.0] * 9 + [2.0])
    cell = one("scheduling", "prespecified", "agonistic").instance
    assert cell.means.size == 10
    assert cell.best_arm == 6


def test_equal_gaps_have_the_known_allocation_and_time() -> None:
    """w* is √(K−1) to 1, and T* = 2 (1 + √(K−1))² / Δ²: here shares ¼ and 1/12, and 8 trials."""
    free = fb.solve(fb.Instance(scenarios.equal_gap_means(10, 2.0)))
    np.testing.assert_allclose(free.weights, [1 / 12] * 9 + [1 / 4], rtol=1e-9)
    assert free.characteristic_time == pytest.approx(8.0, rel=1e-12)


@pytest.mark.parametrize("side", ["agonistic", "antagonistic"])
def test_floors_of_equal_gaps_in_closed_form(side: str) -> None:
    alpha = {"agonistic": 0.9, "antagonistic": 0.1}[side]
    share, best = 1 / 12, 1 / 4
    total = 9 / share + 1 / best
    expected = [0.99 * (alpha * w + (1 - alpha) / w / total) for w in [share] * 9 + [best]]
    np.testing.assert_allclose(one("equal gaps", "prespecified", side).instance.floors, expected, rtol=1e-9)


def test_theta_dependent_floors_follow_the_gaps() -> None:
    for model, p0 in (("linear", 0.7), ("scheduling", 0.9)):
        helping = one(model, "theta_dependent", "agonistic").instance
        hindering = one(model, "theta_dependent", "antagonistic").instance
        gaps = helping.means.max() - helping.means
        inverse = 1.0 / np.maximum(gaps, np.sort(gaps)[1])
        np.testing.assert_allclose(helping.floors, p0 * inverse / inverse.sum(), rtol=1e-12)
        np.testing.assert_allclose(hindering.floors, p0 * gaps / gaps.sum(), rtol=1e-12)


def test_antagonistic_floors_cost_more_than_agonistic_ones() -> None:
    for helping in scenarios.select(side="agonistic"):
        hindering = one(helping.model, helping.constraints, "antagonistic")
        cheap, dear = (fb.price_of_fairness(s.instance).ratio for s in (helping, hindering))
        assert 1.0 < cheap < 1.5 < dear or helping.model == "equal gaps"
        assert cheap < dear < math.inf


@pytest.mark.parametrize(
    ("index", "numbers"),
    [  # T*, T*_p, price, bound, arms at floor, lower bound at delta = 0.05
        (0, "46.43 50.55 1.0888 1.098 6 134.0"),
        (1, "46.43 223.27 4.8090 5.174 8 591.7"),
        (2, "72.47 99.67 1.3753 1.475 13 264.1"),
        (3, "72.47 209.99 2.8977 3.333 12 556.5"),
        (4, "28.57 29.94 1.0483 1.093 6 79.4"),
        (5, "28.57 90.02 3.1513 4.247 7 238.6"),
        (6, "28.57 40.07 1.4027 1.874 7 106.2"),
        (7, "28.57 89.13 3.1200 10.000 7 236.2"),
        (8, "8.00 8.01 1.0010 1.093 9 21.2"),
        (9, "8.00 12.33 1.5415 4.232 9 32.7"),
    ],
)
def test_times_and_prices(index: int, numbers: str) -> None:
    instance = (*scenarios.table_scenarios(), *scenarios.equal_gap_scenarios())[index].instance
    price, best = fb.price_of_fairness(instance), fb.solve(instance)
    bound = fb.lower_bound(instance, 0.05)
    found = f"{price.unconstrained:.2f} {price.fair:.2f} {price.ratio:.4f} {price.upper_bound:.3f}"
    assert f"{found} {best.at_floor.sum()} {bound:.1f}" == numbers
