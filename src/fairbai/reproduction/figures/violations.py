"""The paper's figures of the violations: how the violation is distributed over all rounds of all runs.

The violation of a round is max_a (p_a - N_a / t) or 0, against the floors at the true means and with t the trials so
far.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.lines import Line2D

from fairbai.charts import style
from fairbai.problems.checks import Array
from fairbai.reproduction import scenarios
from fairbai.reproduction.figures.headings import add_headings
from fairbai.reproduction.scenarios import PaperScenario
from fairbai.reproduction.studies import ALGORITHMS, DELTAS, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GLYPHS = {"o": "●", "s": "■", "^": "▲"}


@style.applied()
def main_synthetic(results: Results) -> "Figure":
    """Main text: the synthetic models of the table, delta = 0.01."""
    chosen = (*scenarios.select("linear", "prespecified"), *scenarios.select("linear", "theta_dependent"))
    return _square(results, chosen)


@style.applied()
def main_scheduling(results: Results) -> "Figure":
    """Main text: the wireless cell, delta = 0.01."""
    return _square(results, scenarios.select("scheduling"))


@style.applied()
def prespecified(results: Results) -> "Figure":
    """Appendix: synthetic models with pre-specified floors, one row per delta."""
    chosen = (*scenarios.select("linear", "prespecified"), *scenarios.select("equal gaps", "prespecified"))
    return _densities(results, chosen, style.TWO_COLUMNS)


@style.applied()
def theta_dependent(results: Results) -> "Figure":
    """Appendix: the synthetic model with floors that depend on the means, one row per delta."""
    return _densities(results, scenarios.select("linear", "theta_dependent"), style.ONE_COLUMN)


@style.applied()
def scheduling(results: Results) -> "Figure":
    """Appendix: the wireless cell, one row per delta."""
    return _densities(results, scenarios.select("scheduling"), style.TWO_COLUMNS)


@dataclass(frozen=True, eq=False)
class Density:
    """How the violation is distributed over the rounds.

    Attributes:
        edges: The edges of the bars, in percent.
        heights: The share of all rounds in a bar, per percentage point of its width.
        at_zero: The share of rounds without any violation; it and the area of the bars add up to 1.
        mean: The mean violation in percent; each round is known to a tenth of a point.
    """

    edges: Array
    heights: Array
    at_zero: float
    mean: float


def density(counts: npt.NDArray[np.int64], steps: int = 5) -> Density:
    """The density of one row of ``Runs.histogram``, with ``steps`` of its steps per bar."""
    if counts.size < 2 or counts.sum() == 0:
        raise ValueError("counts must be a row of Runs.histogram, of runs with histogram=True, got no rounds")
    bins = counts.size - 1
    starts = np.arange(0, bins, steps)
    edges = 100.0 / bins * np.append(starts, bins)
    shares = counts / counts.sum()
    heights = np.add.reduceat(shares[1:], starts) / np.diff(edges)
    middles = 100.0 / bins * (np.arange(bins) + 0.5)
    return Density(edges, heights, float(shares[0]), float(shares[1:] @ middles))


def _square(results: Results, chosen: Sequence[PaperScenario]) -> "Figure":
    figure, axes = style.panels(style.ONE_COLUMN, 4.8, 2, 2, sharey=True)
    for panel, scenario in zip(axes, chosen, strict=True):
        _density_panel(panel, results, scenario, 0.01)
        panel.set_title(scenario.title.replace(", ", ",\n"), pad=12)
    for panel in axes[2:]:
        panel.set_xlabel("violation in %")
    for panel in axes[::2]:
        panel.set_ylabel("share of rounds / point")
    _legend_of_algorithms(figure)
    return figure


def _densities(results: Results, chosen: Sequence[PaperScenario], width: float) -> "Figure":
    columns = len(chosen)
    figure, axes = style.panels(width, 6.0, len(DELTAS), columns, sharex="col", sharey=True)
    for panel, (delta, scenario) in zip(axes, itertools.product(DELTAS, chosen), strict=True):
        _density_panel(panel, results, scenario, delta)
    add_headings(axes, chosen, "share of rounds / point", pad=12)
    for panel in axes[-columns:]:
        panel.set_xlabel("violation in %")
    _legend_of_algorithms(figure)
    return figure


def _density_panel(axes: "Axes", results: Results, scenario: PaperScenario, delta: float) -> None:
    """Densities on a logarithmic axis, marks at their means, and above them the shares of rounds at zero."""
    for place, name in enumerate(ALGORITHMS):
        runs, look = results.paper.runs(scenario.name, name, "heuristic"), style.ALGORITHMS[name]
        found = density(runs.histogram[runs.deltas.index(delta)], _bar(scenario))
        axes.stairs(found.heights, found.edges, baseline=None, label=name, linewidth=1.1, **look.line)
        axes.plot(found.mean, 0.0, transform=axes.get_xaxis_transform(), clip_on=False, zorder=4, **_mark(look))
        text = f"{_GLYPHS[look.marker]} {100.0 * found.at_zero:.1f} %"
        axes.text(0.36 * place, 1.02, text, color=look.color, transform=axes.transAxes, fontsize=6)
    axes.set_yscale("log")
    axes.set_ylim(1e-4, 2.0)
    largest = np.searchsorted(found.edges, 100.0 * scenario.instance.floors.max())
    axes.set_xlim(0.0, 1.02 * found.edges[largest])


def _bar(scenario: PaperScenario) -> int:
    """Steps of the histogram per bar, for about 25 bars up to the largest possible violation."""
    return max(1, round(1000 * float(scenario.instance.floors.max()) / 25))


def _mark(look: style.Look) -> dict[str, Any]:
    return {"marker": look.marker, "color": look.color, "linestyle": "none", "markersize": 4.5}


def _legend_of_algorithms(figure: "Figure") -> None:
    looks = {name: style.ALGORITHMS[name] for name in ALGORITHMS}
    handles = [Line2D([], [], label=name, marker=look.marker, **look.line) for name, look in looks.items()]
    title = (
        "Marks on the axes: mean violation. Above: share of rounds without any.\n"
        "Far right: rounds before the arm with the largest floor is first pulled."
    )
    figure.legend(handles=handles, title=title, loc="outside lower center", ncols=3, title_fontsize=7)
