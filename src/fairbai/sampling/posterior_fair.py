"""Posterior fair: drawn from smooth policies, for stops that weigh every trial by its probability."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairbai.kernels.rates import spare_share
from fairbai.kernels.sampling import posterior
from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import Array
from fairbai.problems.rates import Bounded, Constant
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class PosteriorFair(SamplingRule):
    """Draws every arm from a policy that changes little; the default rule with ``DesignBased``.

    The policy is the floors and shares of what they leave. The shares move by small steps towards those with which the
    best arm is soonest told from its hardest rival, on average over what the means may be by the rewards so far. It
    draws from the first trial on, and every arm with a probability above its floor: 1 % of what the floors leave is
    always shared equally. Where ceilings or groups limit the arms too, the policy is fixed within all limits.

    Example:
        >>> import fairbai as fb
        >>> PosteriorFair().guarantees(fb.rates.Constant(0.2), arms=2).round(3)
        array([0.203, 0.203])
    """

    fairness: ClassVar[Fairness] = "on average"
    converges_to: ClassVar[Target] = "none"
    random: ClassVar[bool] = True
    draws: ClassVar[bool] = True
    code: ClassVar[int] = kernels.POSTERIOR_FAIR
    origin: ClassVar[int] = kernels.FROM_POLICY

    def guarantees(self, rates: Constant, arms: int) -> Array | None:
        """The floor of every arm, and its part of what is shared equally."""
        floors = super().guarantees(rates, arms)
        if floors is None or isinstance(rates, Bounded):
            return floors
        return np.asarray(floors + posterior.LEAST * float(spare_share(floors)) / arms)
