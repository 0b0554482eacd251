"""When to stop: the thresholds for the generalised likelihood ratio, each with what is proved about it."""

from fairbai.stopping.design import DesignBased
from fairbai.stopping.kaufmann_koolen import KaufmannKoolen, PairwiseGaussian
from fairbai.stopping.linear import LinearMixture
from fairbai.stopping.rules import (
    ChanceToWin,
    Heuristic,
    Mixture,
    Proof,
    StoppingRule,
    TwoSidedMixture,
)

__all__ = [
    "ChanceToWin",
    "DesignBased",
    "Heuristic",
    "KaufmannKoolen",
    "LinearMixture",
    "Mixture",
    "PairwiseGaussian",
    "Proof",
    "StoppingRule",
    "TwoSidedMixture",
]
