"""Charts of a live experiment.

They take the responses of ``GET /v1/experiments/{id}`` and ``GET /v1/experiments/{id}/history``, so a notebook with the
Python client draws the same charts as the dashboard.
"""

from collections.abc import Mapping
from typing import Any

from fairbai.charts.colors import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION
from fairbai.charts.look import Figure, arms_axis, axis, figure, largest, limit_trace, percent, shown, time_axis

Answer = Mapping[str, Any]
ARM_COLORS = (BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY, BLACK)


def figures(status: Answer, history: Answer) -> dict[str, Figure]:
    """All charts of an experiment; the averages over time only where they are estimated whatever the drift."""
    over_time = {"averages": averages_figure(status, history)} if "estimand" in status else {}
    return {
        "shares": shares_figure(status),
        "means": means_figure(status),
        **over_time,
        "evidence": evidence_figure(status, history),
        "trials": trials_figure(history),
    }


def shares_figure(status: Answer) -> Figure:
    """The share of each arm with its floor and ceiling."""
    arms, names = _drawn(status)
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": "share",
            "x": names,
            "y": [percent(arm["share"]) for arm in arms],
            "marker": {"color": BLUE},
            "hovertemplate": "%{x}: %{y:.2f} %<extra></extra>",
        },
        limit_trace("floor", names, [percent(arm["floor"]) for arm in arms], BLACK),
    ]
    if any(arm["ceiling"] < 1.0 for arm in status["arms"]):
        data.append(limit_trace("ceiling", names, [percent(arm["ceiling"]) for arm in arms], VERMILLION))
    return figure(data, arms_axis(len(status["arms"])), axis("Share of trials (%)", rangemode="tozero"))


def means_figure(status: Answer) -> Figure:
    """The mean of each arm, with intervals valid at all times."""
    arms, names = _drawn(status)
    best, percents = status["recommendation"], status["config"]["family"]["kind"] == "bernoulli"
    unit, title = _scale(status)
    leader = "best arm" if status["decided"] else "ahead at the end" if status["stopped"] else "best so far"
    data = []
    for name, color, symbol, wanted in ((leader, GREEN, "diamond", True), ("other arms", BLUE, "circle", False)):
        chosen = [
            (label, arm)
            for label, arm in zip(names, arms, strict=True)
            if arm["mean"] is not None and (arm["arm"] == best) is wanted
        ]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": [label for label, _ in chosen],
                "y": [unit * _mean(arm) for _, arm in chosen],
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [unit * _reach(arm, 1) for _, arm in chosen],
                    "arrayminus": [unit * _reach(arm, 0) for _, arm in chosen],
                    "color": color,
                    "thickness": 2,
                },
                "marker": {"color": color, "symbol": symbol, "size": 10},
                "hovertemplate": "%{x}: %{y:.4g}" + (" %" if percents else "") + "<extra></extra>",
            }
        )
    x = arms_axis(len(status["arms"]), categoryorder="array", categoryarray=names)
    return figure(data, x, axis(title))


def _scale(status: Answer) -> tuple[float, str]:
    """The unit of rewards, and the title of their axis."""
    what = "Average" if "estimand" in status else "Mean"
    percents = status["config"]["family"]["kind"] == "bernoulli"
    return (100.0, f"{what} reward (% of trials)") if percents else (1.0, f"{what} reward per trial")


def _mean(arm: Answer) -> float:
    """The mean of an arm or, where it is estimated, its average over the experiment so far."""
    average = arm.get("average")
    return float(arm["mean"] if average is None else average)


def _reach(arm: Answer, end: int) -> float:
    """The distance from the mean to one end of the interval; an infinite end is not drawn."""
    found = arm["interval"][end]
    return 0.0 if found is None else max(0.0, (1.0 if end else -1.0) * (found - _mean(arm)))


def averages_figure(status: Answer, history: Answer) -> Figure:
    """The running average of each arm over time, with a band valid at all times; of the arms with the most trials."""
    unit, title = _scale(status)
    points = [point for point in history["points"] if None not in point.get("averages", [None])]
    x = [point["at"] for point in points]
    numbers = largest([arm["assigned"] for arm in status["arms"]])
    chosen = sorted(sorted(numbers, key=lambda arm: -status["arms"][arm]["assigned"])[: len(ARM_COLORS)])
    names = shown([status["arms"][arm]["arm"] for arm in chosen])
    bands, curves = [], []
    for arm, name, color in zip(chosen, names, ARM_COLORS, strict=False):
        low, high = ([unit * point["bands"][arm][end] for point in points] for end in (0, 1))
        curves.append(_curve(name, x, [unit * point["averages"][arm] for point in points], color, "solid"))
        bands.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": x + x[::-1],
                "y": high + low[::-1],
                "fill": "toself",
                "fillcolor": color,
                "opacity": 0.15,
                "line": {"color": color, "width": 0},
                "hoverinfo": "skip",
                "showlegend": False,
            }
        )
    limits = [end for point in points for band in point["bands"] for end in band]
    reach = {"range": [unit * min(limits), unit * max(limits)]} if limits else {}
    return figure(bands + curves, time_axis(), axis(title, **reach))


def evidence_figure(status: Answer, history: Answer) -> Figure:
    """The GLR and its threshold over the trials, and where they are expected to meet."""
    points = [(point["trials"], point["glr"], point["threshold"]) for point in history["points"]]
    if not points or points[-1][0] < status["trials"]:  # after the decision: as it was decided
        points.append((status["trials"], status["glr"], status["threshold"]))
    x = [trials for trials, _, _ in points]
    data: list[dict[str, Any]] = [
        _curve("evidence (GLR)", x, [glr for _, glr, _ in points], BLUE, "solid"),
        _curve("threshold", x, [threshold for *_, threshold in points], VERMILLION, "dash"),
    ]
    ahead = status["expected_trials_to_go"]
    if not status["decided"] and not status["stopped"] and ahead and None not in (status["glr"], status["threshold"]):
        crossing = [status["trials"], status["trials"] + ahead], [status["glr"], status["threshold"]]
        unhovered = {"hoverinfo": "skip", "hovertemplate": None}  # it has two points, far from most of the others
        data.append({**_curve("expected", *crossing, GREY, "dot"), "mode": "lines+markers", **unhovered})
    return figure(data, axis("Trials", tickformat=",.0f"), axis("Evidence (nats)", rangemode="tozero"))


def trials_figure(history: Answer) -> Figure:
    """Trials and rewards over time; the gap between them is pending or expired."""
    points = history["points"]
    x = [point["at"] for point in points]
    data = [
        _curve("trials", x, [point["trials"] for point in points], BLUE, "solid"),
        _curve("rewards", x, [point["observed"] for point in points], ORANGE, "dash"),
    ]
    return figure(data, time_axis(), axis("Trials", rangemode="tozero", tickformat=",.0f"))


def _curve(name: str, x: list[Any], y: list[Any], color: str, dash: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x,
        "y": y,
        "line": {"color": color, "width": 2, "dash": dash},
        "hovertemplate": "%{y:,.4g}",
    }


def _drawn(status: Answer) -> tuple[list[Answer], list[str]]:
    """The arms that fit in a chart, and their labels."""
    numbers = largest([arm["assigned"] for arm in status["arms"]])
    arms = [status["arms"][number] for number in numbers]
    return arms, shown([arm["arm"] for arm in arms])
