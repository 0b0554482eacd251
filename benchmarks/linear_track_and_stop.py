"""Lazy track-and-stop for linear bandits, written from its paper: Jedra and Proutiere, "Optimal Best-arm Identification
in Linear Bandits", NeurIPS 2020. Noise of variance 1; no floors.

- Arms are chosen by cumulative tracking of optimal shares at the least-squares estimate, which are solved anew only at
  powers of 1.2; while the least eigenvalue of Σ x xᵀ is below c √t, the arms of a fixed basis take turns.
- The stop: Z(t) = min_a Δ̂_a² / (2 ‖y_a‖²) >= (1 + u) log(det(I + V/(uc))^{1/2} / δ) once V >= c I, where the norm is
  that of V⁻¹, c = max ‖x‖² and u = 1 (the paper's choice).
- The optimal shares are those of ``fb.solve`` without floors: exact, where the paper takes Frank-Wolfe steps.
"""

import math

import numpy as np
from numpy.typing import NDArray

import fairbai as fb

Floats = NDArray[np.float64]
FORCED = 1e-5  # the paper's constant before √t, in units of the basis' least eigenvalue
LAZY = 1.2  # shares are solved anew when the trials have grown by this factor
U = 1.0


def run(features: Floats, theta: Floats, delta: float, seed: int, most: int = 1_000_000) -> tuple[int, int]:
    """One run; returns the number of trials and the arm that it names."""
    rng = np.random.default_rng(seed)
    arms, size = features.shape
    basis = spanning(features)
    c = float((features**2).sum(axis=1).max())
    counts, sums, wanted = np.zeros(arms), np.zeros(arms), np.zeros(arms)
    least = float(np.linalg.eigvalsh(features[basis].T @ features[basis])[0]) / math.sqrt(size)
    matrix, shares, solve_at, turn = np.zeros((size, size)), np.full(arms, 1.0 / arms), 0.0, 0
    for trial in range(most):
        if np.linalg.eigvalsh(matrix)[0] < max(least * FORCED * math.sqrt(trial), 1e-9):
            arm = basis[turn % size]
            turn += 1
        else:
            if trial >= solve_at:
                estimate = np.linalg.solve(matrix, features.T @ sums)
                shares, solve_at = optimal_shares(features, estimate), max(trial + 1.0, LAZY * trial)
            arm = int(np.argmin(np.where(shares > 0.0, counts - wanted, math.inf)))
        wanted += shares
        counts[arm] += 1.0
        sums[arm] += rng.normal(float(features[arm] @ theta))
        matrix += np.outer(features[arm], features[arm])
        if np.linalg.eigvalsh(matrix)[0] >= c:
            estimate = np.linalg.solve(matrix, features.T @ sums)
            ratio, best = evidence(features, estimate, matrix)
            level = (1.0 + U) * (0.5 * np.linalg.slogdet(np.eye(size) + matrix / (U * c))[1] - math.log(delta))
            if ratio >= level:
                return trial + 1, best
    return most, -1


def evidence(features: Floats, theta: Floats, matrix: Floats) -> tuple[float, int]:
    """Z at this estimate, and the arm that looks best."""
    values = features @ theta
    best = int(np.argmax(values))
    rivals = np.flatnonzero(np.arange(len(values)) != best)
    apart = features[best] - features[rivals]
    spread = np.einsum("ad,ad->a", apart, np.linalg.solve(matrix, apart.T).T)
    return float(((values[best] - values[rivals]) ** 2 / (2.0 * spread)).min()), best


def optimal_shares(features: Floats, theta: Floats) -> Floats:
    """Shares that maximise the evidence per trial; equal ones as long as several arms look best."""
    values = features @ theta
    if np.sort(values)[-2] == values.max():
        return np.full(len(features), 1.0 / len(features))
    return fb.solve(fb.Instance(values, fb.Linear(features))).weights


def spanning(features: Floats) -> list[int]:
    """Arms that span the space, each the farthest from the span of those before it."""
    rest, chosen = features.copy(), []
    for _ in range(features.shape[1]):
        chosen.append(int(np.argmax((rest**2).sum(axis=1))))
        direction = rest[chosen[-1]] / np.linalg.norm(rest[chosen[-1]])
        rest = rest - np.outer(rest @ direction, direction)
    return chosen
