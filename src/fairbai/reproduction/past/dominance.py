"""Our best rule against the paper's F-TaS, in each of the 24 pairs of scenario and delta of the paper's two tables.

It is one rule with one set of constants for all of them, with the paper's threshold, on the runs of the report.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairbai.reproduction.past.section import Picture, Section, Table
from fairbai.reproduction.scenarios import CONSTRAINTS, PaperScenario, table_scenarios
from fairbai.reproduction.studies import DELTAS, Results, ratio_of_means

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RULE = "FairTopTwo"
HEADER = (
    "setting",
    "δ",
    "F-TaS: trials",
    "FairTopTwo: trials",
    "settled: trials",
    "F-TaS: violation in %",
    "FairTopTwo: violation",
    "settled: violation",
)
NONE_LEFT = 2e-3  # where the figure draws a violation of 0


@dataclass(frozen=True)
class Pair:
    """One scenario and delta: the means of F-TaS, and ours relative to them.

    Relative means come with half the width of their 95 % interval.

    Attributes:
        scenario: The scenario.
        delta: The delta.
        trials: Mean trials of F-TaS.
        violation: Mean violation of F-TaS at the stop.
        faster: Our trials over those of F-TaS.
        settled: The same after settling.
        fairer: Our violation over that of F-TaS.
        settled_fairer: The same after settling.
        extra: Trials of settling over those before it.
    """

    scenario: PaperScenario
    delta: float
    trials: float
    violation: float
    faster: tuple[float, float]
    settled: tuple[float, float]
    fairer: tuple[float, float]
    settled_fairer: tuple[float, float]
    extra: float

    @property
    def better(self) -> bool:
        """Whether we take fewer trials on average and violate the floors less."""
        return self.faster[0] < 1.0 and self.fairer[0] < 1.0

    @property
    def significant(self) -> bool:
        """Whether both 95 % intervals exclude equality as well."""
        return sum(self.faster) < 1.0 and sum(self.fairer) < 1.0


def section(results: Results) -> Section:
    """Trials and violation of our rule relative to F-TaS."""
    pairs = [_pair(results, scenario, delta) for scenario in table_scenarios() for delta in DELTAS]
    table = Table(
        "dominance",
        f"Trials and violation at the stop of {RULE} relative to F-TaS, with 95 % intervals",
        HEADER,
        [_row(pair) for pair in pairs],
    )
    caption = (
        "Each point is one pair of setting and δ: mean trials and mean violation at the stop, relative to F-TaS, which "
        "is the point (1, 1). Open marks: with settling. Bars are 95 % intervals."
    )
    picture = Picture("dominance", f"{RULE} against F-TaS in {len(pairs)} pairs", caption, _figure(pairs))
    return Section("dominance", title(pairs), _findings(results, pairs), [table], [picture])


def title(pairs: Sequence[Pair]) -> str:
    """The heading, which claims no more than the runs show."""
    better, sure = sum(pair.better for pair in pairs), sum(pair.significant for pair in pairs)
    told = (
        f"all {sure} pairs" if sure == len(pairs) else f"{better} of {len(pairs)} pairs, {sure} of them significantly"
    )
    return f"{RULE} against F-TaS: fewer trials and less violation in {told}"


def _pair(results: Results, scenario: PaperScenario, delta: float) -> Pair:
    theirs = results.paper.runs(scenario.name, "F-TaS", "heuristic")
    ours, settled = (results.ours.runs(scenario.name, RULE, "heuristic", settle) for settle in (False, True))
    column = theirs.deltas.index(delta)
    return Pair(
        scenario,
        delta,
        float(theirs.stopping_time[:, column].mean()),
        float(theirs.violation[:, column].mean()),
        ratio_of_means(ours, theirs, "stopping_time", delta),
        ratio_of_means(settled, theirs, "stopping_time", delta),
        ratio_of_means(ours, theirs, "violation", delta),
        ratio_of_means(settled, theirs, "violation", delta),
        float(settled.stopping_time[:, column].mean() / ours.stopping_time[:, column].mean()) - 1.0,
    )


def _row(pair: Pair) -> list[str]:
    return [
        pair.scenario.title,
        f"{pair.delta:g}",
        f"{pair.trials:,.1f}",
        _interval(pair.faster),
        _interval(pair.settled),
        f"{100.0 * pair.violation:.3f}",
        _interval(pair.fairer, 4),
        "0" if pair.settled_fairer[0] == 0.0 else _interval(pair.settled_fairer, 4),
    ]


def _interval(found: tuple[float, float], digits: int = 3) -> str:
    return f"× {found[0]:.{digits}f} ± {found[1]:.{digits}f}"


def _findings(results: Results, pairs: list[Pair]) -> list[str]:
    saved = 1.0 - np.array([pair.faster[0] for pair in pairs])
    runs = len(results.paper.runs(pairs[0].scenario.name, "F-TaS", "heuristic"))
    lines = [
        f"On average over {runs:,} runs, {RULE} takes fewer trials than F-TaS and violates the floors less in "
        f"{sum(pair.better for pair in pairs)} of the {len(pairs)} pairs of setting and δ; it takes "
        f"{_fewer(saved.mean())} trials on average, from {_fewer(saved.min())} to {_fewer(saved.max())}. In "
        f"{sum(pair.significant for pair in pairs)} pairs both 95 % intervals exclude equality."
    ]
    for constraints, words in CONSTRAINTS.items():
        gains = [1.0 / pair.fairer[0] for pair in pairs if pair.scenario.constraints == constraints]
        lines.append(f"With {words}, F-TaS has {min(gains):.2f} to {max(gains):.2f} times its violation at the stop.")
    known = [pair for pair in pairs if pair.scenario.constraints == "prespecified"]
    worst = max(
        float(results.ours.runs(pair.scenario.name, RULE, "heuristic", settle=True).violation.max()) for pair in known
    )
    extra = np.array([pair.extra for pair in pairs])
    settled = np.array([pair.settled[0] for pair in pairs])
    lines.append(
        f"Settling adds {extra.mean():.2%} to its trials on average ({extra.max():.2%} at most), which makes "
        f"{_fewer(1.0 - settled.mean())} than F-TaS takes; the largest violation of any run with pre-specified "
        f"floors is then {worst:g}."
    )
    return lines


def _fewer(share: float) -> str:
    return f"{abs(share):.1%} {'fewer' if share >= 0.0 else 'more'}"


def _figure(pairs: list[Pair]) -> "Figure":
    from fairbai.charts import style

    looks = {"prespecified": (style.BLUE, "o"), "theta_dependent": (style.VERMILLION, "s")}
    with style.applied():
        figure, (axes,) = style.panels(style.ONE_COLUMN * 1.4, 3.6)
        for constraints, (color, marker) in looks.items():
            chosen = [pair for pair in pairs if pair.scenario.constraints == constraints]
            for settled in (False, True):
                times = np.array([pair.settled if settled else pair.faster for pair in chosen])
                broken = np.array([pair.settled_fairer if settled else pair.fairer for pair in chosen])
                axes.errorbar(
                    times[:, 0],
                    np.maximum(broken[:, 0], NONE_LEFT),
                    xerr=times[:, 1],
                    yerr=broken[:, 1],
                    color=color,
                    marker=marker,
                    linestyle="none",
                    elinewidth=0.7,
                    markerfacecolor="white" if settled else color,
                    label=CONSTRAINTS[constraints] + (", settled" if settled else ""),
                )
        axes.plot(1.0, 1.0, "*", color=style.BLACK, markersize=9, linestyle="none", label="F-TaS")
        style.log_axis(axes)
        axes.set_ylim(NONE_LEFT / 1.5, 1.5)
        marks = [NONE_LEFT, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
        axes.set_yticks(marks, ["0", *(f"{mark:g}" for mark in marks[1:])])
        axes.set_xlabel("trials relative to F-TaS")
        axes.set_ylabel("violation relative to F-TaS")
        style.legend_below(figure, axes, 2)
    return figure
