"""What an experiment will cost: its expected trials, the price of its floors, and the shares of its arms."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairbai.allocation import Allocation, PriceOfFairness, lower_bound, price_of_fairness, solve
from fairbai.planning.duration import Duration
from fairbai.planning.levels import levels_of
from fairbai.planning.outlook import Outlook, estimate_of
from fairbai.planning.text import described
from fairbai.problems import Instance
from fairbai.problems.checks import Array, Numbers, confidence, number
from fairbai.problems.labels import labels_for
from fairbai.problems.question import Goal, Tolerance, question_of
from fairbai.problems.rates import Bounded, Constant
from fairbai.problems.short_forms import FamilyForm, RateForm, arms_of, family_of, rates_of, shares_given
from fairbai.stopping import DesignBased, Heuristic, LinearMixture, Mixture, StoppingRule

MAX_TRIALS = 1e15  # nobody has as many, and far more are not even numbers
DAY = 86_400.0  # seconds
PROVED, DRIFT_PROOF, HEURISTIC = "proved", "drift_proof", "heuristic"


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """How an experiment is expected to go; prints as a short report.

    It names the proved stop that ends first, and all its numbers are those of that stop but for ``trials`` and
    ``stops``, which have the others by name: "proved" is for means that do not change, "drift_proof" is proved whatever
    they do (where it can be used), and "heuristic" is the threshold of the paper's tables, which is not proved.

    Attributes:
        instance: The means as they are guessed, with family and floors.
        delta: The error probability.
        labels: The labels of the arms.
        per_day: Trials per day, or None.
        fair: The optimal shares with the floors.
        free: The optimal shares without any floor or other limit.
        stops: The outlook with every stop, by its name.
        stop: The name of the stop of this plan.
    """

    instance: Instance
    delta: float
    labels: tuple[str | int, ...]
    per_day: float | None
    fair: Allocation
    free: Allocation
    stops: dict[str, Outlook]
    stop: str

    def with_stop(self, name: str) -> "Plan":
        """The plan of the same experiment with another of its stops."""
        return replace(self, stop=name)

    @property
    def outlook(self) -> Outlook:
        """How the experiment goes with the stop of this plan."""
        return self.stops[self.stop]

    @property
    def stopping(self) -> StoppingRule:
        """The stop of this plan, tuned to it."""
        return self.outlook.stopping

    @property
    def expected(self) -> float:
        """Expected trials."""
        return self.outlook.trials

    @property
    def without_floors(self) -> float:
        """Expected trials if there were no floors."""
        return self.outlook.without_floors

    @property
    def duration(self) -> Duration:
        """Quantiles of the trials."""
        return self.outlook.duration

    @property
    def shares(self) -> Array:
        """The shares of the arms, about."""
        return self.outlook.shares

    @property
    def best(self) -> str | int:
        """The label of the best arm."""
        return self.labels[self.fair.best_arm]

    @property
    def lower_bound(self) -> float:
        """What every fair rule needs on average."""
        return lower_bound(self.instance, self.delta)

    @property
    def price(self) -> PriceOfFairness:
        """The price of fairness as a ratio of characteristic times."""
        return price_of_fairness(self.instance)

    @property
    def too_long(self) -> bool:
        """Whether the expected trials are an upper estimate: several answers are right, and none was simulated."""
        estimated = self.stop != DRIFT_PROOF and not self.duration.simulated
        return len(self.instance.acceptable) > 1 and estimated

    @property
    def proved(self) -> float:
        """Expected trials with the stop that is proved if the means do not change."""
        return self.stops[PROVED].trials

    @property
    def drift_proof(self) -> float:
        """Expected trials with ``design_based``, if the means do not change; nan where it cannot be used."""
        return self.stops[DRIFT_PROOF].trials if DRIFT_PROOF in self.stops else math.nan

    @property
    def heuristic(self) -> float:
        """Expected trials with the threshold of the paper's tables, which is not proved."""
        return self.stops[HEURISTIC].trials

    @property
    def design_based(self) -> DesignBased | None:
        """The stop for means that change, tuned to this plan; None where it cannot be used.

        It needs Bernoulli or bounded rewards, and floors that are known beforehand and positive.
        """
        found = self.stops.get(DRIFT_PROOF)
        return None if found is None else found.stopping  # type: ignore[return-value]  # the only one of that name

    @property
    def trials(self) -> dict[str, float]:
        """Expected trials: with the stop of this plan, with it but without floors, and with every stop by name."""
        named = {name: one.trials for name, one in self.stops.items()}
        return {"expected": self.expected, "without_floors": self.without_floors, **named}

    @property
    def regret(self) -> float:
        """What trials of other arms than the best will forgo until the decision, about, in the unit of the rewards."""
        return self.expected * float(self.instance.gaps @ self.shares)

    @property
    def floors_regret(self) -> float:
        """Of that what the floors and other limits alone forgo: with the best policy that keeps them."""
        return self.expected * self.instance.fair_gap

    @property
    def implied(self) -> list[str]:
        """What ceilings and groups imply but do not say, in sentences."""
        rates = self.instance.rates
        return rates.implied(self.labels) if isinstance(rates, Bounded) else []

    @property
    def experiment(self) -> dict[str, Any]:
        """The JSON form of this experiment; with a name it can be sent to ``POST /v1/experiments``.

        With the stop for means that change, tickets without a reward count after a day, as nothing or as the worst.
        """
        family, question = self.instance.family, self.instance.question
        form = {
            "arms": [str(label) for label in self.labels],
            "delta": self.delta,
            "family": family.to_dict(),
            "floors": self.instance.rates.to_dict(),
            "stopping": self.stopping.to_dict(),
            **question.to_dict([str(label) for label in self.labels]),
        }
        if self.stop == DRIFT_PROOF:
            costs = question.goal == "min" and family.kind == "bounded"
            form |= {"report_after": DAY, "silence": family.high if costs else max(0.0, family.low)}
        return form

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON; docs/commands.md describes the keys. ``fairbai simulate`` takes it as a file."""
        form = described_instance(self.instance, self.delta, self.labels) | {
            "stop": self.stop,
            "stopping": self.stopping.to_dict(),
            "trials": self.trials,
            "quantiles": vars(self.duration).copy(),
            "regret": {"until_decision": self.regret, "floors": self.floors_regret},
            "stops": {name: one.stopping.to_dict() for name, one in self.stops.items()},
        }
        for arm, share in zip(form["arms"], self.shares.tolist(), strict=True):
            arm["expected_trials"] = self.expected * share
        if self.per_day is not None:
            form["days"] = {name: value / self.per_day for name, value in self.trials.items()}
        return form

    def __repr__(self) -> str:
        return described(self)


def described_instance(instance: Instance, delta: float, labels: Sequence[str | int]) -> dict[str, Any]:
    """What can be said of an instance without a stopping rule, ready for JSON."""
    best, price = solve(instance), price_of_fairness(instance)
    free, levels = solve(instance.with_rates(None)), levels_of(instance, best.weights.tolist())
    columns = {
        "arm": list(labels),
        "mean": instance.means.tolist(),
        "floor": instance.floors.tolist(),
        "ceiling": best.ceilings.tolist(),
        "weight": best.weights.tolist(),
        "weight_without_floors": free.weights.tolist(),
        "at_floor": best.at_floor.tolist(),
        "at_ceiling": best.at_ceiling.tolist(),
    }
    return {
        "family": instance.family.to_dict(),
        "floors": instance.rates.to_dict(),
        **instance.question.to_dict(labels),
        "delta": delta,
        "best_arm": best.best_arm,
        "unconstrained_time": price.unconstrained,
        "characteristic_time": price.fair,
        "duality_gap": best.duality_gap,
        "price_of_fairness": price.ratio,
        "price_upper_bound": price.upper_bound,
        "lower_bound": lower_bound(instance, delta),
        "arms": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        **({"levels": [level._asdict() for level in levels]} if levels else {}),
    }


def plan(
    means: Instance | Numbers,
    family: FamilyForm = None,
    floors: RateForm = None,
    delta: float = 0.05,
    arms: Sequence[str | int] | None = None,
    per_day: float | None = None,
    tolerance: Tolerance = None,
    goal: Goal = "max",
    control: str | int | None = None,
    rates: RateForm = None,
) -> Plan:
    """Plan an experiment: what it will take, and what its floors will cost.

    Args:
        means: A guess of the mean reward of every arm; or an ``Instance``, which has its family, floors and question.
        family: The reward family, such as ``"bernoulli"``; it must be given.
        floors: The guaranteed shares: one floor for all arms, one per arm, floors by label such as ``{"new": 0.3}``,
            or a rate or its JSON form; none by default.
        delta: The error probability, in (0, 1/2).
        arms: The labels of the arms; their numbers by default.
        per_day: Trials per day, for the days that the experiment takes.
        tolerance: How far from the best the answer may be, such as 0.01 or "10%"; by default it is the best arm.
        goal: "min" if less is better.
        control: The label of the arm that is in use, which another must beat; see ``Identifier``.
        rates: Another name of ``floors``, for floors that are learned.

    Example:
        >>> import fairbai as fb
        >>> found = fb.plan([0.5, 0.3], family="bernoulli", floors={"new": 0.8, "old": 0.1}, arms=["new", "old"])
        >>> found.best, found.expected > found.without_floors
        ('new', True)
        >>> found.duration.p10 < found.expected < found.duration.p90
        True
    """
    delta, floors = confidence(delta), shares_given(floors, rates)
    if isinstance(means, Instance):
        if (family, floors, tolerance, goal, control) != (None, None, None, "max", None):
            raise ValueError("means must stand alone if they are an Instance, which has all the rest itself")
        instance, labels = means, labels_for(arms, means.means)
    else:
        family = family_of(family)
        arms = arms_of(arms, family)
        labels = labels_for(arms, means)
        asked = question_of(goal, tolerance, control, labels)
        given = rates_of(floors, None if arms is None else labels, family)
        instance = Instance(means, family, given, asked.tolerance, asked.goal, asked.control)
    if per_day is not None:
        per_day = number("per_day", per_day, math.ulp(0.0), 1e300, "positive")
    return planned(instance, delta, labels, per_day)


def planned(
    instance: Instance, delta: float, labels: tuple[str | int, ...], per_day: float | None, simulate: bool = True
) -> Plan:
    """The plan of an instance; without simulations it is only estimated, however short its experiments are."""
    both = fair, free = solve(instance), solve(instance.with_rates(None))
    _check_decidable(instance, fair, free, labels)
    rough = estimate_of(instance, Heuristic(), delta)(instance, fair)  # the same whatever was simulated
    rules: dict[str, StoppingRule] = {PROVED: suited(instance, rough, delta)}
    design = design_suited(instance, delta)
    if design is not None:
        rules[DRIFT_PROOF] = design
    rules[HEURISTIC] = Heuristic()
    stops = {name: Outlook.of(instance, rule, delta, both, simulate) for name, rule in rules.items()}
    first = min(set(stops) - {HEURISTIC}, key=lambda name: (stops[name].trials, name))
    return Plan(instance, delta, labels, per_day, fair, free, stops, first)


def design_suited(instance: Instance, delta: float) -> DesignBased | None:
    """The stop for means that change, tuned to an instance; None where it cannot be used."""
    known = isinstance(instance.rates, Constant) and bool((instance.floors > 0.0).all())
    if not known or not DesignBased().proved(instance.family):
        return None
    return DesignBased.for_instance(instance, delta)


def _check_decidable(instance: Instance, fair: Allocation, free: Allocation, labels: tuple[Any, ...]) -> None:
    best = [labels[arm] for arm in instance.acceptable]
    if len(best) > 1 and instance.question.exact:
        raise ValueError(
            f"means must have a single best arm, got the same for {best[0]!r} and {best[1]!r}: to plan for equal arms, "
            f"give a tolerance such as '10%'"
        )
    if not free.characteristic_time < MAX_TRIALS:
        raise ValueError(
            f"means must differ by more: to tell {best[0]!r} from the others takes more than {MAX_TRIALS:g} trials, "
            f"got means from {instance.means.min()} to {instance.means.max()}"
        )
    if math.isinf(fair.characteristic_time):
        starved = labels[int(np.argmin(fair.weights))]
        raise ValueError(f"floors must leave a share for every arm: nothing is left for {starved!r}")


def suited(instance: Instance, trials: float, delta: float) -> Mixture | LinearMixture:
    """The proved rule for so many trials; few digits, because the guess has no more."""
    if instance.family.structured:
        return LinearMixture.for_trials(max(1.0, trials), delta, instance.family)
    size = float(np.abs(instance.means).mean()) or 1.0
    rule = Mixture.for_trials(max(1.0, trials), delta, instance.means.size)
    prior = size if instance.family.kind in ("poisson", "exponential") else 1.0
    return Mixture(float(f"{rule.kappa:.3g}"), float(f"{prior:.3g}"))
