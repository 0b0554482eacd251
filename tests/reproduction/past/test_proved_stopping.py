"""The section on proved stopping rules: its numbers are those of the runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fairbai as fb
from fairbai.reproduction import scenarios
from fairbai.reproduction.past.proved_stopping import FAMILIES, TIED, Error, wrong_answers
from fairbai.reproduction.past.section import Section
from fairbai.reproduction.studies import DELTAS, PROVED
from tests.reproduction.conftest import SmallReport

pytestmark = [pytest.mark.slow_without_jit, pytest.mark.xdist_group("report")]


@pytest.fixture
def section(report: SmallReport) -> Section:
    return report.sections["proved-stopping"]


def test_trials_are_those_of_the_studies(section: Section, report: SmallReport) -> None:
    results = report.results
    table = section.tables[0]
    assert list(table.header[3:]) == list(PROVED)
    first, rule = scenarios.table_scenarios()[0], next(iter(PROVED))
    above = results.proved.runs(first.name, "FairTopTwo", rule).stopping_time[:, 0].mean()
    below = results.ours.runs(first.name, "FairTopTwo", "heuristic", False).stopping_time[:, 0].mean()
    assert table.rows[0][2:4] == [f"{below:.0f}", f"{above / below:.2f}"]
    assert len(table.rows) == (8 + 1) * len(DELTAS)


def test_every_table_is_rectangular(section: Section) -> None:
    for table in section.tables:
        assert all(len(row) == len(table.header) for row in table.rows), table.name
    assert [len(table.rows) for table in section.tables[1:]] == [3 * len(FAMILIES), 2 * len(TIED) + 2]


def test_findings_have_numbers(section: Section) -> None:
    assert len(section.findings) == 4
    assert not any("nan" in sentence or "inf" in sentence for sentence in section.findings)


def test_the_figure_has_both_panels(section: Section) -> None:
    left, right = section.pictures[0].figure.axes
    assert len(left.get_lines()) == 4
    assert len(right.get_lines()) == 2
    assert all(np.isfinite(line.get_ydata()).all() for line in left.get_lines())  # type: ignore[arg-type]


@pytest.mark.long
def test_wrong_answers_are_the_same_every_time() -> None:
    found = [wrong_answers(fb.Gaussian(), 0.0, fb.stopping.Heuristic(), 300, 200, seed) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert 0 < found[0] < 60


def test_bounds_of_an_error() -> None:
    """Clopper-Pearson: the rule of three, and symmetry."""
    none, all_wrong = Error("a", "b", 1, 1000, 0), Error("a", "b", 1, 1000, 1000)
    assert none.interval == pytest.approx((0.0, 1.0 - math.exp(math.log(0.025) / 1000)))
    assert all_wrong.interval == pytest.approx((math.exp(math.log(0.025) / 1000), 1.0))
