"""Small δ: trials relative to T log(1/δ) down to δ = 1e-300, for every rule that claims to be optimal in the limit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairbai.allocation import solve
from fairbai.charts import style
from fairbai.planning.expected import Forecast
from fairbai.problems import Bernoulli, Exponential, Instance, Poisson, rates
from fairbai.problems.checks import Array
from fairbai.reproduction.past.section import Picture, Section, Table
from fairbai.reproduction.studies import MAXIMUM_ROUNDS
from fairbai.sampling import FairTopTwo, FairTrackAndStop, SamplingRule, TopTwo, TrackAndStop
from fairbai.simulation import simulate
from fairbai.simulation.progress import progress_bar
from fairbai.simulation.summary import mean_and_ci95
from fairbai.stopping import Heuristic, Mixture, StoppingRule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELTAS = (1e-1, 1e-3, 1e-10, 1e-30, 1e-100, 1e-300)
NEAR = 0.03

INSTANCES: dict[str, Instance] = {
    "kink, three arms": Instance([1.0, 0.0, 0.0], floors=[0.0, 0.0, 0.3]),
    "kink, five arms": Instance([1.44, 0.64, 0.1, 0.09, 0.09], floors=[0.0, 0.25, 0.22, 0.11, 0.21]),
    "best arm at its floor": Instance([1.5, 0.6, 0.0], floors=[0.6, 0.05, 0.2]),
    "arms without a floor": Instance([2.0, 1.0, 0.8, 0.0], floors=[0.0, 0.0, 0.25, 0.3]),
    "Bernoulli": Instance([0.9, 0.4, 0.3], Bernoulli(), rates.Constant([0.2, 0.1, 0.3])),
    "Poisson": Instance([4.0, 2.0, 1.0], Poisson(), rates.Constant([0.2, 0.1, 0.3])),
    "exponential": Instance([4.0, 1.0, 0.5], Exponential(), rates.Constant([0.3, 0.1, 0.3])),
    "floors from the means": Instance([1.5, 0.75, 0.0], rates=rates.Softmax(0.6)),
    "kink, more arms free": Instance([1.26, 0.4, 0.39, 0.23, 0.08], floors=[0.16, 0.23, 0.0, 0.0, 0.12]),
}

CLOSE = Instance([0.5, 0.2, 0.0], rates=rates.Gap(0.6))
"""Here the estimated floors, times the trials, jump by more than the margin of FairTopTwo; see docs/optimality.md."""

RULES: dict[str, SamplingRule] = {
    "FairTopTwo": FairTopTwo(),
    "F-TaS": FairTrackAndStop(),
    "F-TaS tracked": FairTrackAndStop(tracking="cumulative", start="policy"),
    "TaS": TrackAndStop(),
    "TaS cumulative": TrackAndStop(tracking="cumulative"),
    "TopTwo": TopTwo(),
}


@dataclass(frozen=True, eq=False)
class Curve:
    """Mean trials of a rule relative to T log(1/δ), for every δ.

    Attributes:
        time: T*_p for the fair rules, T* for the others.
        ratio: Mean trials over T log(1/δ).
        ci95: Half the width of its 95 % interval.
        explained: Mean trials over the trials at which t/T crosses the heuristic threshold.
    """

    time: float
    ratio: Array
    ci95: Array
    explained: Array


def limit_time(instance: Instance, rule: SamplingRule) -> float:
    """The T of T log(1/δ): T*_p if the rule is fair, T* if it ignores floors."""
    asked = instance if rule.converges_to == "fair" else instance.with_rates(None)
    return solve(asked).characteristic_time


def curve(
    instance: Instance,
    rule: SamplingRule,
    stopping: StoppingRule,
    runs: int,
    seed: int = 0,
    deltas: tuple[float, ...] = DELTAS,
) -> Curve:
    """Simulate a rule for all δ at once: one run answers every δ."""
    time = limit_time(instance, rule)
    found = simulate(instance, deltas, rule, stopping, runs=runs, seed=seed, maximum_rounds=MAXIMUM_ROUNDS)
    over = found.stopping_time / (time * -np.log(deltas))
    ratio, ci95 = np.array([mean_and_ci95(column) for column in over.T]).T
    crossings = np.array([Forecast(instance, Heuristic(), delta).trials(time) for delta in deltas])
    return Curve(time, ratio, ci95, found.stopping_time.mean(axis=0) / crossings)


def section(runs: int, seed: int = 0, progress: bool = False) -> Section:
    """Simulate all rules for small δ, and describe how close they come to the optimum."""
    curves: dict[str, dict[str, Curve]] = {name: {} for name in INSTANCES}
    proved: dict[str, Curve] = {}
    with progress_bar(len(INSTANCES) * (len(RULES) + 1), progress, unit="curves") as bar:
        for name, instance in INSTANCES.items():
            for label, rule in RULES.items():
                curves[name][label] = curve(instance, rule, Heuristic(), runs, seed)
                bar.update(1)
            proved[name] = curve(instance, RULES["FairTopTwo"], Mixture(), runs, seed)
            bar.update(1)
    close = curve(CLOSE, RULES["FairTopTwo"], Heuristic(), runs, seed, DELTAS[-1:])
    return Section(
        name="optimality",
        title="Small δ: how close the rules come to the optimum",
        findings=[*findings(curves, proved), about_close_means(close)],
        tables=(_rules_table(curves), _deltas_table(curves, proved)),
        pictures=(
            Picture(
                name="optimality",
                title="Trials relative to T log(1/δ)",
                caption="Mean trials with the heuristic threshold, relative to T*ₚ log(1/δ) for the fair rules and to "
                f"T* log(1/δ) for the others, with 95 % intervals. The grey band is {NEAR:.0%} around 1.",
                figure=draw(curves),
            ),
        ),
    )


def findings(curves: Mapping[str, Mapping[str, Curve]], proved: Mapping[str, Curve]) -> list[str]:
    """The results at the smallest δ."""
    ours = {name: float(row["FairTopTwo"].ratio[-1]) for name, row in curves.items()}
    far = [
        f"{rule} with {name} ({row[rule].ratio[-1]:.3f})"
        for rule in RULES
        for name, row in curves.items()
        if abs(row[rule].ratio[-1] - 1.0) > NEAR and row[rule].ci95[-1] < 0.5 * NEAR  # else it may be chance
    ]
    mixture = [float(one.ratio[-1]) for one in proved.values()]
    explained = [float(row["FairTopTwo"].explained[-1]) for row in curves.values()]
    sentences = [
        f"At δ = 1e-300 FairTopTwo takes {min(ours.values()):.3f} to {max(ours.values()):.3f} times T*ₚ log(1/δ) "
        f"trials on {len(ours)} instances: at kinks, with the best arm at its floor, with arms that have no floor, for "
        "every family, and with floors that depend on the means.",
        f"It takes {min(explained):.3f} to {max(explained):.3f} times the number of trials at which t/T*ₚ crosses the "
        "threshold log((1 + log t)/δ).",
        f"With the mixture threshold, which is proved, it takes {min(mixture):.3f} to {max(mixture):.3f} times "
        "T*ₚ log(1/δ); the excess is the log t of the threshold itself.",
    ]
    if far:
        sentences.append(
            f"More than {NEAR:.0%} from their limit at 1e-300: {', '.join(far)}. Rules that track the sum of all past "
            "policies lag behind the current estimate, and some explore more; as far as we can see, the cost of both "
            "falls like 1/√log(1/δ)."
        )
    return sentences


def about_close_means(close: Curve) -> str:
    """How FairTopTwo does where floors depend on means that are close."""
    means = ", ".join(f"{mean:g}" for mean in CLOSE.means)
    told = (
        f"With the close means ({means}) and floors that depend on their gaps, FairTopTwo takes {close.ratio[0]:.3f} "
    )
    told += f"± {close.ci95[0]:.3f} times T*ₚ log(1/δ) trials at 1e-300."
    return told


def _rules_table(curves: Mapping[str, Mapping[str, Curve]]) -> Table:
    rows = []
    for name, row in curves.items():
        cells = [f"{row[rule].ratio[-1]:.3f} ± {row[rule].ci95[-1]:.3f}" for rule in RULES]
        rows.append([name, f"{row['FairTopTwo'].time:.2f}", f"{row['TaS'].time:.2f}", *cells])
    title = "Trials relative to T log(1/δ) at δ = 1e-300, heuristic threshold (fair rules: T*ₚ; TaS and TopTwo: T*)"
    return Table("optimality_rules", title, ["instance", "T*ₚ", "T*", *RULES], rows)


def _deltas_table(curves: Mapping[str, Mapping[str, Curve]], proved: Mapping[str, Curve]) -> Table:
    rows = []
    for name, row in curves.items():
        ours = row["FairTopTwo"]
        for what, values in (
            ("heuristic", ours.ratio),
            ("heuristic, relative to the crossing", ours.explained),
            ("mixture", proved[name].ratio),
        ):
            rows.append([name, what, *(f"{value:.3f}" for value in values)])
    title = "Trials of FairTopTwo relative to T*ₚ log(1/δ), and to the crossing of t/T*ₚ and the heuristic threshold"
    return Table("optimality_deltas", title, ["instance", "threshold", *(f"δ = {delta:g}" for delta in DELTAS)], rows)


_LOOKS = {
    **{name: style.ALGORITHMS[name] for name in ("FairTopTwo", "F-TaS", "F-TaS tracked", "TaS")},
    "TaS cumulative": style.Look(style.VERMILLION, "P", "-.", ""),
    "TopTwo": style.Look(style.BLACK, "x", ":", ""),
}


@style.applied()
def draw(curves: Mapping[str, Mapping[str, Curve]]) -> "Figure":
    """One panel per instance, one line per rule."""
    figure, axes = style.panels(style.TWO_COLUMNS, 6.4, 3, 3, sharex=True, sharey=True)
    places = -np.log10(DELTAS)
    for panel, (name, row) in zip(axes, curves.items(), strict=True):
        panel.axhspan(1.0 - NEAR, 1.0 + NEAR, color=style.GREY, alpha=0.3, linewidth=0.0)
        for rule, look in _LOOKS.items():
            found = row[rule]
            panel.errorbar(places, found.ratio, found.ci95, label=rule, marker=look.marker, elinewidth=0.8, **look.line)
        panel.set_xscale("log")
        panel.set_xticks(places, [f"{place:g}" for place in places], minor=False)
        panel.minorticks_off()
        style.log_axis(panel)
        panel.set_yticks([1.0, 1.1, 1.2, 1.5, 2.0], ["1", "1.1", "1.2", "1.5", "2"])
        panel.set_title(name)
    for panel in axes[6:]:
        panel.set_xlabel(r"$\log_{10}(1/\delta)$")
    for panel in axes[::3]:
        panel.set_ylabel(r"trials / $T\,\log(1/\delta)$")
    style.legend_below(figure, axes[0], 6)
    return figure
