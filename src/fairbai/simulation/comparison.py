"""Rules side by side on one instance: trials to an answer, regret, and whether the floors were kept."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from fairbai.experiment.defaults import default_stopping
from fairbai.problems.checks import whole
from fairbai.problems.instance import Instance
from fairbai.problems.rates import Bounded, Constant, Overlapping
from fairbai.sampling import FairTopTwo, FairTrackAndStop, SamplingRule
from fairbai.sampling.bounds import harmonic
from fairbai.simulation.runs import Runs
from fairbai.simulation.scenario import MAX_ROUNDS, make_scenario
from fairbai.simulation.summary import NORMAL, mean_and_ci95, plus_minus
from fairbai.simulation.sweep import sweep
from fairbai.simulation.tables import aligned
from fairbai.stopping import StoppingRule

Kept = Literal["always", "on average", "no"]

EARNING, TRACKING = "fair_top_two, earning 1", "fair_track_and_stop, cumulative"
ROUNDING = 1e-9  # trials


@dataclass(frozen=True)
class RuleRow:
    """One rule on the instance. Means are over runs, with half the width of their 95 % intervals in ``..._ci95``.

    Attributes:
        rule: Its name.
        promise: What it promises of floors that are known beforehand: ``SamplingRule.fairness``.
        trials: Mean trials until the answer; runs without one count with all their trials.
        regret: Mean regret until then.
        fair_regret: The same beyond what the best fair policy forgoes.
        horizon_regret: Mean regret over the horizon; from the answer on, it is served.
        behind: The most trials by which any arm was behind its floor in any round of any run, until the answer; nan
            where groups of arms have limits, which are only looked at in the end.
        violation: Mean violation of the true floors at the stop.
        kept: Whether the floors were kept, by the same measure for all rules: "always", if ``behind`` is at most
            1 + 1/2 + ... + 1/K, about what most rules prove that are fair on every path; "on average", if the mean
            trials of every arm are at most K below its floor, as ``SamplingRule.fairness`` has it; or "no".
        promise_kept: Whether the rule kept its own promise of floors: on every path, that ``behind`` is within the
            bounds that it states; on average, as above. None if it promises nothing about these: no fairness at all,
            floors that are learned, ceilings and groups.
        error_rate: The share of wrong answers, with its interval from ``error_low`` to ``error_high``.
        unanswered: The share of runs without an answer within the horizon.
    """

    rule: str
    promise: str
    trials: float
    trials_ci95: float
    regret: float
    regret_ci95: float
    fair_regret: float
    horizon_regret: float
    horizon_regret_ci95: float
    behind: float
    violation: float
    kept: Kept
    promise_kept: bool | None
    error_rate: float
    error_low: float
    error_high: float
    unanswered: float

    def cells(self) -> list[str]:
        """The row as text."""
        more = "> " if self.unanswered else ""
        wrong = (
            "-"
            if math.isnan(self.error_rate)
            else f"{self.error_rate:.1%} [{self.error_low:.1%}, {self.error_high:.1%}]"
        )
        return [
            self.rule,
            f"{more}{self.trials:,.0f} ± {self.trials_ci95:,.0f}",
            f"{more}{plus_minus(self.regret, self.regret_ci95)}",
            plus_minus(self.horizon_regret, self.horizon_regret_ci95),
            "-" if math.isnan(self.behind) else f"{self.behind:,.1f}",
            f"{self.violation:.2%}",
            self.kept,
            "-" if self.promise_kept is None else "yes" if self.promise_kept else "no",
            wrong,
            f"{self.unanswered:.1%}",
        ]


@dataclass(frozen=True)
class Comparison:
    """Rules on one instance; prints as a table.

    Attributes:
        horizon: The trials over which regret is counted, and after which a run is given up.
        rows: One per rule.
        refused: Why other rules cannot run on the instance, by their names.
    """

    horizon: int
    rows: tuple[RuleRow, ...]
    refused: dict[str, str] = field(default_factory=dict)

    def header(self) -> list[str]:
        """The names of the columns."""
        until = ["rule", "trials", "regret", f"regret in {self.horizon:,}"]
        return [*until, "most behind", "violation", "floors kept", "promise kept", "errors [95 %]", "no answer"]

    def __str__(self) -> str:
        table = aligned(self.header(), [row.cells() for row in self.rows])
        return "\n".join([table, *_refusals(self.refused)])

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [{**asdict(row), "horizon": self.horizon} for row in self.rows]

    def frontier(self) -> list[RuleRow]:
        """The rules that kept the floors always, and that no other such rule beats in trials and in regret."""
        kept = [row for row in self.rows if row.kept == "always"]
        return sorted(
            (one for one in kept if not any(_beats(other, one) for other in kept)), key=lambda row: row.trials
        )


def _beats(one: RuleRow, other: RuleRow) -> bool:
    both = ((one.trials, other.trials), (one.regret, other.regret))
    return all(mine <= theirs for mine, theirs in both) and any(mine < theirs for mine, theirs in both)


def _refusals(refused: Mapping[str, str]) -> list[str]:
    """Which rules cannot run, one line per reason."""
    names: dict[str, list[str]] = {}
    for name, why in refused.items():
        kind, reason = name.partition(",")[0], why.removeprefix("sampling rule ")
        same = f"each {reason.removeprefix(kind).lstrip()}" if reason.startswith(kind) else why
        names.setdefault(same, []).append(name)
    lines = []
    for same, those in names.items():
        if len(those) == 1:
            lines.append(f"{those[0]} cannot run here: {refused[those[0]]}")
        else:
            lines.append(f"{len(those)} rules cannot run here, because {same} ({', '.join(those)})")
    return lines


def library_rules() -> dict[str, SamplingRule]:
    """Every sampling rule of the library with its default parameters, by its kind.

    And fair top-two that earns, and track-and-stop on every path, the default of linear arms.
    """
    rules: dict[str, SamplingRule] = {kind.kind: kind() for kind in SamplingRule.in_library()}
    tracking = FairTrackAndStop(tracking="cumulative", start="policy")
    return {**rules, EARNING: FairTopTwo(earning=1.0), TRACKING: tracking}


def rules_named(names: Sequence[str]) -> dict[str, SamplingRule]:
    """The rules of these kinds; ``all`` for every rule of the library."""
    known = library_rules()
    if list(names) == ["all"]:
        return known
    if "all" in names:
        raise ValueError(f"rules must be all, or kinds such as fair_top_two, not both, got {' '.join(names)!r}")
    return {name: known[name] if name in known else SamplingRule.from_dict(name) for name in names}


def compare_rules(
    instance: Instance,
    rules: Mapping[str, SamplingRule],
    horizon: int,
    delta: float = 0.05,
    stopping: StoppingRule | None = None,
    runs: int = 100,
    seed: int = 0,
    progress: bool | None = None,
) -> Comparison:
    """Run every rule on the instance until its answer, and at most for the horizon.

    Args:
        instance: The true means, the family and the floors.
        rules: Rules by name.
        horizon: The trials over which regret is counted; a run that has no answer by then is given up.
        delta: The probability of a wrong answer.
        stopping: The stopping rule of all; that of an experiment by default, which is ``Mixture()`` without structure.
        runs: How many for every rule.
        seed: Of the random streams; every rule has the same.
        progress: Whether to show a progress bar; by default, only on a terminal, after a second.

    Example:
        >>> import fairbai as fb
        >>> found = compare_rules(
        ...     fb.Instance([0.6, 0.4], "bernoulli", 0.2),
        ...     rules_named(["fair_top_two", "uniform_fair"]),
        ...     horizon=2000,
        ...     runs=50,
        ... )
        >>> [row.kept for row in found.rows]
        ['always', 'always']
    """
    whole("horizon", horizon, 1, MAX_ROUNDS)
    stop = default_stopping(instance.family) if stopping is None else stopping
    able, refused = {}, {}
    for name, rule in rules.items():
        try:
            make_scenario(instance, delta, rule, stop, False, seed, horizon)
            able[name] = rule
        except ValueError as error:
            refused[name] = str(error)
    if not able:
        raise ValueError("; ".join(_refusals(refused)))
    study = sweep({"one": instance}, able, {"stop": stop}, delta, False, runs, seed, horizon, True, None, progress)
    rows = [_row(name, rule, instance, study.runs("one", name, "stop"), horizon) for name, rule in able.items()]
    return Comparison(horizon, tuple(rows), refused)


def _row(name: str, rule: SamplingRule, instance: Instance, runs: Runs, horizon: int) -> RuleRow:
    regret, later = runs.regret(), runs.regret(horizon)
    row = runs.summary().rows[0]
    forgone, forgone_ci95 = mean_and_ci95(later.values[:, 0])
    assert runs.behind is not None
    return RuleRow(
        rule=name,
        promise=rule.fairness,
        trials=row.stopping_time,
        trials_ci95=row.stopping_time_ci95,
        regret=row.regret,
        regret_ci95=row.regret_ci95,
        fair_regret=float(regret.fair.mean()),
        horizon_regret=forgone,
        horizon_regret_ci95=forgone_ci95,
        behind=math.nan if _grouped(instance) else float(runs.behind.max()),
        violation=row.violation,
        kept=_kept(instance, runs),
        promise_kept=_promise_kept(rule, instance, runs),
        error_rate=row.error_rate,
        error_low=row.error_low,
        error_high=row.error_high,
        unanswered=row.censored / row.runs,
    )


def _grouped(instance: Instance) -> bool:
    """Whether groups of arms have limits."""
    return isinstance(instance.rates, (Bounded, Overlapping)) and len(instance.rates.groups) > 0


def _kept(instance: Instance, runs: Runs) -> Kept:
    """How the floors were kept."""
    assert runs.behind is not None
    arms = instance.means.size
    if instance.limits is not None or isinstance(instance.rates, Overlapping):  # known at the end only
        short = runs.violation[:, 0] * runs.stopping_time[:, 0]
        return "on average" if float(short.mean()) <= arms else "no"
    if float(runs.behind.max()) <= harmonic(arms):
        return "always"
    return "on average" if _kept_on_average(instance, runs) else "no"


def _promise_kept(rule: SamplingRule, instance: Instance, runs: Runs) -> bool | None:
    """Whether the rule kept its own promise of floors; None if it makes none here."""
    rates, arms = instance.rates, instance.means.size
    if not isinstance(rates, Constant) or isinstance(rates, Bounded) or _grouped(instance) or rule.fairness == "none":
        return None
    if rule.fairness == "on average":
        return _kept_on_average(instance, runs)
    bounds = rule.bounds(rates, arms)
    if bounds is None:
        return None
    assert runs.behind is not None
    return float(runs.behind.max()) <= max(bounds.behind) + ROUNDING  # which is the same for every arm


def _kept_on_average(instance: Instance, runs: Runs) -> bool:
    """Whether no arm is on average more than K trials behind its floor, beyond the error."""
    lags = instance.floors * runs.stopping_time - runs.pulls[:, 0]
    error = NORMAL * lags.std(axis=0) / math.sqrt(len(lags))
    return bool((lags.mean(axis=0) - error <= instance.means.size).all())
