"""At the edge of a tolerance: wrong answers where the runner-up is just too far below the best, and ties that end.

The runner-up is 1.0001 times the tolerance below the best, so that naming it is wrong by a hair. Equal arms are all
right answers, and no number of trials would tell them apart: there the question is whether an experiment ends.
"""

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbai.allocation import solve
from fairbai.charts import style
from fairbai.problems import Bernoulli, Gaussian, Instance
from fairbai.problems.checks import Array
from fairbai.problems.question import Goal, Tolerance
from fairbai.reproduction.past.section import Picture, Section, Table
from fairbai.simulation import simulate
from fairbai.simulation.progress import progress_bar
from fairbai.simulation.summary import clopper_pearson, mean_and_ci95
from fairbai.stopping import DesignBased, Mixture, StoppingRule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DELTA = 0.1
OVER = 1.0001  # how far the runner-up is below the best, in tolerances
ARMS = (2, 3, 5)
MAXIMUM_ROUNDS = 1_000_000
BEST = {"Bernoulli": 0.5, "Gaussian": 2.0}
TOLERANCES: dict[str, tuple[Tolerance, Tolerance]] = {"Bernoulli": (0.1, "20%"), "Gaussian": (0.5, "25%")}
LEAST, CONTROL, UNKNOWN = "the least", "control", "unknown variances"  # questions other than the best arm


@dataclass(frozen=True)
class Case:
    """Arms at the edge of a tolerance, or equal arms, and a stop.

    ``asked`` is empty for the best arm; with ``CONTROL`` the runner-up is the control.
    """

    family: str
    arms: int
    tolerance: Tolerance
    stop: str
    tied: bool
    asked: str = ""

    @property
    def instance(self) -> Instance:
        """The best, the runner-up, and others that are worse step by step; or as many arms like the best."""
        goal: Goal = "min" if self.asked == LEAST else "max"
        best, part = BEST[self.family], self.tolerance
        below = OVER * (float(part[:-1]) / 100.0 * best if isinstance(part, str) else float(part or 0.0))
        steps = np.zeros(self.arms) if self.tied else np.append(0.0, 1.0 + 0.25 * np.arange(self.arms - 1))
        below = -below if goal == "min" else below
        gaussian = Gaussian(None, guess=1.0) if self.asked == UNKNOWN else Gaussian()
        family = Bernoulli() if self.family == "Bernoulli" else gaussian
        control = 1 if self.asked == CONTROL else None
        return Instance(best - below * steps, family, 0.5 / self.arms, part, goal, control)

    @property
    def rule(self) -> StoppingRule:
        """The stop, as a planner would tune it."""
        if self.stop == "design-based":
            return DesignBased.for_instance(self.instance, DELTA)
        return Mixture.for_trials(8.0 * solve(self.instance).characteristic_time, DELTA, self.arms)

    @property
    def name(self) -> str:
        """In words."""
        kind = f"{self.tolerance}".replace("%", " %")
        return f"{self.family}, {kind}, {self.stop}" + (f", {self.asked}" if self.asked else "")


def cases(tied: bool) -> list[Case]:
    """Both families, kinds of tolerance and stops (the design-based one is for Bernoulli arms), 2, 3 and 5 arms.

    Other questions are asked of Gaussian arms. Of equal arms only the control is right, so that it is left out.
    """
    found = []
    for family, stop in (("Bernoulli", "mixture"), ("Gaussian", "mixture"), ("Bernoulli", "design-based")):
        found += [Case(family, arms, part, stop, tied) for part, arms in itertools.product(TOLERANCES[family], ARMS)]
    asked = (LEAST, UNKNOWN) if tied else (LEAST, CONTROL, UNKNOWN)
    part = TOLERANCES["Gaussian"][0]
    return found + [Case("Gaussian", arms, part, "mixture", tied, one) for one, arms in itertools.product(asked, ARMS)]


@dataclass(frozen=True)
class Outcome:
    """What became of the runs of a case."""

    case: Case
    runs: int
    ended: int
    wrong: int
    trials: float
    width: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the probability of a wrong answer."""
        return clopper_pearson(self.wrong, self.runs)

    @property
    def time(self) -> float:
        """T*_ε."""
        return solve(self.case.instance).characteristic_time


def outcome(case: Case, runs: int, seed: int) -> Outcome:
    """Simulate a case, with the default sampling rule of its stop."""
    found = simulate(
        case.instance,
        DELTA,
        stopping=case.rule,
        runs=runs,
        seed=seed,
        maximum_rounds=MAXIMUM_ROUNDS,
        progress=False,
    )
    wrong = int((~found.censored & ~found.correct).sum())
    return Outcome(case, runs, int((~found.censored).sum()), wrong, *mean_and_ci95(found.stopping_time[:, 0]))


def section(runs: int, seed: int, progress: bool) -> Section:
    """The section; errors have ``10 * runs`` runs each, ties ``2 * runs``."""
    return written(*simulated(10 * runs, 2 * runs, seed, progress))


def simulated(many: int, few: int, seed: int, progress: bool) -> tuple[list[Outcome], list[Outcome]]:
    """``many`` runs of every case at the edge, and ``few`` of every tie."""
    found: dict[bool, list[Outcome]] = {False: [], True: []}
    chosen = [*cases(False), *cases(True)]
    with progress_bar(len(chosen), progress, unit="cases") as bar:
        for case in chosen:
            found[case.tied].append(outcome(case, few if case.tied else many, seed))
            bar.update(1)
    return found[False], found[True]


def written(edge: list[Outcome], ties: list[Outcome]) -> Section:
    """The section about these runs."""
    return Section(
        name="tolerance",
        title="At the edge of a tolerance",
        findings=_findings(edge, ties),
        tables=[_error_table(edge), _tie_table(ties)],
        pictures=[
            Picture(
                "tolerance-errors",
                "Wrong answers at the edge of the tolerance",
                f"Wrong answers in % where the runner-up is {OVER:g} tolerances below the best, with 95 % intervals; "
                f"δ = {DELTA:g} is the vertical line.",
                _figure(edge),
            )
        ],
    )


def _findings(edge: list[Outcome], ties: list[Outcome]) -> list[str]:
    worst = max(edge, key=lambda one: one.wrong / one.runs)
    ended, runs = sum(one.ended for one in ties), sum(one.runs for one in ties)
    ratios = {
        stop: [one.trials / one.time for one in ties if one.case.stop == stop] for stop in ("mixture", "design-based")
    }
    spans = " and ".join(f"{min(found):.1f} to {max(found):.1f} ({stop})" for stop, found in ratios.items())
    return [
        f"With the runner-up {OVER:g} tolerances below the best, at most {worst.wrong / worst.runs:.2%} of "
        f"{worst.runs:,} runs name a wrong arm in any of {len(edge)} cases ({worst.case.name}, {worst.case.arms} arms; "
        f"at most {worst.interval[1]:.2%} with 95 % confidence, and δ = {DELTA:.0%}).",
        f"Exact ties end: {ended:,} of {runs:,} runs of {len(ties)} cases, after {spans} times T*_ε trials. "
        "log((K - 1)/δ) + 2 is "
        + ", ".join(f"{np.log((arms - 1) / DELTA) + 2.0:.1f} for K = {arms}" for arms in ARMS)
        + ".",
    ]


def _trials(one: Outcome) -> str:
    digits = 1 if one.trials < 100.0 else 0
    return f"{one.trials:.{digits}f} ± {one.width:.{digits}f}"


def _error_table(edge: list[Outcome]) -> Table:
    rows = [
        [
            one.case.name,
            f"{one.case.arms}",
            " ".join(f"{mean:.4g}" for mean in one.case.instance.means),
            f"{one.runs}",
            f"{one.wrong}",
            "{:.2f} ({:.2f} to {:.2f})".format(*(100.0 * part for part in (one.wrong / one.runs, *one.interval))),
            f"{one.runs - one.ended}",
            _trials(one),
            f"{one.time:.1f}",
        ]
        for one in edge
    ]
    header = ["case", "arms", "means", "runs", "wrong", "wrong in %", "without an answer", "trials", "T*"]
    title = f"The runner-up {OVER:g} tolerances below the best, δ = {DELTA:g}, floors 1/(2K); 95 % intervals"
    return Table("tolerance_errors", title, header, rows)


def _tie_table(ties: list[Outcome]) -> Table:
    rows = [
        [
            one.case.name,
            f"{one.case.arms}",
            f"{one.runs}",
            f"{one.ended}",
            _trials(one),
            f"{one.time:.1f}",
            f"{one.trials / one.time:.2f}",
        ]
        for one in ties
    ]
    header = ["case", "arms", "runs", "ended", "trials", "T*", "trials over T*"]
    return Table("tolerance_ties", f"Arms that are all equal, δ = {DELTA:g}, floors 1/(2K)", header, rows)


@style.applied()
def _figure(edge: list[Outcome]) -> "Figure":
    names = list(dict.fromkeys(one.case.name for one in edge))
    figure, (axes,) = style.panels(style.TWO_COLUMNS, 0.8 + 0.33 * len(names))
    for shift, arms, look in zip((-0.22, 0.0, 0.22), ARMS, style.looks(len(ARMS)), strict=True):
        chosen = [one for one in edge if one.case.arms == arms]
        places = [names.index(one.case.name) + shift for one in chosen]
        _draw_errors(axes, chosen, np.array(places), look, f"{arms} arms")
    axes.axvline(100.0 * DELTA, color=style.VERMILLION, linestyle="--", label="δ")
    axes.set_xlim(0.0, 105.0 * DELTA)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("wrong answers in %")
    style.legend_below(figure, axes, len(ARMS) + 1)
    return figure


def _draw_errors(axes: "Axes", found: list[Outcome], places: Array, look: style.Look, label: str) -> None:
    rate = np.array([100.0 * one.wrong / one.runs for one in found])
    low, high = 100.0 * np.array([one.interval for one in found]).T
    width = np.maximum([rate - low, high - rate], 0.0)
    marks: dict[str, Any] = {
        "color": look.color,
        "marker": look.marker,
        "markersize": 3.5,
        "linestyle": "none",
        "elinewidth": 0.8,
    }
    axes.errorbar(rate, places, xerr=width, label=label, clip_on=False, **marks)
