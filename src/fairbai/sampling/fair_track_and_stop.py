"""F-TaS: track the fair optimal allocation of the estimated instance."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fairbai.kernels.rates import spare_share
from fairbai.kernels.sampling import rules as kernels
from fairbai.problems.checks import Array
from fairbai.problems.rates import Bounded, Constant
from fairbai.sampling.bounds import Bounds, group_sizes, harmonic
from fairbai.sampling.rule import SamplingRule, Target


@dataclass(frozen=True, eq=False)
class FairTrackAndStop(SamplingRule):
    """The paper's F-TaS: pull from π(t) = (1 - ε_t) w*_p(θ̂) + ε_t π_c with ε_t = 1 / (2 √t).

    π_c is p_a + (1 - Σp)/K for floors that are all positive; p_a, and (1 - Σp)/K_0 for each of the K_0 arms without a
    floor, where some are zero; 1/K for floors that depend on the means. Before every arm has a reward, π = π_c.

    Args:
        tracking: "sampled" draws the arm from π (the paper). "cumulative" draws one of the arms that are below the sum
            of all π so far, in proportion to how far; an arm that is further below than a trial goes first. Floors that
            are known beforehand are then met on every path, up to a constant.
        start: "each-arm" first pulls every arm once (the paper's experiments); "policy" begins with π_c. With
            cumulative tracking from the policy the constant is H_(K-1) = 1 + 1/2 + ... + 1/(K-1), that is,
            N_a(t) >= p_a t - H_(K-1); one pull of each arm adds D = Σ_b (K π_c,b - 1)₊, which can be nearly K - 1.

    Example:
        >>> FairTrackAndStop(tracking="cumulative", start="policy").fairness
        'every path'
    """

    tracking: Literal["sampled", "cumulative"] = "sampled"
    start: Literal["each-arm", "policy"] = "each-arm"
    converges_to: ClassVar[Target] = "fair"
    random: ClassVar[bool] = True
    solves: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.tracking not in ("sampled", "cumulative"):
            raise ValueError(f"tracking must be 'sampled' or 'cumulative', got {self.tracking!r}")
        if self.start not in ("each-arm", "policy"):
            raise ValueError(f"start must be 'each-arm' or 'policy', got {self.start!r}")
        self._set(origin=kernels.FROM_EACH_ARM if self.start == "each-arm" else kernels.FROM_POLICY)
        if self.tracking == "sampled":
            self._set(code=kernels.FAIR_SAMPLED, fairness="on average", draws=True)
        else:
            self._set(code=kernels.FAIR_CUMULATIVE, fairness="every path", tracks=True)

    def bounds(self, rates: Constant, arms: int) -> Bounds | None:
        """The claims of docs/sampling.md and docs/limits.md, for cumulative tracking."""
        if self.tracking == "sampled":
            return None
        behind = harmonic(arms - 1)
        if self.start == "each-arm":
            if isinstance(rates, Bounded):  # one pull of each arm may be more than a ceiling allows
                return None
            behind += float(np.maximum(arms * _forced(rates.floors(np.zeros(arms))) - 1.0, 0.0).sum())
        sizes = group_sizes(rates, arms)
        groups, others = [_lag(arms, size) for size in sizes], [_lag(arms, arms - size) for size in sizes]
        return Bounds([behind] * arms, [1.0] * arms, groups, others)


def _lag(arms: int, size: int) -> float:
    """By how much a set of so many arms can lag behind the sum of its policies; all others are then ahead of theirs."""
    return size * (1.0 + harmonic(arms - 1) - harmonic(size)) if size < arms else 0.0


def _forced(floors: Array) -> Array:
    """π_c, the policy before every arm has a reward, for floors that are known beforehand."""
    receivers = floors == 0.0 if (floors == 0.0).any() else np.ones(floors.size, dtype=bool)
    forced: Array = floors + receivers * (float(spare_share(floors)) / receivers.sum())
    return forced
