"""Our best rule beside the paper's F-TaS, in each of the 24 pairs of setting and delta of the paper's two tables.

One rule with one set of constants for all of them, the paper's threshold, and the runs of the report.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairbai.reproduction.past.section import Picture, Section, Table
from fairbai.reproduction.scenarios import CONSTRAINTS, PaperSetting, table_settings
from fairbai.reproduction.studies import DELTAS, Results

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
NONE_LEFT = 2e-3  # where the figure shows a violation of 0


@dataclass(frozen=True)
class Pair:
    """A setting and a delta: the means of F-TaS, and ours over these, each with half the width of its 95 % interval."""

    setting: PaperSetting
    delta: float
    trials: float
    violation: float
    faster: tuple[float, float]
    settled: tuple[float, float]
    fairer: tuple[float, float]
    settled_fairer: tuple[float, float]
    extra: float


def section(results: Results) -> Section:
    """Trials and violation of our rule over those of F-TaS."""
    pairs = [_pair(results, setting, delta) for setting in table_settings() for delta in DELTAS]
    table = Table(
        "dominance",
        f"{RULE} over the paper's F-TaS: trials and violation at the stop, with 95 % intervals",
        HEADER,
        [_row(pair) for pair in pairs],
    )
    caption = (
        "Every point is a pair of setting and δ: mean trials and mean violation at the stop, over those of F-TaS, "
        "which is the point (1, 1). Open marks: with settling. Bars are 95 % intervals."
    )
    picture = Picture("dominance", f"{RULE} against F-TaS in 24 pairs", caption, _figure(pairs))
    return Section("dominance", "Better than F-TaS in both columns", _findings(results, pairs), [table], [picture])


def _pair(results: Results, setting: PaperSetting, delta: float) -> Pair:
    from fairbai.reproduction.run_figures import ratio

    theirs = results.paper.runs(setting.name, "F-TaS", "heuristic")
    ours, settled = (results.ours.runs(setting.name, RULE, "heuristic", settle) for settle in (False, True))
    column = theirs.deltas.index(delta)
    return Pair(
        setting,
        delta,
        float(theirs.stopping_time[:, column].mean()),
        float(theirs.violation[:, column].mean()),
        ratio(ours, theirs, "stopping_time", delta),
        ratio(settled, theirs, "stopping_time", delta),
        ratio(ours, theirs, "violation", delta),
        ratio(settled, theirs, "violation", delta),
        float(settled.stopping_time[:, column].mean() / ours.stopping_time[:, column].mean()) - 1.0,
    )


def _row(pair: Pair) -> list[str]:
    return [
        pair.setting.title,
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
    faster, fairer = np.array([pair.faster for pair in pairs]), np.array([pair.fairer for pair in pairs])
    runs = len(results.paper.runs(pairs[0].setting.name, "F-TaS", "heuristic"))
    both = int(np.sum((faster[:, 0] < 1.0) & (fairer[:, 0] < 1.0)))
    surely = int(np.sum((faster.sum(axis=1) < 1.0) & (fairer.sum(axis=1) < 1.0)))
    lines = [
        f"In {both} of the {len(pairs)} pairs {RULE} takes fewer trials than F-TaS and violates the floors less, on "
        f"average over {runs:,} runs: {1.0 - faster[:, 0].mean():.1%} fewer trials on average, from "
        f"{1.0 - faster[:, 0].max():.1%} to {1.0 - faster[:, 0].min():.1%}. In {surely} pairs both 95 % intervals "
        "exclude equality."
    ]
    for constraints, words in CONSTRAINTS.items():
        gains = [1.0 / pair.fairer[0] for pair in pairs if pair.setting.constraints == constraints]
        lines.append(f"With {words} its violation at the stop is {min(gains):.2f} to {max(gains):.2f} times lower.")
    known = [pair for pair in pairs if pair.setting.constraints == "prespecified"]
    worst = max(
        float(results.ours.runs(pair.setting.name, RULE, "heuristic", settle=True).violation.max()) for pair in known
    )
    extra = np.array([pair.extra for pair in pairs])
    settled = np.array([pair.settled[0] for pair in pairs])
    lines.append(
        f"Settling adds {extra.mean():.2%} to its trials on average ({extra.max():.2%} at most), which leaves "
        f"{1.0 - settled.mean():.1%} fewer than F-TaS; the largest violation of any run with pre-specified floors is "
        f"then {worst:g}."
    )
    return lines


def _figure(pairs: list[Pair]) -> "Figure":
    from fairbai.charts import style

    looks = {"prespecified": (style.BLUE, "o"), "theta_dependent": (style.VERMILLION, "s")}
    with style.applied():
        figure, (axes,) = style.panels(style.ONE_COLUMN * 1.4, 3.6)
        for constraints, (color, marker) in looks.items():
            chosen = [pair for pair in pairs if pair.setting.constraints == constraints]
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
        axes.set_xlabel("trials over those of F-TaS")
        axes.set_ylabel("violation over that of F-TaS")
        style.legend_below(figure, axes, 2)
    return figure
