"""Made-up results, for tests that need numbers of the right shape but no simulation."""

from __future__ import annotations

from functools import cache

import numpy as np

import fairbai as fb
from fairbai.reproduction import scenarios
from fairbai.reproduction.scenarios import PaperScenario
from fairbai.reproduction.studies import ALGORITHMS, DELTAS, OURS, PROVED, UNDER_PROOF, Results
from fairbai.simulation import Runs, Study
from fairbai.simulation.study import Cell


def made_runs(scenario: PaperScenario, count: int, scale: float, seed: int) -> Runs:
    """Runs with random pulls around the optimal shares, and a histogram with some rounds at zero."""
    generator = np.random.default_rng(seed)
    instance, shape = scenario.instance, (count, len(DELTAS))
    weights = fb.solve(instance).weights
    totals = np.maximum(20, generator.gamma(4.0, scale * np.array([50.0, 100.0, 150.0]), shape)).astype(np.int64)
    pulls = generator.multinomial(totals, weights).astype(np.int64)
    histogram = np.zeros((len(DELTAS), 1001), dtype=np.int64)
    histogram[:, 0] = 25
    histogram[:, 1 : 1 + int(1000 * instance.floors.max())] = 1
    return Runs(
        deltas=DELTAS,
        best_arms=(int(instance.means.argmax()),),
        lower_bounds=tuple(fb.lower_bound(instance, delta) for delta in DELTAS),
        proved=False,
        number=np.arange(count),
        decision_time=totals,
        stopping_time=totals,
        recommendation=np.full(shape, instance.means.argmax()),
        violation=np.maximum(0.0, instance.floors - pulls / totals[:, :, None]).max(axis=2),
        pulls=pulls,
        histogram=histogram,
        trace_rounds=(),
        shares=np.zeros((count, 0, instance.means.size)),
        glr=np.zeros((count, 0)),
    )


@cache
def made_results(count: int = 20) -> Results:
    """Made-up results of all studies, ``count`` runs per cell; tests must not change them."""
    every, tables = scenarios.select(), scenarios.table_scenarios()
    paper = [(one, rule, "heuristic", False) for one in every for rule in ALGORITHMS]
    ours = [(one, rule, "heuristic", settle) for one in every for rule in OURS for settle in (False, True)]
    proved = [(one, rule, threshold, False) for one in tables for rule in UNDER_PROOF for threshold in PROVED]
    made = []
    for part, cells in enumerate((paper, ours, proved)):
        runs = {
            Cell(one.name, rule, threshold, settle): made_runs(one, count, 1.0 + part, 1000 * part + index)
            for index, (one, rule, threshold, settle) in enumerate(cells)
        }
        made.append(Study(runs))
    return Results(*made)
