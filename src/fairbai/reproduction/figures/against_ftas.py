"""Our own figure: our rules compared with the paper's F-TaS."""

import itertools
from typing import TYPE_CHECKING

import numpy as np

from fairbai.charts import style
from fairbai.reproduction import scenarios
from fairbai.reproduction.scenarios import PaperScenario
from fairbai.reproduction.studies import DELTAS, OURS, Results, ratio_of_means
from fairbai.simulation import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@style.applied()
def ratios(results: Results) -> "Figure":
    """Mean trials (top) and mean violation at the stop (bottom) of our rules, relative to F-TaS."""
    chosen = scenarios.select()
    figure, axes = style.panels(style.TWO_COLUMNS, 6.2, 2, len(DELTAS), sharex="row", sharey=True)
    quantities = (("stopping_time", "trials relative to F-TaS"), ("violation", "violation relative to F-TaS"))
    for panel, ((quantity, words), delta) in zip(axes, itertools.product(quantities, DELTAS), strict=True):
        for place, (name, settle) in enumerate(itertools.product(OURS, (False, True))):
            look = style.ALGORITHMS[name]
            found = np.array(
                [ratio_of_means(*_pair(results, scenario, name, settle), quantity, delta) for scenario in chosen]
            )
            panel.errorbar(
                found[:, 0],
                np.arange(len(chosen)) + 0.18 * (place - 1.5),
                xerr=found[:, 1],
                label=f"{name}, settled" if settle else name,
                markerfacecolor="white" if settle else look.color,
                elinewidth=0.8,
                marker=look.marker,
                color=look.color,
                linestyle="none",
                markersize=3.6,
            )
        panel.axvline(1.0, color=style.ALGORITHMS["F-TaS"].color, linewidth=1.0, label="F-TaS")
        panel.set_xlabel(words)
        panel.set_yticks(range(len(chosen)), [scenario.title.replace(" floors", "") for scenario in chosen])
    for panel, delta in zip(axes, DELTAS, strict=False):
        panel.set_title(f"$\\delta = {delta:g}$")
    axes[0].invert_yaxis()
    style.legend_below(figure, axes[0], 5)
    return figure


def _pair(results: Results, scenario: PaperScenario, name: str, settle: bool) -> tuple[Runs, Runs]:
    ours = results.ours.runs(scenario.name, name, "heuristic", settle)
    return ours, results.paper.runs(scenario.name, "F-TaS", "heuristic")
