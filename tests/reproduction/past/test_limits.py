"""The section on ceilings and groups: its prices, and what it says of a few runs."""

from __future__ import annotations

import numpy as np
import pytest

import fairbai as fb
from fairbai.reproduction.past import limits
from tests.reproduction.conftest import SmallReport


@pytest.mark.parametrize("name", ["Linear", "Scheduling"])
def test_price_of_ceilings(name: str) -> None:
    values = limits.means()[name]
    curve = limits.price_of_ceilings(values)
    free = fb.solve(fb.Instance(values))
    even = fb.solve(fb.Instance(values, rates=fb.rates.Constant(1.0 / values.size)))
    assert curve.price[0] == pytest.approx(even.characteristic_time / free.characteristic_time, rel=1e-9)
    assert np.all(np.diff(curve.price) <= 1e-12)
    assert curve.price[curve.limit >= free.weights.max()] == pytest.approx(1.0, abs=1e-10)
    assert curve.price[curve.limit < 0.9 * free.weights.max()].min() > 1.0
    assert curve.gap <= 1e-9


@pytest.mark.parametrize("name", ["Linear", "Scheduling"])
def test_price_of_groups(name: str) -> None:
    """From 1, and with a floor of g at least what the others would need alone of what is left."""
    values = limits.means()[name]
    group = limits.worse_half(values)
    assert len(group) == 5
    assert values[group].max() < np.delete(values, group).min()
    curve = limits.price_of_groups(values)
    assert curve.price[0] == pytest.approx(1.0, abs=1e-10)
    assert np.all(np.diff(curve.price) >= -1e-12)
    others = fb.solve(fb.Instance(np.delete(values, group))).characteristic_time
    free = fb.solve(fb.Instance(values)).characteristic_time
    assert curve.price[-1] == pytest.approx(others / (1.0 - curve.limit[-1]) / free, rel=1e-6)
    assert curve.gap <= 1e-9


@pytest.mark.slow_without_jit
@pytest.mark.xdist_group("report")
def test_section(report: SmallReport) -> None:
    found = report.sections["limits"]
    assert found.findings[0].endswith(f"in {2 * len(limits.RULES) * report.runs} runs is 0.")
    for table in found.tables:
        assert all(len(row) == len(table.header) for row in table.rows)
