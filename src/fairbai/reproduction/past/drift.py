"""Traffic that changes: errors of stopping rules under drift, and what a stop that survives it costs without.

An answer is wrong if another arm was better on average until the decision; a run without an answer is not wrong.
docs/drift.md explains what is compared.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbai.charts import style
from fairbai.reproduction.past.drift_cases import ARMS, STATIONARY, Case, Stationary, cases
from fairbai.reproduction.past.section import Picture, Section, Table
from fairbai.simulation import simulate
from fairbai.simulation.progress import progress_bar
from fairbai.simulation.summary import clopper_pearson
from fairbai.stopping import ChanceToWin, DesignBased, Heuristic, Mixture, StoppingRule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DELTA = 0.05
OURS = "design-based"
STOPS: dict[str, Callable[[int, int], StoppingRule]] = {
    OURS: lambda trials, arms: DesignBased.for_trials(trials, DELTA, arms),
    "mixture": lambda trials, arms: Mixture.for_trials(trials, DELTA, arms),
    "heuristic": lambda trials, arms: Heuristic(),
    "chance to win": lambda trials, arms: ChanceToWin(0.95),
}
LOOKS = {
    OURS: style.Look(style.BLUE, "o", "-", ""),
    "mixture": style.Look(style.ORANGE, "s", "--", ""),
    "heuristic": style.Look(style.GREEN, "^", "-.", ""),
    "chance to win": style.Look(style.VERMILLION, "D", ":", ""),
}


@dataclass(frozen=True)
class Errors:
    """How many runs of a stop in a case gave a wrong answer, and how many any."""

    case: Case
    stop: str
    runs: int
    wrong: int
    answered: int

    @property
    def rate(self) -> float:
        """The share of wrong answers among all runs."""
        return self.wrong / self.runs

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the error probability."""
        return clopper_pearson(self.wrong, self.runs)


def errors(case: Case, stop: str, runs: int, seed: int) -> Errors:
    """Simulate a stop, with its default sampling rule, tuned to the trials of the case."""
    rule = STOPS[stop](case.trials, case.instance.means.size)
    found = simulate(
        case.instance,
        DELTA,
        stopping=rule,
        runs=runs,
        seed=seed,
        maximum_rounds=case.trials,
        progress=False,
        drift=case.drift,
    )
    answered = ~found.censored
    wrong = answered if case.any_answer else answered & ~found.correct
    return Errors(case, stop, runs, int(wrong.sum()), int(answered.sum()))


# --- without drift ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What the design-based stop takes without drift."""

    setting: Stationary
    runs: int
    trials: float
    error: float
    wrong: int

    @property
    def ratio(self) -> tuple[float, float]:
        """Relative to F-TaS with the tuned mixture, and its standard error."""
        value = self.trials / self.setting.before
        relative = math.hypot(self.error / self.trials, self.setting.error / self.setting.before)
        return value, value * relative


def cost(setting: Stationary, runs: int, seed: int) -> Cost:
    """Simulate the stop that is tuned to the instance, with the default sampling rule."""
    rule = DesignBased.for_instance(setting.instance, setting.delta)
    found = simulate(setting.instance, setting.delta, stopping=rule, runs=runs, seed=seed, progress=False)
    trials = found.stopping_time[:, 0]
    spread = float(trials.std(ddof=1)) / math.sqrt(runs) if runs > 1 else math.nan
    return Cost(setting, runs, float(trials.mean()), spread, int((~found.correct).sum()))


# --- the section ------------------------------------------------------------------------------------------------------


def section(runs: int, seed: int, progress: bool) -> Section:
    """Errors under drift, and the cost of surviving it where there is none.

    The design-based stop has ``10 * runs`` runs; the others, which err much more often, half of ``runs``.
    """
    chosen, found = cases(), []
    with progress_bar(len(chosen) * len(STOPS) + len(STATIONARY), progress, unit="cells") as bar:
        for case in chosen:
            for stop in STOPS:
                found.append(errors(case, stop, 10 * runs if stop == OURS else max(2, runs // 2), seed))
                bar.update(1)
        costs = []
        for setting in STATIONARY:
            costs.append(cost(setting, 2 * runs, seed))
            bar.update(1)
    return written(found, costs)


def written(found: list[Errors], costs: list[Cost]) -> Section:
    """The section about these runs."""
    plain, equal = ([one for one in found if one.case.any_answer == which] for which in (False, True))
    return Section(
        name="drift",
        title="Traffic that changes",
        findings=_findings(plain, equal, costs),
        tables=[
            _error_table("drift_errors", f"Wrong answers in % under drift, δ = {DELTA:g}", plain),
            _error_table("drift_equal", f"Answers in % of arms that are equal all the time, δ = {DELTA:g}", equal),
            _cost_table(costs),
        ],
        pictures=[
            Picture(
                "drift-errors",
                "Wrong answers under drift",
                f"Wrong answers in % for each drift and stop, with 95 % intervals; δ = {DELTA:g} is the vertical line. "
                "The scale is linear below 0.1 %.",
                _figure(plain),
            )
        ],
    )


def _findings(plain: list[Errors], equal: list[Errors], costs: list[Cost]) -> list[str]:
    worst = {stop: max((one for one in plain if one.stop == stop), key=lambda one: one.rate) for stop in STOPS}
    above = {stop: [one for one in plain + equal if one.stop == stop and one.interval[0] > DELTA] for stop in STOPS}
    count = len({(one.case.arms, one.case.name) for one in plain + equal})
    most = max((one for one in equal if one.stop == OURS), key=lambda one: one.rate)
    others = [stop for stop in STOPS if stop != OURS]
    ratios = ", ".join(f"{one.ratio[0]:.2f} ± {one.ratio[1]:.2f}" for one in costs)
    return [
        f"The design-based stop errs in at most {worst[OURS].rate:.2%} of {worst[OURS].runs:,} runs under any drift "
        f"(δ = {DELTA:.0%}; {_where(worst[OURS])}). It is significantly above δ in {len(above[OURS])} of {count} "
        "cases.",
        "The others are significantly above δ in "
        + ", ".join(f"{len(above[stop])} ({stop})" for stop in others)
        + " of the cases. At worst they err in "
        + ", ".join(f"{worst[stop].rate:.0%} ({stop}: {_where(worst[stop])})" for stop in others)
        + " of the runs.",
        "Where all arms are equal, and every answer counts as wrong because an adversary who sees the evidence makes "
        f"the named arm worse by a hair, the design-based stop answers in at most {most.rate:.2%} of {most.runs:,} "
        f"runs ({_where(most)}).",
        f"Without drift it takes {ratios} times (± standard error) as many trials as F-TaS with a mixture tuned to the "
        f"instance, on {len(costs)} instances, with {sum(one.wrong for one in costs)} wrong answers in "
        f"{sum(one.runs for one in costs):,} runs. F-TaS was measured once, with FairTrackAndStop() and "
        "Mixture.for_trials at commit dc2934d; the mixture is not proved under drift.",
    ]


def _where(one: Errors) -> str:
    return f"{one.case.arms}, {one.case.name}"


def _percent(one: Errors) -> str:
    low, high = one.interval
    return f"{100 * one.rate:.2f} ({100 * low:.2f} to {100 * high:.2f})"


def _rows(found: list[Errors]) -> dict[tuple[str, str], dict[str, Errors]]:
    rows: dict[tuple[str, str], dict[str, Errors]] = {}
    for one in found:
        rows.setdefault((one.case.arms, one.case.name), {})[one.stop] = one
    return rows


def _error_table(name: str, title: str, found: list[Errors]) -> Table:
    rows = [
        [arms, drift, f"{by[OURS].runs}", f"{by['mixture'].runs}"]
        + [_percent(by[stop]) for stop in STOPS]
        + [f"{100.0 * by[OURS].answered / by[OURS].runs:.1f}"]
        for (arms, drift), by in _rows(found).items()
    ]
    header = ["arms", "drift", f"runs, {OURS}", "runs, others", *STOPS, f"answered in %, {OURS}"]
    return Table(name, title, header, rows)


def _cost_table(costs: list[Cost]) -> Table:
    rows = [
        [
            " ".join(f"{mean:g}" for mean in one.setting.means),
            f"{one.setting.floor:g}",
            f"{one.setting.delta:g}",
            f"{one.setting.before:,.0f} ± {one.setting.error:.0f}",
            f"{one.setting.runs}",
            f"{one.trials:,.0f} ± {one.error:.0f}",
            f"{one.runs}",
            "{:.3f} ± {:.3f}".format(*one.ratio),
            f"{one.wrong}",
        ]
        for one in costs
    ]
    title = "Trials without drift, ± standard error: F-TaS with a tuned mixture (measured at dc2934d), design-based"
    header = ["means", "floors", "δ", "F-TaS, mixture", "runs of F-TaS", OURS, "runs", "ratio", "wrong answers"]
    return Table("drift_cost", title, header, rows)


@style.applied()
def _figure(found: list[Errors]) -> "Figure":
    figure, axes = style.panels(style.TWO_COLUMNS, 4.2, 1, len(ARMS), sharey=True, sharex=True)
    names = list(dict.fromkeys(one.case.name for one in found))
    for panel, arms in zip(axes, ARMS, strict=True):
        _panel(panel, names, {drift: by for (name, drift), by in _rows(found).items() if name == arms})
        panel.set_title(arms)
        panel.set_xlabel("wrong answers in %")
    style.legend_below(figure, axes[0], len(STOPS))
    return figure


def _panel(panel: "Axes", names: list[str], rows: dict[str, dict[str, Errors]]) -> None:
    places = np.array([names.index(name) for name in rows])
    for shift, stop in zip((-0.27, -0.09, 0.09, 0.27), STOPS, strict=True):
        cells = [by[stop] for by in rows.values()]
        rate = np.array([100.0 * one.rate for one in cells])
        low, high = 100.0 * np.array([one.interval for one in cells]).T
        width = np.maximum([rate - low, high - rate], 0.0)
        look = LOOKS[stop]
        marks: dict[str, Any] = {
            "color": look.color,
            "marker": look.marker,
            "markersize": 3.0,
            "linestyle": "none",
            "elinewidth": 0.8,
        }
        panel.errorbar(rate, places + shift, xerr=width, label=stop, clip_on=False, **marks)
    panel.axvline(100.0 * DELTA, color=style.BLACK, linewidth=0.8)
    panel.set_xscale("symlog", linthresh=0.1)
    panel.set_xlim(0.0, 100.0)
    panel.set_xticks([0.0, 0.1, 1.0, 10.0, 100.0], ["0", "0.1", "1", "10", "100"])
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.5, -0.5)
