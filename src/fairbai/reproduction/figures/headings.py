"""Headings shared by the figures with one column per scenario and one row per delta."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairbai.reproduction.scenarios import PaperScenario
from fairbai.reproduction.studies import DELTAS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def add_headings(axes: "Sequence[Axes]", chosen: Sequence[PaperScenario], what: str, pad: float | None = None) -> None:
    """Write the scenarios above the columns, and each delta to the left of its row."""
    for panel, scenario in zip(axes, chosen, strict=False):
        panel.set_title(scenario.title.replace(", ", ",\n"), pad=pad)
    for panel, delta in zip(axes[:: len(chosen)], DELTAS, strict=True):
        panel.set_ylabel(f"$\\delta = {delta:g}$\n{what}")
