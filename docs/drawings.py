"""Figures of the documentation that are drawn by hand: boxes, arrows and one formula as a picture."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from fairbai.charts import style

Place = tuple[float, float]

LAYERS: list[list[tuple[str, str]]] = [  # as in the contract of import-linter in pyproject.toml
    [("cli", "the command fairbai")],
    [("service", "experiments over HTTP"), ("client", "calls the service")],
    [("reproduction", "the paper's tables and figures, and what goes past it")],
    [("analysis", "what a log says, and the next plan")],
    [("charts", "figures as data, and their style")],
    [
        ("environments", "wireless cell, gymnasium"),
        ("planning", "what it will take"),
        ("testing", "conformance suites"),
    ],
    [("identifier", "ask and tell, live"), ("simulation", "many runs, any engine")],
    [("experiment", "one running experiment in memory, until all floors are met")],
    [("sampling", "which arm next")],
    [("stopping", "when to stop"), ("allocation", "the best shares, the price")],
    [("problems", "instance, families, rates, checks of input")],
    [("kernels", "every numerical body, once")],
    [("compiling", "how kernels become machine code, while they run as Python")],
]


def tie(runs: int) -> Figure:
    """The cheapest hypothesis under which the second arm is as good as the best: both means move to one in between."""
    means, shares = (1.0, -0.6), (0.35, 0.65)
    middle = sum(mean * share for mean, share in zip(means, shares, strict=True))
    x = np.linspace(-3.8, 4.2, 400)
    figure, (axes,) = style.panels(4.6, 2.2)
    for mean, color, name, line in zip(
        means, (style.BLUE, style.ORANGE), ("best arm b", "arm a"), ("-", "--"), strict=True
    ):
        axes.plot(x, np.exp(-((x - mean) ** 2) / 2), color=color, linestyle=line, label=name)
        axes.annotate("", (middle, 1.1), (mean, 1.1), arrowprops={"arrowstyle": "->", "color": color})
        axes.axvline(mean, ymax=0.78, color=color, linewidth=0.6)
    axes.axvline(middle, ymax=0.88, color=style.BLACK, linewidth=1, linestyle=(0.0, (1.0, 1.2)))
    axes.text(means[0], 1.17, "$θ_b$", ha="center")
    axes.text(means[1], 1.17, "$θ_a$", ha="center")
    axes.text(middle, 1.28, "the tie $m$: nearer to the arm with more trials", ha="center", fontsize=7)
    axes.set(xlabel="reward", ylim=(0, 1.4), yticks=[])
    axes.spines["left"].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.8))
    return figure


def packages(runs: int) -> Figure:
    """The packages in layers: each imports only from below."""
    figure, (axes,) = style.panels(style.TWO_COLUMNS, 5.5)
    _empty(axes, 10.0, len(LAYERS))
    for row, layer in enumerate(LAYERS):
        width = (9.2 - 0.2 * (len(layer) - 1)) / len(layer)
        for column, (name, about) in enumerate(layer):
            left = 0.1 + column * (width + 0.2)
            color = style.SKY if name in ("kernels", "problems") else "#eef4fa"
            place = left, len(LAYERS) - row - 0.85
            _box(axes, place, width, 0.66, f"{name}/", about, color)
    axes.annotate("", (9.6, 0.2), (9.6, len(LAYERS) - 0.3), arrowprops={"arrowstyle": "->", "color": style.GREY})
    axes.text(9.75, len(LAYERS) / 2, "imports", rotation=270, va="center", color=style.GREY)
    return figure


def experiment(runs: int) -> Figure:
    """What happens to a trial: from ask to the stop."""
    figure, (axes,) = style.panels(style.TWO_COLUMNS, 2.6)
    _empty(axes, 12.0, 4.0)
    _box(axes, (0.1, 2.3), 2.3, 1.1, "your system", "shows the arm, waits", "#eef4fa")
    _box(axes, (3.6, 2.3), 2.3, 1.1, "sampling", "which arm next", style.SKY)
    _box(axes, (6.7, 2.3), 2.3, 1.1, "state", "assigned, observed, sums", "#eef4fa")
    _box(axes, (9.6, 2.3), 2.3, 1.1, "stopping", "evidence ≥ threshold?", style.SKY)
    _box(axes, (3.6, 0.3), 2.3, 1.1, "allocation", "optimal fair shares", "#eef4fa")
    _box(axes, (6.7, 0.3), 2.3, 1.1, "rates", "the floors", "#eef4fa")
    _box(axes, (9.6, 0.3), 2.3, 1.1, "settling", "until all floors are met", style.SKY)
    _arrow(axes, (3.6, 2.85), (2.4, 2.85), "ask", 0.14)
    axes.plot([1.25, 1.25, 7.2], [2.3, 1.85, 1.85], color=style.BLACK, linewidth=1.0)
    _arrow(axes, (7.2, 1.85), (7.2, 2.3), "", 0)
    axes.text(3.0, 1.93, "tell", ha="center", fontsize=8)
    _arrow(axes, (5.9, 2.55), (6.7, 2.55), "", 0)
    _arrow(axes, (6.7, 3.15), (5.9, 3.15), "", 0)
    _arrow(axes, (9.0, 2.85), (9.6, 2.85), "", 0)
    _arrow(axes, (10.75, 2.3), (10.75, 1.4), "", 0)
    axes.text(10.85, 1.78, "decided", fontsize=7)
    _arrow(axes, (4.75, 1.4), (4.75, 2.3), "", 0)
    _arrow(axes, (6.7, 0.85), (5.9, 0.85), "", 0)
    _arrow(axes, (9.0, 0.85), (9.6, 0.85), "", 0)
    _arrow(axes, (7.85, 2.3), (7.85, 1.4), "", 0)
    axes.text(7.95, 1.78, "means", fontsize=7)
    return figure


def _empty(axes: Axes, width: float, height: float) -> None:
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")


def _box(axes: Axes, place: Place, width: float, height: float, name: str, about: str, color: str) -> None:
    shape = "round,pad=0.02,rounding_size=0.08"
    axes.add_patch(FancyBboxPatch(place, width, height, boxstyle=shape, facecolor=color, edgecolor=style.BLACK))
    x, y = place[0] + width / 2, place[1] + height / 2
    axes.text(x, y + height * 0.18, name, ha="center", va="center", fontweight="bold")
    axes.text(x, y - height * 0.22, about, ha="center", va="center", fontsize=7)


def _arrow(axes: Axes, start: Place, end: Place, label: str, above: float) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": style.BLACK, "shrinkA": 2, "shrinkB": 2})
    axes.text((start[0] + end[0]) / 2, start[1] + above, label, ha="center", fontsize=8)
