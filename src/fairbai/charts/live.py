"""Charts of a live experiment.

They take the responses of ``GET /v1/experiments/{id}`` and ``GET /v1/experiments/{id}/history``, so a notebook with the
Python client draws the same charts as the dashboard.
"""

from collections.abc import Mapping
from typing import Any

from fairbai.charts.colors import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION
from fairbai.charts.effects import effects_figure
from fairbai.charts.look import (
    Figure,
    arms_axis,
    axis,
    counts_axis,
    figure,
    largest,
    limit_trace,
    percent,
    shown,
    time_axis,
)

Answer = Mapping[str, Any]
ARM_COLORS = (BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY, BLACK)


def figures(status: Answer, history: Answer) -> dict[str, Figure]:
    """All charts of an experiment; averages over time and effects only where there are some."""
    over_time = {"averages": averages_figure(status, history)} if "estimand" in status else {}
    factors = {"effects": effects_figure(status)} if "effects" in status else {}
    return {
        **factors,
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
            "y": [percent(share_of(arm)) for arm in arms],
            "marker": {"color": BLUE},
            "hovertemplate": "%{x}: %{y:.2f} %<extra></extra>",
        },
        limit_trace("floor", names, [percent(arm["floor"]) for arm in arms], BLACK),
    ]
    if any(arm["ceiling"] < 1.0 for arm in status["arms"]):
        data.append(limit_trace("ceiling", names, [percent(arm["ceiling"]) for arm in arms], VERMILLION))
    nothing = not any(arm["share"] or arm["floor"] for arm in arms)  # whose axis would have ticks at 0.2 % and so on
    extent = {"range": [0.0, 100.0]} if nothing else {"rangemode": "tozero"}
    title = "Share of the trials while available (%)" if "available" in status["arms"][0] else "Share of trials (%)"
    return figure(data, arms_axis(len(status["arms"])), axis(title, **extent))


def share_of(arm: Answer) -> float:
    """The share of an arm; of the trials in which it was available, if some arm was not in all of them."""
    return float(arm["assigned"] / max(1, arm["available"]) if "available" in arm else arm["share"])


def means_figure(status: Answer) -> Figure:
    """The mean of each arm, with intervals valid at all times, and which arms are still in the race."""
    arms, names = _drawn(status)
    percents = status["config"]["family"]["kind"] == "bernoulli"
    unit, title = _scale(status)
    data = []
    for name, color, symbol, chosen in _groups(status, list(zip(names, arms, strict=True))):
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


Named = list[tuple[str, Answer]]


def _groups(status: Answer, named: Named) -> list[tuple[str, str, str, Named]]:
    """Arms with a mean, by their place in the race: name, colour and symbol of each group, and its arms."""
    best, known = status["recommendation"], [(label, arm) for label, arm in named if arm["mean"] is not None]
    answer = "best arm" if status.get("proved", True) else "answer, not proved"
    leader = answer if status["decided"] else "best guess" if status["stopped"] else "best so far"
    groups = [(leader, GREEN, "diamond", [(label, arm) for label, arm in known if arm["arm"] == best])]
    others = [(label, arm) for label, arm in known if arm["arm"] != best]
    if status.get("candidates") is None:
        return [*groups, ("other arms", BLUE, "circle", others)]
    left = [(label, arm) for label, arm in others if arm["candidate"]]
    out = [(label, arm) for label, arm in others if not arm["candidate"]]
    others_left = "not excluded" if status["decided"] else "still in the race"
    ruled = [(others_left, BLUE, "circle", left), ("excluded", GREY, "x", out)]
    return groups + [group for group in ruled if group[3]]


def _scale(status: Answer) -> tuple[float, str]:
    """The unit of rewards, and the title of their axis."""
    what = "Average" if "estimand" in status else "Mean"
    percents = status["config"]["family"]["kind"] == "bernoulli"
    better = ", lower is better" if status.get("goal") == "min" else ""
    if percents:
        return 100.0, f"{what} reward (% of trials{better})"
    return 1.0, f"{what} reward per trial" + (" (lower is better)" if better else "")


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
    return figure(bands + curves, time_axis(x), axis(title, **reach))


def evidence_figure(status: Answer, history: Answer) -> Figure:
    """The evidence over the trials, in percent of what a decision needs, and how sure one would have been."""
    running = not status["decided"] and not status["stopped"] and status.get("ended_by") is None
    points = [(point["trials"], _progress(point), _confidence(point)) for point in history["points"]]
    if points and running and points[-1][0] == status["trials"]:  # rewards may have come since
        del points[-1]
    if not points or points[-1][0] < status["trials"]:  # after the decision: as it was decided
        points.append((status["trials"], _progress(status), _confidence(status)))
    x, reached = [trials for trials, *_ in points], [part for _, part, _ in points]
    ahead, now = status["expected_trials_to_go"], _progress(status)
    end = status["trials"] + (ahead if running and ahead and now is not None else 0)
    known = any(part is not None for part in reached)
    unhovered = {"hoverinfo": "skip", "hovertemplate": None}  # they have two points, far from most of the others
    data = [
        _curve("evidence", x, reached, BLUE, "solid"),
        _curve("decision", [0, max(1, end)], [100.0 if known else None] * 2, VERMILLION, "dot") | unhovered,
    ]
    if any(sure is not None for *_, sure in points):
        data.append(_curve("confidence", x, [sure for *_, sure in points], GREEN, "dash"))
    if end > status["trials"]:
        expected = _curve("expected", [status["trials"], end], [now, 100.0], GREY, "dot")
        data.append({**expected, "mode": "lines+markers", **unhovered})
    percents = axis("Percent", range=[0, 105], tickvals=[0, 25, 50, 75, 100])
    return figure(data, counts_axis("Trials", end), percents)


def _progress(point: Answer) -> float | None:
    """Evidence over threshold in percent; None until every arm has a reward."""
    glr, threshold = point["glr"], point["threshold"]
    if glr is None or not threshold or not _ready(point):
        return None
    return min(100.0, max(0.0, 100.0 * float(glr) / float(threshold)))


def _confidence(point: Answer) -> float | None:
    """A confidence in percent; points of earlier versions have none."""
    found = point.get("confidence")
    return None if found is None or not _ready(point) else percent(found)


def _ready(point: Answer) -> bool:
    """Whether every arm has a reward, at a point of the history or now."""
    return None not in point.get("means", ()) and all(arm["mean"] is not None for arm in point.get("arms", ()))


def trials_figure(history: Answer) -> Figure:
    """Trials and rewards over time; the gap between them is pending or expired."""
    points = history["points"]
    x = [point["at"] for point in points]
    data = [
        _curve("trials", x, [point["trials"] for point in points], BLUE, "solid"),
        _curve("rewards", x, [point["observed"] for point in points], ORANGE, "dash"),
    ]
    return figure(data, time_axis(x), counts_axis("Trials", max((point["trials"] for point in points), default=0)))


def _curve(name: str, x: list[Any], y: list[Any], color: str, dash: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines" if sum(value is not None for value in y) > 1 else "lines+markers",  # one point is no line
        "name": name,
        "x": x,
        "y": y,
        "line": {"color": color, "width": 2, "dash": dash},
        "hovertemplate": "%{y:,.4g}",
    }


def _drawn(status: Answer) -> tuple[list[Answer], list[str]]:
    """The arms that fit in a chart, and their labels."""
    numbers = largest([arm["assigned"] for arm in status["arms"]])
    arms, control = [status["arms"][number] for number in numbers], status.get("control")
    return arms, shown([f"{arm['arm']} (control)" if arm["arm"] == control else arm["arm"] for arm in arms])
