"""Boxes, points, bounds, densities and ratios of the run figures, against the runs they show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

import fairbai as fb
from fairbai.charts import style
from fairbai.reproduction import run_figures as figures
from fairbai.reproduction import scenarios as settings
from fairbai.reproduction.scenarios import PaperSetting
from fairbai.reproduction.studies import ALGORITHMS, DELTAS, OURS, Results
from tests.reproduction.test_studies import made_results

Draw = Callable[[Results], Figure]
BOXES: dict[Draw, list[tuple[Any, Any]]] = {
    figures.prespecified_sample_complexity: [("linear", "prespecified"), ("equal gaps", "prespecified")],
    figures.theta_dependent_sample_complexity: [("linear", "theta_dependent")],
    figures.scheduling_sample_complexity: [("scheduling", None)],
}
DENSITIES: dict[Draw, list[tuple[Any, Any]]] = {
    figures.prespecified_violations: [("linear", "prespecified"), ("equal gaps", "prespecified")],
    figures.theta_dependent_violations: [("linear", "theta_dependent")],
    figures.all_scheduling_violations: [("scheduling", None)],
}
SQUARES: dict[Draw, list[tuple[Any, Any]]] = {
    figures.synthetic_violations: [("linear", "prespecified"), ("linear", "theta_dependent")],
    figures.scheduling_violations: [("scheduling", None)],
}


def cases(draw: Draw) -> list[tuple[float, PaperSetting]]:
    """What the panels show, in their order."""
    which = (BOXES | DENSITIES | SQUARES)[draw]
    chosen = [setting for one in which for setting in settings.select(*one)]
    deltas = (0.01,) if draw in SQUARES else DELTAS
    return [(delta, setting) for delta in deltas for setting in chosen]


@pytest.fixture(scope="module")
def results() -> Results:
    return made_results()


def level(axes: Axes, label: str) -> float:
    (line,) = (line for line in axes.get_lines() if line.get_label() == label)
    return float(np.asarray(line.get_ydata())[0])


@pytest.mark.parametrize("draw", BOXES, ids=lambda draw: draw.__name__)
def test_boxes_points_and_both_lower_bounds(draw: Draw, results: Results) -> None:
    figure = draw(results)
    for axes, (delta, setting) in zip(figure.axes, cases(draw), strict=True):
        instance = setting.instance
        assert level(axes, figures.FAIR) == fb.lower_bound(instance, delta)
        assert level(axes, figures.FREE) == fb.lower_bound(fb.Instance(instance.means), delta)
        points = [np.asarray(line.get_ydata()) for line in axes.get_lines() if line.get_marker() == "."]
        means = [np.asarray(line.get_ydata()) for line in axes.get_lines() if line.get_marker() == "D"]
        for name, shown, mean in zip(ALGORITHMS, points, means, strict=True):
            times = results.paper.runs(setting.name, name, "heuristic").stopping_time[:, DELTAS.index(delta)]
            np.testing.assert_array_equal(shown, np.sort(times))
            assert mean == pytest.approx(times.mean())
        assert axes.get_yscale() == "log"
    check_headings(figure, draw)


def check_headings(figure: Figure, draw: Draw) -> None:
    first = [setting for delta, setting in cases(draw) if delta == cases(draw)[0][0]]
    for axes, setting in zip(figure.axes, first, strict=False):
        assert axes.get_title().replace("\n", " ") == setting.title
    if draw not in SQUARES:
        for axes, delta in zip(figure.axes[:: len(first)], DELTAS, strict=True):
            assert f"= {delta:g}" in axes.get_ylabel()
    assert len(figure.legends) == 1
    assert figure.get_figwidth() in (style.ONE_COLUMN, style.TWO_COLUMNS)


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


@pytest.mark.parametrize("draw", [*DENSITIES, *SQUARES], ids=lambda draw: draw.__name__)
def test_panels_show_densities_means_and_the_share_at_zero(draw: Draw, results: Results) -> None:
    figure = draw(results)
    for axes, (delta, setting) in zip(figure.axes, cases(draw), strict=True):
        stairs = {str(one.get_label()): one.get_data() for one in axes.patches if isinstance(one, StepPatch)}
        assert list(stairs) == list(ALGORITHMS)
        marks = [float(np.asarray(line.get_xdata())[0]) for line in axes.get_lines()]
        texts = [text.get_text() for text in axes.texts]
        for name, mark, text in zip(ALGORITHMS, marks, texts, strict=True):
            counts = results.paper.runs(setting.name, name, "heuristic").histogram[DELTAS.index(delta)]
            at_zero = counts[0] / counts.sum()
            area = np.nansum(stairs[name].values * np.diff(stairs[name].edges))
            assert area + at_zero == pytest.approx(1.0)
            assert text.endswith(f" {100 * at_zero:.1f} %")
            assert mark == figures.density(counts).mean
        assert axes.get_xlim()[1] >= 100 * setting.instance.floors.max()  # no violation is larger
    check_headings(figure, draw)


def test_ratios_pair_the_runs() -> None:
    results = made_results(200)
    runs = results.paper.runs("scheduling-prespecified-agonistic", "F-TaS", "heuristic")
    twice = replace(runs, stopping_time=2 * runs.stopping_time)
    assert figures.ratio(twice, runs, "stopping_time", 0.01) == pytest.approx((2.0, 0.0))
    fewer = replace(twice, number=runs.number + 150)  # 50 numbers in common
    value, width = figures.ratio(fewer, runs, "stopping_time", 0.1)
    assert value == pytest.approx(2 * runs.stopping_time[:50, 0].mean() / runs.stopping_time[150:, 0].mean())
    assert width > 0.0


def test_the_interval_of_a_ratio_holds_as_often_as_it_should() -> None:
    runs = made_results(2).paper.runs("scheduling-prespecified-agonistic", "F-TaS", "heuristic")
    generator, holds = np.random.default_rng(2), 0
    for _ in range(400):
        one, other = generator.gamma(4.0, [[1.5]], (100, 1)), generator.gamma(4.0, 1.0, (100, 1))
        parts = [replace(runs, deltas=(0.1,), number=np.arange(100), violation=values) for values in (one, other)]
        value, width = figures.ratio(*parts, "violation", 0.1)
        holds += abs(value - 1.5) <= width
    assert 0.92 <= holds / 400 <= 0.98


def test_ours_against_ftas(results: Results) -> None:
    figure = figures.ours_against_ftas(results)
    assert len(figure.axes) == 6
    chosen = settings.select()
    handles, labels = figure.axes[1].get_legend_handles_labels()
    assert labels == ["F-TaS", "F-TaS tracked", "F-TaS tracked, settled", "FairTopTwo", "FairTopTwo, settled"]
    for handle, (name, settle) in zip(handles[1:], [(name, s) for name in OURS for s in (False, True)], strict=True):
        shown = np.asarray(handle.lines[0].get_xdata())  # type: ignore[attr-defined]
        for value, setting in zip(shown, chosen, strict=True):
            ours = results.ours.runs(setting.name, name, "heuristic", settle).stopping_time[:, 1].mean()
            assert value == pytest.approx(
                ours / results.paper.runs(setting.name, "F-TaS", "heuristic").stopping_time[:, 1].mean()
            )
    assert [axes.get_title() for axes in figure.axes[:3]] == [f"$\\delta = {delta:g}$" for delta in DELTAS]
    assert "violation" in figure.axes[3].get_xlabel()


def test_the_same_results_give_the_same_bytes(results: Results, tmp_path: Path) -> None:
    draw = figures.theta_dependent_sample_complexity
    one, other = (style.save(draw(results), tmp_path / name, "figure") for name in "ab")
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
