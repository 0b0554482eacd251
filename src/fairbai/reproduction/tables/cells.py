r"""The cells of the paper's two results tables: ours beside the published ones, then our own rules and thresholds.

There are two conventions for the violation of the floors at the stop, both in percent:

* The paper's rows (``ALGORITHMS``) divide by one trial more than were made, max_a (p_a - N_a / (t + 1)) or 0, as the
  published numbers do.
* All other rows divide by the number of trials, max_a (p_a - N_a / t) or 0, which is ``Runs.violation``. After settling
  it is exactly zero if the floors are known beforehand. Floors that depend on the means are met at the estimated means;
  what remains relative to the floors at the true means is the error of the estimate.

Rows marked *proved* use a threshold with a proof that the error is at most delta. All others use the threshold of the
paper's tables, log((1 + log t) / delta), which is a heuristic.
"""

import csv
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairbai.problems.checks import Array
from fairbai.reproduction.scenarios import PaperScenario, table_scenarios
from fairbai.reproduction.studies import DELTAS, OURS, PROVED, UNDER_PROOF, Results
from fairbai.reproduction.tables.published import published
from fairbai.simulation import Runs, Study
from fairbai.simulation.summary import mean_and_ci95

TOLERANCE = 1.5  # times both 95 % intervals together, or 2.9 standard errors: few of 144 cells fail by chance
CSV_COLUMNS = (
    *("table", "delta", "algorithm", "constraints", "setting", "quantity"),
    *("paper_mean", "paper_ci95", "mean", "ci95", "agrees"),
)


@dataclass(frozen=True)
class TableCell:
    """One of our numbers, with the paper's if there is one.

    Attributes:
        table: "synthetic" or "scheduling"; this and the next five are as in ``PublishedCell``.
        delta: The probability of a wrong answer.
        algorithm: The sampling rule; in our own rows also settling and the threshold.
        constraints: Whether the floors are known beforehand.
        setting: Whether they help or hinder the search.
        quantity: "sample_complexity" or "violation_percent".
        mean: Our mean.
        ci95: Half the width of its 95 % interval.
        paper_mean: The published mean; None in our own rows.
        paper_ci95: Half the width of its 95 % interval; None in our own rows.
    """

    table: str
    delta: float
    algorithm: str
    constraints: str
    setting: str
    quantity: str
    mean: float
    ci95: float
    paper_mean: float | None = None
    paper_ci95: float | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether both numbers agree within ``TOLERANCE``; None if the paper has no such number."""
        if self.paper_mean is None or self.paper_ci95 is None:
            return None
        return abs(self.mean - self.paper_mean) <= TOLERANCE * math.hypot(self.paper_ci95, self.ci95)


def table_cells(results: Results) -> list[TableCell]:
    """The paper's 144 cells with our numbers, then our own rows."""
    return [*published_cells(results.paper), *own_cells(results)]


def published_cells(paper: Study) -> list[TableCell]:
    """Every cell of the paper's tables, with the same quantity computed from ``Results.paper``."""
    found = {(one.table, one.constraints, one.side): one for one in table_scenarios()}
    cells = []
    for cell in published():
        scenario = found[cell.table, cell.constraints, cell.setting]  # type: ignore[index]
        runs = paper.runs(scenario.name, cell.algorithm, "heuristic")
        column = runs.deltas.index(cell.delta)
        if cell.quantity == "violation_percent":
            ours = mean_and_ci95(100.0 * printed_violation(runs, scenario.instance.floors)[:, column])
        else:
            ours = mean_and_ci95(runs.stopping_time[:, column])
        where = (cell.table, cell.delta, cell.algorithm, cell.constraints, cell.setting, cell.quantity)
        cells.append(TableCell(*where, *ours, cell.mean, cell.ci95))
    return cells


def printed_violation(runs: Runs, floors: Array) -> Array:
    """The violation at the stop as the paper counts it: shares of one trial more than were made."""
    total = runs.pulls.sum(axis=2, keepdims=True) + 1.0
    violation: Array = np.maximum(0.0, floors - runs.pulls / total).max(axis=2)
    return violation


def own_cells(results: Results) -> list[TableCell]:
    """Our rules with and without settling, then proved thresholds; none of them is in the paper."""
    cells = []
    for scenario, delta in itertools.product(table_scenarios(), DELTAS):
        for algorithm, runs in _own_runs(results, scenario):
            column = runs.deltas.index(delta)
            for quantity, values in (
                ("sample_complexity", runs.stopping_time[:, column]),
                ("violation_percent", 100.0 * runs.violation[:, column]),
            ):
                where = (str(scenario.table), delta, algorithm, scenario.constraints, scenario.side, quantity)
                cells.append(TableCell(*where, *mean_and_ci95(values)))
    return cells


def _own_runs(results: Results, scenario: PaperScenario) -> Iterator[tuple[str, Runs]]:
    for rule, settle in itertools.product(OURS, (False, True)):
        name = f"{rule}, settled" if settle else rule
        yield name, results.ours.runs(scenario.name, rule, "heuristic", settle)
    for rule, threshold in itertools.product(UNDER_PROOF, PROVED):
        yield f"{rule}, {threshold} (proved)", results.proved.runs(scenario.name, rule, threshold)


def agreement(cells: Iterable[TableCell]) -> dict[str, tuple[int, int]]:
    """Per table, how many of the paper's cells agree with ours, and how many there are."""
    counts: dict[str, tuple[int, int]] = {}
    for cell in cells:
        if cell.agrees is not None:
            agreeing, total = counts.get(cell.table, (0, 0))
            counts[cell.table] = (agreeing + cell.agrees, total + 1)
    return counts


def write_csv(cells: Iterable[TableCell], path: str | Path) -> None:
    """Write one row per cell; the paper's columns and ``agrees`` (True or False) are empty in our own rows."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        writer.writerows([getattr(cell, name) for name in CSV_COLUMNS] for cell in cells)
