"""Boxes, points and lower bounds, against the runs that they show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import fairbai as fb
from fairbai.charts import style
from fairbai.reproduction import scenarios
from fairbai.reproduction.figures import complexity as figures
from fairbai.reproduction.scenarios import PaperScenario
from fairbai.reproduction.studies import ALGORITHMS, DELTAS, Results
from tests.reproduction.figures.panels import check_headings
from tests.reproduction.made import made_results

Draw = Callable[[Results], Figure]
SCENARIOS: dict[Draw, list[tuple[Any, Any]]] = {
    figures.prespecified: [("linear", "prespecified"), ("equal gaps", "prespecified")],
    figures.theta_dependent: [("linear", "theta_dependent")],
    figures.scheduling: [("scheduling", None)],
}


def cases(draw: Draw) -> list[tuple[float, PaperScenario]]:
    """What the panels show, in their order."""
    chosen = [scenario for which in SCENARIOS[draw] for scenario in scenarios.select(*which)]
    return [(delta, scenario) for delta in DELTAS for scenario in chosen]


@pytest.fixture
def results() -> Results:
    return made_results()


def level(axes: Axes, label: str) -> float:
    (line,) = (line for line in axes.get_lines() if line.get_label() == label)
    return float(np.asarray(line.get_ydata())[0])


@pytest.mark.parametrize("draw", SCENARIOS, ids=lambda draw: draw.__name__)
def test_boxes_points_and_both_lower_bounds(draw: Draw, results: Results) -> None:
    figure = draw(results)
    for axes, (delta, scenario) in zip(figure.axes, cases(draw), strict=True):
        instance = scenario.instance
        assert level(axes, figures.FAIR) == fb.lower_bound(instance, delta)
        assert level(axes, figures.FREE) == fb.lower_bound(fb.Instance(instance.means), delta)
        points = [np.asarray(line.get_ydata()) for line in axes.get_lines() if line.get_marker() == "."]
        means = [np.asarray(line.get_ydata()) for line in axes.get_lines() if line.get_marker() == "D"]
        for name, shown, mean in zip(ALGORITHMS, points, means, strict=True):
            times = results.paper.runs(scenario.name, name, "heuristic").stopping_time[:, DELTAS.index(delta)]
            np.testing.assert_array_equal(shown, np.sort(times))
            assert mean == pytest.approx(times.mean())
        assert axes.get_yscale() == "log"
    check_headings(figure, cases(draw))


def test_the_bounds_are_those_of_two_arms() -> None:
    """T* = 8 for a gap of 1, and 0.9 of the trials for one arm make it 1 / (4 * 0.9 * 0.1) times as long."""
    instance = fb.Instance([1.0, 0.0], rates=fb.rates.Constant([0.9, 0.0]))
    kl = 0.8 * np.log(9.0)
    assert figures.lower_bounds(instance, 0.1) == pytest.approx((8.0 * kl / 0.36, 8.0 * kl))


def test_points_are_thinned_between_the_extremes() -> None:
    times = np.random.default_rng(0).permutation(np.arange(50_000))
    kept = figures.thinned(times)
    assert (kept.size, kept[0], kept[-1]) == (10_000, 0, 49_999)
    assert np.all(np.diff(kept) > 0)
    np.testing.assert_array_equal(figures.thinned(np.array([3, 1, 2])), [1, 2, 3])


def test_the_same_results_give_the_same_bytes(results: Results, tmp_path: Path) -> None:
    draw = figures.theta_dependent
    one, other = (style.save(draw(results), tmp_path / name, "figure") for name in "ab")
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
