"""Stochastic-rate-constrained UCB (Claure et al., 2020): the floors as probabilities, else UCB."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class StochasticQuota(SamplingRule):
    """Draws arm a with probability p_a; what the floors leave goes to the arm with the largest upper confidence bound.

    The stochastic variant of Claure et al. (2020), whose floors are all the same: any arm with probability K p, else
    UCB. It draws from the first trial on. It takes no ceilings or groups: with these it is ``ConstrainedLP``.

    Example:
        >>> StochasticQuota().fairness
        'on average'
    """

    fairness: ClassVar[Fairness] = "on average"
    converges_to: ClassVar[Target] = "none"
    random: ClassVar[bool] = True
    draws: ClassVar[bool] = True
    takes_limits: ClassVar[bool] = False
    code: ClassVar[int] = kernels.STOCHASTIC_QUOTA
    origin: ClassVar[int] = kernels.FROM_POLICY
