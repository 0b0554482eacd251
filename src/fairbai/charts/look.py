"""What the interactive charts share.

Colours of text, grids and backgrounds are left to the page, which knows whether it is light or dark. Labels come from
users, so they are escaped: plotly.js interprets tags in any text.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from html import escape
from typing import Any

Figure = dict[str, Any]

MAX_LABEL = 24  # characters of a label on an axis
MAX_ARMS = 30  # on an axis
MAX_TICKS = 5  # one per count; plotly.js would put fractions between them

MINUTE, DAY = 60_000, 86_400_000  # ms, the unit of plotly.js
SHORT = timedelta(seconds=20)  # the shortest time that is drawn: a shorter one would be cut into parts of seconds
SHORT_STEPS = (10, 15, 20, 30, 45, 60, 120)  # seconds between two ticks
WITH_SECONDS = timedelta(minutes=5)  # a time for which plotly.js would choose ticks with seconds, too many for a phone
TIME_TICKS = [  # by the distance of two ticks; the second line appears only where it changes
    {"dtickrange": [None, MINUTE - 1], "value": "%H:%M:%S\n%-d %b"},
    {"dtickrange": [MINUTE, DAY - 1], "value": "%H:%M\n%-d %b"},
    {"dtickrange": [DAY, None], "value": "%-d %b\n%Y"},
]


def shown(labels: Sequence[str]) -> list[str]:
    """Labels as charts show them: short, distinct and escaped."""
    result: list[str] = []
    for number, label in enumerate(labels):
        short = label if len(label) <= MAX_LABEL else f"{label[: MAX_LABEL - 1]}…"
        text = escape(short, quote=False)
        result.append(f"{text} ({number})" if text in result else text)
    return result


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis; its title includes the unit."""
    return {"title": {"text": title}, **more}


def arms_axis(count: int, **more: Any) -> dict[str, Any]:
    """An axis of arms, whose labels are never interpreted as numbers or dates."""
    title = "Arm" if count <= MAX_ARMS else f"Arm (the {MAX_ARMS} of {count} with the most trials)"
    return axis(title, type="category", **more)


def counts_axis(title: str, most: float) -> dict[str, Any]:
    """An axis of counts from 0 to ``most``: all ticks are whole numbers, also if there are few."""
    few = {"dtick": 1, "range": [0, max(1.0, most) * 1.05]} if most <= MAX_TICKS else {}
    return axis(title, rangemode="tozero", tickformat=",.0f", **few)


def time_axis(times: Sequence[str]) -> dict[str, Any]:
    """An axis of ISO times in order, with few enough ticks to be horizontal on a phone, and seconds between them.

    There are two ticks or three if they show seconds, and else up to five.
    """
    ticks: dict[str, Any] = {"tickformatstops": TIME_TICKS, "tickangle": 0, "nticks": 5}
    if times:
        first, last = (datetime.fromisoformat(times[end]) for end in (0, -1))
        time = max(last - first, SHORT)
        if time < WITH_SECONDS:
            ticks["dtick"] = 1000 * max(step for step in SHORT_STEPS if 2 * step <= time.total_seconds())
        if last - first < SHORT:
            middle = first + (last - first) / 2
            ticks["range"] = [(middle + side * SHORT / 2).isoformat() for side in (-1, 1)]
    return axis("Time (UTC)", type="date", hoverformat="%-d %b %Y, %H:%M:%S", **ticks)


def largest(values: Sequence[float]) -> list[int]:
    """The arms to draw: those with the largest values, in their original order."""
    order = sorted(range(len(values)), key=lambda arm: -values[arm])
    return sorted(order[:MAX_ARMS])


def percent(value: float) -> float:
    """A share in percent."""
    return 100.0 * value


def limit_trace(name: str, x: list[str], y: list[float], color: str) -> dict[str, Any]:
    """A limit of each bar: a horizontal mark across it, as wide as the number of bars allows."""
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
    """A figure. If it has lines, one tooltip shows them all, however far from them the pointer is."""
    if any("lines" in trace.get("mode", "") for trace in data):
        layout = {"hovermode": "x unified", "hoverdistance": -1, **layout}
    return {"data": data, "layout": {"xaxis": x, "yaxis": y, **layout}}
