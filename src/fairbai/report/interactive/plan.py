"""What an experiment will cost: its expected trials, the price of its floors, and the shares of its arms."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairbai.allocation import Allocation, solve
from fairbai.problems import Instance
from fairbai.problems.checks import confidence
from fairbai.problems.rates import Bounded, Constant, Rate
from fairbai.report.colors import BLACK, BLUE, GREY, ORANGE, VERMILLION
from fairbai.report.interactive.expected import trials_until_stop
from fairbai.report.interactive.look import Figure, arms_axis, axis, figure, largest, limit_trace, percent, shown
from fairbai.stopping import Heuristic, Mixture

POINTS = 33  # of the curve
LONGEST = 1e15  # trials: nobody has as many, and far more are not even numbers


@dataclass(frozen=True)
class Plan:
    """A guess of how an experiment will go.

    Attributes:
        instance: The means as they are guessed, with family and floors.
        delta: The error probability.
        labels: Of the arms.
        fair: The optimal shares with the floors.
        free: The optimal shares without any floor or other limit.
        stopping: The proved rule that suits the expected trials.
        heuristic: Expected trials with the threshold of the paper's tables, which is not proved.
        proved: Expected trials with ``stopping``.
        without_floors: Expected trials with ``stopping`` if there were no floors.
    """

    instance: Instance
    delta: float
    labels: tuple[str, ...]
    fair: Allocation
    free: Allocation
    stopping: Mixture
    heuristic: float
    proved: float
    without_floors: float


def plan(instance: Instance, delta: float, labels: Sequence[str] | None = None) -> Plan:
    """Plan an experiment.

    Example:
        >>> import fairbai as fb
        >>> found = plan(fb.Instance([0.5, 0.3], fb.Bernoulli(), fb.rates.Constant([0.8, 0.1])), delta=0.05)
        >>> found.proved > found.without_floors
        True
    """
    delta = confidence(delta)
    names = tuple(labels) if labels is not None else tuple(map(str, range(instance.means.size)))
    without = Instance(instance.means, instance.family)
    fair, free = solve(instance), solve(without)
    _check_decidable(instance, fair, free, names)
    heuristic = trials_until_stop(instance, Heuristic(), delta, fair)
    stopping = _suited(instance, heuristic, delta)
    proved = trials_until_stop(instance, stopping, delta, fair)
    without_floors = min(proved, trials_until_stop(without, stopping, delta, free))
    return Plan(instance, delta, names, fair, free, stopping, heuristic, proved, without_floors)


def _check_decidable(instance: Instance, fair: Allocation, free: Allocation, labels: tuple[str, ...]) -> None:
    best = [labels[arm] for arm in np.flatnonzero(instance.means == instance.means.max())]
    if len(best) > 1:
        raise ValueError(f"means must have a single best arm, got the same for {best[0]!r} and {best[1]!r}")
    if not free.characteristic_time < LONGEST:
        raise ValueError(
            f"means must differ by more: to tell {best[0]!r} from the others takes more than {LONGEST:g} trials, "
            f"got means from {instance.means.min()} to {instance.means.max()}"
        )
    if math.isinf(fair.characteristic_time):
        starved = labels[int(np.argmin(fair.weights))]
        raise ValueError(f"floors must leave a share for every arm: nothing is left for {starved!r}")


def _suited(instance: Instance, trials: float, delta: float) -> Mixture:
    """The proved rule for so many trials; few digits, because the guess has no more."""
    size = float(np.abs(instance.means).mean()) or 1.0
    rule = Mixture.for_trials(max(1.0, trials), delta, instance.means.size)
    prior = size if instance.family.kind in ("poisson", "exponential") else 1.0
    return Mixture(float(f"{rule.kappa:.3g}"), float(f"{prior:.3g}"))


# --- charts -----------------------------------------------------------------------------------------------------


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
            "y": [row[column] for row in curve],
            "line": {"color": color, "width": 2, "dash": dash},
            "hovertemplate": "%{y:,.0f} trials at %{x:.1f} %",
        }
        for name, column, color, dash in (("proved stop", 1, BLUE, "solid"), ("heuristic stop", 2, GREY, "dash"))
    ]
    data.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "this plan",
            "x": [here],
            "y": [found.proved],
            "marker": {"color": VERMILLION, "size": 12, "symbol": "diamond"},
            "hovertemplate": "%{y:,.0f} trials at %{x:.1f} %",
        }
    )
    title = "Floor (% of the trials)" if scale is None else scale.title
    return figure(data, axis(title, rangemode="tozero"), axis("Expected trials", rangemode="tozero", tickformat=",.0f"))


def allocation_figure(found: Plan) -> Figure:
    """The optimal share of every arm beside its floor and its ceiling, and beside its share without them."""
    drawn = largest(found.fair.weights.tolist())
    names = shown([found.labels[arm] for arm in drawn])

    def column(values: Any) -> list[float]:
        return [percent(float(values[arm])) for arm in drawn]

    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": "with the floors",
            "x": names,
            "y": column(found.fair.weights),
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
    y = axis("Share of the trials (%)", rangemode="tozero")
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
            return cls(rates, float(rates.p0), 1.0, "Sum of the floors (% of the trials)")
        if not isinstance(rates, Constant):
            return None
        floors = rates.floors(np.zeros(arms))
        if floors.min() == floors.max():
            return cls(rates, float(floors[0]), 1.0 / arms, "Floor of every arm (% of the trials)")
        return cls(rates, float(floors.sum()), 1.0, "Sum of the floors (% of the trials)")

    def at(self, x: float, arms: int) -> Rate:
        """The rates at a place on the axis."""
        if not isinstance(self.rates, Constant):
            return replace(self.rates, p0=x)  # type: ignore[call-arg]
        floors = self.rates.floors(np.zeros(arms))
        scaled = np.full(arms, x) if floors.min() == floors.max() else floors * (x / self.chosen)
        if isinstance(self.rates, Bounded):  # floors cannot be above ceilings
            return replace(self.rates, floor=np.minimum(scaled, self.rates.limits(arms).ceilings))
        return Constant(scaled)


def _curve(found: Plan, scale: _Scale) -> list[tuple[float, float, float]]:
    """Places on the axis, with the expected trials of the proved and of the heuristic stop."""
    means, family, arms = found.instance.means, found.instance.family, found.instance.means.size
    places = sorted({*np.linspace(0.0, scale.end * (1.0 - 1e-9), POINTS).tolist(), min(scale.chosen, scale.end)})
    curve = []
    for place in places:
        try:
            instance = Instance(means, family, scale.at(place, arms))
        except ValueError:  # what the other limits do not allow
            continue
        allocation = solve(instance)
        proved = trials_until_stop(instance, found.stopping, found.delta, allocation)
        if math.isfinite(proved):
            curve.append((place, proved, trials_until_stop(instance, Heuristic(), found.delta, allocation)))
    return curve
