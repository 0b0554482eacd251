"""One question: arms with their means, their reward family and their fairness rates."""

from dataclasses import dataclass, field

import numpy as np

from fairbai.kernels.rates import spare_share
from fairbai.problems.checks import Array, Numbers
from fairbai.problems.families import Family, Gaussian
from fairbai.problems.rates import Bounded, Constant, Limits, Rate


@dataclass(frozen=True, eq=False)
class Instance:
    """A bandit problem with fairness rates; everything is checked here, once.

    Attributes:
        means: The mean reward of every arm.
        family: The reward family of all arms.
        rates: The share of the trials that every arm is guaranteed.
        floors: The rates at these means.
        spare: What the floors leave: 1 - sum(floors).
        scales: The known variance of every arm (1 where the family has none).
        limits: The limits beside the floors, if the rates are ``rates.Bounded``; else None.

    Example:
        >>> import fairbai as fb
        >>> instance = fb.Instance([0.5, 0.3, 0.1], family=fb.Bernoulli(), rates=fb.rates.Constant(0.2))
        >>> instance.best_arm, round(instance.spare, 12)
        (0, 0.4)
    """

    means: Array
    family: Family = field(default_factory=Gaussian)
    rates: Rate = field(default_factory=Constant)
    floors: Array = field(init=False, repr=False)
    spare: float = field(init=False, repr=False)
    scales: Array = field(init=False, repr=False)
    limits: Limits | None = field(init=False, repr=False)

    def __init__(self, means: Numbers, family: Family | None = None, rates: Rate | None = None) -> None:
        family = Gaussian() if family is None else family
        rates = Constant() if rates is None else rates
        if not isinstance(family, Family):
            raise ValueError(f"family must be a family such as fairbai.Bernoulli(), got {family!r}")
        if not isinstance(rates, Rate):
            raise ValueError(f"rates must be a rate such as fairbai.rates.Constant(0.1), got {rates!r}")
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
