r"""The paper's two results tables, ours beside the published ones, and below them our own rules and thresholds.

Two conventions for the violation of the floors at the stop, both in percent:

* The paper's rows (``ALGORITHMS``) divide by one trial more than there were, max_a (p_a - N_a / (t + 1)) or 0, as the
  published numbers do.
* All other rows divide by the trials, max_a (p_a - N_a / t) or 0, which is ``Runs.violation``. After settling it is
  exactly zero if the floors are known beforehand; floors that follow from the means are met at the estimated means,
  and what is left against those at the true means is the error of the estimate.

Rows that say *proved* stop by a threshold for which an error of at most delta is proved. All others use the
threshold of the paper's tables, log((1 + log t) / delta), which is a heuristic.
"""

import csv
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairbai.problems.checks import Array
from fairbai.reproduction.published import published
from fairbai.reproduction.scenarios import PaperSetting, table_settings
from fairbai.reproduction.studies import DELTAS, OURS, PROVED, UNDER_PROOF, Results
from fairbai.simulation import Runs, Study
from fairbai.simulation.summary import mean_and_ci95

TOLERANCE = 1.5  # of both 95 % intervals together, which is 2.9 standard errors: few of 144 cells fail by chance
CSV_COLUMNS = (
    *("table", "delta", "algorithm", "constraints", "setting", "quantity"),
    *("paper_mean", "paper_ci95", "mean", "ci95", "agrees"),
)


@dataclass(frozen=True)
class TableCell:
    """One number of ours, and the paper's if it has one.

    Attributes:
        table: "synthetic" or "scheduling"; this and the next five are as in ``PublishedCell``.
        delta: The probability of a wrong answer.
        algorithm: The sampling rule; where they are not the paper's also settling and the threshold.
        constraints: Whether the floors are known beforehand.
        setting: Whether they help or hinder.
        quantity: "sample_complexity" or "violation_percent".
        mean: Our mean.
        ci95: Half the width of its 95 % interval.
        paper_mean: What the paper has; None in our own rows.
        paper_ci95: Likewise.
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
        """Whether both numbers are as close as their intervals let expect; None if the paper has none."""
        if self.paper_mean is None or self.paper_ci95 is None:
            return None
        return abs(self.mean - self.paper_mean) <= TOLERANCE * math.hypot(self.paper_ci95, self.ci95)


def table_cells(results: Results) -> list[TableCell]:
    """The 144 cells of the paper with ours, then our own rows."""
    return [*published_cells(results.paper), *own_cells(results)]


def published_cells(paper: Study) -> list[TableCell]:
    """Every cell of the paper, and the same from ``Results.paper``."""
    found = {(one.table, one.constraints, one.setting): one for one in table_settings()}
    cells = []
    for cell in published():
        setting = found[cell.table, cell.constraints, cell.setting]  # type: ignore[index]
        runs = paper.runs(setting.name, cell.algorithm, "heuristic")
        column = runs.deltas.index(cell.delta)
        if cell.quantity == "violation_percent":
            ours = mean_and_ci95(100.0 * printed_violation(runs, setting.instance.floors)[:, column])
        else:
            ours = mean_and_ci95(runs.stopping_time[:, column])
        where = (cell.table, cell.delta, cell.algorithm, cell.constraints, cell.setting, cell.quantity)
        cells.append(TableCell(*where, *ours, cell.mean, cell.ci95))
    return cells


def printed_violation(runs: Runs, floors: Array) -> Array:
    """The violation at the stop as the paper counts it: the shares are of one trial more than there were."""
    total = runs.pulls.sum(axis=2, keepdims=True) + 1.0
    violation: Array = np.maximum(0.0, floors - runs.pulls / total).max(axis=2)
    return violation


def own_cells(results: Results) -> list[TableCell]:
    """Our rules with and without settling, then thresholds with a proof; none of them is in the paper."""
    cells = []
    for setting, delta in itertools.product(table_settings(), DELTAS):
        for algorithm, runs in _own_runs(results, setting):
            column = runs.deltas.index(delta)
            for quantity, values in (
                ("sample_complexity", runs.stopping_time[:, column]),
                ("violation_percent", 100.0 * runs.violation[:, column]),
            ):
                where = (str(setting.table), delta, algorithm, setting.constraints, setting.setting, quantity)
                cells.append(TableCell(*where, *mean_and_ci95(values)))
    return cells


def _own_runs(results: Results, setting: PaperSetting) -> Iterator[tuple[str, Runs]]:
    for rule, settle in itertools.product(OURS, (False, True)):
        name = f"{rule}, settled" if settle else rule
        yield name, results.ours.runs(setting.name, rule, "heuristic", settle)
    for rule, threshold in itertools.product(UNDER_PROOF, PROVED):
        yield f"{rule}, {threshold} (proved)", results.proved.runs(setting.name, rule, threshold)


def agreement(cells: Iterable[TableCell]) -> dict[str, tuple[int, int]]:
    """For each table how many of the paper's cells agree with ours, and how many there are."""
    counts: dict[str, tuple[int, int]] = {}
    for cell in cells:
        if cell.agrees is not None:
            agreeing, total = counts.get(cell.table, (0, 0))
            counts[cell.table] = (agreeing + cell.agrees, total + 1)
    return counts


def write_csv(cells: Iterable[TableCell], path: str | Path) -> None:
    """A row a cell; the paper's columns and ``agrees`` (True or False) are empty in our own rows."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        writer.writerows([getattr(cell, name) for name in CSV_COLUMNS] for cell in cells)
