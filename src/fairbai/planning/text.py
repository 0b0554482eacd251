"""A plan in plain English."""

import math
from typing import TYPE_CHECKING

from fairbai.planning.levels import levels_of
from fairbai.simulation.tables import aligned

if TYPE_CHECKING:
    from fairbai.planning.plan import Plan

MAX_IMPLIED = 5  # sentences about limits
CONDITIONS = {"proved": "if the means do not change", "drift_proof": "however the means change"}


def described(plan: "Plan") -> str:
    """The report that a plan prints as."""
    return "\n".join([*_sentences(plan), "", _table(plan), "", *_levels(plan), *_implied(plan), *_end(plan)])


def _sentences(plan: "Plan") -> list[str]:
    price, sure = plan.price, 100 * (1 - plan.delta)
    asked = plan.instance.question.asked(plan.labels)
    floors = trials(math.ceil(plan.expected) - math.ceil(plan.without_floors))
    return [
        f"{_about(plan)} {trials(plan.expected)}{_days(plan, plan.expected)} find {asked} with {sure:g} % confidence,",
        f"which is proved for the stopping rule fb.stopping.{plan.stopping!r}",
        f"{CONDITIONS[plan.stop]}.",
        *_spread(plan),
        *(line for name in plan.stops if name != plan.stop for line in _other(plan.with_stop(name))),
        f"Without floors it would be {count(plan.without_floors)}: fairness costs {floors}.",
        f"The price of fairness, T*_p / T*, is {price.ratio:.3f} (never more than {price.upper_bound:.3f}).",
        f"Until the decision, other arms than the best forgo about {plan.regret:,.3g} in the unit of the rewards,",
        f"of which the floors alone {plan.floors_regret:,.3g}.",
    ]


def _about(plan: "Plan") -> str:
    return "At most about" if plan.too_long else "About"


def _other(plan: "Plan") -> list[str]:
    """The expected trials with another stop than the one that ends first."""
    would = f"would take {_about(plan).lower()} {count(plan.expected)}"
    if plan.stop == "heuristic":
        return [f"The paper's threshold, which is not proved, {would}{_days(plan, plan.expected)}."]
    name = type(plan.stopping).__name__
    return [f"{name}, proved {CONDITIONS[plan.stop]}, {would}{_days(plan, plan.expected)}."]


def _spread(plan: "Plan") -> list[str]:
    quantiles = plan.duration
    days = [_days(plan, value) for value in (quantiles.p10, quantiles.p50, quantiles.p90)]
    source = f"from {quantiles.runs} simulated experiments" if quantiles.simulated else "an approximation"
    if plan.too_long:  # by the measurements of docs/tolerance.md
        source += f", up to twice too long because {len(plan.instance.acceptable)} answers are right"
    return [
        f"One experiment in ten ends within {trials(quantiles.p10)}{days[0]}, half within "
        f"{count(quantiles.p50)}{days[1]}",
        f"and nine in ten within {count(quantiles.p90)}{days[2]}: {source}.",
    ]


def _table(plan: "Plan") -> str:
    means, floors, shares = plan.instance.means, plan.fair.floors, plan.shares
    return aligned(
        ["arm", "mean", "floor", "share", "trials"],
        [
            [
                str(label),
                f"{means[arm]:g}",
                f"{floors[arm]:.2%}",
                f"{shares[arm]:.2%}",
                count(plan.expected * float(shares[arm])),
            ]
            for arm, label in enumerate(plan.labels)
        ],
    )


def _levels(plan: "Plan") -> list[str]:
    """A table of the levels, if there are factors."""
    rows = [
        [one.factor, one.level, f"{one.floor:.2%}", f"{one.weight:.2%}", count(plan.expected * one.weight)]
        for one in levels_of(plan.instance, plan.shares.tolist())
    ]
    return [aligned(["factor", "level", "floor", "share", "trials"], rows, words=2), ""] if rows else []


def _implied(plan: "Plan") -> list[str]:
    """What the limits imply, one line each; the first few, if there are many."""
    sentences = plan.implied
    shown = [f"- {sentence}." for sentence in sentences[:MAX_IMPLIED]]
    more = [f"- and {len(sentences) - MAX_IMPLIED} more."] if len(sentences) > MAX_IMPLIED else []
    return ["These limits imply more than they say:", *shown, *more, ""] if sentences else []


def _end(plan: "Plan") -> list[str]:
    kind = "of experiments simulated with" if plan.duration.simulated else "an estimate from"
    return [
        _bound(plan),
        f"Expected trials are {kind} the means; fairbai simulate tries a plan out.",
    ]


def _bound(plan: "Plan") -> str:
    """The lower bound; where many answers are right there may be none at this delta."""
    right = len(plan.instance.acceptable)
    if plan.lower_bound < 1.0:
        return f"With {right} right answers there is no lower bound on the trials at delta = {plan.delta:g}."
    among = "" if right == 1 else f" where {right} answers are right"
    return f"Every fair rule needs at least {trials(math.floor(plan.lower_bound))} on average (the lower bound{among})."


def _days(plan: "Plan", value: float) -> str:
    if plan.per_day is None:
        return ""
    days = f"{value / plan.per_day:,.1f}"
    return f" ({days} day{'' if days == '1.0' else 's'})"


def trials(value: float) -> str:
    """So many trials: "1 trial", "1,234 trials"."""
    number = count(value)
    return f"{number} trial" if number == "1" else f"{number} trials"


def count(value: float) -> str:
    """A number of trials, rounded up."""
    return f"{math.ceil(value):,}" if math.isfinite(value) else "infinitely many"
