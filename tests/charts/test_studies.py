"""The figures of a study show its data, for any instance and any number of rules."""

from pathlib import Path

import numpy as np
import pytest

import fairbai as fb
from fairbai.charts import studies, style
from fairbai.simulation.study import Cell, Study

RULES = [fb.sampling.FairTopTwo(), fb.sampling.UniformFair()]


@pytest.fixture(scope="module")
def study() -> Study:
    instances = {
        "three arms": fb.Instance([1.0, 0.5, 0.0], rates=fb.rates.Constant([0.1, 0.2, 0.3])),
        "three/arms": fb.Instance([1.0, 0.0, 0.0]),
    }
    stops = [fb.stopping.Heuristic()]
    return fb.sweep(instances, RULES, stops, [0.01, 0.2], runs=8, maximum_rounds=60)


@pytest.mark.long
def test_every_instance_gets_its_files(study: Study, tmp_path: Path) -> None:
    paths = studies.save_figures(study, tmp_path / "new")
    assert len(paths) == len(set(paths)) == 2 * 3 * 3
    assert {path.parent for path in paths} == {tmp_path / "new"}
    assert all(path.stat().st_size > 1000 for path in paths)
    assert {path.name for path in paths if path.suffix == ".svg"} == {
        *(f"three-arms-{kind}.svg" for kind in ("stopping-times", "shares", "violations")),
        *(f"three-arms-1-{kind}.svg" for kind in ("stopping-times", "shares", "violations")),
    }


def test_boxes_are_the_stopping_times(study: Study) -> None:
    ways = studies.by_instance(study)["three arms"]
    figure = studies.stopping_times("three arms", ways)
    for axes, column in zip(figure.axes, (1, 0), strict=True):  # from the largest delta to the smallest
        assert axes.get_title() == f"three arms, $\\delta = {(0.01, 0.2)[column]:g}$"
        diamonds = [line for line in axes.get_lines() if line.get_marker() == "D" and len(line.get_xdata())]
        means = [float(line.get_xdata()[0]) for line in diamonds]
        assert means == [pytest.approx(runs.stopping_time[:, column].mean()) for runs in ways.values()]
        (bound,) = (line.get_xdata()[0] for line in axes.get_lines() if line.get_label() == "lower bound")
        assert bound == ways["fair_top_two"].lower_bounds[column]
        missing = [int(runs.censored[:, column].sum()) for runs in ways.values()]
        assert [text.get_text() for text in axes.texts] == [f"{count} of 8 given up" for count in missing if count]
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["fair_top_two", "uniform_fair"]


def test_bars_are_the_shares_beside_the_floors(study: Study) -> None:
    ways = studies.by_instance(study)["three arms"]
    figure = studies.shares("three arms", ways)
    for axes, runs in zip(figure.axes, ways.values(), strict=True):
        pulls = runs.pulls[:, 0]
        expected = 100.0 * (pulls / pulls.sum(axis=1, keepdims=True)).mean(axis=0)
        assert [bar.get_height() for bar in axes.patches] == pytest.approx(expected.tolist())
        floors = axes.collections[-1].get_segments()
        assert [line[0][1] for line in floors] == pytest.approx([10.0, 20.0, 30.0])


def test_steps_are_the_violations(study: Study) -> None:
    ways = studies.by_instance(study)["three arms"]
    figure = studies.violations("three arms", ways)
    for axes, column in zip(figure.axes, (1, 0), strict=True):
        for line, runs in zip(axes.get_lines(), ways.values(), strict=True):
            assert sorted(line.get_xdata()[1:]) == pytest.approx(sorted(100.0 * runs.violation[:, column]))
            assert line.get_ydata()[-1] == 1.0


def test_ways_are_named_by_what_differs(study: Study) -> None:
    assert list(studies.by_instance(study)) == ["three arms", "three/arms"]
    assert list(studies.by_instance(study)["three arms"]) == ["fair_top_two", "uniform_fair"]
    runs = next(iter(study.results.values()))
    cells = [Cell("a", "rule", stop, settle) for stop in ("x", "y") for settle in (False, fb.Settling(2.0))]
    named = list(studies.by_instance(Study(dict.fromkeys(cells, runs)))["a"])
    assert named[:2] == ["rule, x, not settled", "rule, x, settled, margin 2"]
    assert len(named) == 4


@pytest.mark.system
def test_many_arms_many_rules_and_many_deltas(tmp_path: Path) -> None:
    instance = fb.Instance(np.linspace(3.0, 0.0, 70))
    deltas = [0.3, 0.2, 0.1, 0.05, 0.01]
    runs = fb.simulate(instance, deltas, runs=2, maximum_rounds=80)
    study = Study({Cell("many", f"rule {number}", "mixture", True): runs for number in range(9)})
    ways = studies.by_instance(study)["many"]
    bars = studies.shares("many", ways)
    assert len(bars.axes) == 9
    assert len(bars.axes[0].get_xticks()) <= 30
    assert len([axes for axes in studies.stopping_times("many", ways).axes if axes.axison]) == 5
    assert len(studies.save_figures(study, tmp_path)) == 9
    assert len({(look.color, look.linestyle) for look in style.looks(30)}) == 30


def test_runs_without_an_answer_or_a_bound() -> None:
    """A tie has no lower bound, and no run ends."""
    runs = fb.simulate(fb.Instance([1.0, 1.0]), runs=3, maximum_rounds=20)
    figure = studies.stopping_times("tie", {"rule": runs})
    assert [text.get_text() for text in figure.axes[0].texts] == ["3 of 3 given up"]
    assert not any(line.get_label() == "lower bound" for line in figure.axes[0].get_lines())


def test_calibration_shows_the_bins_and_what_is_proved() -> None:
    runs = {
        name: fb.simulate(fb.Instance([gap, 0.0]), 1e-9, runs=60, seed=1, maximum_rounds=100)
        for name, gap in (("clear", 0.5), ("close", 0.01))
    }
    figure = studies.calibration("at a deadline", runs)
    left, right = figure.axes
    for one, container in zip(runs.values(), left.containers, strict=True):
        rows = [row for row in one.calibration().rows if row.runs]
        points = container.lines[0]
        assert points.get_xdata() == pytest.approx([100.0 * row.stated for row in rows])
        assert points.get_ydata() == pytest.approx([100.0 * row.right for row in rows])
        (bars,) = container.lines[2]
        ends = [(segment[0][1], segment[1][1]) for segment in bars.get_segments()]
        assert ends == [pytest.approx((100.0 * row.right_low, 100.0 * row.right_high)) for row in rows]
    *curves, allowed = right.get_lines()
    for one, curve in zip(runs.values(), curves, strict=True):
        wrong = (~one.guess_correct[:, 0] & (one.confidence[:, 0] >= 0.5)).mean()
        at_half = curve.get_ydata()[list(curve.get_xdata()).index(50.0)]
        assert at_half == pytest.approx(100.0 * wrong) or (np.isnan(at_half) and wrong == 0.0)
        assert not (curve.get_ydata() > allowed.get_ydata()).any()
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["clear", "close"]
    with style.applied():
        figure.canvas.draw_idle()
