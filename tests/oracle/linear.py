"""The allocation problem of linear arms as a cone program: an oracle of modest accuracy, and a peer of the benchmarks.

The value is homogeneous in the weights, so T* is the least number of trials, in shares that keep the floors, at which
the value is 1: minimise sum(n) over n >= p sum(n), G n >= g sum(n), with y_a' A(n)^-1 y_a <= c_a for every rival. Each
of these is a linear matrix inequality, by Schur's complement.
"""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

cp: Any = cvxpy


def linear_program(
    features: Floats,
    means: Floats,
    floors: Floats,
    variance: float = 1.0,
    groups: tuple[Floats, Floats] | None = None,
    tolerance: float = 0.0,
) -> tuple[Any, Any]:
    """The cone program, whose value is T*, and its variable: the trials of every arm."""
    best, (arms, dimension) = int(np.argmax(means)), features.shape
    trials, matrix = cp.Variable(arms), cp.Variable((dimension, dimension), symmetric=True)
    flat = np.einsum("ij,ik->ijk", features, features).reshape(arms, -1)
    total = cp.sum(trials)
    limits = [cp.vec(matrix, order="C") == flat.T @ trials, trials >= floors * total]
    if groups is not None:
        limits.append(groups[0] @ trials >= groups[1] * total)
    for rival in range(arms):
        contrast = features[best] - features[rival]
        if rival != best and np.abs(contrast).max() > 0.0:
            gap = means[best] - means[rival] + tolerance
            unit = contrast[:, None] * np.sqrt(2.0 * variance) / gap
            limits.append(cp.bmat([[matrix, unit], [unit.T, np.ones((1, 1))]]) >> 0)
    return cp.Problem(cp.Minimize(total), limits), trials


def linear_characteristic_time(features: Any, means: Any, floors: Any, **more: Any) -> tuple[float, Floats]:
    """T* of linear arms to a relative accuracy of about 1e-6, and the weights."""
    features, means, floors = (np.asarray(one, dtype=float) for one in (features, means, floors))
    spread = float(np.sort(means)[-1] - np.sort(means)[-2]) + more.get("tolerance", 0.0)
    more = {**more, "tolerance": more.get("tolerance", 0.0) / spread}
    problem, trials = linear_program(features, means / spread, floors, **more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
    return float(problem.value) / spread**2, trials.value / trials.value.sum()
