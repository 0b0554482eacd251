"""The main effects of a factorial experiment: what each level adds to the average combination."""

from collections.abc import Mapping
from typing import Any

from fairbai.charts.colors import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION
from fairbai.charts.look import MAX_ARMS, Figure, axis, figure, shown

FACTOR_LOOKS = (
    (BLUE, "circle"),
    (ORANGE, "square"),
    (GREEN, "diamond"),
    (VERMILLION, "triangle-up"),
    (PURPLE, "cross"),
    (SKY, "star"),
)


def effects_figure(status: Mapping[str, Any]) -> Figure:
    """The effect of every level, with intervals that hold for all of them at all times; one colour per factor.

    It takes the response of ``GET /v1/experiments/{id}`` for an experiment with factors. Levels are rows, so that
    their names can be read on a phone; the first is at the top. Hollow markers have no interval, because rewards
    contradict the model, or because the stop is not proved.
    """
    factors = status["config"]["family"]["factors"]
    rows = [one for one in status["effects"] if one["factor"] in factors][:MAX_ARMS]
    names = shown([f"{one['factor']}: {one['level']}" for one in rows])
    data: list[dict[str, Any]] = []
    for number, factor in enumerate(dict.fromkeys(one["factor"] for one in rows)):
        color, symbol = FACTOR_LOOKS[number % len(FACTOR_LOOKS)]
        chosen = [(name, one) for name, one in zip(names, rows, strict=True) if one["factor"] == factor]
        known = [(name, one) for name, one in chosen if one["effect"] is not None]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": shown([factor])[0],
                "x": [one["effect"] for _, one in known],
                "y": [name for name, _ in known],
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [_reach(one, 1) for _, one in known],
                    "arrayminus": [_reach(one, 0) for _, one in known],
                    "color": color,
                    "thickness": 2,
                },
                "marker": {"color": color, "symbol": [_symbol(one, symbol) for _, one in known], "size": 10},
                "hovertemplate": "%{y}: %{x:.4g}<extra></extra>",
            }
        )
    zero = {"type": "line", "xref": "x", "yref": "paper", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "layer": "below"}
    line = {**zero, "line": {"color": GREY, "width": 1, "dash": "dot"}}
    y = axis("", type="category", categoryorder="array", categoryarray=names[::-1], automargin=True)
    x = axis("Effect", tickangle=0, nticks=4)
    return figure(data, x, y, shapes=[line], showlegend=False)  # the rows name the factors


def _symbol(effect: Mapping[str, Any], symbol: str) -> str:
    """Hollow where there is no interval, so that the effect does not look exact."""
    return f"{symbol}-open" if None in effect["interval"] else symbol


def _reach(effect: Mapping[str, Any], end: int) -> float:
    """The distance from the effect to one end of its interval; an infinite end is not drawn."""
    found = effect["interval"][end]
    return 0.0 if found is None else abs(float(found) - float(effect["effect"]))
