"""Figures of a study: trials until the stop, shares beside floors, violations and calibration, for every instance."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbai.charts import style
from fairbai.problems.checks import Array
from fairbai.simulation import Runs, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 3  # panels side by side
SHARE = "mean share at the stop, with the range of 80 % of the runs"
MAX_TICKS = 30  # labelled arms on an axis
FEW_ARMS = 8  # of which two panels fit side by side
RANGE = (10.0, 90.0)  # percentiles, for whiskers
RIGHT = ("stated", "right", "right_low", "right_high")  # of a bin of a calibration
MEAN: dict[str, Any] = {"marker": "D", "markersize": 3.2, "markerfacecolor": "white", "markeredgecolor": style.BLACK}

Ways = Mapping[str, Runs]


def save_figures(study: Study, folder: str | Path) -> tuple[Path, ...]:
    """Write the figures of every instance of a study as PNG, SVG and PDF.

    Args:
        study: The study, as ``sweep`` returns it or ``Study.open`` reads it.
        folder: The folder that gets the files; it is made if it does not exist.

    Returns:
        The paths of the files: ``<instance>-stopping-times``, ``-shares`` and ``-violations``, three of each.

    Example:
        >>> import tempfile
        >>> import fairbai as fb
        >>> instances = {"easy": fb.Instance([1.0, 0.0])}
        >>> study = fb.sweep(instances, [fb.sampling.FairTopTwo()], [fb.stopping.Mixture()], runs=9)
        >>> [path.name for path in save_figures(study, tempfile.mkdtemp())][::3]
        ['easy-stopping-times.png', 'easy-shares.png', 'easy-violations.png']
    """
    drawings = {"stopping-times": stopping_times, "shares": shares, "violations": violations}
    paths: list[Path] = []
    stems: set[str] = set()
    for name, ways in by_instance(study).items():
        stem = re.sub(r"[^\w.-]+", "-", name).strip(".-") or "instance"
        stem = stem if stem not in stems else f"{stem}-{len(stems)}"
        stems.add(stem)
        for kind, draw in drawings.items():
            paths += style.save(draw(name, ways), folder, f"{stem}-{kind}")
    return tuple(paths)


def by_instance(study: Study) -> dict[str, dict[str, Runs]]:
    """For every instance the runs of each way to go about it, named by what differs within the study."""
    cells = list(study.results)
    several = [len({getattr(cell, part) for cell in cells}) > 1 for part in ("stopping", "settled")]
    found: dict[str, dict[str, Runs]] = {}
    for cell, runs in study.results.items():
        settled = {"yes": "settled", "no": "not settled"}.get(cell.settled, f"settled, {cell.settled}")
        more = [word for word, shown in zip((cell.stopping, settled), several, strict=True) if shown]
        found.setdefault(cell.instance, {})[", ".join([cell.sampling, *more])] = runs
    return found


@style.applied()
def stopping_times(instance: str, ways: Ways) -> "Figure":
    """Boxes of the trials until the stop, one row per way and one panel per delta, with the lower bound."""
    figure, panels = _panels(ways, height=0.8 + 0.28 * len(ways))
    for axes, (delta, column) in panels.items():
        _boxes(axes, ways, column)
        bound = next(iter(ways.values())).lower_bounds[column]
        if np.isfinite(bound):
            axes.axvline(bound, color=style.VERMILLION, linestyle="--", linewidth=1.0, label="lower bound")
        style.log_axis(axes, horizontal=True)
        axes.set_title(f"{instance}, $\\delta = {delta:g}$")
        axes.set_xlabel("trials until the stop")
        axes.grid(visible=False, axis="y")
    first = next(iter(panels))
    first.set_yticks(range(len(ways)), list(ways))
    first.invert_yaxis()
    first.plot([], [], label="mean; boxes hold 50 %, whiskers 80 % of the runs", linestyle="none", **MEAN)
    style.legend_below(figure, first, 2)
    return figure


def _boxes(axes: "Axes", ways: Ways, column: int) -> None:
    """A box per way, and beside it how many runs gave no answer."""
    axes.boxplot(
        [runs.stopping_time[:, column] for runs in ways.values()],
        positions=range(len(ways)),
        orientation="horizontal",
        widths=0.6,
        whis=RANGE,
        showfliers=False,
        showmeans=True,
        patch_artist=True,
        manage_ticks=False,
        meanprops=MEAN,
        medianprops={"color": style.BLACK, "linewidth": 1.4},
    )
    for patch, look in zip(axes.patches, style.looks(len(ways)), strict=True):
        patch.set(**look.bar)
    at_the_right = axes.get_yaxis_transform()
    for place, runs in enumerate(ways.values()):
        if missing := int(runs.censored[:, column].sum()):
            words = f"{missing} of {len(runs)} given up"
            axes.text(1.0, place - 0.42, words, transform=at_the_right, ha="right", va="center", fontsize=6)


@style.applied()
def shares(instance: str, ways: Ways) -> "Figure":
    """The mean share of every arm at the stop beside its floor, one panel per way; for the smallest delta."""
    arms = next(iter(ways.values())).pulls.shape[2]
    columns = min(2 if arms <= FEW_ARMS else 1, len(ways))
    rows = -(-len(ways) // columns)
    figure, panels = style.panels(style.TWO_COLUMNS, 0.7 + 1.15 * rows, rows, columns, sharex=True, sharey=True)
    for unused in panels[len(ways) :]:
        unused.set_axis_off()
    for axes, (name, runs), look in zip(panels, ways.items(), style.looks(len(ways)), strict=False):
        column = int(np.argmin(runs.deltas))
        found = 100.0 * shares_at_the_stop(runs, column)
        middle, reach = found.mean(axis=0), np.percentile(found, RANGE, axis=0)
        error = np.abs(np.clip([reach[0] - middle, reach[1] - middle], [[-np.inf], [0.0]], [[0.0], [np.inf]]))
        axes.bar(range(arms), middle, width=0.7, yerr=error, error_kw={"elinewidth": 0.7}, label=SHARE, **look.bar)
        if runs.floors:
            edges = np.arange(arms)[:, None] + [-0.45, 0.45]
            axes.hlines(100.0 * np.array(runs.floors), *edges.T, color=style.VERMILLION, linewidth=1.8, label="floor")
        axes.set_title(f"{instance}, {name}, $\\delta = {runs.deltas[column]:g}$")
        axes.grid(visible=False, axis="x")
    panels[0].set_xticks(range(0, arms, -(-arms // MAX_TICKS)))
    for axes in panels[::columns]:
        axes.set_ylabel("share in %")
    for axes in panels[len(ways) - columns : len(ways)]:  # the last of each column
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("arm")
    style.legend_below(figure, panels[0], 2)
    return figure


@style.applied()
def violations(instance: str, ways: Ways) -> "Figure":
    """The share of runs whose largest violation at the stop is at most x, one panel per delta."""
    figure, panels = _panels(ways, height=2.4 + 0.1 * len(ways))
    for axes, (delta, column) in panels.items():
        for (name, runs), look in zip(ways.items(), style.looks(len(ways)), strict=True):
            axes.ecdf(100.0 * runs.violation[:, column], label=name, **look.line)
        most = max(1.0, *(100.0 * float(runs.violation[:, column].max()) for runs in ways.values()))
        axes.set_xlim(-0.02 * most, 1.04 * most)  # runs without a violation are a line at zero
        axes.set_title(f"{instance}, $\\delta = {delta:g}$")
        axes.set_xlabel("violation at the stop in %")
    first = next(iter(panels))
    first.set_ylabel("share of the runs")
    style.legend_below(figure, first, min(len(ways), 2))
    return figure


@style.applied()
def calibration(title: str, ways: Ways, bins: int = 10) -> "Figure":
    """How often guesses were right, by the confidence that was stated, and what is proved of it; smallest delta.

    To the left, the share of right guesses in every bin, with 95 % intervals, beside the diagonal. Where two arms are
    all but equal it may be below, because half of all guesses are then wrong. To the right, the share of all runs that
    stated at least so much and were wrong, which is proved to be at most what the confidence leaves.

    Args:
        title: The title of the figure.
        ways: The runs, by what differs; their stopping rule must be proved.
        bins: Equal steps from 0 to 1.

    Example:
        >>> import fairbai as fb
        >>> runs = fb.simulate(fb.Instance([0.4, 0.0]), 1e-9, runs=100, seed=1, maximum_rounds=100)
        >>> [axes.get_ylabel() for axes in calibration("at a deadline", {"gap 0.4": runs}).axes]
        ['right guesses in %', 'runs this sure and wrong in %']
    """
    figure, (left, right) = style.panels(style.TWO_COLUMNS, 2.9 + 0.1 * len(ways), 1, 2)
    grid = np.linspace(0.0, 1.0, 401)
    for (name, runs), look in zip(ways.items(), style.looks(len(ways)), strict=True):
        rows = [row for row in runs.calibration(bins).rows if row.runs]
        stated, share, low, high = (100.0 * np.array([getattr(row, part) for row in rows]) for part in RIGHT)
        marks: dict[str, Any] = {"color": look.color, "marker": look.marker, "markersize": 3.5}
        left.errorbar(stated, share, [share - low, high - share], linestyle="none", elinewidth=0.8, **marks)
        left.plot([], [], label=name, linestyle=look.linestyle, **marks)
        wrong = 100.0 * np.array([row.wrong for row in runs.calibration(grid.tolist()).rows])
        right.plot(100.0 * grid[:-1], np.where(wrong > 0.0, wrong, np.nan), **look.line)
    limit: dict[str, Any] = {"color": style.VERMILLION, "linestyle": (0.0, (4.0, 2.0)), "linewidth": 1.0}
    left.plot([0.0, 100.0], [0.0, 100.0], label="left: as stated; right: the most that is proved", **limit)
    right.plot(100.0 * grid[:-1], 100.0 * (1.0 - grid[:-1]), **limit)
    style.log_axis(right)
    left.set(ylabel="right guesses in %", title=f"{title}: in every bin", ylim=(-2.0, 102.0))
    right.set(ylabel="runs this sure and wrong in %", title=f"{title}: of all runs")
    for axes in (left, right):
        axes.set(xlabel="stated confidence in %", xlim=(-2.0, 102.0))
    style.spread(figure)
    style.legend_below(figure, left, 2)
    return figure


def shares_at_the_stop(runs: Runs, column: int) -> Array:
    """One row per run: the share of every arm when the run stopped."""
    pulls: Array = runs.pulls[:, column].astype(np.float64)
    found: Array = pulls / np.maximum(1.0, pulls.sum(axis=1, keepdims=True))
    return found


def _panels(ways: Ways, height: float) -> tuple["Figure", dict["Axes", tuple[float, int]]]:
    """One panel per delta, from the largest to the smallest, with the column of the runs that it shows."""
    deltas = next(iter(ways.values())).deltas
    order = sorted(range(len(deltas)), key=lambda column: -deltas[column])
    columns = min(COLUMNS, len(deltas))
    rows = -(-len(deltas) // columns)
    figure, axes = style.panels(style.TWO_COLUMNS, 0.6 + height * rows, rows, columns, sharey=True)
    for unused in axes[len(deltas) :]:
        unused.set_axis_off()
    return figure, {panel: (deltas[column], column) for panel, column in zip(axes, order, strict=False)}
