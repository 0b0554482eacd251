"""Intervals for contrasts of linear arms that hold at all times and for all contrasts at once.

With V = Σ x xᵀ over the rewards, θ̂ the least-squares estimate and any fixed κ > 0,

    M(θ) = det(I + V/κ)^(-1/2) exp( ‖V(θ̂ - θ)‖² / (2σ²) ),  the norm that of (V + κI)⁻¹,

is a supermartingale at the true θ that starts at 1: a likelihood ratio, averaged over normal deviations of variance
σ²/κ. By Ville's inequality it is below 1/δ at all times with probability at least 1 - δ. Then θ is in an ellipsoid, and
for every c at once, by the Cauchy-Schwarz inequality,

    |cᵀ(θ̂ - θ)|² <= 2σ² (log(1/δ) + ½ log det(I + V/κ)) (cᵀV⁻¹c + κ‖V⁻¹c‖²).

The average of such M with several κ is below 1/δ as well, and at least the average of their least values over all θ
with a given cᵀθ: the interval of cᵀθ has those values at which that average is below 1/δ.

It is the same event on which the stop for linear arms is right; docs/factorial.md has the proof.
"""

import math
from collections.abc import Sequence

import numpy as np

from fairbai.problems.checks import Array

Mixtures = Sequence[tuple[float, float]]
RANK = 1e-12  # an eigenvalue of V below this part of the largest counts as 0
STEPS = 50  # at most, of Newton's method
INSIDE = 1e-9  # so far outside the span of the features, relative to its length, may a contrast be by rounding


def contrast_intervals(
    features: Array, variance: float, mixtures: Mixtures, delta: float, counts: Array, sums: Array, contrasts: Array
) -> tuple[Array, Array]:
    """Estimates of contrasts, and the ends of their intervals, one row per contrast.

    With probability at least 1 - delta all intervals of all contrasts contain the truth, at all times at once. A
    contrast that the rewards so far say nothing about is estimated as nan, from -inf to inf.

    Args:
        features: One row per arm.
        variance: Of a reward.
        mixtures: For each, its κ, the rewards that its deviations are worth, and the logarithm of its weight.
        delta: The probability that any interval ever misses.
        counts: The rewards of every arm.
        sums: Their sums.
        contrasts: One row per contrast, one column per parameter.
    """
    values, vectors = np.linalg.eigh((features * counts[:, None]).T @ features)
    values = np.maximum(values, 0.0)
    known = values > RANK * max(1.0, float(values[-1]))
    inverse = np.divide(1.0, values, out=np.zeros(values.size), where=known)
    turned = contrasts @ vectors  # in the directions of the eigenvectors
    estimates: Array = turned @ (inverse * (vectors.T @ (features.T @ sums)))
    levels = [-math.log(delta) + 0.5 * float(np.log1p(values / kappa).sum()) - share for kappa, share in mixtures]
    spreads = np.array([(turned**2) @ (inverse + kappa * inverse**2) for kappa, _ in mixtures])
    radius = np.sqrt(2.0 * variance * _reach(spreads, np.array(levels)))
    outside = np.abs(turned[:, ~known]).sum(axis=1) > INSIDE * np.linalg.norm(contrasts, axis=1)
    radius[outside], estimates[outside] = math.inf, math.nan
    middle = np.where(outside, 0.0, estimates)
    return estimates, np.stack([middle - radius, middle + radius], axis=1)


def _reach(spreads: Array, levels: Array) -> Array:
    """For every contrast, the u at which the sum of exp(u / spread - level) over the mixtures, one row each, is 1.

    The logarithm of the sum is convex in u, and so Newton's method comes down from where one term alone is 1.
    """
    ratios = np.divide(spreads[0], spreads, out=np.ones(spreads.shape), where=spreads > 0.0)
    found = np.min(levels[:, None] / ratios, axis=0)  # in units of the first spread
    for _ in range(STEPS if len(levels) > 1 else 0):
        terms = np.exp(found * ratios - levels[:, None])
        total = terms.sum(axis=0)
        step = np.log(total) * total / (terms * ratios).sum(axis=0)
        found = found - np.maximum(0.0, step)
        if (step <= 1e-12 * found).all():
            break
    reach: Array = found * spreads[0]
    return reach
