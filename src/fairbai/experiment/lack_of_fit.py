"""Whether linear arms earn what their features say: a test that holds at all times, for every sampling rule.

Under the model arm i has the mean x_iᵀθ for some θ. The test compares it with arms that have any means at all. For a
number κ > 0 and the true θ,

    M_κ(θ) = Π_i (1 + N_i/κ)^(-1/2) exp( (S_i - N_i x_iᵀθ)² / (2σ² (N_i + κ)) )

is a supermartingale that starts at 1: the likelihood ratio of arms whose means deviate from x_iᵀθ, averaged over normal
deviations of variance σ²/κ. Its least value over θ, a weighted least-squares problem, is therefore an e-process: at
most M_κ at the true θ, whatever that is. So is the average over several κ. docs/factorial.md has the proof.
"""

import math

import numpy as np

from fairbai.problems.checks import Array

KAPPAS = tuple(4.0**power for power in range(8))
"""In rewards per arm: each κ is best when arms have about that many; 4 apart, none is far from one of them."""

EVERY = 100  # rewards up to which every one is followed by a look
STEPS = 50.0  # looks per e-fold of rewards after that


def is_time_to_look(rewards: int) -> bool:
    """Whether to compute the test after so many rewards: always at first, then whenever they have grown by 2 %."""
    return rewards <= EVERY or int(STEPS * math.log(rewards)) > int(STEPS * math.log(rewards - 1))


def log_evidence(features: Array, variance: float, counts: Array, sums: Array) -> float:
    """The logarithm of the e-value against the model.

    Args:
        features: One row per arm.
        variance: σ², of a reward.
        counts: The rewards of every arm.
        sums: Their sums.
    """
    seen = counts > 0.0
    if int(seen.sum()) <= features.shape[1]:
        return -math.inf  # so few arms fit perfectly
    rows, number = features[seen], counts[seen]
    means = sums[seen] / number
    found = []
    for kappa in KAPPAS:
        misfit = float(np.sum((_weighted(number, kappa) * residuals(rows, means, _weighted(number, kappa))) ** 2))
        found.append(0.5 * (misfit / variance - float(np.log1p(number / kappa).sum())))
    top = max(found)
    if top == math.inf:
        return math.inf
    return top + math.log(sum(math.exp(one - top) for one in found) / len(found))


def worst_misfit(features: Array, counts: Array, sums: Array) -> tuple[int, float]:
    """The arm whose mean contradicts the best fit most, and by how much it is above it."""
    seen = np.flatnonzero(counts > 0.0)
    number = counts[seen]
    rest = residuals(features[seen], sums[seen] / number, np.sqrt(number))
    worst = int(np.argmax(np.abs(rest) * np.sqrt(number)))
    return int(seen[worst]), float(rest[worst])


def residuals(features: Array, means: Array, weights: Array) -> Array:
    """What remains of the means after the best fit, with these weights on the distances."""
    theta = np.linalg.lstsq(features * weights[:, None], means * weights, rcond=None)[0]
    rest: Array = means - features @ theta
    return rest


def _weighted(counts: Array, kappa: float) -> Array:
    weights: Array = counts / np.sqrt(counts + kappa)
    return weights
