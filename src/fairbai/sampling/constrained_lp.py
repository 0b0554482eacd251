"""UCB-LP (Liu et al., 2022): a linear program with upper confidence bounds as values."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class ConstrainedLP(SamplingRule):
    """Draws from the policy within all limits that would earn most if every mean were its upper confidence bound.

    The optimistic linear program of Liu et al. (2022) and others, for floors, ceilings and disjoint groups, for which
    filling up greedily is exact. Every draw is within all limits. With floors alone it is ``StochasticQuota``, but for
    the first trials: while arms have no reward it draws from the interior of the limits.

    Example:
        >>> import fairbai as fb
        >>> limits = fb.rates.Bounded(0.1, [0.5, 1.0, 1.0], [fb.rates.Group([0, 1], ceiling=0.6)])
        >>> fb.Identifier(3, delta=0.1, family="bernoulli", floors=limits, sampling="constrained_lp").sampling
        ConstrainedLP()
    """

    fairness: ClassVar[Fairness] = "on average"
    converges_to: ClassVar[Target] = "none"
    random: ClassVar[bool] = True
    draws: ClassVar[bool] = True
    code: ClassVar[int] = kernels.CONSTRAINED_LP
    origin: ClassVar[int] = kernels.FROM_POLICY
