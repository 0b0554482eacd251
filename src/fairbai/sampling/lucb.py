"""LUCB with divergence-based confidence intervals, for comparison."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import confidence
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class LUCB(SamplingRule):
    """The best arm, or the other arm with the highest upper confidence bound: whichever of the two has fewer trials.

    The bound of an arm is the largest m with N d(θ̂, m) <= log(12 K t^1.1 / delta), the exploration rate of KL-LUCB
    (Kaufmann and Kalyanakrishnan, 2013). It begins with one pull of each arm and ignores floors.

    Args:
        delta: The error probability that the intervals are made for; it affects the sampling only.

    Example:
        >>> LUCB(delta=0.05).converges_to
        'none'
    """

    delta: float = 0.1
    fairness: ClassVar[Fairness] = "none"
    converges_to: ClassVar[Target] = "none"
    code: ClassVar[int] = kernels.LUCB

    def __post_init__(self) -> None:
        delta = confidence(self.delta)
        self._set(delta=delta, parameter=delta)
