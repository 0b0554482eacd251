"""The paper's figures of the allocations, as bars: without floors, with floors, and the floors themselves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairbai.allocation import solve
from fairbai.charts import style
from fairbai.reproduction import scenarios
from fairbai.reproduction.scenarios import PaperScenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = {
    "unconstrained": r"$w^\star$, without floors",
    "fair": r"$w^\star_p$, with floors",
    "floors": "floors $p$",
}


@style.applied()
def prespecified() -> "Figure":
    """Appendix: synthetic models with pre-specified floors, linear means (top) and equal gaps (bottom)."""
    linear = scenarios.select("linear", "prespecified")
    equal = scenarios.select("equal gaps", "prespecified")
    return _bars((*linear, *equal), style.TWO_COLUMNS, columns=2)


@style.applied()
def theta_dependent() -> "Figure":
    """Appendix: the synthetic model with floors that depend on the means."""
    return _bars(scenarios.select("linear", "theta_dependent"), style.TWO_COLUMNS, columns=2)


@style.applied()
def main_scheduling() -> "Figure":
    """Main text: the wireless cell with floors that depend on the means."""
    return _bars(scenarios.select("scheduling", "theta_dependent"), style.ONE_COLUMN, columns=1)


@style.applied()
def scheduling() -> "Figure":
    """Appendix: the wireless cell with pre-specified floors (top) and floors that depend on the means (bottom)."""
    return _bars(scenarios.select("scheduling"), style.TWO_COLUMNS, columns=2)


def _bars(chosen: Sequence[PaperScenario], width: float, columns: int) -> "Figure":
    """One panel per scenario."""
    rows = len(chosen) // columns
    figure, axes = style.panels(width, 0.5 + 1.6 * rows, rows, columns, sharey=True)
    for panel, scenario in zip(axes, chosen, strict=True):
        _draw(panel, scenario)
    for panel in axes[-columns:]:
        panel.set_xlabel("user" if chosen[-1].model == "scheduling" else "arm")
    for panel in axes[::columns]:
        panel.set_ylabel("share of the trials")
    style.legend_below(figure, axes[0], 3)
    return figure


def _draw(axes: "Axes", scenario: PaperScenario) -> None:
    instance = scenario.instance
    free = solve(instance.with_rates(None))
    shares = {"unconstrained": free.weights, "fair": solve(instance).weights, "floors": instance.floors}
    arms = np.arange(instance.means.size)
    for place, (name, values) in enumerate(shares.items()):
        look = style.ALLOCATIONS[name]
        axes.bar(arms + 0.28 * (place - 1), values, 0.28, label=LABELS[name], **look.bar)
    axes.set_xticks(arms)
    axes.set_title(scenario.title)
    axes.grid(visible=False, axis="x")
