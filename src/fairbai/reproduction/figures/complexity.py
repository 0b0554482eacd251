"""The paper's figures of the sample complexity: trials until the stop, as boxes and points, with the lower bounds."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.lines import Line2D

from fairbai.allocation import lower_bound
from fairbai.charts import style
from fairbai.problems import Instance
from fairbai.reproduction import scenarios
from fairbai.reproduction.figures.headings import add_headings
from fairbai.reproduction.scenarios import PaperScenario
from fairbai.reproduction.studies import ALGORITHMS, DELTAS, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_POINTS = 10_000  # beside a box: more could not be told apart
FAIR = r"lower bound with floors, $T^\star_p\,\mathrm{kl}(\delta, 1-\delta)$"
FREE = r"without floors, $T^\star\,\mathrm{kl}(\delta, 1-\delta)$"
MEAN: dict[str, Any] = {"marker": "D", "markersize": 3.2, "markerfacecolor": "white", "markeredgecolor": style.BLACK}
GOLDEN = 0.6180339887498949


@style.applied()
def prespecified(results: Results) -> "Figure":
    """Appendix: synthetic models with pre-specified floors, one row per delta."""
    chosen = (*scenarios.select("linear", "prespecified"), *scenarios.select("equal gaps", "prespecified"))
    return _boxes(results, chosen, style.TWO_COLUMNS)


@style.applied()
def theta_dependent(results: Results) -> "Figure":
    """Appendix: the synthetic model with floors that depend on the means, one row per delta."""
    return _boxes(results, scenarios.select("linear", "theta_dependent"), style.ONE_COLUMN)


@style.applied()
def scheduling(results: Results) -> "Figure":
    """Appendix: the wireless cell, one row per delta."""
    return _boxes(results, scenarios.select("scheduling"), style.TWO_COLUMNS)


def _boxes(results: Results, chosen: Sequence[PaperScenario], width: float) -> "Figure":
    """One column per scenario and one row per delta; the panels of a column share their axes."""
    columns = len(chosen)
    figure, axes = style.panels(width, 6.6, len(DELTAS), columns, sharex=True, sharey="col")
    cases = list(itertools.product(DELTAS, chosen))
    for panel, (delta, scenario) in zip(axes, cases, strict=True):
        for place, name in enumerate(ALGORITHMS):
            runs = results.paper.runs(scenario.name, name, "heuristic")
            _box(panel, place, runs.stopping_time[:, runs.deltas.index(delta)], style.ALGORITHMS[name])
        fair, free = lower_bounds(scenario.instance, delta)
        panel.axhline(fair, label=FAIR, color=style.BLACK, linestyle="--", linewidth=1.0)
        panel.axhline(free, label=FREE, color=style.VERMILLION, linestyle=":", linewidth=1.4)
        style.log_axis(panel)
        panel.set_xticks(range(len(ALGORITHMS)), [name.replace(" ", "\n") for name in ALGORITHMS])
        panel.grid(visible=False, axis="x")
    add_headings(axes, chosen, "trials until the stop")
    mean = Line2D([], [], label="mean of the runs", linestyle="none", **MEAN)
    lines = axes[0].get_lines()[-2:]
    figure.legend(handles=[mean, *lines], loc="outside lower center", ncols=3 if columns > 2 else 1)
    return figure


def lower_bounds(instance: Instance, delta: float) -> tuple[float, float]:
    """The lower bounds on the mean trials: of rules that keep the floors, and of all rules."""
    return lower_bound(instance, delta), lower_bound(instance.with_rates(None), delta)


def thinned(times: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The sorted values; if there are more than ``MAX_POINTS``, every n-th with the smallest and the largest."""
    ordered = np.sort(times)
    kept = np.linspace(0, ordered.size - 1, min(ordered.size, MAX_POINTS)).round().astype(int)
    return np.take(ordered, kept)


def _box(axes: "Axes", place: float, times: npt.NDArray[np.int64], look: style.Look) -> None:
    """A box on the left and its runs on the right; the points are spread sideways to keep them apart."""
    black: dict[str, Any] = {"color": style.BLACK, "linewidth": 0.8}
    axes.boxplot(
        [times],
        positions=[place - 0.16],
        widths=0.36,
        patch_artist=True,
        showfliers=False,
        showmeans=True,
        manage_ticks=False,
        boxprops=look.bar,
        medianprops=black | {"linewidth": 1.4},
        meanprops=MEAN,
        whiskerprops=black,
        capprops=black,
    )
    points = thinned(times)
    side = place + 0.12 + 0.28 * (np.arange(1, points.size + 1) * GOLDEN % 1.0)
    axes.plot(side, points, ".", color=look.color, markersize=1.6, markeredgewidth=0.0, rasterized=True)
