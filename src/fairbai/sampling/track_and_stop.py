"""Track-and-Stop (Garivier and Kaufmann, 2016): the same without fairness."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from fairbai.kernels.sampling import rules as kernels
from fairbai.sampling.rule import Fairness, SamplingRule, Target


@dataclass(frozen=True, eq=False)
class TrackAndStop(SamplingRule):
    """Tracks the unconstrained optimum w*(θ̂), after one pull of each arm; ignores floors.

    Args:
        tracking: "direct" pulls the least pulled arm while it lags behind √t - K/2, else the arm with the largest
            t w*_a - N_a. "cumulative" pulls the arm that is furthest below the sum of the allocations so far, each
            mixed with ε_t = 1 / (2 √(K² + t)) for every arm.

    Example:
        >>> TrackAndStop(tracking="cumulative").converges_to
        'unconstrained'
    """

    tracking: Literal["direct", "cumulative"] = "direct"
    fairness: ClassVar[Fairness] = "none"
    converges_to: ClassVar[Target] = "unconstrained"
    solves: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.tracking not in ("direct", "cumulative"):
            raise ValueError(f"tracking must be 'direct' or 'cumulative', got {self.tracking!r}")
        direct = self.tracking == "direct"
        self._set(code=kernels.DIRECT if direct else kernels.CUMULATIVE, tracks=not direct)
