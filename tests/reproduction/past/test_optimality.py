"""The section on optimality: its numbers are those of the simulations."""

from __future__ import annotations

import re

import numpy as np
import pytest

import fairbai as fb
from fairbai.reproduction.past import optimality
from fairbai.reproduction.past.optimality import DELTAS, INSTANCES, RULES
from fairbai.reproduction.past.section import Section
from tests.reproduction.conftest import SmallReport

pytestmark = [pytest.mark.slow_without_jit, pytest.mark.xdist_group("report")]


@pytest.fixture
def section(report: SmallReport) -> Section:
    return report.sections["optimality"]


def test_a_curve_is_the_mean_of_its_runs() -> None:
    instance, rule = INSTANCES["kink, three arms"], fb.sampling.TopTwo()
    found = optimality.curve(instance, rule, fb.stopping.Mixture(), runs=20, seed=5, deltas=(0.1, 1e-5))
    runs = fb.simulate(instance, [0.1, 1e-5], rule, fb.stopping.Mixture(), runs=20, seed=5)
    time = fb.solve(fb.Instance(instance.means)).characteristic_time
    assert found.time == time
    assert found.ratio == pytest.approx(runs.stopping_time.mean(axis=0) / (time * np.log([10.0, 1e5])))
    assert np.all(found.explained > 0.0)


def test_tables_and_picture(section: Section) -> None:
    rules, deltas = section.tables
    assert len(rules.rows) == len(INSTANCES)
    assert len(deltas.rows) == 3 * len(INSTANCES)
    for table in section.tables:
        assert all(len(row) == len(table.header) for row in table.rows)
    (picture,) = section.pictures
    panels = [axes for axes in picture.figure.axes if axes.get_title()]
    assert [axes.get_title() for axes in panels] == list(INSTANCES)
    labels = panels[0].get_legend_handles_labels()[1]
    assert labels == list(RULES)


def test_findings_have_the_numbers_of_the_table(section: Section) -> None:
    rows = section.tables[1].rows
    last = [float(row[-1]) for row in rows if row[1] == "heuristic"]
    low, high = re.findall(r"\d\.\d{3}", section.findings[0])
    assert (float(low), float(high)) == (min(last), max(last))
    assert f"{len(INSTANCES)} instances" in section.findings[0]
    assert section.tables[1].header[-1] == f"δ = {DELTAS[-1]:g}"


def test_rules_that_are_far_from_their_limit_are_named() -> None:
    def flat(ratio: float) -> optimality.Curve:
        values = np.full(len(DELTAS), ratio)
        return optimality.Curve(10.0, values, 0.0 * values, values)

    curves = {name: {rule: flat(1.0) for rule in RULES} for name in INSTANCES}
    proved = {name: flat(1.01) for name in INSTANCES}
    assert len(optimality.findings(curves, proved)) == 3
    curves["Poisson"]["F-TaS"] = flat(1.05)
    *_, last = optimality.findings(curves, proved)
    assert "F-TaS with Poisson (1.050)" in last


@pytest.mark.parametrize("ratio", [1.01, 1.06])
def test_close_means_are_told_as_they_are(ratio: float) -> None:
    told = optimality.about_close_means(optimality.Curve(100.0, np.array([ratio]), np.array([0.01]), np.array([ratio])))
    assert f"takes {ratio:.3f} ± 0.010 times" in told
