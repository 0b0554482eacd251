"""Earning while learning: the rules of the paper's related work beside ours, in trials, regret and floors.

All rules run with the same proved stop. A run that has no answer by the horizon is given up; one that has serves its
answer from then on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from fairbai.charts.frontier import frontier
from fairbai.planning.expected import trials_until_stop
from fairbai.problems import Instance
from fairbai.problems.rates import Constant
from fairbai.reproduction.past.earning_claims import claims
from fairbai.reproduction.past.section import Picture, Section, Table
from fairbai.reproduction.scenarios import table_scenarios
from fairbai.sampling import (
    ConstrainedEpsilonGreedy,
    ConstrainedLP,
    ExposureFair,
    FairThompson,
    FairTopTwo,
    FairTrackAndStop,
    FairUCB,
    MeritocraticChain,
    ProportionalCatchUp,
    SamplingRule,
    StochasticQuota,
    StrictQuota,
    VirtualQueues,
)
from fairbai.simulation.comparison import Comparison, RuleRow, compare_rules
from fairbai.simulation.progress import progress_bar
from fairbai.simulation.summary import clopper_pearson
from fairbai.stopping import Mixture

DELTA = 0.1
HORIZON = 4.0  # expected trials of fair top-two
EARNING = 0.75
OURS, EARNS = "FairTopTwo", f"FairTopTwo, earning {EARNING:g}"
RULES: dict[str, SamplingRule] = {
    OURS: FairTopTwo(),
    EARNS: FairTopTwo(earning=EARNING),
    "F-TaS": FairTrackAndStop(),
    "FairThompson": FairThompson(),
    "FairUCB": FairUCB(),
    "VirtualQueues": VirtualQueues(),
    "StrictQuota": StrictQuota(),
    "StochasticQuota": StochasticQuota(),
    "ConstrainedEpsilonGreedy": ConstrainedEpsilonGreedy(),
    "ConstrainedLP": ConstrainedLP(),
    "MeritocraticChain": MeritocraticChain(),
    "ProportionalCatchUp": ProportionalCatchUp(),
    "ExposureFair": ExposureFair(),
}
BERNOULLI = {
    "Bernoulli 0.5, 0.4, 0.3, floors 0.1": Instance([0.5, 0.4, 0.3], "bernoulli", 0.1),
    "Bernoulli 0.9, 0.8, 0.6, 0.5, floors 0.02": Instance([0.9, 0.8, 0.6, 0.5], "bernoulli", 0.02),
    "Bernoulli 0.3, 0.2, 0.2, 0.1, 0.1, floors 0.1": Instance([0.3, 0.2, 0.2, 0.1, 0.1], "bernoulli", 0.1),
}
UNTIL = ("rule", "trials", "regret", "regret at the horizon")
HEADER = (*UNTIL, "floors kept", "most behind", "promise kept", "wrong", "no answer")


@dataclass(frozen=True)
class Standing:
    """A rule over all settings, relative to fair top-two (geometric means of the ratios)."""

    rule: str
    trials: float
    regret: float
    horizon_regret: float
    kept: dict[str, int]
    behind: float
    promises: list[bool]
    wrong: int
    answers: int
    unanswered: float


@cache
def settings() -> dict[str, Instance]:
    """The eight of the paper's tables, and three with Bernoulli arms."""
    return {scenario.title: scenario.instance for scenario in table_scenarios()} | BERNOULLI


def section(runs: int, seed: int, progress: bool) -> Section:
    """The section; every rule has ``runs // 5`` runs in every setting, and at least two."""
    count = max(2, runs // 5)
    return written(compared(count, seed, progress), claims(max(2, runs // 10), seed), count)


def compared(runs: int, seed: int, progress: bool) -> dict[str, Comparison]:
    """All rules in every setting."""
    found = {}
    with progress_bar(len(settings()), progress, unit="settings") as bar:
        for title, instance in settings().items():
            horizon = int(HORIZON * trials_until_stop(instance, Mixture(), DELTA))
            found[title] = compare_rules(instance, RULES, horizon, DELTA, Mixture(), runs, seed, progress=False)
            bar.update(1)
    return found


def written(found: dict[str, Comparison], checked: Sequence[Sequence[str]], runs: int) -> Section:
    """The section of these comparisons and claims."""
    standings = [_standing(rule, found, runs) for rule in RULES]
    tables = [
        Table("earning", f"Twelve rules and a knob: means over {len(found)} settings", HEADER, _overall(standings)),
        Table("earning_claims", "What the papers claim, and what was found", ("claim", "found", "holds"), checked),
        Table("earning_settings", "In every setting", ("setting", *_names(found)), _each(found)),
    ]
    shown = [*found][:2] + [*found][-2:]  # two of the paper's, two with Bernoulli arms
    caption = (
        "Mean regret and mean trials until a proved answer, with 95 % intervals. Markers say how the floors were kept; "
        "arrows had runs without an answer."
    )
    figure = frontier({title: found[title] for title in shown})
    picture = Picture("earning", "Regret against trials", caption, figure)
    return Section(
        "earning", "Earning while learning: regret against trials", _findings(found, standings), tables, [picture]
    )


def _standing(rule: str, found: dict[str, Comparison], runs: int) -> Standing:
    rows, ours = [_row(one, rule) for one in found.values()], [_row(one, OURS) for one in found.values()]

    def ratio(name: str) -> float:
        pairs = [(getattr(row, name), getattr(own, name)) for row, own in zip(rows, ours, strict=True)]
        return float(np.exp(np.mean([np.log(mine / theirs) for mine, theirs in pairs])))

    answers = [round(runs * (1.0 - row.unanswered)) for row in rows]
    wrong = sum(round(count * row.error_rate) for count, row in zip(answers, rows, strict=True) if count)
    words = ("always", "on average", "no")
    return Standing(
        rule=rule,
        trials=ratio("trials"),
        regret=ratio("regret"),
        horizon_regret=ratio("horizon_regret"),
        kept={word: sum(row.kept == word for row in rows) for word in words},
        behind=max(row.behind for row in rows),
        promises=[row.promise_kept for row in rows if row.promise_kept is not None],
        wrong=wrong,
        answers=sum(answers),
        unanswered=float(np.mean([row.unanswered for row in rows])),
    )


def _row(one: Comparison, rule: str) -> RuleRow:
    return next(row for row in one.rows if row.rule == rule)


def _overall(standings: Sequence[Standing]) -> list[list[str]]:
    rows = []
    for one in standings:
        more = "> " if one.unanswered else ""
        low, high = clopper_pearson(one.wrong, one.answers) if one.answers else (0.0, 1.0)
        rows.append(
            [
                one.rule,
                f"{more}× {one.trials:.2f}",
                f"{more}× {one.regret:.2f}",
                f"× {one.horizon_regret:.2f}",
                ", ".join(f"{word} in {count}" for word, count in one.kept.items() if count),
                f"{one.behind:,.1f}",
                f"in {sum(one.promises)} of {len(one.promises)}" if one.promises else "-",
                f"{one.wrong} of {one.answers:,} ({low:.1%} to {high:.1%})",
                f"{one.unanswered:.1%}",
            ]
        )
    return rows


def _names(found: dict[str, Comparison]) -> list[str]:
    first = next(iter(found.values()))
    return ["horizon", *(name if "regret in" not in name else "regret at the horizon" for name in first.header())]


def _each(found: dict[str, Comparison]) -> list[list[str]]:
    return [[title, f"{one.horizon:,}", *row.cells()] for title, one in found.items() for row in one.rows]


def _findings(found: dict[str, Comparison], standings: Sequence[Standing]) -> list[str]:
    by = {one.rule: one for one in standings}
    earns = by[EARNS]
    best = [one.frontier()[0].rule for one in found.values() if len(one.frontier()) == 1]
    parts = ", ".join(f"{rule} in {best.count(rule)}" for rule in sorted(set(best), key=lambda rule: -best.count(rule)))
    dominance = (
        f"Of the rules that kept the floors at all times, one has both the fewest trials and the least regret in "
        f"{len(best)} of {len(found)} settings{': ' if parts else ''}{parts}."
    )
    known = [one for title, one in found.items() if isinstance(settings()[title].rates, Constant)]
    others = [
        one
        for one in standings
        if one.rule not in (OURS, EARNS) and all(_row(each, one.rule).kept == "always" for each in known)
    ]
    rivals = "; ".join(f"{one.rule}: × {one.trials:.2f} trials, × {one.regret:.2f} regret" for one in others)
    less = [row for one in found.values() for row in one.rows if _forgoes_less(row, one)]
    return [
        f"With earning {EARNING:g}, FairTopTwo takes × {earns.trials:.2f} trials and × {earns.regret:.2f} regret until "
        f"a proved answer, compared with its default, as geometric means over {len(found)} settings; its floors hold "
        f"on every path.",
        dominance,
        f"Other rules that kept the floors at all times in all {len(known)} settings with known floors: "
        f"{rivals or 'none'}.",
        f"In {len(less)} of {len(found) * (len(RULES) - 2)} pairs of setting and other rule, the other rule forgoes "
        f"less until its answer than FairTopTwo with or without earning, beyond both intervals; in "
        f"{sum(row.kept == 'no' for row in less)} of these it did not keep the floors, not even on average, and in "
        f"{sum(row.kept == 'on average' for row in less)} only on average.",
        _promises(standings),
    ]


def _promises(standings: Sequence[Standing]) -> str:
    """Whether rules that promise floors kept what they promise."""
    promising = [one for one in standings if one.promises]
    broken = [f"{one.rule} (in {one.promises.count(False)})" for one in promising if not all(one.promises)]
    settings = max((len(one.promises) for one in promising), default=0)
    verdict = f"all but {', '.join(broken)}" if broken else f"all {len(promising)} of them"
    return (
        f"Of the rules that promise floors, on every path or on average, {verdict} kept their own promise in all "
        f"{settings} settings with known floors."
    )


def _forgoes_less(row: RuleRow, one: Comparison) -> bool:
    ours = [_row(one, name) for name in (OURS, EARNS)]
    low = min(own.regret - own.regret_ci95 for own in ours)
    return row.rule not in (OURS, EARNS) and row.regret + row.regret_ci95 < low
