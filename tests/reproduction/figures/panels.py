"""What the panels of a figure must show, whatever they draw."""

from __future__ import annotations

from matplotlib.figure import Figure

from fairbai.charts import style
from fairbai.reproduction.scenarios import PaperScenario
from fairbai.reproduction.studies import DELTAS


def check_headings(figure: Figure, cases: list[tuple[float, PaperScenario]]) -> None:
    """The scenarios are above the first row, delta is to the left, and there is one legend."""
    first = [scenario for delta, scenario in cases if delta == cases[0][0]]
    for axes, scenario in zip(figure.axes, first, strict=False):
        assert axes.get_title().replace("\n", " ") == scenario.title
    if len(cases) > len(first):
        for axes, delta in zip(figure.axes[:: len(first)], DELTAS, strict=True):
            assert f"= {delta:g}" in axes.get_ylabel()
    assert len(figure.legends) == 1
    assert figure.get_figwidth() in (style.ONE_COLUMN, style.TWO_COLUMNS)
