"""One question: arms with their means, their reward family and their fairness rates."""

from dataclasses import dataclass, field

import numpy as np

from fairbai.kernels.rates import spare_share
from fairbai.problems.checks import Array, Numbers
from fairbai.problems.families import Family, Gaussian
from fairbai.problems.rates import Bounded, Constant, Limits, Rate
from fairbai.problems.short_forms import FamilyForm, RateForm, family_of, rates_of


@dataclass(frozen=True, eq=False)
class Instance:
    """A bandit problem with fairness rates; everything is checked here, once.

    ``family`` and ``rates`` also take short forms, such as ``family="bernoulli"`` and ``rates=0.2``.

    Attributes:
        means: The mean reward of each arm.
        family: The reward family of all arms.
        rates: The share of the trials that each arm is guaranteed.
        floors: The rates at these means.
        spare: What the floors leave: 1 - sum(floors).
        scales: The known variance of each arm (1 if the family has none).
        limits: The limits beyond the floors, if the rates are ``rates.Bounded``; else None.

    Example:
        >>> import fairbai as fb
        >>> instance = fb.Instance([0.5, 0.3, 0.1], family=fb.Bernoulli(), rates=fb.rates.Constant(0.2))
        >>> instance.best_arm, round(instance.spare, 12)
        (0, 0.4)
        >>> fb.Instance([0.5, 0.3, 0.1], family="bernoulli", rates=0.2).rates
        Constant(floor=0.2)
    """

    means: Array
    family: Family = field(default_factory=Gaussian)
    rates: Rate = field(default_factory=Constant)
    floors: Array = field(init=False, repr=False)
    spare: float = field(init=False, repr=False)
    scales: Array = field(init=False, repr=False)
    limits: Limits | None = field(init=False, repr=False)

    def __init__(self, means: Numbers, family: FamilyForm = None, rates: RateForm = None) -> None:
        family, rates = family_of(Gaussian() if family is None else family), rates_of(rates)
        checked = family.check_means(means)
        floors = rates.floors(checked)
        values = {
            "means": checked,
            "family": family,
            "rates": rates,
            "floors": floors,
            "spare": float(spare_share(floors)),
            "scales": family.scales(checked.size),
            "limits": rates.limits(checked.size) if isinstance(rates, Bounded) else None,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def best_arm(self) -> int:
        """The arm with the largest mean (the first of them, if several tie)."""
        return int(np.argmax(self.means))
