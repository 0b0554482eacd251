"""What a proof costs: trials of every proved stopping rule over those of the heuristic, and errors where they lurk."""

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairbai.reproduction.adversary import fooled
from fairbai.problems import Bernoulli, Exponential, Gaussian, Instance, Poisson
from fairbai.problems.checks import Array
from fairbai.problems.families import Family
from fairbai.reproduction import scenarios as settings
from fairbai.reproduction.past.section import Picture, Section, Table
from fairbai.reproduction.studies import DELTAS, MAXIMUM_ROUNDS, PROVED, Results
from fairbai.experiment.experiment import Experiment
from fairbai.simulation import simulate
from fairbai.simulation.scenario import truth_of
from fairbai.simulation.summary import clopper_pearson
from fairbai.stopping import Heuristic, Mixture, StoppingRule, TwoSidedMixture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KAPPAS = (0.1, 0.5, 2.0, 5.0, 15.0, 50.0, 200.0)
WRONG_BY = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
DELTA = 0.1
SHORT, LONG = 200, 10_000
"""Trials that the adversary has: few for many runs, many to bring down the heuristic."""

FAMILIES: dict[str, Instance] = {
    "Bernoulli, 0.60 0.45 0.40 0.30": Instance([0.6, 0.45, 0.4, 0.3], Bernoulli()),
    "Bernoulli, 0.08 0.04 0.04 0.02": Instance([0.08, 0.04, 0.04, 0.02], Bernoulli()),
    "Poisson, 2.0 1.4 1.0 1.0": Instance([2.0, 1.4, 1.0, 1.0], Poisson()),
    "exponential, 2.0 1.3 1.0 1.0": Instance([2.0, 1.3, 1.0, 1.0], Exponential()),
}
FOR_ALL: dict[str, StoppingRule] = {
    "mixture": Mixture(),
    "two-sided mixture": TwoSidedMixture(),
}
TIED: dict[str, tuple[Family, float]] = {
    "Gaussian": (Gaussian(), 0.0),
    "Bernoulli, mean 0.3": (Bernoulli(), 0.3),
    "Poisson, mean 1": (Poisson(), 1.0),
    "exponential, mean 1": (Exponential(), 1.0),
}


def section(results: Results, runs: int, seed: int, progress: bool) -> Section:
    """The section: the paper's settings from ``results``, the rest simulated here.

    With ``runs`` runs for the other families, a fifth of them for a point of a curve, and a hundred times as many for
    the errors.
    """
    ratios, heuristic = _paper_ratios(results)
    families = {name: _ratios(instance, runs, seed) for name, instance in FAMILIES.items()}
    curves = _curves(heuristic, max(2, runs // 5), seed)
    errors = _errors(100 * runs, 10 * runs, seed)
    return Section(
        name="proved-stopping",
        title="Proved and cheap to stop",
        findings=_findings(ratios, families, curves, errors),
        tables=[_paper_table(ratios, heuristic), _family_table(families), _error_table(errors)],
        pictures=[
            Picture(
                "proved_stopping_kappa",
                "Trials by kappa, and by a guess of the trials",
                "Mean trials with FairTopTwo over those of the heuristic, averaged over the eight settings of the "
                "paper's tables: by kappa (left), and for kappa from a guess of the trials that is wrong by a factor "
                "(right).",
                _draw(curves),
            )
        ],
    )


def _paper_ratios(results: Results) -> tuple[dict[str, Array], Array]:
    """Mean trials of FairTopTwo with every proved rule over the heuristic's, a row a setting and a column a delta."""
    names = [one.name for one in settings.table_settings()]
    heuristic = [results.ours.runs(name, "FairTopTwo", "heuristic", False).stopping_time.mean(axis=0) for name in names]
    below = np.array(heuristic)
    found = {
        rule: np.array([results.proved.runs(name, "FairTopTwo", rule).stopping_time.mean(axis=0) for name in names])
        for rule in PROVED
    }
    return {rule: above / below for rule, above in found.items()}, below


def _mean_trials(instance: Instance, rule: StoppingRule, runs: int, seed: int, deltas: tuple[float, ...]) -> Array:
    found = simulate(instance, deltas, stopping=rule, runs=runs, seed=seed, maximum_rounds=MAXIMUM_ROUNDS)
    mean: Array = found.stopping_time.mean(axis=0)
    return mean


def _ratios(instance: Instance, runs: int, seed: int) -> dict[str, Array]:
    """The same for another family: the heuristic's mean trials, and those of the rules over them."""
    below = _mean_trials(instance, Heuristic(), runs, seed, DELTAS)
    found = {name: _mean_trials(instance, rule, runs, seed, DELTAS) / below for name, rule in FOR_ALL.items()}
    return {"heuristic": below} | found


@dataclass(frozen=True)
class Curves:
    """Trials over the heuristic's, a row a kappa or a factor by which the guess is wrong, a column a delta."""

    mixture: Array
    two_sided: Array
    guess: Array


def _curves(heuristic: Array, runs: int, seed: int) -> Curves:
    instances = [one.instance for one in settings.table_settings()]
    deltas = (DELTAS[0], DELTAS[-1])

    def average(rules: list[StoppingRule]) -> Array:
        pairs = zip(rules, instances, heuristic[:, [0, -1]], strict=True)
        ratios = np.array([_mean_trials(one, rule, runs, seed, deltas) / below for rule, one, below in pairs])
        mean: Array = ratios.mean(axis=0)
        return mean

    def guessed(factor: float, column: int) -> float:
        # The right guess is what the rule takes: half as many trials again as the heuristic.
        guesses = 1.5 * factor * heuristic[:, column]
        rules: list[StoppingRule] = [
            Mixture.for_trials(max(1.0, guess), DELTAS[column], one.means.size)
            for guess, one in zip(guesses, instances, strict=True)
        ]
        return float(average(rules)[0 if column == 0 else 1])

    count = len(instances)
    return Curves(
        np.array([average([Mixture(kappa)] * count) for kappa in KAPPAS]),
        np.array([average([TwoSidedMixture(kappa)] * count) for kappa in KAPPAS]),
        np.array([[guessed(factor, column) for column in (0, len(DELTAS) - 1)] for factor in WRONG_BY]),
    )


@dataclass(frozen=True)
class Error:
    """How many runs named the wrong one of two equal arms."""

    family: str
    rule: str
    trials: int
    runs: int
    wrong: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the error probability."""
        return clopper_pearson(self.wrong, self.runs)


def _errors(many: int, few: int, seed: int) -> list[Error]:
    rules: dict[str, StoppingRule] = {"heuristic": Heuristic(), "mixture": Mixture()}
    found = [
        Error(family, name, SHORT, many, wrong_answers(*TIED[family], rule, many, SHORT, seed))
        for family, (name, rule) in itertools.product(TIED, rules.items())
    ]
    return found + [
        Error("Gaussian", name, LONG, few, wrong_answers(*TIED["Gaussian"], rule, few, LONG, seed))
        for name, rule in rules.items()
    ]


def wrong_answers(family: Family, mean: float, rule: StoppingRule, runs: int, trials: int, seed: int = 0) -> int:
    """How often an adversary brings a rule (delta = 0.1) to name the arm that he wants, of two with the same mean."""
    one = Experiment(2, family, stopping=rule, seed=seed)
    answers = np.empty(runs, dtype=np.int64)
    before = one.state.copy(), one.scalars.copy()
    fooled(one.arrays, before, truth_of(Instance([mean, mean], family)), rule.level(DELTA, 2), trials, answers)
    return int((answers == 1).sum())


def _paper_table(ratios: dict[str, Array], heuristic: Array) -> Table:
    rows = [
        [one.title, f"{delta:g}", f"{heuristic[row, column]:.0f}"]
        + [f"{ratio[row, column]:.2f}" for ratio in ratios.values()]
        for row, one in enumerate(settings.table_settings())
        for column, delta in enumerate(DELTAS)
    ]
    rows += [
        ["mean of the eight", f"{delta:g}", ""] + [f"{ratio[:, column].mean():.2f}" for ratio in ratios.values()]
        for column, delta in enumerate(DELTAS)
    ]
    title = "Trials of FairTopTwo with proved rules, over those with the heuristic"
    return Table("proved_stopping", title, ["setting", "δ", "heuristic, trials", *ratios], rows)


def _family_table(families: dict[str, dict[str, Array]]) -> Table:
    rows = [
        [name, f"{delta:g}", f"{found['heuristic'][column]:.0f}"] + [f"{found[rule][column]:.2f}" for rule in FOR_ALL]
        for name, found in families.items()
        for column, delta in enumerate(DELTAS)
    ]
    title = "The same for other families, without floors"
    return Table("proved_stopping_families", title, ["arms", "δ", "heuristic, trials", *FOR_ALL], rows)


def _error_table(errors: list[Error]) -> Table:
    rows = [
        [
            one.family,
            one.rule,
            f"{one.trials}",
            f"{one.runs}",
            f"{one.wrong / one.runs:.4f}",
            "{:.4f} to {:.4f}".format(*one.interval),
        ]
        for one in errors
    ]
    title = "Errors of two equal arms for δ = 0.1, trials chosen by an adversary who knows the means"
    header = ["arms", "rule", "trials at most", "runs", "wrong answers", "95 % interval"]
    return Table("proved_stopping_errors", title, header, rows)


def _findings(
    ratios: dict[str, Array], families: dict[str, dict[str, Array]], curves: Curves, errors: list[Error]
) -> list[str]:
    means = {rule: ratio.mean(axis=0) for rule, ratio in ratios.items()}
    mixture, two_sided, pairs = means["mixture"], means["two-sided mixture"], means["Kaufmann-Koolen, pairs"]
    gains = [1.0 - found["mixture"][0] / found["two-sided mixture"][0] for found in families.values()]
    right = WRONG_BY.index(1.0)
    costs = {factor: curves.guess[WRONG_BY.index(factor), 0] / curves.guess[right, 0] - 1.0 for factor in (0.1, 10.0)}
    worst = max((one for one in errors if one.rule == "mixture"), key=lambda one: one.wrong / one.runs)
    control = next(one for one in errors if one.rule == "heuristic" and one.trials == LONG)
    verdict = "above" if control.interval[0] > DELTA else "not shown to be above"
    return [
        f"A proof costs {100 * (mixture[0] - 1):.0f}, {100 * (mixture[1] - 1):.0f} and {100 * (mixture[2] - 1):.0f} % "
        f"more trials than the heuristic for δ = 0.1, 0.01 and 0.001, on average over the eight settings of the "
        f"paper's tables. With the two-sided mixture it would be {100 * (two_sided[0] - 1):.0f}, "
        f"{100 * (two_sided[1] - 1):.0f} and {100 * (two_sided[2] - 1):.0f} %, and {pairs[0]:.1f} times as many "
        f"trials for δ = 0.1 with the threshold of Kaufmann and Koolen for pairs.",
        f"For Bernoulli, Poisson and exponential arms the mixture takes {100 * min(gains):.0f} to "
        f"{100 * max(gains):.0f} % fewer trials than the two-sided one (δ = 0.1).",
        f"A guess of the trials that is ten times too small costs {100 * costs[0.1]:.0f} %, one that is ten times too "
        f"large {100 * costs[10.0]:.0f} % more trials than the right one (δ = 0.1).",
        f"An adversary who knows that two arms are equal brings the mixture to an error of at most "
        f"{worst.wrong / worst.runs:.3f} for δ = 0.1 ({worst.family}, {worst.runs} runs), and the heuristic to "
        f"{control.wrong / control.runs:.3f} in {LONG} trials, which is {verdict} δ.",
    ]


def _draw(curves: Curves) -> "Figure":
    from fairbai.charts import style

    with style.applied():
        figure, (left, right) = style.panels(style.TWO_COLUMNS, 2.6, 1, 2, sharey=True)
        looks = {"mixture": (curves.mixture, style.BLUE, "o"), "two-sided": (curves.two_sided, style.ORANGE, "s")}
        for (name, (values, color, marker)), (column, line) in itertools.product(looks.items(), enumerate(("-", "--"))):
            delta = DELTAS[0 if column == 0 else -1]
            label = f"{name}, $\\delta = {delta:g}$"
            left.plot(KAPPAS, values[:, column], color=color, marker=marker, linestyle=line, label=label)
        for column, line in enumerate(("-", "--")):
            right.plot(WRONG_BY, curves.guess[:, column], color=style.BLUE, marker="o", linestyle=line)
        for axes, words in ((left, r"$\kappa$"), (right, "guess of the trials, over the right one")):
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
            axes.set_xlabel(words)
        left.set_ylabel("trials over those of the heuristic")
        style.legend_below(figure, left, 4)
    return figure
