"""The figure of regret against trials: one mark per rule, as full as the floors were kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fairbai.charts.frontier import frontier, save_frontier
from fairbai.simulation.comparison import Comparison
from tests.simulation.test_comparison import row


def made() -> Comparison:
    own = replace(row("d", 14.0, 2.0, "no"), promise="every path", promise_kept=True)
    return Comparison(100, (row("a", 10.0, 5.0), row("b", 12.0, 4.0, "on average"), row("c", 13.0, 3.0, "no"), own))


def test_marks_and_words() -> None:
    figure = frontier({"left": made(), "right": made(), "below": made()})
    left, right, below, unused = figure.axes
    assert [axes.get_title() for axes in (left, right, below)] == ["left", "right", "below"]
    assert not unused.axison
    fills = [container.lines[0].get_fillstyle() for container in left.containers]
    assert fills == ["full", "left", "none", "bottom"]
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words[:4] == ["a", "b", "c", "d"]
    assert words[4:8] == [
        "floors kept at all times",
        "within the rule's own, larger bound",
        "kept on average",
        "not kept",
    ]


def test_files(tmp_path: Path) -> None:
    assert [path.name for path in save_frontier(made(), tmp_path)] == ["frontier.png", "frontier.svg", "frontier.pdf"]
