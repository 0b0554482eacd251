"""Strict-rate-constrained UCB (Claure et al., 2020): an arm below its share first, else UCB."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.sampling.bounds import harmonic
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class StrictQuota(SamplingRule):
    """The arm furthest below its floor, if any is below; else the largest upper confidence bound.

    The strict variant of Claure et al. (2020), whose floors are all the same: N_a >= p t - 1. For any floors, no arm
    is ever more than H_(K-1) - 1 + 1/K trials behind. Their text was not at hand: which of several arms below their
    share comes first is our choice. It takes no ceilings or groups.

    Example:
        >>> StrictQuota().most_behind(arms=2)
        0.5
    """

    fairness: ClassVar[Fairness] = "every path"
    converges_to: ClassVar[Target] = "none"
    takes_limits: ClassVar[bool] = False
    code: ClassVar[int] = kernels.STRICT_QUOTA
    origin: ClassVar[int] = kernels.FROM_POLICY

    def most_behind(self, arms: int) -> float:
        """The claim of docs/earning.md."""
        return harmonic(arms - 1) - 1.0 + 1.0 / arms
