"""Fair anchored top-two: fairness first, then the best arm or its challenger. No optimisation at all."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import number
from fairbai.sampling.rule import Fairness, Limit, SamplingRule


@dataclass(frozen=True, eq=False)
class FairTopTwo(SamplingRule):
    """The default rule: as few trials as F-TaS or fewer, floors on every path, a fraction of the cost.

    If an arm is behind its floor by more than a quarter of a pull, it is pulled; then an arm that was never pulled.
    Otherwise the choice is between the empirical best arm b and its challenger, the arm that is cheapest to tie with b
    when log N is added to the cost: b if Σ d(θ_b, m_a) / d(θ_a, m_a) > 1 over the arms above their floors (for Gaussian
    arms of one variance Σ (N_a / N_b)² > 1), else the challenger. That sum is the slope of the allocation problem, and
    1 at its optimum.

    Args:
        margin: An arm counts as above its floor if N_a > p_a t + margin. An arm that is kept at its floor moves up and
            down by a trial, and by more where the floor is learned; below that, it would be taken for one above it.

    Example:
        >>> FairTopTwo().to_dict()
        {'kind': 'fair_top_two', 'margin': 2.0}
    """

    margin: float = 2.0
    fairness: ClassVar[Fairness] = "every path"
    limit: ClassVar[Limit] = "fair"

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", number("margin", self.margin, 0.0, 1e300, "at least 0"))

    @property
    def code(self) -> int:
        """Its number in ``kernels.sampling``."""
        return kernels.FAIR_TOP_TWO

    @property
    def origin(self) -> int:
        """Floors come first from the first trial on."""
        return kernels.FROM_POLICY

    @property
    def parameter(self) -> float:
        """The margin."""
        return self.margin
