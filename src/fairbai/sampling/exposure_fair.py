"""FairX-UCB (Wang et al., 2021): exposure in proportion to merit, optimistically."""

from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import Array, number
from fairbai.problems.rates import Constant
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class ExposureFair(SamplingRule):
    """Draws arm a with a probability in proportion to its merit exp(c θ_a), at optimistic means.

    FairX-UCB of Wang, Bai, Sun and Joachims (2021): of all means within the confidence intervals, take those at which
    drawing by merit earns most. They prove that the sum over trials of the distance from the fair policy grows like
    √(K t), up to logarithms, for rewards in [0, 1] and merits that do not change faster than the mean. The bonus of
    the intervals is log(1 + t log² t), since there is no horizon; theirs, which we know from memory only, is
    2 log(4 K T / δ). It ignores floors and limits.

    Args:
        steepness: c, per unit of reward (for rewards in an interval, per length of the interval). At 0 all arms are
            drawn alike; the larger, the more goes to the best.

    Example:
        >>> ExposureFair(steepness=10).to_dict()
        {'kind': 'exposure_fair', 'steepness': 10.0}
    """

    steepness: float = 4.0
    fairness: ClassVar[Fairness] = "none"
    converges_to: ClassVar[Target] = "none"
    random: ClassVar[bool] = True
    draws: ClassVar[bool] = True
    code: ClassVar[int] = kernels.EXPOSURE_FAIR
    origin: ClassVar[int] = kernels.FROM_POLICY

    def __post_init__(self) -> None:
        steepness = number("steepness", self.steepness, 0.0, 1e9, "from 0 to 1e9")
        self._set(steepness=steepness, parameter=steepness)

    def guarantees(self, rates: Constant, arms: int) -> Array | None:
        """None: it does not know of floors."""
        return None
