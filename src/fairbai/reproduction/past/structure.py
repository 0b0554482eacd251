"""Structured arms: a multivariate test with floors for levels, what it saves, and what a missing interaction does."""

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbai.allocation import price_of_fairness, solve
from fairbai.charts import style
from fairbai.identifier import Identifier
from fairbai.problems import Factorial, Gaussian, Instance, Linear, factorial
from fairbai.problems.checks import Array
from fairbai.reproduction.past.section import Picture, Section, Table
from fairbai.sampling import SamplingRule, UniformFair
from fairbai.simulation import Runs, simulate
from fairbai.simulation.progress import progress_bar
from fairbai.simulation.summary import mean_and_ci95
from fairbai.stopping import LinearMixture, Mixture, StoppingRule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELTA = 0.05
MAXIMUM_ROUNDS = 1_000_000
FACTORS = {"headline": ["old", "new", "bold"], "picture": ["cat", "dog", "none"], "button": ["buy", "try"]}
EFFECTS = {"headline": (0.4, 0.0, -0.4), "picture": (0.4, 0.0, -0.4), "button": (0.2, -0.2)}
LEVEL_FLOORS = {"headline": 0.25, "picture": 0.25, "button": 0.4}
ANGLE, DIMENSIONS = 0.3, 5
MISFITS = (0.0, 0.5, -0.5, -0.7, -1.2)  # what the best headline with the best picture earns beyond their effects
MAX_TRIALS = 6_000  # of an experiment with a missing interaction
POINTS = 21
AHEAD = 10.0  # trials that a planner expects, in T*


@cache
def design() -> Factorial:
    """Three headlines, three pictures and two buttons."""
    return factorial(FACTORS)


def means() -> Array:
    """One per combination: the sum of the effects of its levels."""
    found = np.zeros(len(design().arms))
    for factor, effects in EFFECTS.items():
        for level, effect in zip(FACTORS[factor], effects, strict=True):
            found[design().group(factor, level)] += effect
    return found


def soft_cut() -> Instance:
    """The standard hard case of linear bandits: a rival almost parallel to the best arm, which a third arm tells apart.

    The unit vectors and one at a small angle to the first; θ is twice the first. (Soare, Lazaric and Munos, 2014.)
    """
    close = np.zeros(DIMENSIONS)
    close[:2] = math.cos(ANGLE), math.sin(ANGLE)
    features = np.vstack([np.eye(DIMENSIONS), close])
    return Instance(2.0 * features[:, 0], Linear(features))


@dataclass(frozen=True)
class Case:
    """A way to run the test."""

    name: str
    instance: Instance
    sampling: SamplingRule | None = None

    @property
    def time(self) -> float:
        """T*, of the instance."""
        return solve(self.instance).characteristic_time

    @property
    def rule(self) -> StoppingRule:
        """The stop, as a planner would tune it."""
        trials, family = AHEAD * self.time, self.instance.family
        if isinstance(family, Linear):
            return LinearMixture.for_trials(trials, DELTA, family)
        return Mixture.for_trials(trials, DELTA, self.instance.means.size)

    def simulated(self, runs: int, seed: int) -> Runs:
        """Runs until the proved stop."""
        return simulate(
            self.instance,
            DELTA,
            self.sampling,
            self.rule,
            runs=runs,
            seed=seed,
            maximum_rounds=MAXIMUM_ROUNDS,
            progress=False,
        )


def cases() -> list[Case]:
    """The multivariate test and the soft cut, with and without structure, floors and adaptation."""
    values, levels = means(), design().rates(LEVEL_FLOORS)
    cut = soft_cut()
    return [
        Case("3 × 3 × 2, structured", Instance(values, design())),
        Case("3 × 3 × 2, structured, floors for levels", Instance(values, design(), levels)),
        Case("3 × 3 × 2, structured, equal shares", Instance(values, design()), UniformFair()),
        Case("3 × 3 × 2, unrelated arms", Instance(values, Gaussian())),
        Case("3 × 3 × 2, unrelated arms, equal shares", Instance(values, Gaussian()), UniformFair()),
        Case("soft cut, structured", cut),
        Case("soft cut, structured, floors of 5 %", cut.with_rates(0.05)),
        Case("soft cut, structured, equal shares", cut, UniformFair()),
        Case("soft cut, unrelated arms", Instance(cut.means, Gaussian())),
    ]


@dataclass(frozen=True)
class Misfit:
    """What became of experiments whose best headline and picture do not add up.

    Attributes:
        beyond: What the two earn together beyond their effects.
        runs: The experiments.
        decided: Those that decided within ``MAX_TRIALS``.
        wrong: Those that named a wrong combination.
        doubted: Those with a doubt about the fit before or at the decision, or by the end.
        proved_wrong: Those that named a wrong combination and called it proved.
        trials: The median of the trials until the doubt or, without one, until the end.
    """

    beyond: float
    runs: int
    decided: int
    wrong: int
    doubted: int
    proved_wrong: int
    trials: float


def misfit(beyond: float, runs: int, seed: int) -> Misfit:
    """Run experiments on main effects alone while two levels interact."""
    values = means()
    pair = sorted(set(design().group("headline", "old")) & set(design().group("picture", "cat")))
    values[pair] += beyond
    decided = wrong = doubted = proved_wrong = 0
    trials, rule = [], Case("", Instance(means(), design())).rule
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        one = Identifier(len(values), DELTA, design(), stopping=rule, settle=False, seed=run, max_trials=MAX_TRIALS)
        with _without_warnings():
            while not one.stopped:
                arm = one.ask()
                one.tell(arm, rng.normal(values[arm]))
        doubts = [doubt for doubt in one.procedure.doubts.listed(one.arms) if doubt.kind == "fit"]
        error = one.decided and values[one.recommendation] < values.max() - 1e-9
        decided += one.decided
        wrong += bool(error)
        doubted += bool(doubts)
        proved_wrong += bool(error and not doubts)
        trials.append(doubts[0].trial if doubts else one.trials)
    return Misfit(beyond, runs, decided, wrong, doubted, proved_wrong, float(np.median(trials)))


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Doubts are what is looked for here, and counted: no warning for each."""
    log = logging.getLogger("fairbai")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def section(runs: int, seed: int, progress: bool) -> Section:
    """The section; experiments with a missing interaction are ``runs // 10`` of each kind, as they run in Python."""
    chosen, few = cases(), max(2, runs // 10)
    found: list[tuple[Case, Runs]] = []
    misfits: list[Misfit] = []
    with progress_bar(len(chosen) + len(MISFITS), progress, unit="cases") as bar:
        for case in chosen:
            found.append((case, case.simulated(runs, seed)))
            bar.update(1)
        for beyond in MISFITS:
            misfits.append(misfit(beyond, few, seed))
            bar.update(1)
    return written(found, misfits)


def written(found: list[tuple[Case, Runs]], misfits: list[Misfit]) -> Section:
    """The section about these runs."""
    return Section(
        name="structure",
        title="Structured arms: a multivariate test",
        findings=_findings(found, misfits),
        tables=[_table(found), _misfit_table(misfits)],
        pictures=[
            Picture(
                "structure-price",
                "The price of floors under structure",
                "T* with floors relative to T* without, solved exactly. Left: the 3 × 3 × 2 test with the same floor "
                "for every headline and every picture, and with floors of a sixth of that for every combination, taken "
                "as structured and as unrelated arms. Right: the soft cut with one floor for all arms.",
                _figure(),
            )
        ],
    )


# --- findings and tables ------------------------------------------------------------------------------------------


def _trials(found: list[tuple[Case, Runs]], name: str) -> tuple[float, float]:
    return next(mean_and_ci95(runs.stopping_time[:, 0]) for case, runs in found if case.name == name)


def _findings(found: list[tuple[Case, Runs]], misfits: list[Misfit]) -> list[str]:
    test = {part: _trials(found, f"3 × 3 × 2, {part}")[0] for part in ("structured", "unrelated arms")}
    equal = {part: _trials(found, f"3 × 3 × 2, {part}, equal shares")[0] for part in ("structured", "unrelated arms")}
    fair = _trials(found, "3 × 3 × 2, structured, floors for levels")[0]
    cut = {case.name.removeprefix("soft cut"): _trials(found, case.name)[0] for case, _ in found if "cut" in case.name}
    wrong = sum(int((~runs.correct & ~runs.censored).sum()) for _, runs in found)
    total = sum(len(runs) for _, runs in found)
    price = price_of_fairness(Instance(means(), design(), design().rates(LEVEL_FLOORS))).ratio
    levels = ", ".join(f"{name} {100.0 * floor:g} %" for name, floor in LEVEL_FLOORS.items())
    missed = [one for one in misfits if one.beyond != 0.0]
    return [
        f"As six effects instead of 18 unrelated arms the 3 × 3 × 2 test takes "
        f"{test['unrelated arms'] / test['structured']:.2f} times fewer trials; with equal shares, as multivariate "
        f"tests are usually run, {equal['unrelated arms'] / equal['structured']:.2f} times fewer. Compared with equal "
        f"shares of unrelated arms, adaptive sampling with structure takes "
        f"{equal['unrelated arms'] / test['structured']:.1f} times fewer.",
        f"Floors for all levels ({levels}) have a price of {price:.3f} in the bound and take "
        f"{fair / test['structured']:.3f} times the trials.",
        f"The soft cut takes {cut[', structured']:.0f} trials, with floors of 5 % "
        f"{cut[', structured, floors of 5 %']:.0f}, with equal shares {cut[', structured, equal shares']:.0f}, and as "
        f"unrelated arms {cut[', unrelated arms']:.0f}.",
        f"All stops are proved; {wrong} of {total:,} answers are wrong (δ = {DELTA:g}).",
        f"With an interaction that the model lacks, {sum(one.wrong for one in missed)} of "
        f"{sum(one.runs for one in missed)} experiments name a wrong combination; "
        f"{sum(one.doubted for one in missed)} are doubted in time, and {sum(one.proved_wrong for one in missed)} "
        f"wrong answers are called proved. Without an interaction {misfits[0].doubted} of {misfits[0].runs} are "
        "doubted.",
    ]


def _table(found: list[tuple[Case, Runs]]) -> Table:
    rows = []
    for case, runs in found:
        trials, width = mean_and_ci95(runs.stopping_time[:, 0])
        errors = int((~runs.correct & ~runs.censored).sum())
        rows.append([case.name, f"{case.time:.1f}", f"{trials:.0f} ± {width:.0f}", f"{errors} of {len(runs)}"])
    header = ["case", "T* (the bound)", "trials", "wrong answers"]
    return Table("structure_trials", f"Trials until the proved stop, δ = {DELTA:g}; 95 % intervals", header, rows)


def _misfit_table(misfits: list[Misfit]) -> Table:
    rows = [
        [
            f"{one.beyond:+g}",
            f"{one.runs}",
            f"{one.decided}",
            f"{one.wrong}",
            f"{one.doubted}",
            f"{one.proved_wrong}",
            f"{one.trials:.0f}",
        ]
        for one in misfits
    ]
    header = ["beyond the effects", "runs", "decided", "wrong", "doubted in time", "wrong and called proved", "trials"]
    title = f"Main effects alone, while the best headline and picture interact; δ = {DELTA:g}, {MAX_TRIALS:,} trials"
    return Table("structure_misfit", title, header, rows)


# --- figure -------------------------------------------------------------------------------------------------------


@style.applied()
def _figure() -> "Figure":
    figure, (left, right) = style.panels(style.TWO_COLUMNS, 2.9, 1, 2)
    floors = np.linspace(0.0, 0.32, POINTS)
    structured = [Instance(means(), design(), design().rates({"headline": p, "picture": p})) for p in floors]
    each = [Instance(means(), design(), float(p) / 6.0) for p in floors]
    apart = [Instance(means(), Gaussian(), float(p) / 6.0) for p in floors]
    names = ("floors for levels", "floors for combinations", "unrelated arms")
    for name, instances, look in zip(names, (structured, each, apart), style.looks(3), strict=True):
        left.plot(100.0 * floors, [price_of_fairness(one).ratio for one in instances], label=name, **_line(look))
    left.set(xlabel="floor of every headline and picture in %", ylabel="price $T^\\star_p/T^\\star$")
    cut = np.linspace(0.0, 0.16, POINTS)
    prices = [price_of_fairness(soft_cut().with_rates(float(p))).ratio for p in cut]
    right.plot(100.0 * cut, prices, **_line(style.looks(1)[0]))
    right.set(xlabel="floor of every arm of the soft cut in %", ylabel="price")
    style.legend_below(figure, left, 3)
    return figure


def _line(look: style.Look) -> dict[str, Any]:
    return {**look.line, "marker": ""}
