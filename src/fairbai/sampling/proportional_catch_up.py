"""Trials in proportion to means, by catching up (Wang and Joachims, 2021, and others)."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class ProportionalCatchUp(SamplingRule):
    """The arm with the largest t θ̂_a / Σθ̂ - N_a, after which trials are in proportion to means: N_a / N_b → θ_a / θ_b.

    A controller of amortised exposure, as in Wang and Joachims (2021) and the works before them. Where less is better,
    trials are in proportion to 1 / θ, and for rewards in an interval to the distance from its worse end. A Gaussian
    mean may be negative; it counts as at least its standard error, so that such an arm gets ever fewer trials. It
    ignores floors and limits.

    Example:
        >>> ProportionalCatchUp().random
        False
    """

    fairness: ClassVar[Fairness] = "none"
    converges_to: ClassVar[Target] = "none"
    code: ClassVar[int] = kernels.PROPORTIONAL_CATCH_UP
    origin: ClassVar[int] = kernels.FROM_POLICY
