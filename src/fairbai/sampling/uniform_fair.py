"""Uniform Fair: the paper's fair baseline."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class UniformFair(SamplingRule):
    """Pulls arm a with probability p_a(θ̂) + (1 - Σ p(θ̂)) / K, after one pull of each arm.

    Example:
        >>> UniformFair().fairness
        'on average'
    """

    fairness: ClassVar[Fairness] = "on average"
    converges_to: ClassVar[Target] = "none"
    draws: ClassVar[bool] = True
    code: ClassVar[int] = kernels.UNIFORM_FAIR
