"""``Instance`` checks everything once, before anything else happens."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb


def test_instance_holds_what_the_solver_needs() -> None:
    instance = fb.Instance([0.5, 0.3, 0.1], fb.Gaussian([1.0, 2.0, 3.0]), fb.rates.Constant([0.1, 0.2, 0.3]))
    assert instance.means.tolist() == [0.5, 0.3, 0.1]
    assert instance.scales.tolist() == [1.0, 2.0, 3.0]
    assert instance.floors.tolist() == [0.1, 0.2, 0.3]
    assert instance.spare == pytest.approx(0.4, rel=1e-14)
    assert type(instance.spare) is float


def test_defaults_are_unit_variance_and_no_floors() -> None:
    instance = fb.Instance([0.0, 1.0])
    assert instance.family == fb.Gaussian(1.0)
    assert instance.rates == fb.rates.Constant(0.0)
    assert instance.floors.tolist() == [0.0, 0.0]
    assert instance.spare == 1.0


def test_floors_follow_the_means() -> None:
    instance = fb.Instance([1.0, 0.5, 0.0], rates=fb.rates.Gap(0.9))
    assert instance.floors == pytest.approx([0.0, 0.3, 0.6])
    assert instance.spare == pytest.approx(0.1)


@pytest.mark.parametrize(("means", "best"), [([0.1, 0.7, 0.3], 1), ([0.5, 0.5], 0), ([0.1, 0.9, 0.9], 1)])
def test_best_arm_is_the_first_of_the_largest(means: list[float], best: int) -> None:
    instance = fb.Instance(means)
    assert instance.best_arm == best
    assert type(instance.best_arm) is int


@pytest.mark.parametrize(
    "means",
    [[1, 0], (1.0, 0.0), np.array([1, 0]), np.array([1.0, 0.0], dtype=np.float32), np.array([1.0, 9.0, 0.0])[::2]],
)
def test_means_may_come_in_any_container(means: Any) -> None:
    instance = fb.Instance(means)
    assert instance.means.tolist() == [1.0, 0.0]
    assert instance.means.dtype == np.float64
    assert fb.solve(instance).characteristic_time == pytest.approx(8.0)


def test_instance_is_frozen() -> None:
    instance = fb.Instance([1.0, 0.0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        instance.means = np.zeros(2)  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del instance.spare


@pytest.mark.parametrize("name", ["means", "floors", "scales"])
@pytest.mark.parametrize(
    ("family", "rates"),
    [
        (fb.Gaussian(), fb.rates.Constant(0.1)),
        (fb.Gaussian([1.0, 2.0]), fb.rates.Constant([0.1, 0.2])),
        (fb.Bernoulli(), fb.rates.Softmax(0.5)),
        (fb.Poisson(), fb.rates.Custom(lambda means: 0.1)),
    ],
    ids=lambda value: value.kind,
)
def test_arrays_of_an_instance_are_read_only(name: str, family: Any, rates: Any) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(fb.Instance([0.5, 0.25], family, rates), name)[0] = 0.125


def test_instance_keeps_its_own_means() -> None:
    means = np.array([1.0, 0.0])
    instance = fb.Instance(means)
    means[1] = 5.0
    assert instance.means.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"means": [1.0]}, "means must hold at least two arms, got 1"),
        ({"means": []}, "means must hold at least two arms, got 0"),
        ({"means": [1.0, math.nan]}, "means must be finite, got nan for arm 1"),
        ({"means": [-math.inf, 1.0]}, "means must be finite, got -inf for arm 0"),
        ({"means": [[1.0, 0.0]]}, r"means must be a vector, got shape \(1, 2\)"),
        ({"means": "ab"}, "means must be numbers, got 'ab'"),
        ({"means": {"a": 1.0}}, "means must be numbers, got {'a': 1.0}"),
        ({"means": [0.5, 1.0], "family": fb.Bernoulli()}, r"means must be in \(0, 1\) for bernoulli arms, got 1.0"),
        ({"means": [0.5, 0.0], "family": fb.Poisson()}, "means must be greater than 0 for poisson arms, got 0.0"),
        ({"means": [0.5, -1.0], "family": fb.Exponential()}, "means must be greater than 0 for exponential arms"),
        ({"family": "normal"}, "family must be one of bernoulli, .*, got 'normal'"),
        ({"family": 1.0}, "family must be a Family, its kind or its JSON form, got 1.0"),
        ({"family": fb.Bernoulli}, "family must be a Family, its kind or its JSON form, got <class"),
        ({"family": fb.Gaussian([1.0, 2.0, 3.0])}, r"variance must have one entry per arm \(2\), got 3"),
        ({"rates": True}, r"floors must be shares such as 0.1, or a rate such as fairbai.rates.Gap\(0.5\), got True"),
        ({"rates": {"a": 0.1}}, "a floor by label needs the labels of the arms, got {'a': 0.1} for numbered arms"),
        ({"rates": ["0.1", "0.2"]}, r"floors must be numbers, got \['0.1', '0.2'\]"),
        ({"rates": 1.5}, r"floor must be in \[0, 1\], got 1.5"),
        ({"rates": fb.rates.Constant([0.1] * 3)}, r"floors must have one entry per arm \(2\), got 3"),
        (
            {"rates": fb.rates.Constant(0.51)},
            "2 floors of 51 % add up to 102 %; at most 50 % each is possible",
        ),
        ({"rates": fb.rates.Custom(lambda means: math.nan)}, "rates returned by the custom function must be finite"),
        ({"rates": fb.rates.Custom(lambda means: [0.9, 0.9])}, "rates returned by the custom function must sum to"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        fb.Instance(**{"means": [0.5, 0.25], **arguments})


def test_floors_may_sum_to_one_and_a_little_more() -> None:
    instance = fb.Instance([1.0, 0.5, 0.0], rates=fb.rates.Constant([0.5, 0.3, 0.2 + 9e-10]))
    assert instance.spare == 0.0
    assert instance.floors.sum() == pytest.approx(1.0, abs=1e-15)
