"""When to stop: the thresholds for the generalised likelihood ratio, each with what is proved about it."""

from fairbai.stopping.rules import (
    Heuristic,
    KaufmannKoolen,
    Mixture,
    PairwiseGaussian,
    Proof,
    StoppingRule,
    TwoSidedMixture,
)

__all__ = ["Heuristic", "KaufmannKoolen", "Mixture", "PairwiseGaussian", "Proof", "StoppingRule", "TwoSidedMixture"]
