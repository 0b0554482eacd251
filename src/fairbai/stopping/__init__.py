"""When to stop: the thresholds for the generalised likelihood ratio, each with what is proved about it."""

from fairbai.stopping.design import DesignBased
from fairbai.stopping.rules import (
    ChanceToWin,
    Heuristic,
    KaufmannKoolen,
    Mixture,
    PairwiseGaussian,
    Proof,
    StoppingRule,
    TwoSidedMixture,
)

__all__ = [
    "ChanceToWin",
    "DesignBased",
    "Heuristic",
    "KaufmannKoolen",
    "Mixture",
    "PairwiseGaussian",
    "Proof",
    "StoppingRule",
    "TwoSidedMixture",
]
