"""Whether linear arms earn what their features say: a test that holds at all times, for every sampling rule.

Under the model arm i has the mean x_iᵀθ for some θ. The test compares it with arms that have any means at all. For a
number κ > 0 and the true θ,

    M_κ(θ) = Π_i (1 + N_i/κ)^(-1/2) exp( (S_i - N_i x_iᵀθ)² / (2σ² (N_i + κ)) )

is a supermartingale that starts at 1: the likelihood ratio of arms whose means deviate from x_iᵀθ, averaged over normal
deviations of variance σ²/κ. Its least value over θ, a weighted least-squares problem, is therefore an e-process: at
most M_κ at the true θ, whatever that is. So is the average over several κ. docs/factorial.md has the proof.

In a factorial design the likeliest deviations are interactions of two factors. Half of the average is for them: for
deviations X v + Z u of the means, where Z are the contrasts of an interaction that the model lacks, and v and u are
normal of variances σ²/(8κK) and σ²/(κK), for K arms. They have fewer dimensions, and are found with fewer rewards.
"""

import math
from collections.abc import Sequence

import numpy as np

from fairbai.problems.checks import Array

KAPPAS = tuple(4.0**power for power in range(8))
"""In rewards per arm: each κ is best when arms have about that many; 4 apart, none is far from one of them."""

WITHIN = 8.0
"""The κ of deviations within the model, in that of interactions. Something has to be there: else another θ could
explain whatever an interaction does, without a cost. 8 notices more than 1, and about as much as 64 (observed)."""

MAX_COLUMNS = 100
"""Of an interaction; larger ones, such as that of 12 and 12 levels, are left to the general test: the work grows with
the third power, and they are nearly as general."""

EVERY = 100  # rewards up to which every one is followed by a look
STEPS = 50.0  # looks per e-fold of rewards after that


def is_time_to_look(rewards: int) -> bool:
    """Whether to compute the test after so many rewards: always at first, then whenever they have grown by 2 %."""
    return rewards <= EVERY or int(STEPS * math.log(rewards)) > int(STEPS * math.log(rewards - 1))


def log_evidence(
    features: Array, variance: float, counts: Array, sums: Array, interactions: Sequence[Array] = ()
) -> float:
    """The logarithm of the e-value against the model.

    Args:
        features: One row per arm.
        variance: σ², of a reward.
        counts: The rewards of every arm.
        sums: Their sums.
        interactions: Further features, for each interaction that the model lacks.
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
    general = _log_mean(found)
    if not interactions or general == math.inf:
        return general
    left = number * residuals(rows, means, np.sqrt(number))
    size = math.sqrt(len(features))
    some = [_for_interaction(rows / size, more[seen] / size, variance, number, left) for more in interactions]
    return _log_mean([general, _log_mean([one for ones in some for one in ones])])


def _for_interaction(rows: Array, more: Array, variance: float, number: Array, left: Array) -> list[float]:
    """The logarithms of the e-values against one interaction, for every κ.

    With E = (X, Z) / √K, G = EᵀNE, the diagonal matrix P of 8κ and κ, and r the sums less those of the best fit, the
    exponent is ‖L⁻¹(Eᵀr - EᵀNXt)‖² / (2σ²) with LLᵀ = G + P, at t from the best fit. Its least value over t is a
    least-squares problem.
    """
    both, size = np.hstack([rows, more]), rows.shape[1]
    gram, total = (both * number[:, None]).T @ both, both.T @ left
    precision, found = np.ones(both.shape[1]), []
    precision[:size] = WITHIN
    for kappa in KAPPAS:
        added = kappa * precision
        root = np.linalg.cholesky(gram + np.diag(added))
        known = np.linalg.solve(root, np.column_stack([gram[:, :size], total]))
        misfit = float(np.sum(residuals(known[:, :size], known[:, size], np.ones(len(known))) ** 2))
        cost = 2.0 * float(np.log(np.diag(root)).sum()) - float(np.log(added).sum())
        found.append(0.5 * (misfit / variance - cost))
    return found


def _log_mean(logarithms: list[float]) -> float:
    """The logarithm of the mean of the numbers that have these."""
    top = max(logarithms)
    if math.isinf(top):
        return top
    return top + math.log(sum(math.exp(one - top) for one in logarithms) / len(logarithms))


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
