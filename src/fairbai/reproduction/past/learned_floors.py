"""Floors that depend on the means are learned, so a violation remains at the stop: what lowers it most per extra trial.

Four ways to go on after the decision, on the paper's four settings with such floors: settling against the floors of the
decision, the same with a margin for their error, settling that goes on learning, also with margins, and a phase that
pulls the arms furthest behind for a fraction of the trials before it settles.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairbai.kernels import state as rows
from fairbai.kernels.settling.floors import settle_floors
from fairbai.problems.checks import Array
from fairbai.reproduction.past.section import Picture, Section, Table
from fairbai.reproduction.scenarios import PaperSetting, table_settings
from fairbai.reproduction.studies import DELTAS, MAXIMUM_ROUNDS
from fairbai.experiment import Settling
from fairbai.simulation import simulate
from fairbai.simulation.progress import progress_bar
from fairbai.simulation.scenario import make_setting
from fairbai.simulation.summary import mean_and_ci95
from fairbai.stopping import Heuristic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FROZEN, LEARNING, PHASE = "floors of the decision", "goes on learning", "pull-back phase, then settles"
MARGINS = (0.0, 0.125, 0.25, 0.5, 1.0)
PHASES = (0.02, 0.05, 0.1, 0.2)
SHOWN = 0.01  # the delta of the figure
COMPARED = 0.05  # extra trials at which the ways are compared, as a share of those before the decision
HEADER = ("setting", "δ", "way", "margin or phase", "extra trials", "mean violation in %", "95 % quantile in %")


@dataclass(frozen=True)
class Point:
    """One way on one setting at one delta: extra trials (a share), mean violation with its 95 % interval, quantile."""

    setting: PaperSetting
    delta: float
    way: str
    amount: float
    extra: float
    violation: float
    ci95: float
    quantile: float


def section(runs: int, seed: int, progress: bool) -> Section:
    """Extra trials against the violation that remains."""
    chosen = [setting for setting in table_settings() if setting.constraints == "theta_dependent"]
    points = []
    with progress_bar(len(chosen), progress) as bar:
        for setting in chosen:
            points += [*_settled(setting, runs, seed), *_phases(setting, runs, seed)]
            bar.update(1)
    table = Table("learned-floors", "What remains of the violation, and what it costs", HEADER, list(map(_row, points)))
    caption = (
        f"Extra trials after the decision against the violation at the stop, δ = {SHOWN:g}: mean (above) and 95 % "
        "quantile (below). Along a line the margin, or the length of the phase, grows. Crosses: without settling."
    )
    picture = Picture("learned-floors", "Extra trials against violation", caption, _figure(points, chosen))
    title = "Floors that are learned: what a margin buys"
    return Section("learned-floors", title, _findings(points, chosen, runs), [table], [picture])


def _settled(setting: PaperSetting, runs: int, seed: int) -> Iterator[Point]:
    ways: list[tuple[str, float, bool | Settling]] = [("none", 0.0, False)]
    ways += [(FROZEN, margin, Settling(margin, learn=False)) for margin in MARGINS]
    ways += [(LEARNING, margin, Settling(margin)) for margin in MARGINS]
    for way, amount, settling in ways:
        found = simulate(
            setting.instance,
            DELTAS,
            stopping=Heuristic(),
            settle=settling,
            runs=runs,
            seed=seed,
            maximum_rounds=MAXIMUM_ROUNDS,
        )
        for column, delta in enumerate(DELTAS):
            before = found.decision_time[:, column].astype(np.float64)
            after = found.stopping_time[:, column].astype(np.float64)
            yield _point(setting, delta, way, amount, before, after, found.violation[:, column])


def _phases(setting: PaperSetting, runs: int, seed: int) -> Iterator[Point]:
    """The pull-back phase, from the same decisions."""
    instance = setting.instance
    for column, delta in enumerate(DELTAS):
        cell = make_setting(instance, delta, None, Heuristic(), False, seed, MAXIMUM_ROUNDS)
        ends = [cell.at_the_decision(run).state[[rows.ASSIGNED, rows.SUM]] for run in range(runs)]
        pulls, sums = np.array(ends).transpose(1, 0, 2)
        rng = np.random.default_rng([seed, column])
        for phase, (after, violation) in zip(PHASES, _pull_back(setting, pulls, sums, rng), strict=True):
            yield _point(setting, delta, PHASE, phase, pulls.sum(axis=1), after, violation)


def _pull_back(
    setting: PaperSetting, pulls: Array, sums: Array, rng: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """Trials and violation of every run after each of PHASES, all runs at once (Gaussian arms of variance 1)."""
    instance, before = setting.instance, pulls.sum(axis=1)
    pulls, sums = pulls.copy(), sums.copy()
    for phase in PHASES:
        while True:
            (active,) = np.nonzero(pulls.sum(axis=1) < np.floor((1.0 + phase) * before))
            if active.size == 0:
                break
            now = pulls[active]
            floors = instance.rates.floors_batch(sums[active] / now)
            behind = floors * (now.sum(axis=1, keepdims=True) + 1.0) - now
            arms = behind.argmax(axis=1)
            pulls[active, arms] += 1.0
            sums[active, arms] += rng.normal(instance.means[arms])
        floors = instance.rates.floors_batch(sums / pulls)
        after = np.array([_settle(*pair) for pair in zip(pulls, floors, strict=True)])
        total = after.sum(axis=1)
        yield total, np.maximum(0.0, instance.floors - after / total[:, None]).max(axis=1)


def _settle(pulls: Array, floors: Array) -> Array:
    """The trials of every arm after settling against these floors."""
    state, scalars = np.zeros((rows.STATE_ROWS, pulls.size)), np.zeros(rows.SCALARS)
    state[rows.ASSIGNED], scalars[rows.ROUND] = pulls, pulls.sum()
    after = np.empty(pulls.size)
    settle_floors(state, scalars, floors, after)
    return after


def _point(
    setting: PaperSetting, delta: float, way: str, amount: float, before: Array, after: Array, violation: Array
) -> Point:
    extra = float(after.mean() / before.mean()) - 1.0
    mean, ci95 = mean_and_ci95(100.0 * violation)
    return Point(setting, delta, way, amount, extra, mean, ci95, float(np.quantile(100.0 * violation, 0.95)))


def _row(point: Point) -> list[str]:
    return [
        point.setting.title,
        f"{point.delta:g}",
        point.way,
        f"{point.amount:g}" if point.way != "none" else "",
        f"{point.extra:.2%}",
        f"{point.violation:.3f} ± {point.ci95:.3f}",
        f"{point.quantile:.2f}",
    ]


def _curve(points: list[Point], setting: PaperSetting, delta: float, way: str) -> list[Point]:
    """The points of a way, from no settling at all."""
    chosen = [point for point in points if point.setting is setting and point.delta == delta]
    return [point for point in chosen if point.way in ("none", way)]


def _at(curve: list[Point], extra: float) -> float:
    """The mean violation for so many extra trials, between the points."""
    return float(np.interp(extra, [point.extra for point in curve], [point.violation for point in curve]))


def _findings(points: list[Point], chosen: list[PaperSetting], runs: int) -> list[str]:
    left: dict[str, list[float]] = {way: [] for way in (FROZEN, LEARNING, PHASE)}
    for setting, delta, way in itertools.product(chosen, DELTAS, left):
        curve = _curve(points, setting, delta, way)
        left[way].append(_at(curve, COMPARED) / curve[0].violation)
    least = sum(value == min(values) for value, *values in zip(left[LEARNING], *left.values(), strict=True))
    small = [point for point in points if point.way == LEARNING and point.amount == 0.25]
    rates = [point.violation / _curve(points, point.setting, point.delta, LEARNING)[0].violation for point in small]
    return [
        f"For {COMPARED:.0%} more trials, settling that goes on learning, with a margin, leaves "
        f"{np.mean(left[LEARNING]):.2f} times the violation of the decision on average, settling against the floors of "
        f"the decision with a margin {np.mean(left[FROZEN]):.2f} times, a pull-back phase {np.mean(left[PHASE]):.2f} "
        f"times ({len(left[PHASE])} pairs of setting and δ, {runs:,} runs each). The first leaves the least in "
        f"{least} of them.",
        "So it is what the option offers, Settling(margin): a quarter of a standard error costs "
        f"{min(point.extra for point in small):.1%} to {max(point.extra for point in small):.1%} more trials and "
        f"leaves {min(rates):.2f} to {max(rates):.2f} times the violation.",
        "A margin is dear where the floors leave little: it can take only from what the search has used already.",
    ]


def _figure(points: list[Point], chosen: list[PaperSetting]) -> "Figure":
    from fairbai.charts import style

    looks = {
        FROZEN: style.Look(style.ORANGE, "s", "--", ""),
        LEARNING: style.Look(style.BLUE, "o", "-", ""),
        PHASE: style.Look(style.GREEN, "^", "-.", ""),
    }
    with style.applied():
        figure, axes = style.panels(style.TWO_COLUMNS, 4.2, 2, len(chosen), sharex="col")
        cases = itertools.product((("violation", "mean"), ("quantile", "95 % quantile")), chosen)
        for panel, ((name, words), setting) in zip(axes, cases, strict=True):
            for way, look in looks.items():
                curve = _curve(points, setting, SHOWN, way)
                extra = [100.0 * point.extra for point in curve]
                values = [float(getattr(point, name)) for point in curve]
                panel.plot(extra, values, marker=look.marker, label=way, **look.line)
            panel.plot(extra[0], values[0], "x", color=style.BLACK, markersize=6, linestyle="none")
            panel.set_ylim(bottom=0.0)
            if setting is chosen[0]:
                panel.set_ylabel(f"violation in %, {words}")
        for panel, setting in zip(axes, chosen, strict=False):
            panel.set_title(setting.title.replace(", ", ",\n"))
        for panel in axes[len(chosen) :]:
            panel.set_xlabel("extra trials in %")
        style.legend_below(figure, axes[0], 3)
    return figure
