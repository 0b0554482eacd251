"""What the interactive charts have in common.

Colours of text, grids and backgrounds are left to the page, which knows whether it is light or dark. Labels are the
users' own words: they are escaped, because plotly.js reads tags in any text.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

Figure = dict[str, Any]

LONGEST = 24  # characters of a label on an axis
MOST = 30  # arms on an axis


def shown(labels: Sequence[str]) -> list[str]:
    """Labels as charts show them: short, different from each other, and text whatever they hold."""
    result: list[str] = []
    for number, label in enumerate(labels):
        short = label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"
        text = escape(short, quote=False)
        result.append(f"{text} ({number})" if text in result else text)
    return result


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis; its title says the unit."""
    return {"title": {"text": title}, **more}


def arms_axis(count: int, **more: Any) -> dict[str, Any]:
    """An axis of arms, whose labels are never taken for numbers or dates."""
    title = "Arm" if count <= MOST else f"Arm (the {MOST} with the most trials of {count})"
    return axis(title, type="category", **more)


def largest(values: Sequence[float]) -> list[int]:
    """The arms that are drawn: those with the largest values, in their own order."""
    order = sorted(range(len(values)), key=lambda arm: -values[arm])
    return sorted(order[:MOST])


def percent(value: float) -> float:
    """A share as axes show it."""
    return 100.0 * value


def limit_trace(name: str, x: list[str], y: list[float], color: str) -> dict[str, Any]:
    """A limit that bars stay on one side of: a mark across every bar, as broad as many bars leave room for."""
    size = max(8, min(36, 100 // max(1, len(x))))
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": x,
        "y": y,
        "marker": {"color": color, "symbol": "line-ew-open", "size": size, "line": {"color": color, "width": 3}},
        "hovertemplate": f"%{{x}}: {name} %{{y:.2f}} %<extra></extra>",
    }


def figure(data: list[dict[str, Any]], x: dict[str, Any], y: dict[str, Any], **layout: Any) -> Figure:
    """A figure of some traces."""
    return {"data": data, "layout": {"xaxis": x, "yaxis": y, **layout}}
