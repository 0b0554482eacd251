"""What the report says of the figures follows from the runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fairbai as fb
from fairbai.reproduction import scenarios
from fairbai.reproduction.figures import findings
from fairbai.reproduction.figures.catalog import FIGURES
from fairbai.reproduction.studies import ALGORITHMS, DELTAS, HEURISTIC, Results
from fairbai.simulation import Study
from tests.reproduction.conftest import SmallReport


@pytest.fixture
def results(report: SmallReport) -> Results:
    return report.results


@pytest.mark.slow_without_jit
@pytest.mark.xdist_group("report")
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_every_figure_has_a_verdict(figure, results: Results) -> None:  # type: ignore[no-untyped-def]
    verdict, *_ = figure.finding(results)
    assert verdict.startswith("Over the 24 pairs" if figure.name == "ours-against-ftas" else "Agrees")
    assert bool(figure.claim) == (figure.place != "beyond the paper")


@pytest.mark.slow_without_jit
def test_exceptions_are_named() -> None:
    """Well beyond chance with 20 runs: TaS takes half as long with equal gaps, and has more violation elsewhere."""
    chosen, learned = scenarios.select("equal gaps"), scenarios.select("linear", "theta_dependent")
    instances = {scenario.name: scenario.instance for scenario in (*chosen, *learned)}
    paper = fb.sweep(instances, ALGORITHMS, HEURISTIC, deltas=DELTAS, runs=20, histogram=True)
    results = Results(paper, ours=Study({}), proved=Study({}))
    verdict, why, *_ = findings.complexity(results, *chosen)
    assert verdict.startswith("Agrees in part: not where floors are agonistic")
    assert "Equal gaps, pre-specified floors, agonistic" in verdict
    assert "little to steer" in why
    verdict, *_ = findings.violations(results, *learned)
    assert "more than 1.5 times as much as Uniform Fair" in verdict
    assert "TaS violates the floors no more" not in verdict


def test_allocations_that_are_close_agree() -> None:
    assert findings.allocations(*scenarios.select("linear", "prespecified"))[0] == "Agrees."
    assert "Scheduling, θ-dependent floors, agonistic" in findings.allocations(*scenarios.select("scheduling"))[0]


@pytest.mark.parametrize(
    "finding",
    [
        findings.hindering_floors,
        findings.equal_gaps,
        findings.two_regimes,
        findings.scaling_equal,
        findings.scaling_gaps,
        findings.cell,
    ],
    ids=lambda finding: finding.__name__,
)
def test_what_needs_no_runs(finding: Callable[[Any], list[str]]) -> None:
    assert finding(None)[0].startswith("Agrees")
