"""Fair-UCB (Patil et al., 2021): an arm too far behind its floor, else the largest upper confidence bound."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import number
from fairbai.sampling.bounds import harmonic
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class FairUCB(SamplingRule):
    """The arm with the largest p_a (t - 1) - N_a if that is above the tolerance, else the largest upper bound.

    Fair-UCB of Patil, Ghalme, Nair and Narahari (2021). They prove ⌊p_a t⌋ - N_a <= tolerance for floors below 1/K; for
    any floors, no arm is ever more than tolerance + H_(K-1) trials behind. They use UCB1; the bounds here are those of
    the family, which are tighter. It takes no ceilings or groups.

    Args:
        tolerance: By how many trials an arm may be behind its floor before it must be pulled (their α).

    Example:
        >>> FairUCB(tolerance=3).most_behind(arms=2)
        4.0
    """

    tolerance: float = 0.0
    fairness: ClassVar[Fairness] = "every path"
    converges_to: ClassVar[Target] = "none"
    takes_limits: ClassVar[bool] = False
    code: ClassVar[int] = kernels.FAIR_UCB
    origin: ClassVar[int] = kernels.FROM_POLICY

    def __post_init__(self) -> None:
        tolerance = number("tolerance", self.tolerance, 0.0, 1e300, "at least 0")
        self._set(tolerance=tolerance, parameter=tolerance)

    def most_behind(self, arms: int) -> float:
        """The claim of docs/earning.md."""
        return self.tolerance + harmonic(arms - 1)
