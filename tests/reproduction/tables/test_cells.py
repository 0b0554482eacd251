"""The cells of the tables: which numbers agree, what they are computed from, and the CSV file."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fairbai as fb
from fairbai.reproduction import scenarios
from fairbai.reproduction.studies import ALGORITHMS, DELTAS, HEURISTIC, Results
from fairbai.reproduction.tables import cells as tables
from fairbai.reproduction.tables.cells import TableCell
from fairbai.reproduction.tables.published import published
from tests.reproduction.made import made_results

CELL = TableCell("synthetic", 0.1, "F-TaS", "prespecified", "agonistic", "sample_complexity", 100.0, 4.0, 107.0, 3.0)


@pytest.fixture(scope="module")
def results() -> Results:
    return made_results()


@pytest.fixture(scope="module")
def cells(results: Results) -> list[TableCell]:
    return tables.table_cells(results)


@pytest.mark.parametrize(
    ("mean", "agrees"), [(100.0, True), (99.5, True), (99.4, False), (114.5, True), (115.0, False)]
)
def test_numbers_agree_up_to_one_and_a_half_of_both_intervals(mean: float, agrees: bool) -> None:
    assert replace(CELL, mean=mean).agrees is agrees  # the intervals 3 and 4 make 5, and that 7.5


def test_what_the_paper_does_not_have_neither_agrees_nor_differs() -> None:
    assert replace(CELL, paper_mean=None, paper_ci95=None).agrees is None


def test_agreement_counts_by_table() -> None:
    other = replace(CELL, table="scheduling")
    own = replace(CELL, paper_mean=None, paper_ci95=None)
    assert tables.agreement([CELL, replace(CELL, mean=90.0), own, other]) == {"synthetic": (1, 2), "scheduling": (1, 1)}
    assert tables.agreement([own]) == {}


def test_the_paper_first_then_ours(cells: list[TableCell]) -> None:
    paper, own = cells[:144], cells[144:]
    for cell, known in zip(paper, published(), strict=True):
        assert (cell.paper_mean, cell.paper_ci95) == (known.mean, known.ci95)
        assert (cell.table, cell.delta, cell.algorithm) == (known.table, known.delta, known.algorithm)
        assert (cell.constraints, cell.setting, cell.quantity) == (known.constraints, known.setting, known.quantity)
    assert all(cell.paper_mean is None and cell.agrees is None for cell in own)
    assert list(dict.fromkeys(cell.algorithm for cell in own)) == [
        *("F-TaS tracked", "F-TaS tracked, settled", "FairTopTwo", "FairTopTwo, settled"),
        *("F-TaS, mixture (proved)", "F-TaS, two-sided mixture (proved)", "F-TaS, pairwise Gaussian (proved)"),
        *("F-TaS, Kaufmann-Koolen, pairs (proved)", "F-TaS, Kaufmann-Koolen, all arms (proved)"),
        *("FairTopTwo, mixture (proved)", "FairTopTwo, two-sided mixture (proved)"),
        "FairTopTwo, pairwise Gaussian (proved)",
        *("FairTopTwo, Kaufmann-Koolen, pairs (proved)", "FairTopTwo, Kaufmann-Koolen, all arms (proved)"),
    ]
    assert len(own) == 14 * 3 * 8 * 2


def test_the_papers_rows_count_one_trial_more_and_ours_do_not(results: Results, cells: list[TableCell]) -> None:
    scenario = scenarios.select("scheduling", "theta_dependent", "antagonistic")[0]
    where = ("scheduling", 0.01, "theta_dependent", "antagonistic", "violation_percent")
    found = {
        cell.algorithm: cell.mean
        for cell in cells
        if (cell.table, cell.delta, cell.constraints, cell.setting, cell.quantity) == where
    }
    runs = results.paper.runs(scenario.name, "TaS", "heuristic")
    shares = [pulls / (pulls.sum() + 1) for pulls in runs.pulls[:, 1]]
    expected = np.mean([max(0.0, np.max(scenario.instance.floors - share)) for share in shares])
    assert found["TaS"] == pytest.approx(100 * expected)
    honest = results.ours.runs(scenario.name, "FairTopTwo", "heuristic", settle=True).violation[:, 1].mean()
    assert found["FairTopTwo, settled"] == pytest.approx(100 * honest)
    proved = results.proved.runs(scenario.name, "F-TaS", "mixture").violation[:, 1].mean()
    assert found["F-TaS, mixture (proved)"] == pytest.approx(100 * proved)


def test_times_are_those_of_the_stop_with_their_interval(results: Results, cells: list[TableCell]) -> None:
    runs = results.paper.runs("linear-prespecified-agonistic", "F-TaS", "heuristic")
    row = runs.summary().rows[0]
    assert (cells[0].mean, cells[0].ci95) == (row.stopping_time, row.stopping_time_ci95)


def test_csv(cells: list[TableCell], tmp_path: Path) -> None:
    path = tmp_path / "tables.csv"
    tables.write_csv(cells, path)
    text = path.read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    head = "table,delta,algorithm,constraints,setting,quantity,paper_mean,paper_ci95,mean,ci95,agrees"
    assert text.splitlines()[0] == head
    assert len(rows) == len(cells)
    assert {row["agrees"] for row in rows[:144]} <= {"True", "False"}
    assert {(row["paper_mean"], row["paper_ci95"], row["agrees"]) for row in rows[144:]} == {("", "", "")}
    assert [float(row["mean"]) for row in rows] == [cell.mean for cell in cells]


@pytest.mark.slow_without_jit
def test_simulations_agree_with_the_paper() -> None:
    """At least 95 % of each table; the seed is fixed, and with this one all of them do (also with 1,000 runs)."""
    instances = {scenario.name: scenario.instance for scenario in scenarios.table_scenarios()}
    study = fb.sweep(instances, ALGORITHMS, HEURISTIC, deltas=DELTAS, runs=200, seed=0)
    counts = tables.agreement(tables.published_cells(study))
    assert {total for _, total in counts.values()} == {72}
    for agreeing, total in counts.values():
        assert agreeing >= 0.95 * total
