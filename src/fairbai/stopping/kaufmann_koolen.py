"""The thresholds of Kaufmann and Koolen, "Mixture martingales revisited" (2021)."""

import math
from dataclasses import dataclass
from typing import ClassVar

from fairbai.kernels.stopping import scores as kernels
from fairbai.problems.checks import true_or_false
from fairbai.problems.families import Bernoulli, Exponential, Gaussian, Poisson
from fairbai.stopping.constants import c_exp, c_exp_inverse, c_g, c_g_inverse
from fairbai.stopping.rules import Proof, StoppingRule


@dataclass(frozen=True, eq=False)
class PairwiseGaussian(StoppingRule):
    """2 log(4 + log N_a) + 2 log(4 + log N_b) + 2 C_g(½ log((K-1)/δ)); proved for Gaussian arms of known variance.

    Kaufmann and Koolen's threshold for pairs of Gaussian arms.

    Example:
        >>> round(PairwiseGaussian().level(0.1, arms=2), 3)
        5.341
    """

    proof: ClassVar[Proof] = Proof((Gaussian,))
    code: ClassVar[int] = kernels.PAIRWISE_GAUSSIAN

    def level(self, delta: float, arms: int) -> float:
        """2 C_g(½ log((K - 1) / delta))."""
        return 2.0 * c_g(0.5 * (math.log(arms - 1) - math.log(delta)))

    def _log_risk(self, score: float, arms: int) -> float:
        """Of (K - 1) exp(-2 x) with C_g(x) = score / 2."""
        return math.log(arms - 1) - 2.0 * c_g_inverse(0.5 * score)


@dataclass(frozen=True, eq=False)
class KaufmannKoolen(StoppingRule):
    """Kaufmann and Koolen's threshold for one-parameter exponential families, with the exact C_exp; proved.

    With ``pairwise`` (the default, and the tighter one) it is
    3 log(1 + log N_a) + 3 log(1 + log N_b) + 2 C_exp(½ log((K-1)/δ)) for every pair; without, the threshold of the
    paper's text over all arms, 3 Σ_a log(1 + log N_a) + K C_exp(log(1/δ) / K).

    Example:
        >>> round(KaufmannKoolen(pairwise=False).level(0.1, arms=10), 1)
        72.5
    """

    pairwise: bool = True
    proof: ClassVar[Proof] = Proof((Gaussian, Bernoulli, Poisson, Exponential))

    def __post_init__(self) -> None:
        pairwise = true_or_false("pairwise", self.pairwise)
        self._set(pairwise=pairwise, code=kernels.KAUFMANN_KOOLEN_PAIRWISE if pairwise else kernels.KAUFMANN_KOOLEN)

    def level(self, delta: float, arms: int) -> float:
        """2 C_exp(½ log((K - 1) / delta)), or K C_exp(log(1 / delta) / K)."""
        if self.pairwise:
            return 2.0 * c_exp(0.5 * (math.log(arms - 1) - math.log(delta)))
        return arms * c_exp(-math.log(delta) / arms)

    def _log_risk(self, score: float, arms: int) -> float:
        """Of (K - 1) exp(-2 x) with C_exp(x) = score / 2, or exp(-K x) with C_exp(x) = score / K."""
        if self.pairwise:
            return math.log(arms - 1) - 2.0 * c_exp_inverse(0.5 * score)
        return -arms * c_exp_inverse(score / arms)
