"""Densities, means and the share at zero, against the runs that they show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from fairbai.reproduction import scenarios
from fairbai.reproduction.figures import violations as figures
from fairbai.reproduction.scenarios import PaperScenario
from fairbai.reproduction.studies import ALGORITHMS, DELTAS, Results
from tests.reproduction.figures.panels import check_headings
from tests.reproduction.made import made_results

Draw = Callable[[Results], Figure]
MAIN: dict[Draw, list[tuple[Any, Any]]] = {
    figures.main_synthetic: [("linear", "prespecified"), ("linear", "theta_dependent")],
    figures.main_scheduling: [("scheduling", None)],
}
SCENARIOS: dict[Draw, list[tuple[Any, Any]]] = MAIN | {
    figures.prespecified: [("linear", "prespecified"), ("equal gaps", "prespecified")],
    figures.theta_dependent: [("linear", "theta_dependent")],
    figures.scheduling: [("scheduling", None)],
}


def cases(draw: Draw) -> list[tuple[float, PaperScenario]]:
    """What the panels show, in their order."""
    chosen = [scenario for which in SCENARIOS[draw] for scenario in scenarios.select(*which)]
    return [(delta, scenario) for delta in ((0.01,) if draw in MAIN else DELTAS) for scenario in chosen]


@pytest.fixture
def results() -> Results:
    return made_results()


@pytest.mark.parametrize("steps", [1, 3, 5, 7, 1000])
def test_densities_integrate_to_one(steps: int) -> None:
    counts = np.random.default_rng(1).integers(0, 50, 1001)
    found = figures.density(counts, steps)
    area = float(np.sum(found.heights * np.diff(found.edges)))
    assert area + found.at_zero == pytest.approx(1.0)
    assert found.at_zero == counts[0] / counts.sum()
    assert (found.edges[0], found.edges[-1]) == (0.0, 100.0)


def test_a_density_by_hand() -> None:
    counts = np.array([2, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0])  # ten steps of 10 %
    found = figures.density(counts, 5)
    np.testing.assert_allclose(found.edges, [0.0, 50.0, 100.0])
    np.testing.assert_allclose(found.heights, [0.005, 0.005])
    assert found.at_zero == 0.5
    assert found.mean == pytest.approx((5.0 + 55.0) / 4)


@pytest.mark.parametrize("counts", [np.zeros(0, dtype=np.int64), np.zeros(1001, dtype=np.int64)])
def test_runs_without_a_histogram_are_refused(counts: np.ndarray) -> None:
    with pytest.raises(ValueError, match="histogram=True"):
        figures.density(counts)


@pytest.mark.parametrize("draw", SCENARIOS, ids=lambda draw: draw.__name__)
def test_panels_show_densities_means_and_the_share_at_zero(draw: Draw, results: Results) -> None:
    figure = draw(results)
    for axes, (delta, scenario) in zip(figure.axes, cases(draw), strict=True):
        stairs = {str(one.get_label()): one.get_data() for one in axes.patches if isinstance(one, StepPatch)}
        assert list(stairs) == list(ALGORITHMS)
        marks = [float(np.asarray(line.get_xdata())[0]) for line in axes.get_lines()]
        texts = [text.get_text() for text in axes.texts]
        for name, mark, text in zip(ALGORITHMS, marks, texts, strict=True):
            counts = results.paper.runs(scenario.name, name, "heuristic").histogram[DELTAS.index(delta)]
            at_zero = counts[0] / counts.sum()
            area = np.nansum(stairs[name].values * np.diff(stairs[name].edges))
            assert area + at_zero == pytest.approx(1.0)
            assert text.endswith(f" {100 * at_zero:.1f} %")
            assert mark == figures.density(counts).mean
        assert axes.get_xlim()[1] >= 100 * scenario.instance.floors.max()  # no violation is larger
    check_headings(figure, cases(draw))
