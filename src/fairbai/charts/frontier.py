"""Regret against trials: what rules give up of one for the other, and which of them keep the floors."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbai.charts import style
from fairbai.simulation.comparison import Comparison, RuleRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FILLS = {  # what a marker says of the floors, and how full it is
    "floors kept at all times": "full",
    "within the rule's own, larger bound": "bottom",
    "kept on average": "left",
    "not kept": "none",
}


def save_frontier(comparison: Comparison, folder: str | Path) -> tuple[Path, ...]:
    """Write ``frontier`` as PNG, SVG and PDF into a folder; returns the paths."""
    return style.save(frontier({"": comparison}), folder, "frontier")


@style.applied()
def frontier(comparisons: dict[str, Comparison], columns: int = 2) -> "Figure":
    """Mean regret until the answer against mean trials, with 95 % intervals: one panel per comparison, by its title.

    A full marker is a rule that kept the floors at all times, one that is full below kept the larger bound that it
    proves on every path, one that is full on the left kept them on average, an empty one did not.
    The line joins the rules of the first kind that no other of them beats in both. An arrow is a rule that gave no
    answer in some runs, which would have taken longer.

    Args:
        comparisons: What to draw.
        columns: Panels side by side.
    """
    names = list(dict.fromkeys(row.rule for one in comparisons.values() for row in one.rows))
    looks = dict(zip(names, style.looks(len(names)), strict=True))
    columns = min(columns, len(comparisons))
    rows = -(-len(comparisons) // columns)
    width = style.TWO_COLUMNS if columns > 1 else style.ONE_COLUMN * 1.5
    figure, panels = style.panels(width, 2.5 * rows + 0.22 * (len(names) / 3 + 2), rows, columns)
    for unused in panels[len(comparisons) :]:
        unused.set_axis_off()
    for axes, (title, one) in zip(panels, comparisons.items(), strict=False):
        _draw(axes, one.rows, one.frontier(), looks)
        axes.set_title(title)
        axes.set_xlabel("trials until the answer")
        axes.set_ylabel("regret until the answer")
    _legend(figure, looks, 3 if columns > 1 else 2)
    return figure


def _draw(axes: "Axes", rows: Sequence[RuleRow], best: Sequence[RuleRow], looks: dict[str, style.Look]) -> None:
    axes.plot([row.trials for row in best], [row.regret for row in best], color=style.GREY, linewidth=1.0, zorder=1.0)
    for row in rows:
        look = looks[row.rule]
        axes.errorbar(
            row.trials,
            row.regret,
            xerr=row.trials_ci95,
            yerr=row.regret_ci95,
            elinewidth=0.7,
            xlolims=row.unanswered > 0.0,
            **_mark(look, FILLS[_floors(row)]),
        )
    style.log_axis(axes, horizontal=True)
    style.log_axis(axes)
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.yaxis.set_major_formatter("{x:,g}")


def _floors(row: RuleRow) -> str:
    """How the floors were kept, in the words of the legend."""
    always, own, average, no = FILLS
    if row.kept == "always":
        return always
    if row.promise == "every path" and row.promise_kept:
        return own
    return average if row.kept == "on average" else no


def _mark(look: style.Look, fill: str) -> dict[str, Any]:
    return {
        "color": look.color,
        "marker": look.marker,
        "markersize": 5.5,
        "linestyle": "none",
        "fillstyle": fill,
        "markerfacecoloralt": "white",
    }


def _legend(figure: "Figure", looks: dict[str, style.Look], columns: int) -> None:
    """The rules by their markers, and what full and empty ones mean."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=name, **_mark(look, "full")) for name, look in looks.items()]
    plain = style.Look(style.BLACK, "o", "none", "")
    handles += [Line2D([], [], label=words, **_mark(plain, fill)) for words, fill in FILLS.items()]
    handles.append(Line2D([], [], color=style.GREY, linewidth=1.0, label="best of those that keep them at all times"))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, columnspacing=1.2)
