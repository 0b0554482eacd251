"""Figures of an analyzed log, from what ``Analysis.to_dict`` gives."""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fairbai.charts import style
from fairbai.charts.look import largest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Form = Mapping[str, Any]
Panel = Callable[["Axes", Form], None]

MAX_LABEL = 18  # characters
MAX_CURVES = 6  # arms, those with the most trials
BAND: dict[str, Any] = {"alpha": 0.15, "linewidth": 0.0}
LIMIT: dict[str, Any] = {"color": style.VERMILLION, "linestyle": "--", "linewidth": 1.0}


def panels(form: Form) -> dict[str, Panel]:
    """What there is to draw of a log, by name."""
    found: dict[str, Panel] = {"means": means, "evidence": evidence, "ratio": ratio, "over_time": over_time}
    found["shares"] = shares
    absent = ["evidence", "ratio", "over_time"] if form["drift"] is None else []
    absent += ["ratio"] if form["sample_ratio"] is None else []
    return {name: panel for name, panel in found.items() if name not in absent}


@style.applied()
def figure(form: Form) -> "Figure":
    """The panels that matter most, in one figure."""
    drawn = panels(form)
    names = [name for name in drawn if name != "shares"]
    names += ["shares"] if len(names) % 2 else []
    rows, height = -(-len(names) // 2), max(2.4, 1.2 + 0.16 * len(_chosen(form)))
    made, axes = style.panels(style.TWO_COLUMNS, height * rows, rows, 2)
    for panel, name in zip(axes, names, strict=True):
        drawn[name](panel, form)
    return made


@style.applied()
def picture(name: str, form: Form) -> "Figure":
    """One of the panels, as a figure of its own."""
    tall = 1.0 + 0.22 * len(_chosen(form)) if name in ("means", "shares") else 0.0
    made, (axes,) = style.panels(4.4, max(2.5, tall))
    panels(form)[name](axes, form)
    return made


def means(axes: "Axes", form: Form) -> None:
    """The mean of every arm with its interval."""
    scale, title = _unit(form)
    arms, colors = _chosen(form), _colors(form)
    for place, arm in enumerate(arms):
        if arm["mean"] is None:
            continue
        marker, color = "D" if arm["leads"] else "o", colors.get(arm["arm"], style.BLACK)
        look: dict[str, Any] = {"linestyle": "none", "capsize": 2.5, "marker": marker, "color": color}
        middle = scale * arm["mean"]
        ends = [middle if end is None else scale * end for end in arm["interval"]]
        reach = [[max(0.0, middle - ends[0])], [max(0.0, ends[1] - middle)]]
        axes.errorbar(middle, place, xerr=reach, **look)
    _arms_axis(axes, arms)
    sure, doubted = f"{100 * (1 - form['delta']):g} %", form["guarantee"] == "doubted"
    holds = f"({sure}, but doubtful: see the report)" if doubted else f"valid at all times ({sure})"
    axes.set(xlabel=title, title=f"Means, with intervals {holds}")


def shares(axes: "Axes", form: Form) -> None:
    """The share of every arm, with a mark at the one that was declared."""
    arms, ratio_form = _chosen(form), form["sample_ratio"]
    known_colors = _colors(form)
    colors = [known_colors.get(arm["arm"], style.GREY) for arm in arms]
    axes.barh(range(len(arms)), [100 * arm["share"] for arm in arms], 0.6, color=colors, edgecolor=style.BLACK)
    declared = None if ratio_form is None else ratio_form["shares"]
    if declared is not None:
        known = {arm["arm"]: share for arm, share in zip(form["arms"], declared, strict=True)}
        marks = [100 * known[arm["arm"]] for arm in arms]
        label = "declared" if ratio_form["against"] == "declared" else "equal shares (assumed)"
        places = range(len(arms))
        ends = [place - 0.42 for place in places], [place + 0.42 for place in places]
        axes.vlines(marks, *ends, color=style.VERMILLION, linewidth=2.0, label=label)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, -0.42))
    _arms_axis(axes, arms)
    axes.set(xlabel="share of the trials, %", title="Shares of the trials")


def evidence(axes: "Axes", form: Form) -> None:
    """The evidence as it grew, in per cent of what is needed."""
    curves = [("if every arm keeps its mean", form["evidence"], style.BLACK, "-")]  # no arm has it
    if form["drift_proof"] is not None:
        curves.append(("whatever the drift", form["drift_proof"], style.GREY, "-."))
    top = 100.0
    for label, found, color, line in curves:
        x = _x(found["path"])
        axes.plot(x, found["path"]["percent"], color=color, linestyle=line, label=label)
        top = max(top, *found["path"]["percent"])
    axes.axhline(100.0, **LIMIT, label=f"needed for δ = {form['delta']:g}")
    doubted = form["guarantee"] == "doubted"
    said = "(plain means are doubtful: see the report)" if doubted else "that the leader is the best arm"
    axes.set(ylabel="% of the evidence needed", ylim=(0.0, (1.25 + 0.1 * len(curves)) * top), title=f"Evidence {said}")
    axes.legend(loc="upper left")
    _x_axis(axes, form["evidence"]["path"])


def ratio(axes: "Axes", form: Form) -> None:
    """The e-value of a sample-ratio mismatch as it grew."""
    found = form["sample_ratio"]
    alarm = -math.log10(found["level"])
    axes.plot(_x(form["evidence"]["path"]), found["log10_path"], color=style.PURPLE, label="e-value")
    axes.axhline(alarm, **LIMIT, label=f"alarm, at level {found['level']:g}")
    low, high = min(found["log10_path"]), max(*found["log10_path"], alarm)
    against = {"declared": "declared shares", "assumed": "equal shares (assumed)", "logged": "logged probabilities"}
    verdict = "MISMATCH" if found["mismatch"] else "no mismatch"
    axes.set(
        ylabel="e-value, powers of ten",
        ylim=(min(low, 0.0) - 0.5, high + 0.4 * (high - min(low, 0.0))),
        title=f"Sample ratio: {verdict} against {against[found['against']]}",
    )
    axes.legend(loc="upper left")
    _x_axis(axes, form["evidence"]["path"])


def over_time(axes: "Axes", form: Form) -> None:
    """The averages of the arms with bands, whatever the drift; without probabilities, the means of ten parts."""
    scale, title = _unit(form)
    chosen = _curves(form)
    for arm, look in zip(chosen, style.looks(len(chosen)), strict=True):
        label = _short(form["arms"][arm]["arm"])
        if form["drift_proof"] is None:
            ends, parts = form["drift"]["parts_end_after"], form["drift"]["means_by_part"]
            y = [math.nan if row[arm] is None else scale * row[arm] for row in parts]
            axes.plot(_at(form, ends), y, marker=look.marker, label=label, **look.line)
        else:
            path = form["drift_proof"]["path"]
            low, high = ([scale * row[arm][end] for row in path["bands"]] for end in (0, 1))
            axes.plot(_x(path), [scale * row[arm] for row in path["averages"]], label=label, **look.line)
            axes.fill_between(_x(path), low, high, color=look.color, **BAND)
    if form["drift_proof"] is not None:
        _set_reach(axes, form, chosen, scale)
    drifted = "a drift was observed" if form["drift"]["drifted"] else "no drift was observed"
    what = "Means of the tenths of the log" if form["drift_proof"] is None else "Averages so far, with bands"
    axes.set(ylabel=title, title=f"{what} ({drifted})")
    axes.legend(loc="best")
    _x_axis(axes, form["evidence"]["path"], logarithmic=form["drift_proof"] is not None)


def _set_reach(axes: "Axes", form: Form, chosen: Sequence[int], scale: float) -> None:
    """Show the bands from the middle of the log on; before, they are too wide to show anything else."""
    bands = form["drift_proof"]["path"]["bands"]
    ends = [scale * end for row in bands[len(bands) // 2 :] for arm in chosen for end in row[arm]]
    room = 0.25 * (max(ends) - min(ends)) or scale
    axes.set_ylim(min(ends) - room, max(ends) + room)


# --- axes -------------------------------------------------------------------------------------------------------


def _unit(form: Form) -> tuple[float, str]:
    """The unit of rewards, and the title of their axis."""
    return (100.0, "mean reward, % of trials") if form["family"]["kind"] == "bernoulli" else (1.0, "mean reward")


def _chosen(form: Form) -> list[Form]:
    """The arms that fit, those with the most trials."""
    return [form["arms"][arm] for arm in largest([arm["trials"] for arm in form["arms"]])]


def _curves(form: Form) -> list[int]:
    """The numbers of the arms that have a curve, those with the most trials."""
    order = sorted(range(len(form["arms"])), key=lambda arm: -form["arms"][arm]["trials"])
    return sorted(order[:MAX_CURVES])


def _colors(form: Form) -> dict[Any, str]:
    """The colour of every arm that has a curve, the same in all panels."""
    chosen = _curves(form)
    return {form["arms"][arm]["arm"]: look.color for arm, look in zip(chosen, style.looks(len(chosen)), strict=True)}


def _short(label: Any) -> str:
    text = str(label).replace("$", r"\$")  # else Matplotlib takes it for mathematics
    return text if len(text) <= MAX_LABEL else f"{text[: MAX_LABEL - 1]}…"


def _arms_axis(axes: "Axes", arms: Sequence[Form]) -> None:
    axes.set_yticks(range(len(arms)), [_short(arm["arm"]) for arm in arms])
    axes.set_ylim(len(arms) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")


def _x(path: Form) -> list[Any]:
    """Times, as dates or numbers; without any, trials."""
    return path["trials"] if path["times"] is None else [_date(time) for time in path["times"]]


def _date(time: Any) -> Any:
    return datetime.fromisoformat(time) if isinstance(time, str) else time


def _at(form: Form, trials: Sequence[int]) -> list[Any]:
    """Where some numbers of trials are on the axis: at the first look that is not before them."""
    path = form["evidence"]["path"]
    if path["times"] is None:
        return list(trials)
    places = [next((i for i, seen in enumerate(path["trials"]) if seen >= trial), -1) for trial in trials]
    return [_date(path["times"][place]) for place in places]


def _x_axis(axes: "Axes", path: Form, logarithmic: bool = True) -> None:
    if path["times"] is None:
        style.trials_axis(axes, logarithmic and path["trials"][-1] > 10 * path["trials"][0])
        axes.set_xlabel("trials")
    elif isinstance(path["times"][0], str):
        style.date_axis(axes)
        axes.set_xlabel("time (UTC)")
    else:
        axes.set_xlabel("time")
