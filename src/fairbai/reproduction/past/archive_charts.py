"""The figures of the section on real tests."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fairbai.charts import style
from fairbai.problems.checks import Array
from fairbai.reproduction.past.archive_replays import CHANCE, OURS, TITLES, UNIFORM, WAYS, Replays

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure

LOOKS = {
    OURS: style.ALGORITHMS["FairTopTwo"],
    UNIFORM: style.ALGORITHMS["Uniform Fair"],
    CHANCE: style.Look(style.ORANGE, "D", ":", "///"),
}
LABELS = {OURS: "FairTopTwo, proved stop", UNIFORM: "uniform, proved stop", CHANCE: "uniform, chance to win 95 %"}
WIDTH = 0.21  # of a bar, where tolerances are one apart
SHOWN = 0.5  # wrong answers in % from which on they are shown


@style.applied()
def draw_decided(found: Replays) -> "Figure":
    """Bars by tolerance: where kl(δ, 1 - δ) T* fits, then for every way the right answers and the wrong on top."""
    figure, (axes,) = style.panels(style.TWO_COLUMNS, 3.2)
    places = np.arange(len(TITLES)) - 1.5 * (WIDTH + 0.01)
    bound = 100.0 * found.fits(found.bounds).mean(axis=0)
    look: dict[str, Any] = {"facecolor": "#ffffff", "edgecolor": style.BLACK, "linestyle": "--"}
    _name_bars(
        axes,
        axes.bar(places, bound, WIDTH, label=r"$\mathrm{kl}(\delta, 1-\delta)\,T^\star_\varepsilon$ fits", **look),
        bound,
        np.zeros(bound.size),
    )
    for row, way in enumerate(WAYS):
        wrong, every = (100.0 * part[:, row].mean(axis=(0, 2)) for part in (found.wrong, found.answered))
        at = places + (row + 1) * (WIDTH + 0.01)
        axes.bar(at, every - wrong, WIDTH, label=LABELS[way.name], **LOOKS[way.name].bar)
        top: dict[str, Any] = {"facecolor": style.VERMILLION, "edgecolor": style.BLACK, "bottom": every - wrong}
        bars = axes.bar(at, wrong, WIDTH, label="wrong answers" if way.name == CHANCE else None, **top)
        _name_bars(axes, bars, every, wrong)
    axes.set_xticks(range(len(TITLES)), ["exact" if title == "exact" else f"within {title}" for title in TITLES])
    axes.grid(False, axis="x")
    axes.set_ylim(0.0, 109.0)
    axes.set_yticks(range(0, 101, 20))
    axes.set_ylabel("in % of the tests, or of their replays")
    style.legend_below(figure, axes, 3)
    return figure


def _name_bars(axes: "Axes", bars: "BarContainer", every: Array, wrong: Array) -> None:
    """Above every bar its height and, if there is any, the share of wrong answers."""
    for bar, height, share in zip(bars, every, wrong, strict=True):
        text = f"{height:.1f}" if share < SHOWN else f"{height:.1f}\nwrong: {share:.1f}"
        at = bar.get_x() + 0.5 * bar.get_width(), height
        axes.annotate(text, at, (0, 2), textcoords="offset points", ha="center", fontsize=6)


@style.applied()
def draw_trials(found: Replays) -> "Figure":
    """One panel per tolerance: the share that is decided against the part of the traffic that was used."""
    figure, axes = style.panels(style.TWO_COLUMNS, 2.5, 1, len(TITLES), sharey=True, sharex=True)
    for column, (panel, title) in enumerate(zip(axes, TITLES, strict=True)):
        _draw_used(panel, found, column)
        panel.set_title("exact" if title == "exact" else f"within {title}")
        panel.set_xlabel("traffic used, in %")
    axes[0].set_ylabel("decided, in % of the replays")
    style.legend_below(figure, axes[0], len(WAYS))
    return figure


def _draw_used(panel: "Axes", found: Replays, column: int) -> None:
    parts = np.linspace(0.0, 100.0, 201)
    for row, way in enumerate(WAYS):
        used = 100.0 * found.trials[:, row, column] / found.traffic[:, None]
        used = np.sort(used[found.answered[:, row, column]])
        shares = 100.0 * np.searchsorted(used, parts, side="right") / found.answered[:, row, column].size
        panel.plot(parts, shares, label=LABELS[way.name], **LOOKS[way.name].line)
    panel.set_xlim(0.0, 100.0)
    panel.set_ylim(0.0, 100.0)
    panel.set_xticks([0, 50, 100])
