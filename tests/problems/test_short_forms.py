"""Short forms of families and rates."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.problems import Family
from fairbai.problems.rates import Rate
from fairbai.problems.short_forms import FAMILY_MISSING, family_of, rates_of
from tests.cases import FAMILIES, RATES, families


@pytest.mark.parametrize("family", families(), ids=lambda family: family.kind)
def test_a_family_by_its_kind_its_form_or_itself(family: Family) -> None:
    assert family_of(family) is family
    assert family_of(family.to_dict()) == family
    if family.kind == "gaussian":
        with pytest.raises(ValueError, match=r"^gaussian rewards need their variance, such as "):
            family_of(family.kind)
    else:
        assert family_of(family.kind) == family
    assert set(FAMILIES) >= {family.kind}


@pytest.mark.parametrize("rate", RATES[:-1], ids=repr)
def test_a_rate_by_its_form_or_itself(rate: Rate) -> None:
    assert rates_of(rate) is rate
    assert rates_of(rate.to_dict()) == rate


def test_there_is_no_default_family() -> None:
    with pytest.raises(ValueError, match=r'family must be given: "bernoulli" for clicks'):
        family_of(None)


def test_the_message_for_a_missing_family_names_every_family() -> None:
    for kind in FAMILIES:
        assert f'"{kind}"' in FAMILY_MISSING


def test_no_rates_are_no_floors() -> None:
    assert rates_of(None) == fb.rates.Constant()


@pytest.mark.parametrize(
    ("form", "floor"),
    [
        (0.1, 0.1),
        (np.float64(0.2), 0.2),
        (0, 0.0),
        ([0.1, 0.2], [0.1, 0.2]),
        (np.array([0.1, 0.2]), [0.1, 0.2]),
        ({"b": 0.3}, [0.0, 0.3]),
        ({"b": 0.3, "a": 0.1}, [0.1, 0.3]),
    ],
    ids=repr,
)
def test_floors(form: Any, floor: Any) -> None:
    assert rates_of(form, labels=["a", "b"]) == fb.rates.Constant(floor)


def test_an_arm_may_be_called_kind() -> None:
    assert rates_of({"kind": 0.3}, labels=["kind", "rude"]) == fb.rates.Constant([0.3, 0.0])


def test_an_unknown_label_is_named() -> None:
    with pytest.raises(ValueError, match="a floor must be for an arm of 'a', 'b', got 'c'"):
        rates_of({"a": 0.1, "c": 0.3}, labels=["a", "b"])
    with pytest.raises(ValueError, match="a group must hold arms of 'a', 'b', got 'c'"):
        rates_of(fb.rates.Bounded(groups=[fb.rates.Group(["a", "c"], 0.3)]), labels=["a", "b"])


def test_labels_need_to_be_known() -> None:
    with pytest.raises(ValueError, match=r"a floor by label needs the labels of the arms, got .* for numbered arms"):
        fb.Instance([1.0, 0.0], rates={"a": 0.1})
    with pytest.raises(ValueError, match="a group by label needs the labels of the arms, got 'a' for numbered arms"):
        fb.Instance([1.0, 0.0], rates=fb.rates.Bounded(groups=[fb.rates.Group(["a"], 0.3)]))


@pytest.mark.parametrize(
    "form",
    [
        fb.rates.Bounded([0.1, 0.0, 0.0], [1.0, 1.0, 0.6], [fb.rates.Group(["b", "c"], 0.5)]),
        fb.rates.Bounded([0.1, 0.0, 0.0], [1.0, 1.0, 0.6], [fb.rates.Group([1, "c"], 0.5)]),
        {
            "kind": "bounded",
            "floor": {"a": 0.1},
            "ceiling": {"c": 0.6},
            "groups": [{"arms": ["b", "c"], "floor": 0.5}],
        },
    ],
    ids=["labels", "labels and numbers", "JSON"],
)
def test_groups_by_label(form: Any) -> None:
    expected = fb.rates.Bounded([0.1, 0.0, 0.0], [1.0, 1.0, 0.6], [fb.rates.Group([1, 2], 0.5)])
    assert rates_of(form, labels=["a", "b", "c"]) == expected
    ident = fb.Identifier(["a", "b", "c"], 0.1, "bernoulli", form)
    assert ident.rates == expected
    again = fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True)
    assert again.to_dict() == ident.to_dict()


def test_whole_numbers_in_a_group_are_numbers_of_arms_even_if_they_are_labels() -> None:
    """So that a snapshot, which holds numbers, means the same whatever the labels."""
    ident = fb.Identifier([2, 1, 0], 0.1, "bernoulli", fb.rates.Bounded(groups=[fb.rates.Group([0, 1], 0.5)]))
    assert ident.status().arms == (2, 1, 0)
    assert ident.rates.limits(3).groups.tolist() == [0.0, 0.0, -1.0]


def test_rules_by_their_kind() -> None:
    named = fb.Identifier(2, 0.1, "poisson", sampling="top_two", stopping={"kind": "mixture", "kappa": 2})
    assert (named.sampling, named.stopping) == (fb.sampling.TopTwo(), fb.stopping.Mixture(2.0))


def test_a_batch_of_solutions_takes_short_forms() -> None:
    means = [[0.5, 0.3], [0.4, 0.1]]
    expected = fb.solve_batch(means, fb.rates.Gap(0.5), fb.Bernoulli())
    found = fb.solve_batch(means, {"kind": "gap", "p0": 0.5}, "bernoulli")
    assert found.weights.tolist() == expected.weights.tolist()


def test_an_instance_takes_short_forms() -> None:
    short = fb.Instance([0.5, 0.3], family="bernoulli", rates=0.2)
    assert (short.family, short.rates) == (fb.Bernoulli(), fb.rates.Constant(0.2))
    assert fb.Instance([1.0, 0.0]).family == fb.Gaussian()  # the paper's problem
    learned = fb.Instance([0.5, 0.3], family={"kind": "gaussian", "variance": 2.0}, rates={"kind": "gap", "p0": 0.5})
    assert (learned.family, learned.rates) == (fb.Gaussian(2.0), fb.rates.Gap(0.5))


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ({"family": "bernoulli"}, {"family": fb.Bernoulli()}),
        ({"family": {"kind": "gaussian", "variance": 4}}, {"family": fb.Gaussian(4.0)}),
        ({"rates": 0.1}, {"rates": fb.rates.Constant(0.1)}),
        ({"floors": 0.1}, {"rates": fb.rates.Constant(0.1)}),
        ({"floors": "10%"}, {"rates": fb.rates.Constant(0.1)}),
        ({"floors": ["10 %", 0.2]}, {"rates": fb.rates.Constant([0.1, 0.2])}),
        ({"floors": {"b": "30%"}}, {"rates": fb.rates.Constant([0.0, 0.3])}),
        (
            {"floors": {"kind": "bounded", "ceiling": "90%", "groups": [{"arms": ["a"], "floor": "12.3%"}]}},
            {"floors": fb.rates.Bounded(0.0, 0.9, [fb.rates.Group([0], 0.123)])},
        ),
        ({"delta": "10%"}, {"delta": 0.1}),
        ({"tolerance": "10 %"}, {"tolerance": "10%"}),
        ({"rates": [0.1, 0.2]}, {"rates": fb.rates.Constant([0.1, 0.2])}),
        ({"rates": {"b": 0.3}}, {"rates": fb.rates.Constant([0.0, 0.3])}),
        ({"rates": {"kind": "gap", "p0": 0.5}}, {"rates": fb.rates.Gap(0.5)}),
    ],
    ids=repr,
)
def test_an_identifier_takes_short_forms(short: dict[str, Any], full: dict[str, Any]) -> None:
    one, other = (fb.Identifier(["a", "b"], **{"delta": 0.1, "family": "poisson", **given}) for given in (short, full))
    assert one.to_dict() == other.to_dict()
    assert (one.family, one.rates) == (other.family, other.rates)


def test_an_identifier_needs_a_family() -> None:
    with pytest.raises(ValueError, match="family must be given") as missing:
        fb.Identifier(["a", "b"], 0.1)
    assert str(missing.value) == FAMILY_MISSING
