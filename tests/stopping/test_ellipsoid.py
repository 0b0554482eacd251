"""Intervals for all contrasts at once, at all times: by another formula, and by simulation with optional stopping."""

from __future__ import annotations

import math

import numpy as np

import fairbai as fb
from fairbai.stopping.ellipsoid import contrast_intervals

DESIGN = fb.factorial({"a": ["x", "y", "z"], "b": ["p", "q"]})
SEVERAL = [(1.0, math.log(0.5)), (4.0, math.log(0.25)), (16.0, math.log(0.25))]
CONTRASTS = np.array([one.contrast for one in DESIGN.effects])


def test_the_width_is_the_maximum_over_the_ellipsoid() -> None:
    rng = np.random.default_rng(0)
    features, counts = DESIGN.features, rng.integers(1, 9, 6).astype(float)
    sums = rng.normal(size=6) * counts
    kappa, delta, variance = 2.0, 0.1, 1.7
    estimates, ends = contrast_intervals(features, variance, [(kappa, 0.0)], delta, counts, sums, CONTRASTS)
    matrix = (features * counts[:, None]).T @ features
    theta = np.linalg.solve(matrix, features.T @ sums)
    np.testing.assert_allclose(estimates, CONTRASTS @ theta, atol=1e-12)
    metric = matrix @ np.linalg.solve(matrix + kappa * np.eye(4), matrix)
    level = math.log(1 / delta) + 0.5 * np.linalg.slogdet(np.eye(4) + matrix / kappa)[1]
    root = np.linalg.cholesky(metric)
    for contrast, end in zip(CONTRASTS, ends, strict=True):
        reach = math.sqrt(2 * variance * level) * np.linalg.norm(np.linalg.solve(root, contrast))
        np.testing.assert_allclose(end, contrast @ theta + reach * np.array([-1.0, 1.0]))


def test_what_no_reward_says_anything_about_is_not_known() -> None:
    counts = np.array([3.0, 0, 2, 0, 4, 0])  # only one level of b
    estimates, ends = contrast_intervals(DESIGN.features, 1.0, SEVERAL, 0.1, counts, counts, CONTRASTS)
    assert np.isfinite(ends[:3]).all()
    assert np.isnan(estimates[3:]).all()
    assert np.isinf(ends[3:]).all()


def test_all_intervals_hold_at_all_times() -> None:
    """120 experiments that always try the best-looking combination, looked at after every reward, at δ = 0.2."""
    rng, runs, delta = np.random.default_rng(3), 120, 0.2
    theta = np.array([0.3, 0.2, -0.4, 0.1])
    missed = 0
    for _ in range(runs):
        counts, sums = np.zeros(6), np.zeros(6)
        for trial in range(40):
            arm = int(np.argmax(sums / np.maximum(counts, 1.0))) if trial % 2 else int(rng.integers(6))
            counts[arm] += 1
            sums[arm] += DESIGN.features[arm] @ theta + rng.normal()
            ends = contrast_intervals(DESIGN.features, 1.0, SEVERAL, delta, counts, sums, CONTRASTS)[1]
            if ((CONTRASTS @ theta < ends[:, 0]) | (CONTRASTS @ theta > ends[:, 1])).any():
                missed += 1
                break
    assert missed <= delta * runs
