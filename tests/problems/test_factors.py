"""Factorial designs: labels, contrasts, and floors by level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.problems.rates import Group

FACTORS = {"headline": ["old", "new", "bold"], "picture": ["x", "y", "z"], "button": ["buy", "try"]}


def test_main_effects_are_few_and_orthogonal() -> None:
    design = fb.factorial(FACTORS)
    assert len(design.arms) == 18
    assert design.arms[:3] == ("old / x / buy", "old / x / try", "old / y / buy")
    assert design.parameters == ("mean", "headline 1", "headline 2", "picture 1", "picture 2", "button 1")
    np.testing.assert_allclose(design.features.T @ design.features, 18 * np.eye(6), atol=1e-12)


def test_an_effect_is_a_difference_from_the_average() -> None:
    design = fb.factorial(FACTORS, [("button", "headline")])
    assert design.interactions == (("headline", "button"),)
    theta = np.random.default_rng(0).normal(size=design.features.shape[1])
    means = design.features @ theta
    effects = {(one.factor, one.level): float(one.contrast @ theta) for one in design.effects}
    assert len(effects) == 3 + 3 + 2 + 6
    for factor, levels in design.factors.items():
        for level in levels:
            found = means[design.group(factor, level)].mean() - means.mean()
            assert effects[factor, level] == pytest.approx(found)
    both = set(design.group("headline", "new")) & set(design.group("button", "try"))
    beyond = means[sorted(both)].mean() - means.mean() - effects["headline", "new"] - effects["button", "try"]
    assert effects["headline × button", "new / try"] == pytest.approx(beyond)


def test_the_order_of_levels_does_not_matter() -> None:
    """The features of two orders differ by a rotation, so that all distances, and the mixtures, are the same."""
    one = fb.factorial({"a": ["x", "y", "z"], "b": [1, 2, 3, 4]}, [("a", "b")])
    other = fb.factorial({"a": ["z", "x", "y"], "b": [3, 1, 4, 2]}, [("a", "b")])
    order = [other.arms.index(arm) for arm in one.arms]
    gram = other.features[order] @ other.features[order].T
    np.testing.assert_allclose(one.features @ one.features.T, gram, atol=1e-12)


def test_floors_by_level() -> None:
    rates = fb.factorial(FACTORS).rates({"headline": 0.2, "button": {"try": 0.4}}, floor=0.01)
    assert [group.floor for group in rates.groups] == [0.2, 0.2, 0.2, 0.4]  # type: ignore[union-attr]
    assert rates.groups[3] == Group(range(1, 18, 2), floor=0.4)
    np.testing.assert_allclose(rates.polytope(18).centre, 1 / 18)


@pytest.mark.parametrize(
    ("levels", "floor", "message"),
    [
        ({"headline": 0.4}, 0.0, "headline 'old' at least 40 %, .* and headline 'bold' at least 40 % would take 120 %"),
        ({"headline": {"old": 0.5}}, 0.05, "headline 'old' at least 50 %, 'new / x / buy' at least 5 %, .* 110 %"),
        ({"footer": 0.1}, 0.0, "factor must be one of 'headline', 'picture' and 'button', got 'footer'"),
        ({"headline": {"odd": 0.1}}, 0.0, "level of headline must be one of 'old', 'new' and 'bold', got 'odd'"),
        ({"headline": 1.5}, 0.0, r"floor of headline 'old' must be in \[0, 1\], got 1.5"),
        ({"headline": 0.2, "button": {}}, 0.0, "floors of button must name a level, got {}"),
        (0.2, 0.0, "must be by factor"),
    ],
)
def test_wrong_floors(levels: Any, floor: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fb.factorial(FACTORS).rates(levels, floor)


@pytest.mark.parametrize(
    ("factors", "interactions", "message"),
    [
        ({}, (), "factors must be lists of levels"),
        ({"a": "xy"}, (), "factor 'a' must have a list of at least two levels, got 'xy'"),
        ({"a": ["x"]}, (), "at least two levels"),
        ({"a": ["x", "x"]}, (), "must be different"),
        ({"a": [float("nan"), 2]}, (), "levels of factor 'a' must be finite, got nan"),
        ({"a": [1, 2], "b": [1, 2], "a × b": [1, 2]}, [("a", "b")], "different names, got 'a × b' twice"),
        ({"a": ["x", None]}, (), "must be text or numbers, got None"),
        ({"": ["x", "y"]}, (), "factors must have names"),
        ({"a": ["x", "x / y"], "b": ["y / z", "z"]}, (), "a label of its own, got 'x / y / z' twice"),
        ({"a": list(range(200)), "b": list(range(200))}, (), "at most 10,000 combinations, got 40,000"),
        ({"a": list(range(90)), "b": list(range(90))}, [("a", "b")], "8,100 combinations must have at most 493 param"),
        ({"a": [1, 2], "b": [1, 2]}, "ab", "a list of pairs"),
        ({"a": [1, 2], "b": [1, 2]}, [("a", "c")], "pairs of the factors 'a' and 'b', got"),
        ({"a": [1, 2], "b": [1, 2]}, [("a", "a")], "pairs of the factors"),
        ({"a": [1, 2], "b": [1, 2]}, [("a", "b"), ("b", "a")], "different pairs"),
    ],
)
def test_wrong_factors(factors: Any, interactions: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fb.factorial(factors, interactions)


def test_the_features_of_missing_interactions() -> None:
    """Those that the model has are not among them, nor those with too many columns; they tell what no θ can say."""
    factors = {"a": [1, 2, 3], "b": [1, 2], "c": [1, 2, 3]}
    design = fb.factorial(factors, [("c", "a")])
    assert [more.shape for more in design.missing(4)] == [(18, 2), (18, 2)]
    assert [more.shape[1] for more in fb.factorial(factors).missing(3)] == [2, 2]
    for more in design.missing(4):
        assert np.abs(design.features.T @ more).max() < 1e-12
        assert np.abs(more.T @ more - 18 * np.eye(2)).max() < 1e-12


def test_a_factor_may_be_called_kind() -> None:
    design = fb.factorial({"kind": ["a", "b"], "floor": ["1", "2"]}, variance=0.25)
    planned = fb.plan([0, 0.1, 0.2, 0.3], design, {"kind": 0.2})
    assert planned.instance.rates == design.rates({"kind": 0.2})
    constant = fb.plan([0, 0.1, 0.2, 0.3], design, {"kind": "constant", "floor": 0.1})
    assert constant.instance.rates == fb.rates.Constant(0.1)
    with pytest.raises(ValueError, match="not both, got 'kind' and 'a / 1'"):
        fb.Identifier(design.arms, 0.05, design, {"kind": 0.2, "a / 1": 0.1})


def test_overlapping_rates_without_groups_are_floors_of_arms() -> None:
    design = fb.factorial({"h": ["a", "b"], "b": ["x", "y"]}, variance=0.25)
    means = design.means({"h": {"a": 0.2}, "b": {"y": 0.1}})
    found, expected = (fb.plan(means, design, rates) for rates in (fb.rates.Overlapping(0.1), 0.1))
    assert found.trials == expected.trials
    assert fb.price_of_fairness(found.instance) == fb.price_of_fairness(expected.instance)


def test_means_that_effects_do_not_add_up_to() -> None:
    design = fb.factorial({"h": ["a", "b"], "b": ["x", "y"]})
    with pytest.raises(
        ValueError, match=r"got .* where the closest fit is .*: add an interaction, such as that of 'h' and 'b'"
    ):
        fb.Instance([1, 2, 3, 7], design)
    fb.Instance([1, 2, 3, 7], fb.factorial(design.factors, [("h", "b")]))
    design = fb.factorial({"h": ["a", "b"], "b": ["x", "y"], "c": [1, 2]}, [("h", "b"), ("h", "c"), ("b", "c")])
    with pytest.raises(
        ValueError, match=r"do not add up to these means, got .* for 'a / x / 1', where the closest fit is 0.875$"
    ):
        fb.Instance([1, 0, 0, 0, 0, 0, 0, 0], design)


def test_floors_by_factor_need_no_call() -> None:
    design = fb.factorial({"h": ["a", "b"], "b": ["x", "y"]})
    means, wanted = [1.3, 1.1, 0.9, 0.7], design.rates({"h": 0.3}).to_dict()
    assert fb.Instance(means, design, {"h": 0.3}).rates.to_dict() == wanted
    assert fb.Identifier(design.arms, 0.05, design, {"h": 0.3}).rates.to_dict() == wanted
    planned = fb.plan(means, design, {"h": 0.3})
    assert planned.instance.rates.to_dict() == wanted
    assert planned.best == "a / x"
    by_label = fb.Identifier(design.arms, 0.05, design, {"a / x": 0.3}).rates
    assert by_label.to_dict() == {"kind": "constant", "floor": [0.3, 0.0, 0.0, 0.0]}
    with pytest.raises(ValueError, match="would take 120 % of the trials"):
        fb.Instance(means, design, {"h": 0.6})


def test_means_are_the_baseline_and_what_levels_add() -> None:
    design = fb.factorial({"a": ["x", "y"], "b": [1, 2]}, interactions=[("a", "b")])
    assert design.means({}).tolist() == [0.0, 0.0, 0.0, 0.0]
    means = design.means({"a": {"y": 1.0}, "b": {2: 0.5}, "a × b": {"y / 2": 0.25}}, 2.0)
    assert means.tolist() == [2.0, 2.5, 3.0, 3.75]
    with pytest.raises(ValueError, match="effects must be by factor and level, such as"):
        design.means({"a": 1.0})  # type: ignore[dict-item]
    plain = fb.factorial({"a": ["x", "y"], "b": [1, 2]})
    for name in ("a x b", "a × b", "a * b"):
        with pytest.raises(ValueError, match=r"need that interaction: add \('a', 'b'\) to interactions"):
            plain.means({name: {"y / 2": 0.25}})
    with pytest.raises(ValueError, match="effects must be of 'a', 'b' and 'a × b', got 'a x b'"):
        design.means({"a x b": {"y / 2": 0.25}})
    with pytest.raises(ValueError, match="effects must be of 'a' and 'b', got 'a x c'"):
        plain.means({"a x c": {"y / 2": 0.25}})


def test_ceilings_by_level() -> None:
    design = fb.factorial({"a": ["x", "y"], "b": [1, 2]})
    form = {"kind": "bounded", "floor": {"a": 0.2}, "ceiling": {"a": {"x": 0.6}, "b": 0.7}}
    rates = fb.Instance(np.zeros(4), design, form).rates
    assert rates == design.rates({"a": 0.2}, ceilings={"a": {"x": 0.6}, "b": 0.7})
    assert rates.groups[0] == fb.rates.Group([0, 1], floor=0.2, ceiling=0.6)
    every = design.rates({"b": {2: 0.4}}, ceiling=0.3)
    assert every.ceilings(4).tolist() == [0.3] * 4
    with pytest.raises(ValueError, match="ceilings of levels must be by factor"):
        design.rates({}, ceilings=0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="limits by factor take floor and ceiling, got 'groups'"):
        fb.Instance(np.zeros(4), design, {**form, "groups": [{"arms": [0], "ceiling": 0.2}]})
    with pytest.raises(ValueError, match="'x / 1' at most 20 %, 'x / 2' at most 20 %"):
        design.rates({}, ceiling=0.2)
