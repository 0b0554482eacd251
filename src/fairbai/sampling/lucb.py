"""LUCB with divergence-based confidence intervals, for comparison."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import confidence
from fairbai.sampling.rule import Fairness, Limit, SamplingRule


@dataclass(frozen=True, eq=False)
class LUCB(SamplingRule):
    """The best arm, or the other arm with the highest upper confidence bound: whichever of the two has fewer trials.

    The bound of an arm is the largest m with N d(θ̂, m) <= log(12 K t^1.1 / delta), the exploration rate of KL-LUCB
    (Kaufmann and Kalyanakrishnan, 2013). After one pull of each arm; pays
    no attention to floors.

    Args:
        delta: The confidence that the intervals are made for; it steers the sampling only.

    Example:
        >>> LUCB(delta=0.05).limit
        'none'
    """

    delta: float = 0.1
    fairness: ClassVar[Fairness] = "none"
    limit: ClassVar[Limit] = "none"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", confidence(self.delta))

    @property
    def code(self) -> int:
        """Its number in ``kernels.sampling``."""
        return kernels.LUCB

    @property
    def parameter(self) -> float:
        """The delta of the intervals."""
        return self.delta
