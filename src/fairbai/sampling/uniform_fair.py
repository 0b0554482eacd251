"""Uniform Fair: the paper's fair baseline."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fairbai.kernels.rates import spare_share
from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import Array
from fairbai.problems.rates import Bounded, Constant
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class UniformFair(SamplingRule):
    """Pulls arm a with probability p_a(θ̂) + (1 - Σ p(θ̂)) / K.

    Args:
        start: "each-arm" first pulls every arm once (the paper); "policy" draws from the first trial on.

    Example:
        >>> UniformFair().fairness
        'on average'
    """

    start: Literal["each-arm", "policy"] = "each-arm"
    fairness: ClassVar[Fairness] = "on average"
    converges_to: ClassVar[Target] = "none"
    random: ClassVar[bool] = True
    draws: ClassVar[bool] = True
    code: ClassVar[int] = kernels.UNIFORM_FAIR

    def __post_init__(self) -> None:
        if self.start not in ("each-arm", "policy"):
            raise ValueError(f"start must be 'each-arm' or 'policy', got {self.start!r}")
        self._set(origin=kernels.FROM_EACH_ARM if self.start == "each-arm" else kernels.FROM_POLICY)

    def guarantees(self, rates: Constant, arms: int) -> Array | None:
        """The policy itself, which is always the same for floors that are known beforehand."""
        floors = super().guarantees(rates, arms)
        if floors is None or isinstance(rates, Bounded):
            return floors
        return np.asarray(floors + float(spare_share(floors)) / arms)
