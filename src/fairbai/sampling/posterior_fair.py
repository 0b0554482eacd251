"""Posterior fair: drawn from smooth policies, for stops that weigh every trial by its probability."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from fairbai.kernels.rates import spare_share
from fairbai.kernels.sampling import posterior
from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import Array, number
from fairbai.problems.rates import Bounded, Constant
from fairbai.sampling.rule import Fairness, SamplingRule, Target

ROOM = 1.7  # by how much the least probability should exceed the typical bet


@dataclass(frozen=True, eq=False)
class PosteriorFair(SamplingRule):
    """Draws every arm from a policy that changes little; the default rule with ``DesignBased``.

    The policy is the floors and shares of what they leave. The shares move by small steps towards those with which the
    best arm is soonest told from its hardest rival, on average over what the means may be by the rewards so far. It
    draws from the first trial on. Where ceilings or groups limit the arms too, the policy is fixed within all limits.

    Args:
        least: The part of what the floors leave that is always shared equally, in [0, 1]. It raises the least
            probability of an arm, by which a design-based stop limits its bets: it matters where floors are small. By
            default it is as much as makes that probability 1/(4K).

    Example:
        >>> import fairbai as fb
        >>> PosteriorFair(least=0.1).guarantees(fb.rates.Constant(0.2), arms=2).round(3)
        array([0.23, 0.23])
    """

    least: float | None = None
    fairness: ClassVar[Fairness] = "on average"
    converges_to: ClassVar[Target] = "none"
    random: ClassVar[bool] = True
    draws: ClassVar[bool] = True
    code: ClassVar[int] = kernels.POSTERIOR_FAIR
    origin: ClassVar[int] = kernels.FROM_POLICY

    def __post_init__(self) -> None:
        least = None if self.least is None else number("least", self.least, 0.0, 1.0, "in [0, 1]")
        self._set(least=least, parameter=-1.0 if least is None else least)

    @classmethod
    def for_bet(cls, bet: float, rates: Constant, arms: int) -> Self:
        """The rule whose least probability leaves room for bets that are larger than the typical one."""
        floors = rates.floors(np.zeros(arms))
        spare = float(spare_share(floors))
        needed = (ROOM * bet - float(floors.min())) * arms / spare if spare > 0.0 else 0.0
        return cls(float(f"{min(max(needed, 0.0), 1.0):.3g}"))

    def guarantees(self, rates: Constant, arms: int) -> Array | None:
        """The floor of every arm, and its part of what is shared equally."""
        floors = super().guarantees(rates, arms)
        if floors is None or isinstance(rates, Bounded):
            return floors
        spare = float(spare_share(floors))
        return np.asarray(floors + float(posterior.equal_part(self.parameter, floors, spare)) * spare / arms)
