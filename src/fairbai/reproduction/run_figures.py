"""What the simulated runs look like: trials until the stop, violations in all rounds, and our rules beside F-TaS.

The figures of the paper show its three algorithms with its threshold, a heuristic. The violation of a round is
max_a (p_a - N_a / t) or 0, against the floors at the true means and with t the trials so far.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.lines import Line2D

from fairbai.allocation import lower_bound
from fairbai.problems import Instance
from fairbai.problems.checks import Array
from fairbai.reproduction import scenarios as settings
from fairbai.charts import style
from fairbai.reproduction.scenarios import PaperSetting
from fairbai.reproduction.studies import ALGORITHMS, DELTAS, OURS, Results
from fairbai.simulation import Runs
from fairbai.simulation.summary import NORMAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_POINTS = 10_000  # beside a box: more could not be told apart
FAIR = r"lower bound with floors, $T^\star_p\,\mathrm{kl}(\delta, 1-\delta)$"
FREE = r"without floors, $T^\star\,\mathrm{kl}(\delta, 1-\delta)$"
MEAN: dict[str, Any] = {"marker": "D", "markersize": 3.2, "markerfacecolor": "white", "markeredgecolor": style.BLACK}
_GLYPHS = {"o": "●", "s": "■", "^": "▲"}
GOLDEN = 0.6180339887498949


@style.applied()
def prespecified_sample_complexity(results: Results) -> "Figure":
    """The paper's appendix: synthetic models with pre-specified floors, a row a delta."""
    chosen = (*settings.select("linear", "prespecified"), *settings.select("equal gaps", "prespecified"))
    return _boxes(results, chosen, style.TWO_COLUMNS)


@style.applied()
def theta_dependent_sample_complexity(results: Results) -> "Figure":
    """The paper's appendix: the synthetic model with floors that depend on the means, a row a delta."""
    return _boxes(results, settings.select("linear", "theta_dependent"), style.ONE_COLUMN)


@style.applied()
def scheduling_sample_complexity(results: Results) -> "Figure":
    """The paper's appendix: the wireless cell, a row a delta."""
    return _boxes(results, settings.select("scheduling"), style.TWO_COLUMNS)


@style.applied()
def synthetic_violations(results: Results) -> "Figure":
    """The paper's main text: violations in all rounds for the synthetic models of the table, delta = 0.01."""
    chosen = (*settings.select("linear", "prespecified"), *settings.select("linear", "theta_dependent"))
    return _square(results, chosen)


@style.applied()
def scheduling_violations(results: Results) -> "Figure":
    """The paper's main text: violations in all rounds for the wireless cell, delta = 0.01."""
    return _square(results, settings.select("scheduling"))


@style.applied()
def prespecified_violations(results: Results) -> "Figure":
    """The paper's appendix: violations in all rounds, synthetic models with pre-specified floors, a row a delta."""
    chosen = (*settings.select("linear", "prespecified"), *settings.select("equal gaps", "prespecified"))
    return _densities(results, chosen, style.TWO_COLUMNS)


@style.applied()
def theta_dependent_violations(results: Results) -> "Figure":
    """The paper's appendix: the same where the floors depend on the means."""
    return _densities(results, settings.select("linear", "theta_dependent"), style.ONE_COLUMN)


@style.applied()
def all_scheduling_violations(results: Results) -> "Figure":
    """The paper's appendix: the same for the wireless cell."""
    return _densities(results, settings.select("scheduling"), style.TWO_COLUMNS)


def _boxes(results: Results, chosen: Sequence[PaperSetting], width: float) -> "Figure":
    """A column a setting, a row a delta; the axes of a column are the same, so that deltas can be compared."""
    columns = len(chosen)
    figure, axes = style.panels(width, 6.6, len(DELTAS), columns, sharex=True, sharey="col")
    cases = list(itertools.product(DELTAS, chosen))
    for panel, (delta, setting) in zip(axes, cases, strict=True):
        for place, name in enumerate(ALGORITHMS):
            runs = results.paper.runs(setting.name, name, "heuristic")
            _box(panel, place, runs.stopping_time[:, runs.deltas.index(delta)], style.ALGORITHMS[name])
        fair, free = lower_bounds(setting.instance, delta)
        panel.axhline(fair, label=FAIR, color=style.BLACK, linestyle="--", linewidth=1.0)
        panel.axhline(free, label=FREE, color=style.VERMILLION, linestyle=":", linewidth=1.4)
        style.log_axis(panel)
        panel.set_xticks(range(len(ALGORITHMS)), [name.replace(" ", "\n") for name in ALGORITHMS])
        panel.grid(visible=False, axis="x")
    _headings(axes, chosen, "trials until the stop")
    mean = Line2D([], [], label="mean of the runs", linestyle="none", **MEAN)
    lines = axes[0].get_lines()[-2:]
    figure.legend(handles=[mean, *lines], loc="outside lower center", ncols=3 if columns > 2 else 1)
    return figure


def lower_bounds(instance: Instance, delta: float) -> tuple[float, float]:
    """Mean trials that every rule needs which keeps the floors, and that every rule needs."""
    return lower_bound(instance, delta), lower_bound(Instance(instance.means, instance.family), delta)


def thinned(times: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """All values in order; of more than ``MOST_POINTS`` every n-th, with the smallest and the largest."""
    ordered = np.sort(times)
    kept = np.linspace(0, ordered.size - 1, min(ordered.size, MOST_POINTS)).round().astype(int)
    return np.take(ordered, kept)


def _box(axes: "Axes", place: float, times: npt.NDArray[np.int64], look: style.Look) -> None:
    """A box to the left and its runs to the right; the points are spread sideways only to be seen."""
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


@dataclass(frozen=True, eq=False)
class Density:
    """How the violation is spread over the rounds.

    Attributes:
        edges: Of the bars, in percent.
        heights: The share of all rounds in a bar, for each percentage point of its width.
        at_zero: The share of rounds without any violation; this and the area of the bars make 1.
        mean: The mean violation in percent, with that of a round to a tenth of a point.
    """

    edges: Array
    heights: Array
    at_zero: float
    mean: float


def density(counts: npt.NDArray[np.int64], steps: int = 5) -> Density:
    """The density of one row of ``Runs.histogram``, ``steps`` of its steps to a bar."""
    if counts.size < 2 or counts.sum() == 0:
        raise ValueError("counts must be a row of Runs.histogram, of runs with histogram=True, got no rounds")
    bins = counts.size - 1
    starts = np.arange(0, bins, steps)
    edges = 100.0 / bins * np.append(starts, bins)
    shares = counts / counts.sum()
    heights = np.add.reduceat(shares[1:], starts) / np.diff(edges)
    middles = 100.0 / bins * (np.arange(bins) + 0.5)
    return Density(edges, heights, float(shares[0]), float(shares[1:] @ middles))


def _square(results: Results, chosen: Sequence[PaperSetting]) -> "Figure":
    figure, axes = style.panels(style.ONE_COLUMN, 4.8, 2, 2, sharey=True)
    for panel, setting in zip(axes, chosen, strict=True):
        _density_panel(panel, results, setting, 0.01)
        panel.set_title(setting.title.replace(", ", ",\n"), pad=12)
    for panel in axes[2:]:
        panel.set_xlabel("violation in %")
    for panel in axes[::2]:
        panel.set_ylabel("share of rounds / point")
    _legend_of_algorithms(figure)
    return figure


def _densities(results: Results, chosen: Sequence[PaperSetting], width: float) -> "Figure":
    columns = len(chosen)
    figure, axes = style.panels(width, 6.0, len(DELTAS), columns, sharex="col", sharey=True)
    for panel, (delta, setting) in zip(axes, itertools.product(DELTAS, chosen), strict=True):
        _density_panel(panel, results, setting, delta)
    _headings(axes, chosen, "share of rounds / point", pad=12)
    for panel in axes[-columns:]:
        panel.set_xlabel("violation in %")
    _legend_of_algorithms(figure)
    return figure


def _density_panel(axes: "Axes", results: Results, setting: PaperSetting, delta: float) -> None:
    """The densities on a logarithmic axis, marks at their means, and above them the shares of rounds at zero."""
    for place, name in enumerate(ALGORITHMS):
        runs, look = results.paper.runs(setting.name, name, "heuristic"), style.ALGORITHMS[name]
        found = density(runs.histogram[runs.deltas.index(delta)], _bar(setting))
        heights = np.where(found.heights > 0.0, found.heights, np.nan)  # a gap, where a line would go down for ever
        axes.stairs(heights, found.edges, baseline=None, label=name, linewidth=1.1, **look.line)
        axes.plot(found.mean, 0.0, transform=axes.get_xaxis_transform(), clip_on=False, zorder=4, **_mark(look))
        text = f"{_GLYPHS[look.marker]} {100.0 * found.at_zero:.1f} %"
        axes.text(0.36 * place, 1.02, text, color=look.color, transform=axes.transAxes, fontsize=6)
    axes.set_yscale("log")
    axes.set_ylim(1e-4, 2.0)
    axes.set_xlim(0.0, 102.0 * setting.instance.floors.max())


def _bar(setting: PaperSetting) -> int:
    """The steps of the histogram to a bar: about 25 bars up to the largest violation there is."""
    return max(1, round(1000 * float(setting.instance.floors.max()) / 25))


def _mark(look: style.Look) -> dict[str, Any]:
    return {"marker": look.marker, "color": look.color, "linestyle": "none", "markersize": 4.5}


def _legend_of_algorithms(figure: "Figure") -> None:
    looks = {name: style.ALGORITHMS[name] for name in ALGORITHMS}
    handles = [Line2D([], [], label=name, marker=look.marker, **look.line) for name, look in looks.items()]
    title = "On the axes: mean violation. Above: share of rounds without any."
    figure.legend(handles=handles, title=title, loc="outside lower center", ncols=3, title_fontsize=7)


def _headings(axes: "Sequence[Axes]", chosen: Sequence[PaperSetting], what: str, pad: float | None = None) -> None:
    """The settings above, delta to the left."""
    for panel, setting in zip(axes, chosen, strict=False):
        panel.set_title(setting.title.replace(", ", ",\n"), pad=pad)
    for panel, delta in zip(axes[:: len(chosen)], DELTAS, strict=True):
        panel.set_ylabel(f"$\\delta = {delta:g}$\n{what}")


@style.applied()
def ours_against_ftas(results: Results) -> "Figure":
    """Ours: mean trials (above) and mean violation at the stop (below) of our rules, both over those of F-TaS."""
    chosen = settings.select()
    figure, axes = style.panels(style.TWO_COLUMNS, 6.2, 2, len(DELTAS), sharex="row", sharey=True)
    quantities = (("stopping_time", "trials over those of F-TaS"), ("violation", "violation over that of F-TaS"))
    for panel, ((quantity, words), delta) in zip(axes, itertools.product(quantities, DELTAS), strict=True):
        for place, (name, settle) in enumerate(itertools.product(OURS, (False, True))):
            look = style.ALGORITHMS[name]
            found = np.array([ratio(*_pair(results, setting, name, settle), quantity, delta) for setting in chosen])
            panel.errorbar(
                found[:, 0],
                np.arange(len(chosen)) + 0.18 * (place - 1.5),
                xerr=found[:, 1],
                label=f"{name}, settled" if settle else name,
                markerfacecolor="white" if settle else look.color,
                elinewidth=0.8,
                **_mark(look) | {"markersize": 3.6},
            )
        panel.axvline(1.0, color=style.ALGORITHMS["F-TaS"].color, linewidth=1.0, label="F-TaS")
        panel.set_xlabel(words)
        panel.set_yticks(range(len(chosen)), [setting.title.replace(" floors", "") for setting in chosen])
    for panel, delta in zip(axes, DELTAS, strict=False):
        panel.set_title(f"$\\delta = {delta:g}$")
    axes[0].invert_yaxis()
    style.legend_below(figure, axes[0], 5)
    return figure


def _pair(results: Results, setting: PaperSetting, name: str, settle: bool) -> tuple[Runs, Runs]:
    ours = results.ours.runs(setting.name, name, "heuristic", settle)
    return ours, results.paper.runs(setting.name, "F-TaS", "heuristic")


def ratio(one: Runs, other: Runs, quantity: str, delta: float) -> tuple[float, float]:
    """The ratio of two means, and half the width of its 95 % interval.

    The interval is that of the delta method for pairs: runs of the same number share their random stream.
    """
    _, first, second = np.intersect1d(one.number, other.number, return_indices=True)
    above = getattr(one, quantity)[first, one.deltas.index(delta)].astype(np.float64)
    below = getattr(other, quantity)[second, other.deltas.index(delta)].astype(np.float64)
    value = above.mean() / below.mean()
    spread = np.std(above - value * below, ddof=1) / np.sqrt(above.size)
    return float(value), float(NORMAL * spread / below.mean())
