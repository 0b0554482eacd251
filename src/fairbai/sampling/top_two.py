"""Top-two without fairness, for comparison."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class TopTwo(SamplingRule):
    """Empirical best arm b against its transportation-cost-improved challenger c; pays no attention to floors.

    c minimises the cost of a tie with b plus log N_c. b is pulled with probability N_b d(θ_b, m) over that cost, its
    share in the evidence (information-directed selection), so that no share has to be tuned. Begins with one pull of
    each arm.

    Example:
        >>> TopTwo().converges_to
        'unconstrained'
    """

    fairness: ClassVar[Fairness] = "none"
    converges_to: ClassVar[Target] = "unconstrained"
    random: ClassVar[bool] = True
    code: ClassVar[int] = kernels.TOP_TWO
