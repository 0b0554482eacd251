"""One question: arms with their means, their reward family and their fairness rates."""

from dataclasses import dataclass, field

import numpy as np

from fairbai.kernels.rates import spare_share
from fairbai.problems.checks import Array, Numbers, frozen
from fairbai.problems.families import Family, Gaussian
from fairbai.problems.gaps import gaps_of, least_gap
from fairbai.problems.question import Goal, Question, Tolerance
from fairbai.problems.rates import Bounded, Constant, Limits, Overlapping, Rate
from fairbai.problems.short_forms import FamilyForm, RateForm, family_of, rates_of, shares_given


@dataclass(frozen=True, eq=False)
class Instance:
    """A bandit problem with fairness rates; everything is checked here, once.

    ``family`` and ``floors`` also take short forms, such as ``family="bernoulli"`` and ``floors=0.2``. Floors that are
    learned, such as ``fb.rates.Gap(0.5)``, may be given as ``rates``, too.

    Attributes:
        means: The mean reward of each arm.
        family: The reward family of all arms.
        rates: What gives each arm its guaranteed share: a ``rates.Constant`` where floors are known beforehand.
        floors: The guaranteed shares at these means.
        spare: What the floors leave: 1 - sum(floors).
        scales: The known variance of each arm (1 if the family has none).
        limits: The limits beyond the floors, if the rate is ``rates.Bounded``; else None.
        question: What the answer must be: ``goal``, ``tolerance`` and ``control``, which ``Question`` explains.
        acceptable: The arms that are right answers, the best first.
        ties: The tolerance as the kernels take it; see ``Question.ties``.

    Example:
        >>> import fairbai as fb
        >>> instance = fb.Instance([0.5, 0.3, 0.1], family=fb.Bernoulli(), floors=0.2)
        >>> instance.best_arm, round(instance.spare, 12)
        (0, 0.4)
        >>> fb.Instance([0.5, 0.3, 0.1], family="bernoulli", floors=0.2).rates
        Constant(floor=0.2)
        >>> fb.Instance([0.30, 0.28, 0.20], family="bernoulli", tolerance="10%").acceptable
        (0, 1)
    """

    means: Array
    family: Family = field(default_factory=Gaussian)
    rates: Rate = field(default_factory=Constant)
    floors: Array = field(init=False, repr=False)
    spare: float = field(init=False, repr=False)
    scales: Array = field(init=False, repr=False)
    limits: Limits | None = field(init=False, repr=False)
    question: Question = field(default_factory=Question)
    acceptable: tuple[int, ...] = field(init=False, repr=False)
    ties: Array = field(init=False, repr=False)

    def __init__(
        self,
        means: Numbers,
        family: FamilyForm = None,
        floors: RateForm = None,
        tolerance: Tolerance = None,
        goal: Goal = "max",
        control: int | None = None,
        rates: RateForm = None,
    ) -> None:
        family = family_of(Gaussian() if family is None else family)
        given = rates_of(shares_given(floors, rates), family=family)
        checked = family.check_means(means)
        question = Question(goal, tolerance, control).for_control(checked.size)
        question.check_means(checked)
        ties = question.ties(family, checked.size)
        least = question.floors(given, family, checked)
        values = {
            "means": checked,
            "family": family,
            "rates": given,
            "floors": least,
            "spare": float(spare_share(least)),
            "scales": family.scales(checked.size),
            "limits": given.limits(checked.size) if isinstance(given, Bounded) else None,
            "question": question,
            "ties": frozen(ties),
            "acceptable": question.acceptable(checked),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def best_arm(self) -> int:
        """The arm with the best mean (the first of them, if several tie)."""
        return int(np.argmax(self.means if self.question.goal == "max" else -self.means))

    @property
    def gaps(self) -> Array:
        """How far the mean of every arm is from the best."""
        return gaps_of(self.means, self.question.goal)

    @property
    def fair_gap(self) -> float:
        """The mean gap per trial of the best policy that keeps all floors and limits: what fairness itself forgoes."""
        if isinstance(self.rates, Overlapping) and self.rates.groups:
            return least_gap(self.gaps, self.floors, self.rates.polytope(self.means.size))
        return least_gap(self.gaps, self.floors, self.limits)

    @property
    def oriented(self) -> Family:
        """The family as the kernels take it, for which the largest mean is the best."""
        return self.family.for_goal(self.question.goal)

    def problem(self, named: int = -1) -> tuple[int, tuple[Array, Array, Array, int]]:
        """What ``kernels.allocation`` takes: a code and the arms, with the one that is named (-1 for the best)."""
        code, means, scales = self.oriented.problem(self.means)
        return code, (means, scales, self.ties, named)

    def with_rates(self, rates: RateForm) -> "Instance":
        """The same question with other rates; None for no floors and no other limits."""
        one = self.question
        return Instance(self.means, self.family, rates, one.tolerance, one.goal, one.control)
