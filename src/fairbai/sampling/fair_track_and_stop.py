"""F-TaS: track the fair optimal allocation of the estimated instance."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from fairbai.kernels.sampling import rules as kernels
from fairbai.sampling.rule import Limit, SamplingRule


@dataclass(frozen=True, eq=False)
class FairTrackAndStop(SamplingRule):
    """The paper's F-TaS: pull from π(t) = (1 - ε_t) w*_p(θ̂) + ε_t π_c with ε_t = 1 / (2 √t).

    π_c is p_a + (1 - Σp)/K for floors that are all positive; p_a, and (1 - Σp)/K_0 for each of the K_0 arms without a
    floor, where some are zero; 1/K for floors that depend on the means. Before every arm has a reward, π = π_c.

    Args:
        tracking: "sampled" draws the arm from π (the paper). "cumulative" pulls the arm that is furthest below the sum
            of all π so far: then N_a(t) is never below Σ_s π_a(s) by more than H_K - 1 = 1/2 + ... + 1/K.
        start: "each-arm" first pulls every arm once (the paper's experiments); "policy" begins with π_c. Cumulative
            tracking from the policy meets pre-specified floors on every path: N_a(t) >= p_a t - (H_K - 1).

    Example:
        >>> FairTrackAndStop(tracking="cumulative", start="policy").fairness
        'every path'
    """

    tracking: Literal["sampled", "cumulative"] = "sampled"
    start: Literal["each-arm", "policy"] = "each-arm"
    limit: ClassVar[Limit] = "fair"

    def __post_init__(self) -> None:
        if self.tracking not in ("sampled", "cumulative"):
            raise ValueError(f"tracking must be 'sampled' or 'cumulative', got {self.tracking!r}")
        if self.start not in ("each-arm", "policy"):
            raise ValueError(f"start must be 'each-arm' or 'policy', got {self.start!r}")
        object.__setattr__(self, "fairness", "on average" if self.tracking == "sampled" else "every path")

    @property
    def code(self) -> int:
        """Its number in ``kernels.sampling``."""
        return kernels.FAIR_SAMPLED if self.tracking == "sampled" else kernels.FAIR_CUMULATIVE

    @property
    def origin(self) -> int:
        """How it begins."""
        return kernels.FROM_EACH_ARM if self.start == "each-arm" else kernels.FROM_POLICY
