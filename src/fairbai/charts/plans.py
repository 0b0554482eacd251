"""Charts of a plan: what floors cost in trials, and the shares of the arms."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairbai.allocation import solve
from fairbai.charts.colors import BLACK, BLUE, GREY, ORANGE, VERMILLION
from fairbai.charts.look import Figure, arms_axis, axis, figure, largest, limit_trace, percent, shown
from fairbai.planning import Plan
from fairbai.planning.outlook import estimate_of
from fairbai.planning.plan import HEURISTIC
from fairbai.problems.rates import Bounded, Constant, Overlapping, Rate

POINTS = 33  # of the curve
FEW_POINTS = 9  # with structure, where a solution takes much longer
MAX_SCALE = 2.0  # of floors that may overlap, if they allow as much


def figures(found: Plan) -> dict[str, Figure]:
    """The price over the floor, and the shares of the arms."""
    return {"price": price_figure(found), "allocation": allocation_figure(found)}


def price_figure(found: Plan) -> Figure:
    """Expected trials over the floor, with a marker at the floor that was chosen."""
    scale = _Scale.of(found.instance.rates, found.instance.means.size)
    curve = [] if scale is None else _curve(found, scale)
    here = 0.0 if scale is None else percent(scale.chosen)
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": [percent(x) for x, *_ in curve],
            "y": [factor * row[column] for row in curve],
            "line": {"color": color, "width": 2, "dash": dash},
            "hovertemplate": "%{y:,.0f} trials",
        }
        for name, column, color, dash, factor in (
            ("proved stop", 1, BLUE, "solid", found.outlook.scale),
            ("heuristic stop", 2, GREY, "dash", found.stops[HEURISTIC].scale),
        )
    ]
    data.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "this plan",
            "x": [here],
            "y": [found.expected],
            "marker": {"color": VERMILLION, "size": 12, "symbol": "diamond"},
            "hoverinfo": "skip",  # the curve has the same point
        }
    )
    title = "Floor (% of trials)" if scale is None else scale.title
    x = axis(title, rangemode="tozero", hoverformat=".1f")
    return figure(data, x, axis("Expected trials", rangemode="tozero", tickformat=",.0f"))


def allocation_figure(found: Plan) -> Figure:
    """The optimal share of every arm beside its floor and its ceiling, and beside its share without them."""
    drawn = largest(found.shares.tolist())
    names = shown([str(found.labels[arm]) for arm in drawn])

    def column(values: Any) -> list[float]:
        return [percent(float(values[arm])) for arm in drawn]

    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": "with the floors",
            "x": names,
            "y": column(found.shares),
            "marker": {"color": BLUE},
            "hovertemplate": "%{x}: %{y:.1f} %",
        },
        {
            "type": "bar",
            "name": "without floors",
            "x": names,
            "y": column(found.free.weights),
            "marker": {"color": ORANGE, "pattern": {"shape": "/"}},
            "hovertemplate": "%{x}: %{y:.1f} %",
        },
        limit_trace("floor", names, column(found.fair.floors), BLACK),
    ]
    if bool((found.fair.ceilings < 1.0).any()):
        data.append(limit_trace("ceiling", names, column(found.fair.ceilings), VERMILLION))
    y = axis("Share of trials (%)", rangemode="tozero")
    return figure(data, arms_axis(len(found.labels)), y, barmode="group")


@dataclass(frozen=True)
class _Scale:
    """How floors are made larger and smaller for the curve.

    Attributes:
        rates: The rates that were chosen.
        chosen: Where they are on the axis.
        end: Where the axis ends.
        title: Of the axis.
    """

    rates: Rate
    chosen: float
    end: float
    title: str

    @classmethod
    def of(cls, rates: Rate, arms: int) -> "_Scale | None":
        """None for rates that have no size."""
        if hasattr(rates, "p0"):
            return cls(rates, float(rates.p0), 1.0, "Sum of the floors (% of trials)")
        if not isinstance(rates, Constant):
            return None
        if isinstance(rates, Overlapping):
            return cls(rates, 1.0, MAX_SCALE, "Floors (% of those in this plan)")
        floors = rates.floors(np.zeros(arms))
        if floors.min() == floors.max():
            return cls(rates, float(floors[0]), 1.0 / arms, "Floor of each arm (% of trials)")
        return cls(rates, float(floors.sum()), 1.0, "Sum of the floors (% of trials)")

    def at(self, x: float, arms: int) -> Rate:
        """The rates at a place on the axis."""
        if not isinstance(self.rates, Constant):
            return replace(self.rates, p0=x)  # type: ignore[call-arg]
        if isinstance(self.rates, Overlapping):
            return self.rates.scaled(x)
        floors = self.rates.floors(np.zeros(arms))
        scaled = np.full(arms, x) if floors.min() == floors.max() else floors * (x / self.chosen)
        if isinstance(self.rates, Bounded):  # floors cannot be above ceilings
            return replace(self.rates, floor=np.minimum(scaled, self.rates.limits(arms).ceilings))
        return Constant(scaled)


def _curve(found: Plan, scale: _Scale) -> list[tuple[float, float, float]]:
    """Places on the axis, with the expected trials of the proved and of the heuristic stop."""
    arms, points = found.instance.means.size, FEW_POINTS if found.instance.family.structured else POINTS
    chosen, near = min(scale.chosen, scale.end), 1e-6 * scale.end
    others = np.linspace(0.0, scale.end * (1.0 - 1e-9), points).tolist()
    places = sorted([chosen, *(place for place in others if abs(place - chosen) > near)])
    rules = (found.stopping, found.stops[HEURISTIC].stopping)
    estimates = [estimate_of(found.instance, rule, found.delta) for rule in rules]
    curve = []
    for place in places:
        try:
            instance = found.instance.with_rates(scale.at(place, arms))
        except ValueError:  # what the other limits do not allow
            continue
        fair = solve(instance)
        proved, heuristic = (estimate(instance, fair) for estimate in estimates)
        if math.isfinite(proved + heuristic):
            curve.append((place, proved, heuristic))
    return curve
