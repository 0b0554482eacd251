"""The conformance suite for rates: ours pass it, and broken ones are caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import fairbai as fb
from fairbai.testing import check_rate
from tests.cases import RATES


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("rate", RATES, ids=lambda rate: rate.kind)
def test_our_rates_keep_their_promises(rate: fb.rates.Rate) -> None:
    check_rate(rate)


@pytest.mark.parametrize(
    "rate",
    [
        fb.rates.Bounded(0.05, [0.4, 0.5, 1.0, 0.3], [fb.rates.Group([0, 1], 0.3, 0.5)]),
        fb.rates.Bounded(groups=[fb.rates.Group([1, 2, 3], ceiling=0.25)]),
        fb.rates.Bounded(groups=[fb.rates.Group([0], ceiling=0.25), fb.rates.Group([1, 2, 3], ceiling=0.75)]),
    ],
)
@pytest.mark.slow_without_jit
def test_limits_keep_their_promises(rate: fb.rates.Rate) -> None:
    check_rate(rate)


def test_a_short_check_will_do_for_a_simple_rate() -> None:
    check_rate(fb.rates.Constant(0.2), draws=5)


@dataclass(frozen=True, eq=False)
class Broken(fb.rates.Rate):
    """Equal floors, except for what is broken."""

    how: str = ""
    calls: ClassVar[list[int]] = []

    def floors(self, means):
        means = np.asarray(means)
        floors = np.full(means.size, 0.1)
        if self.how == "negative":
            floors[means < 0.0] = -0.1
        elif self.how == "too much":
            floors = floors * (10.0 if np.ptp(means) < 1e-9 else 1.0)
        elif self.how == "nan":
            floors = floors * (means.sum() / means.sum() if means.sum() == 0.0 else 1.0)
        elif self.how == "one too few":
            floors = floors[1:]
        elif self.how == "moody":
            self.calls.append(1)
            floors = floors + 1e-3 * (len(self.calls) % 2)
        elif self.how == "meddles":
            means[0] = 5.0
        return floors


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("negative", "must not be negative"),
        ("too much", "sum to"),
        ("nan", "must be finite"),
        ("one too few", "3 floors for 4 arms"),
        ("moody", "another call"),
        ("meddles", "changes the means"),
    ],
)
def test_broken_rates_are_caught(how: str, message: str) -> None:
    with np.errstate(invalid="ignore"), pytest.raises(AssertionError, match=message):
        check_rate(Broken(how))


@dataclass(frozen=True, eq=False)
class Batched(Broken):
    """Gives other floors for many means at once."""

    def floors_batch(self, means):
        return np.full(means.shape, 0.2)


@dataclass(frozen=True, eq=False)
class Forgetful(Broken):
    """A JSON form without its parameter."""

    def to_dict(self):
        return {"kind": "forgetful"}


@pytest.mark.parametrize(("rate", "message"), [(Batched(), "at once"), (Forgetful("other"), "JSON form")])
def test_broken_forms_are_caught(rate: fb.rates.Rate, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_rate(rate)
