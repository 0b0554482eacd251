"""The section on edge nodes: its numbers are those of the runs."""

from __future__ import annotations

import numpy as np
import pytest

from fairbai.reproduction.past import edge_cells
from fairbai.reproduction.past.section import Section
from fairbai.simulation import simulate_edges
from tests.reproduction.conftest import SmallReport

pytestmark = [pytest.mark.slow_without_jit, pytest.mark.xdist_group("report")]


@pytest.fixture
def section(report: SmallReport) -> Section:
    return report.sections["edge-nodes"]


def test_every_cell_has_a_row(section: Section) -> None:
    batches, settling = section.tables
    assert len(batches.rows) == 2 * len(edge_cells.WAYS) * len(edge_cells.grid())
    assert len(settling.rows) == 2 * len(edge_cells.SETTLED)
    assert all(len(row) == len(table.header) for table in section.tables for row in table.rows)
    assert {row[-1] for row in settling.rows} == {"0"}


def test_a_row_is_that_of_its_runs(section: Section, report: SmallReport) -> None:
    known, _ = edge_cells.chosen()
    row = next(row for row in section.tables[0].rows if row[2:4] == ["16", "100"])
    runs, plain = (
        simulate_edges(known.instance, 0.01, batch, nodes, runs=report.runs, maximum_rounds=10_000_000)
        for batch, nodes in ((100, 16), (1, 1))
    )
    made, expected = runs.stopping_time.mean(), plain.stopping_time.mean()
    assert row[0] == known.title
    assert row[4] == f"{runs.decision_time.mean():,.0f}"
    assert row[5].startswith(f"{made:,.0f} ±")
    assert row[6] == f"{made / expected - 1.0:.1%}"
    assert row[7] == f"{1.5 * 1600 / expected:.1%}"
    assert row[8].startswith(f"{runs.violation.mean():.3%} ±")


def test_the_figures_show_the_cells(section: Section) -> None:
    curves, rule = (picture.figure.axes for picture in section.pictures)
    assert [len(axes.get_lines()) for axes in curves] == [len(edge_cells.WAYS) * len(edge_cells.NODES)] * 4
    line = next(iter(curves[0].get_lines()))
    assert np.asarray(line.get_xdata()).tolist() == list(edge_cells.BATCHES)
    assert np.asarray(line.get_ydata())[0] == 1.0
    assert len(rule) == 2


def test_the_findings_have_numbers(section: Section) -> None:
    assert len(section.findings) == 4
    assert all(any(character.isdigit() for character in finding) for finding in section.findings)
    assert not any("nan" in finding for finding in section.findings)
