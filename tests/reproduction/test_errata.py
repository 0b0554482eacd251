"""The counterexamples contradict what is printed, and not what is true."""

from __future__ import annotations

import pytest

from fairbai.reproduction.errata import Erratum
from tests.reproduction.conftest import SmallReport

pytestmark = [pytest.mark.slow_without_jit, pytest.mark.xdist_group("report")]


@pytest.fixture
def found(report: SmallReport) -> list[Erratum]:
    return report.errata


def figures(found: list[Erratum], words: str) -> dict[str, float]:
    [one] = [erratum for erratum in found if words in erratum.claim]
    return one.figures


def test_lower_bound(found: list[Erratum]) -> None:
    """A rule that is fair and errs with probability at most delta is below the printed bound by many errors."""
    numbers = figures(found, "2 T*ₚ log")
    assert numbers["trials on average"] + 6 * numbers["standard error"] < numbers["printed lower bound"]
    assert numbers["trials on average"] > numbers["true lower bound"]


def test_statistic(found: list[Erratum]) -> None:
    numbers = figures(found, "likelihood ratio")
    assert numbers["log ratio"] == pytest.approx(numbers["t / T"], rel=1e-12)
    assert numbers["log ratio"] == pytest.approx(2 * numbers["t / (2 T)"], rel=1e-12)


@pytest.mark.parametrize("arms", ["ten", "two"])
def test_price(found: list[Erratum], arms: str) -> None:
    numbers = figures(found, "Δmax/Δmin")
    assert numbers[f"printed bound, {arms} arms"] < numbers[f"price, {arms} arms"]
    assert numbers[f"price, {arms} arms"] <= numbers[f"true bound, {arms} arms"]


def test_allocations(found: list[Erratum]) -> None:
    numbers = figures(found, "w*ₚ,ₐ = pₐ")
    assert numbers["w* of the second arm"] < numbers["its floor"] < numbers["its w*ₚ"] - 1e-3
    numbers = figures(found, "other than 0")
    assert numbers["T*"] == pytest.approx(numbers["T*ₚ"], rel=1e-9)
    numbers = figures(found, "With equal gaps")
    assert numbers["printed"] - numbers["exact"] > 1e-4
    numbers = figures(found, "psum = 1")
    assert numbers["printed bound"] < numbers["T*ₚ"] <= numbers["true bound"] + 1e-9


def test_paths(found: list[Erratum]) -> None:
    numbers = figures(found, "sample paths")
    assert numbers["average share of the first arm"] + 6 * numbers["standard error"] < numbers["its floor"]
    assert (
        numbers["share of its pulls in the trials of all runs"] >= numbers["its floor"] - 3 * numbers["standard error"]
    )


def test_threshold(found: list[Erratum]) -> None:
    numbers = figures(found, "threshold")
    assert numbers["error at a gap of 0.01"] < 0.1 < numbers["error at a gap of 1e-100"] - 6 * 0.004


def test_all_ten_are_there(found: list[Erratum]) -> None:
    assert len(found) == len({one.claim for one in found}) == 10
    assert all(one.truth and one.counterexample and one.figures for one in found)
