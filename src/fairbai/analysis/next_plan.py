"""Plan the next experiment from a log: a range of trials, because the log knows the means only roughly.

Sets of means that fit the log are drawn, and each is planned, without simulation.
"""

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbai.allocation import solve
from fairbai.analysis.plausible import MIN_SHRUNK, inside, observed_variances, plausible_means
from fairbai.analysis.sentences import reasons
from fairbai.experiment.defaults import checked_seed
from fairbai.planning.drawn import without_noise
from fairbai.planning.noise import Noise
from fairbai.planning.outlook import estimate_of
from fairbai.planning.plan import Plan, design_suited, planned, suited
from fairbai.planning.text import count, trials
from fairbai.problems import Bounded, Gaussian, Instance
from fairbai.problems.checks import Array, confidence, number, whole
from fairbai.problems.question import Question
from fairbai.problems.rates import Rate
from fairbai.problems.short_forms import RateForm, rates_of, shares_given
from fairbai.stopping import Heuristic

if TYPE_CHECKING:
    from fairbai.analysis.analysis import Analysis

DRAWS = 200
LIMIT = 1_000_000
WIDTH = 100  # of the report
LEVELS = (0.1, 0.5, 0.9)
LEAST = 1e-9  # of the largest mean, below which a tolerance in percent is none
ROOM = 0.98  # of the largest variance that rewards in an interval can have


@dataclass(frozen=True, eq=False, repr=False)
class NextPlan:
    """How long the next experiment will take, as far as a log tells; prints as a short report.

    Attributes:
        source: Where the log comes from.
        labels: The labels of the arms.
        question: What the answer must be, as in the log.
        leader: The arm that leads the log.
        at_estimates: The plan if the observed means were the true ones; None if two of them tie for the best.
        means: Plausible means, one row per draw.
        draws: The trials that an experiment with these means takes, one per draw; infinite where it never ends.
        delta: The error probability.
        limit: Trials beyond which nobody would go on.
        per_day: Trials per day, or None.
        caution: What speaks against the log itself; empty if nothing does.
    """

    source: str
    labels: tuple[str | int, ...]
    question: Question
    leader: str | int
    at_estimates: Plan | None
    means: Array
    draws: Array
    delta: float
    limit: float
    per_day: float | None
    caution: str

    @property
    def range(self) -> tuple[float, float, float]:
        """The trials within which one in ten, half and nine in ten of the experiments end."""
        low, middle, high = np.quantile(self.draws, LEVELS, method="inverted_cdf")
        return float(low), float(middle), float(high)

    @property
    def beyond(self) -> float:
        """The share of the draws that take more than the limit."""
        return float((self.draws > self.limit).mean())

    @property
    def best(self) -> dict[str | int, float]:
        """How often every arm is the best one among the draws: a belief, not a proof."""
        best = self.means.argmax(axis=1) if self.question.goal == "max" else self.means.argmin(axis=1)
        shares = np.bincount(best, minlength=len(self.labels)) / len(self.means)
        return dict(zip(self.labels, shares.tolist(), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """All of it but the draws, ready for JSON; null stands for a number of trials that is infinite."""
        low, middle, high = self.range
        form = {
            "source": self.source,
            "delta": self.delta,
            "question": {"goal": self.question.goal, **self.question.to_dict(self.labels)},
            "leader": self.leader,
            "caution": self.caution,
            "draws": len(self.draws),
            "trials": {"p10": low, "p50": middle, "p90": high},
            "limit": self.limit,
            "beyond_limit": self.beyond,
            "best": [{"arm": label, "share_of_draws": share} for label, share in self.best.items()],
            "at_estimates": None if self.at_estimates is None else self.at_estimates.to_dict(),
        }
        if self.per_day is not None:
            form["days"] = {"p10": low / self.per_day, "p50": middle / self.per_day, "p90": high / self.per_day}
        return form

    def __repr__(self) -> str:
        return _described(self)


def plan_next(
    found: "Analysis",
    floors: RateForm = None,
    delta: float | None = None,
    per_day: float | None = None,
    draws: int = DRAWS,
    limit: float = LIMIT,
    seed: int = 0,
    rates: RateForm = None,
) -> NextPlan:
    """Plan the next experiment from what a log says.

    Args:
        found: The analysis of the log.
        floors: The guaranteed shares of the next experiment, as ``fb.plan`` takes them; none by default.
        delta: Its error probability; that of the analysis by default.
        per_day: Trials per day, for the days that it takes.
        draws: How many plausible sets of means are planned.
        limit: Trials beyond which nobody would go on; how many draws take more is reported.
        seed: Of the draws.
        rates: Another name of ``floors``, for floors that are learned.

    Example:
        >>> import fairbai as fb
        >>> log = {"arm": ["a", "b"], "n": [2000, 2000], "clicks": [200, 240]}
        >>> found = plan_next(fb.analyze(log, trials="n", sum="clicks", family="bernoulli"), floors=0.2)
        >>> low, middle, high = found.range
        >>> low < found.at_estimates.expected < high
        True
    """
    delta = found.delta if delta is None else confidence(delta)
    if per_day is not None:
        per_day = number("per_day", per_day, math.ulp(0.0), 1e300, "positive")
    if not (found.arms.trials > 0.0).all():
        arm = found.arms.labels[int(np.argmin(found.arms.trials))]
        raise ValueError(f"every arm must have trials in the log to plan from it, got none for {arm!r}")
    limit = number("limit", limit, 1.0, 1e300, "at least 1")
    rng = np.random.default_rng(checked_seed(seed))
    means = plausible_means(found, whole("draws", draws, 10, 100_000), rng)
    shares = rates_of(shares_given(floors, rates), found.arms.labels)
    levels = rng.random(len(means))
    taken = [_trials(_instance(found, one, shares), delta, level) for one, level in zip(means, levels, strict=True)]
    at_estimates = _at_estimates(found, shares, delta, per_day)
    caution = "" if found.guarantee != "doubted" else reasons(found)
    return NextPlan(
        found.source,
        found.arms.labels,
        found.question,
        found.leader,
        at_estimates,
        means,
        np.array(taken),
        delta,
        limit,
        per_day,
        caution,
    )


# --- what they take ---------------------------------------------------------------------------------------------


def _instance(found: "Analysis", means: Array, rates: Rate) -> Instance:
    """The next experiment if these are the means; with the variances of the log where none are known."""
    family = found.choice.family
    if isinstance(family, Bounded):
        most = ROOM * (means - family.low) * (family.high - means)
        family = Bounded(family.low, family.high, np.minimum(observed_variances(found), most))
    elif isinstance(family, Gaussian) and family.unknown_variance:
        family = Gaussian(variance=None, guess=observed_variances(found))
    question = found.question
    if question.percent is not None:  # of which there is none for a mean that is not positive
        means = np.maximum(means, LEAST * float(np.abs(means).max()))
    return Instance(means, family, rates, question.tolerance, question.goal, question.control)


def _trials(instance: Instance, delta: float, level: float) -> float:
    """The trials of an experiment that is at this quantile of its duration; no simulation."""
    fair = solve(instance)
    if not math.isfinite(fair.characteristic_time):
        return math.inf
    rough = estimate_of(instance, Heuristic(), delta)(instance, fair)
    expected = estimate_of(instance, suited(instance, rough, delta), delta)(instance, fair)
    design = design_suited(instance, delta)
    if design is not None:  # its probabilities hardly follow who is behind
        drawn = Noise.of(instance, fair, follows=False).mean(without_noise(instance, design, delta))
        expected = min(expected, drawn)
    return float(Noise.of(instance, fair).quantiles(expected, level))


def _at_estimates(found: "Analysis", rates: Rate, delta: float, per_day: float | None) -> Plan | None:
    means = found.choice.family.in_units(inside(found))
    best = means.max() if found.question.goal == "max" else means.min()
    if found.question.exact and (means == best).sum() > 1:
        return None
    return planned(_instance(found, means, rates), delta, found.arms.labels, per_day, simulate=False)  # as the draws


# --- in words ---------------------------------------------------------------------------------------------------


def _described(found: NextPlan) -> str:
    low, middle, high = found.range
    asked, sure = found.question.asked(found.labels), 100 * (1 - found.delta)
    lines = [f"The next experiment, planned from {found.source}: to find {asked} with {sure:g} % confidence.", ""]
    if found.at_estimates is None:
        lines.append("Two arms tie for the best in the log: if that is the truth, an experiment never ends.")
    else:
        expected = found.at_estimates.expected
        about = "at most about" if found.at_estimates.too_long else "about"
        lines.append(f"If the observed means are the true ones: {about} {trials(expected)}{_days(found, expected)}.")
    ends = [f"{count(end)}{_days(found, end)}" for end in (middle, high)]
    lines.append(
        f"But the log knows them only roughly. Over {len(found.draws)} sets of means that fit the log, one experiment "
        f"in ten ends within {trials(low)}{_days(found, low)}, half within {ends[0]} and nine in ten within {ends[1]}. "
        "That includes the luck of the experiment itself."
    )
    if not found.question.exact:
        lines.append("Where several answers are right, experiments are shorter than that, some of them half as long.")
    if found.beyond > 0.0:
        many, most = _share(found.beyond), trials(found.limit)
        lines.append(f"In {many} of the cases it takes more than {most}: the arms are too close to be worth it.")
    ahead = _share(found.best[found.leader])
    lines.append(f"{found.leader}, which leads the log, is the best arm in {ahead} of the cases.")
    if len(found.labels) >= MIN_SHRUNK:
        lines.append("The leader of a log was often lucky, so estimates are shrunk towards each other beforehand.")
    if found.caution:
        lines.append(f"CAUTION: do not rely on this log: {found.caution}.")
    return "\n".join(textwrap.fill(line, WIDTH) for line in lines)


def _share(part: float) -> str:
    """A share of the draws, of which there are too few for 0 and 100 %."""
    percent = round(100.0 * part)
    return "less than 1 %" if percent < 1 else "more than 99 %" if percent > 99 else f"{percent} %"


def _days(found: NextPlan, value: float) -> str:
    if found.per_day is None or not math.isfinite(value):
        return ""
    days = f"{value / found.per_day:,.1f}"
    return f" ({days} day{'' if days == '1.0' else 's'})"
