"""Thompson sampling with floors: what most practitioners run, with known probabilities."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class FairThompson(SamplingRule):
    """Draws arm a with probability p_a + (1 - Σp) P(a is the best), by the posterior of the means.

    Thompson sampling (1933) draws one mean per arm from the posterior and takes the largest, which is to draw an arm
    with its probability of being the best. Here that probability is computed, and so it is known, as ``DesignBased``
    needs it. The priors are flat, and Beta(1, 1) for rewards in [0, 1]. It draws from the first trial on: while arms
    have no reward, what the floors leave goes to these. It takes no ceilings or groups.

    Example:
        >>> FairThompson().draws
        True
    """

    fairness: ClassVar[Fairness] = "on average"
    converges_to: ClassVar[Target] = "none"
    random: ClassVar[bool] = True
    draws: ClassVar[bool] = True
    takes_limits: ClassVar[bool] = False
    code: ClassVar[int] = kernels.FAIR_THOMPSON
    origin: ClassVar[int] = kernels.FROM_POLICY
