"""The JSON form of families and rates, and their equality."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.problems import Family
from fairbai.problems.rates import Rate
from tests.cases import FAMILIES

FORMS = [
    (fb.Gaussian(), {"kind": "gaussian", "variance": 1.0}),
    (fb.Gaussian(2), {"kind": "gaussian", "variance": 2.0}),
    (fb.Gaussian([1.0, 4.0]), {"kind": "gaussian", "variance": [1.0, 4.0]}),
    (fb.Bernoulli(), {"kind": "bernoulli"}),
    (fb.Poisson(), {"kind": "poisson"}),
    (fb.Exponential(), {"kind": "exponential"}),
    (fb.rates.Constant(), {"kind": "constant", "floor": 0.0}),
    (fb.rates.Constant(0.1), {"kind": "constant", "floor": 0.1}),
    (fb.rates.Constant([0.1, 0.3]), {"kind": "constant", "floor": [0.1, 0.3]}),
    (fb.rates.Proportional(0.5), {"kind": "proportional", "p0": 0.5}),
    (fb.rates.Softmax(0.5), {"kind": "softmax", "p0": 0.5, "temperature": 1.0}),
    (fb.rates.Softmax(0.5, temperature=2.0), {"kind": "softmax", "p0": 0.5, "temperature": 2.0}),
    (fb.rates.InverseGap(0.7), {"kind": "inverse_gap", "p0": 0.7}),
    (fb.rates.Gap(0.7), {"kind": "gap", "p0": 0.7}),
]
forms = pytest.mark.parametrize(("thing", "form"), FORMS, ids=lambda value: repr(value)[:40])

ONE_OF = "family must be one of bernoulli, bounded, exponential, factorial, gaussian, linear, poisson"


def base(thing: Any) -> Any:
    return Family if isinstance(thing, Family) else Rate


@forms
def test_form_is_the_kind_and_the_parameters(thing: Any, form: dict[str, Any]) -> None:
    assert thing.to_dict() == form


@forms
def test_form_survives_json(thing: Any, form: dict[str, Any]) -> None:
    again = base(thing).from_dict(json.loads(json.dumps(thing.to_dict())))
    assert again == thing
    assert type(again) is type(thing)
    assert again.to_dict() == form


@forms
def test_form_is_not_changed_by_reading_it(thing: Any, form: dict[str, Any]) -> None:
    copy = dict(form)
    base(thing).from_dict(form)
    assert form == copy


@pytest.mark.parametrize("kind", FAMILIES)
def test_bare_kind_has_the_default_parameters(kind: str) -> None:
    assert Family.from_dict(kind) == Family.from_dict({"kind": kind})
    assert Family.from_dict(kind).kind == kind


def test_bare_constant_is_no_floor() -> None:
    assert Rate.from_dict("constant") == fb.rates.Constant(0.0)


def test_custom_rates_have_no_form() -> None:
    with pytest.raises(ValueError, match="custom rates cannot be written as JSON"):
        fb.rates.Custom(lambda means: 0.1).to_dict()


@pytest.mark.parametrize(
    ("of", "form", "message"),
    [
        (Family, "cauchy", f"{ONE_OF}, got 'cauchy'"),
        (Family, {"variance": 1.0}, f"{ONE_OF}, got None"),
        (Family, "constant", f"{ONE_OF}, got 'constant'"),
        (
            Rate,
            {"kind": "linear"},
            "floors must be one of .*, gap, inverse_gap, overlapping, proportional, softmax, got 'linear'",
        ),
        (Rate, "_learned", "floors must be one of bounded, constant, .*, got '_learned'"),
        (Family, {"kind": "bernoulli", "variance": 1.0}, "bernoulli takes no parameters, got 'variance'"),
        (Rate, {"kind": "gap", "p0": 0.5, "temperature": 1.0}, "gap takes p0, got 'temperature'"),
        (Rate, {"kind": "softmax", "p": 0.5}, "softmax takes p0, temperature, got 'p'"),
        (Rate, {"kind": "gap"}, "gap needs p0, got none"),
        (Rate, "custom", "floors must be one of bounded, .*, got 'custom', which is Python code and has no JSON form"),
        (Rate, "softmax", "softmax needs p0, and takes p0, temperature, got none"),
        (Rate, {"kind": "gap", "p0": 2.0}, r"p0 must be in \[0, 1\], got 2.0"),
        (Family, {"kind": "gaussian", "variance": -1.0}, "variance must be positive, got -1.0"),
        (Rate, 0.1, "0.1"),
        (Rate, [0.1, 0.2], "0.1"),
        (Family, None, "None"),
    ],
    ids=repr,
)
def test_forms_that_make_no_sense(of: Any, form: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        of.from_dict(form)


def test_kinds_of_users_are_known_too() -> None:
    class TwoPoint(Rate):
        def floors(self, means: Any) -> Any:
            return np.zeros(len(means))

    try:
        assert TwoPoint.kind == "two_point"
        assert isinstance(Rate.from_dict("two_point"), TwoPoint)
    finally:
        Rate._known.pop("two_point")


@forms
def test_equal_parameters_are_equal_and_hash_alike(thing: Any, form: dict[str, Any]) -> None:
    again = base(thing).from_dict(form)
    assert again == thing
    assert hash(again) == hash(thing)
    assert len({again, thing}) == 1


def test_everything_else_is_different() -> None:
    things = [thing for thing, _ in FORMS]
    for index, one in enumerate(things):
        assert [one == other for other in things] == [index == place for place in range(len(things))]
    assert fb.Gaussian(1.0) != "gaussian"
    assert fb.Gaussian([1.0, 1.0]) != fb.Gaussian(1.0)


def test_zeros_of_either_sign_hash_alike() -> None:
    assert fb.rates.Constant(0.0) == fb.rates.Constant(-0.0)
    assert hash(fb.rates.Constant(0.0)) == hash(fb.rates.Constant(-0.0))


def test_custom_rates_are_equal_by_their_function() -> None:
    def function(means: Any) -> float:
        return 0.1

    assert fb.rates.Custom(function) == fb.rates.Custom(function)
    assert fb.rates.Custom(function) != fb.rates.Custom(lambda means: 0.1)
    assert hash(fb.rates.Custom(function)) == hash(fb.rates.Custom(function))


def test_repr_shows_the_parameters() -> None:
    assert repr(fb.rates.Softmax(0.5)) == "Softmax(p0=0.5, temperature=1.0)"
