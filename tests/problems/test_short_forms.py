"""Short forms of families and rates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.problems import Family
from fairbai.problems.rates import Rate
from fairbai.problems.short_forms import family_of, rates_of
from tests.cases import FAMILIES, RATES, families


@pytest.mark.parametrize("family", families(), ids=lambda family: family.kind)
def test_a_family_by_its_kind_its_form_or_itself(family: Family) -> None:
    assert family_of(family) is family
    assert family_of(family.kind) == family_of(family.to_dict()) == family
    assert set(FAMILIES) >= {family.kind}


@pytest.mark.parametrize("rate", RATES[:-1], ids=repr)
def test_a_rate_by_its_form_or_itself(rate: Rate) -> None:
    assert rates_of(rate) is rate
    assert rates_of(rate.to_dict()) == rate


def test_nothing_is_the_default() -> None:
    assert family_of(None) == fb.Gaussian()
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
    with pytest.raises(ValueError, match=r"must name arms of this experiment, got 'c'; its arms are \['a', 'b'\]"):
        rates_of({"a": 0.1, "c": 0.3}, labels=["a", "b"])


def test_an_instance_takes_short_forms() -> None:
    short = fb.Instance([0.5, 0.3], family="bernoulli", rates=0.2)
    assert (short.family, short.rates) == (fb.Bernoulli(), fb.rates.Constant(0.2))
    learned = fb.Instance([0.5, 0.3], family={"kind": "gaussian", "variance": 2.0}, rates={"kind": "gap", "p0": 0.5})
    assert (learned.family, learned.rates) == (fb.Gaussian(2.0), fb.rates.Gap(0.5))
