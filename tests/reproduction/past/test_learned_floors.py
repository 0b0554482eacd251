"""The section on floors that are learned: its points against runs, and its catch-up phase."""

from __future__ import annotations

import numpy as np
import pytest

import fairbai as fb
from fairbai.reproduction.past import learned_floors
from fairbai.reproduction.past.learned_floors import LEARNING, MARGINS, PHASE, PHASES
from fairbai.reproduction.scenarios import table_scenarios
from fairbai.reproduction.studies import DELTAS
from fairbai.simulation.scenario import make_scenario
from tests.reproduction.conftest import SmallReport

SCENARIO = table_scenarios()[2]


def test_runs_at_the_decision() -> None:
    """The state of a run at its decision is that of the simulation."""
    runs = fb.simulate(SCENARIO.instance, 0.1, stopping=fb.stopping.Heuristic(), runs=2, seed=3)
    cell = make_scenario(SCENARIO.instance, 0.1, None, fb.stopping.Heuristic(), False, 3, 10_000)
    for run in range(2):
        one = cell.at_the_decision(run)
        assert one.state[0].tolist() == runs.pulls[run, 0].tolist()
        assert one.round == runs.decision_time[run, 0]


def test_catch_up_meets_the_floors_and_takes_as_long_as_it_says() -> None:
    rng = np.random.default_rng(4)
    pulls = rng.integers(5, 40, size=(6, 15)).astype(np.float64)
    sums = pulls * SCENARIO.instance.means + rng.normal(size=pulls.shape) * np.sqrt(pulls)
    before = pulls.sum(axis=1)
    for phase, (after, violation) in zip(PHASES, learned_floors._catch_up(SCENARIO, pulls, sums, rng), strict=True):
        assert (after >= np.floor((1.0 + phase) * before)).all()
        assert ((violation >= 0.0) & (violation < 1.0)).all()
    assert (pulls.sum(axis=1) == before).all()


@pytest.mark.slow_without_jit
@pytest.mark.xdist_group("report")
def test_section(report: SmallReport) -> None:
    section = report.sections["learned-floors"]
    (table,) = section.tables
    ways = 1 + 2 * len(MARGINS) + len(PHASES)
    assert len(table.rows) == 4 * len(DELTAS) * ways
    runs = fb.simulate(
        SCENARIO.instance, DELTAS, stopping=fb.stopping.Heuristic(), settle=fb.Settling(0.5), runs=report.runs
    )
    rows = [row for row in table.rows if row[:1] + row[2:4] == [SCENARIO.title, LEARNING, "0.5"]]
    for column, row in enumerate(rows):
        extra = runs.stopping_time[:, column].mean() / runs.decision_time[:, column].mean() - 1.0
        assert row[4] == f"{extra:.2%}"
        assert float(row[5].split()[0]) == pytest.approx(100.0 * runs.violation[:, column].mean(), abs=6e-4)
        assert float(row[6]) == pytest.approx(100.0 * np.quantile(runs.violation[:, column], 0.95), abs=6e-3)
    (picture,) = section.pictures
    labels = [line.get_label() for line in picture.figure.axes[0].get_lines()]
    assert PHASE in labels
    assert f"{report.runs} runs each" in section.findings[0]
