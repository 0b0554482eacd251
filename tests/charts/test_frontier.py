"""The figure of regret against trials: one mark per rule, as full as the floors were kept."""

from __future__ import annotations

from pathlib import Path

from fairbai.charts.frontier import frontier, save_frontier
from fairbai.simulation.comparison import Comparison
from tests.simulation.test_comparison import row


def made() -> Comparison:
    return Comparison(100, (row("a", 10.0, 5.0), row("b", 12.0, 4.0, "on average"), row("c", 13.0, 3.0, "no")))


def test_marks_and_words() -> None:
    figure = frontier({"left": made(), "right": made(), "below": made()})
    left, right, below, unused = figure.axes
    assert [axes.get_title() for axes in (left, right, below)] == ["left", "right", "below"]
    assert not unused.axison
    fills = [container.lines[0].get_fillstyle() for container in left.containers]
    assert fills == ["full", "left", "none"]
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words[:3] == ["a", "b", "c"]
    assert "floors kept at all times" in words


def test_files(tmp_path: Path) -> None:
    assert [path.name for path in save_frontier(made(), tmp_path)] == ["frontier.png", "frontier.svg", "frontier.pdf"]
