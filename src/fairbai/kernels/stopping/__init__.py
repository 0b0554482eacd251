"""The evidence for an answer: scores of pairs of arms, and one-sided mixtures of tilts."""
