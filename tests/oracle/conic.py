"""The allocation problem as a cone program: an oracle of modest accuracy, and the peer of the benchmarks.

Gaussian: with n = w / variance and u_a = 2 c / gap_a^2 the demand C_a(w) >= c reads
n_a n_b >= u_a (n_a + n_b), which is (n_a - u_a)(n_b - u_a) >= u_a^2: one rotated second-order cone of three
dimensions an arm.

Other families: with W = w_b + w_a and S = w_b theta_b + w_a theta_a the minimiser is m = S / W, and the cost
becomes a linear function of w minus relative entropies R(y, z) = y log(y / z) of linear functions of w:

    Bernoulli    C_a = sum_i w_i (R(theta_i, 1) + R(1 - theta_i, 1)) - R(S, W) - R(W - S, W)
    Poisson      C_a = sum_i w_i R(theta_i, 1) - R(S, W)
    Exponential  C_a = -sum_i w_i log theta_i - R(W, S)

These cancel to second order in the gap, so that a cone solver in double precision cannot see close means;
there `cuts` takes over.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import clarabel
import cvxpy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tests.oracle.cuts import cutting_plane_characteristic_time
from tests.oracle.limits import Bounds

Floats = NDArray[np.float64]

cp: Any = cvxpy  # its functions are exported in a way that type checkers do not see
TOLERANCE = 1e-10
_CLOSEST = 1e-3
"""The smallest divergence, of means in natural units, that is left to the exponential cone."""


def conic_characteristic_time(
    means: Sequence[float],
    floors: Sequence[float],
    family: str,
    variance: float | Sequence[float] = 1.0,
    bounds: Bounds | None = None,
) -> tuple[float, Floats]:
    """Solve the allocation problem to a relative accuracy of about 1e-7.

    Args:
        means: One mean an arm, the largest unique.
        floors: One floor an arm, with a sum of at most 1 that leaves room for every arm.
        family: "gaussian", "bernoulli", "poisson" or "exponential".
        variance: One known variance or one an arm; read for "gaussian" only.
        bounds: Ceilings and groups besides, if there are any.

    Returns:
        The characteristic time and the weights.
    """
    theta = np.asarray(means, dtype=float)
    lower = np.asarray(floors, dtype=float)
    lower = lower / max(1.0, float(lower.sum()))
    if family == "gaussian":
        return _second_order(theta, lower, _variances(variance, theta.size), bounds)
    if family in ("poisson", "exponential"):
        # A change of units leaves the exponential divergence alone and divides the Poisson one by the unit.
        unit = float(theta.max())
        scale = unit if family == "poisson" else 1.0
    else:
        unit = scale = 1.0
    best, second = np.sort(theta / unit)[[-1, -2]]
    if _divergence(family, best, second) < _CLOSEST:
        return cutting_plane_characteristic_time(means, floors, family, bounds=bounds)
    time, weights = _exponential_cone(theta / unit, lower, family, bounds)
    return time / scale, weights


class ClarabelGaussian:
    """The Gaussian problem on Clarabel's own interface, with all matrices built beforehand.

    The variables are the weights and the value in a unit near the optimum. The formulation and the settings
    are the fastest of those tried: one 3-cone a suboptimal arm without auxiliary variables, floors only where
    positive; on this scaling equilibration doubles the number of iterations, and refinement and presolve cost
    time without a gain in accuracy.
    """

    def __init__(
        self,
        means: Sequence[float],
        floors: Sequence[float],
        variance: float | Sequence[float] = 1.0,
        bounds: Bounds | None = None,
    ) -> None:
        theta, lower = np.asarray(means, dtype=float), np.asarray(floors, dtype=float)
        size = theta.size
        own = _variances(variance, size)
        best = int(np.argmax(theta))
        others = np.delete(np.arange(size), best)
        self.unit = math.sqrt(size) * _gaussian_unit(theta, lower, own)
        floored = np.flatnonzero(lower > 0)
        self.P = sparse.csc_matrix((size + 1, size + 1))
        self.q = np.append(np.zeros(size), -1.0)
        limits, most = limit_rows(bounds, size, size + 1)
        self.A = sparse.vstack(
            [
                sparse.csr_matrix(np.append(np.ones(size), 0.0)),
                -sparse.eye(size + 1, format="csr")[floored],
                limits,
                _cone_rows(theta, own, best, others, self.unit),
            ],
            format="csc",
        )
        self.b = np.concatenate([[1.0], -lower[floored], most, np.zeros(3 * others.size)])
        self.cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(floored.size + most.size)]
        self.cones += [clarabel.SecondOrderConeT(3)] * others.size
        self.settings = clarabel.DefaultSettings()
        self.settings.verbose = False
        self.settings.presolve_enable = False
        self.settings.equilibrate_enable = False
        self.settings.iterative_refinement_enable = False

    def solve(self) -> tuple[float, Floats]:
        """Return the characteristic time and the weights."""
        solver = clarabel.DefaultSolver(self.P, self.q, self.A, self.b, self.cones, self.settings)
        solution = solver.solve()
        if solution.status not in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved):
            raise ArithmeticError(f"Clarabel ended with status {solution.status}")
        values = np.asarray(solution.x)
        return 1.0 / (self.unit * float(values[-1])), values[:-1]


def limit_rows(bounds: Bounds | None, size: int, columns: int) -> tuple[sparse.csr_matrix, Floats]:
    """Rows and right sides of ceilings (w <= u) and groups (-sum w <= -g, sum w <= h); the first columns are w."""
    if bounds is None:
        return sparse.csr_matrix((0, columns)), np.empty(0)
    full = np.flatnonzero(bounds.ceilings < 1.0)
    groups, most = bounds.rows()
    rows = sparse.vstack([sparse.eye(size, format="csr")[full], sparse.csr_matrix(groups)], format="csr")
    rows.resize(rows.shape[0], columns)
    return rows, np.concatenate([bounds.ceilings[full], most])


def _cone_rows(theta: Floats, variances: Floats, best: int, others: NDArray[np.intp], unit: float) -> sparse.csr_matrix:
    """Return the rows -(n_a + n_b - 2u, n_a - n_b, 2u) of the other arms, every cone times sqrt(v_a v_b)."""
    size, count = theta.size, others.size
    own, needed = _coefficients(theta, variances, best, others, unit)
    top = 3 * np.arange(count)
    rows = np.concatenate([top, top, top, top + 1, top + 1, top + 2])
    first, last = np.full(count, best), np.full(count, size)
    cols = np.concatenate([others, first, last, others, first, last])
    values = np.concatenate([-own, -1 / own, 2 * needed, -own, 1 / own, -2 * needed])
    return sparse.csr_matrix((values, (rows, cols)), shape=(3 * count, size + 1))


def _coefficients(
    theta: Floats, variances: Floats, best: int, others: NDArray[np.intp], unit: float
) -> tuple[Floats, Floats]:
    """Return n_a / w_a and u_a / c of the other arms, both times sqrt(v_a v_b), with c in units of `unit`."""
    own = np.sqrt(variances[best] / variances[others])
    needed = unit * 2 / (theta[best] - theta[others]) ** 2 * np.sqrt(variances[best] * variances[others])
    return own, needed


def _variances(variance: float | Sequence[float], size: int) -> Floats:
    return np.broadcast_to(np.asarray(variance, dtype=float), (size,))


def _gaussian_unit(theta: Floats, floors: Floats, variances: Floats) -> float:
    """Return the value at floors plus equal shares, which is within a factor K of the optimum."""
    weights = floors + (1.0 - floors.sum()) / theta.size
    best = int(np.argmax(theta))
    others = np.delete(np.arange(theta.size), best)
    spread = variances[others] / weights[others] + variances[best] / weights[best]
    return float(np.min((theta[best] - theta[others]) ** 2 / (2 * spread)))


def _second_order(
    theta: Floats, floors: Floats, variances: Floats, bounds: Bounds | None = None
) -> tuple[float, Floats]:
    best = int(np.argmax(theta))
    others = np.delete(np.arange(theta.size), best)
    unit = _gaussian_unit(theta, floors, variances)
    own, needed = _coefficients(theta, variances, best, others, unit)
    sums = {"left": (own, 0.0), "right": (0.0, 1 / own)}
    return _solved("gaussian", floors, best, unit, sums, bounds, needed)


def _exponential_cone(theta: Floats, floors: Floats, family: str, bounds: Bounds | None = None) -> tuple[float, Floats]:
    best = int(np.argmax(theta))
    if family == "bernoulli":
        linear = theta * np.log(theta) + (1 - theta) * np.log1p(-theta)
    elif family == "poisson":
        linear = theta * np.log(theta)
    elif family == "exponential":
        linear = -np.log(theta)
    else:
        raise ValueError(f"unknown family {family!r}")
    unit = _entropy_unit(theta, floors, family)
    each = {"linear": linear / unit, "total": np.ones(theta.size) / unit, "mixed": theta / unit}
    sums = {name: (np.delete(values, best), values[best]) for name, values in each.items()}
    return _solved(family, floors, best, unit, sums, bounds)


class _Program:
    """The problem of a family and a number of arms, for CVXPY, with parameters for the numbers.

    CVXPY takes ten times as long to translate a problem as Clarabel to solve it, and translates each program only once.
    The variables are shares of what the floors leave, the best arm's first, and the value in some unit. Shares instead
    of weights: their simplex has an interior, as the solver needs, however little is left.
    """

    def __init__(self, family: str, size: int) -> None:
        self.shares, self.value = cp.Variable(size), cp.Variable()
        self.parameters: dict[str, tuple[Any, Any, Any]] = {}
        self.needed = cp.Parameter(size - 1)
        self.constraints = [self.shares >= 0, cp.sum(self.shares) == 1, self._demand(family)]
        self.problem = cp.Problem(cp.Maximize(self.value), self.constraints)

    def _sum(self, name: str) -> Any:
        """For every other arm a constant, a multiple of its share and a multiple of the best arm's."""
        constant, other, best = self.parameters[name] = tuple(cp.Parameter(self.shares.size - 1) for _ in range(3))
        return constant + cp.multiply(other, self.shares[1:]) + cp.multiply(best, self.shares[0])

    def _demand(self, family: str) -> Any:
        if family == "gaussian":
            left, right, twice = self._sum("left"), self._sum("right"), 2 * self.needed * self.value
            return cp.SOC(left + right - twice, cp.vstack([twice, left - right]), axis=0)
        linear, total, mixed = self._sum("linear"), self._sum("total"), self._sum("mixed")
        if family == "bernoulli":
            entropy = cp.rel_entr(mixed, total) + cp.rel_entr(total - mixed, total)
        elif family == "poisson":
            entropy = cp.rel_entr(mixed, total)
        else:
            entropy = cp.rel_entr(total, mixed)
        return linear - entropy >= self.value


_program = lru_cache(maxsize=None)(_Program)


def _solved(
    family: str,
    floors: Floats,
    best: int,
    unit: float,
    sums: dict[str, tuple[Floats | float, Floats | float]],
    bounds: Bounds | None,
    needed: Floats | None = None,
) -> tuple[float, Floats]:
    """Maximise the value, in units of `unit`.

    Args:
        family: Of the rewards.
        floors: One an arm.
        best: The index of the best arm.
        unit: Of the value.
        sums: By name, the coefficients of the weight of the other arm and of the best arm, for every other arm.
        bounds: Ceilings and groups besides.
        needed: For Gaussian arms, what every other arm needs.
    """
    program = _program(family, floors.size)
    spare, other_floors = 1.0 - floors.sum(), np.delete(floors, best)
    for name, (other, first) in sums.items():
        parts = (other * other_floors + first * floors[best], spare * other, spare * first)
        for parameter, part in zip(program.parameters[name], parts, strict=True):
            parameter.value = np.broadcast_to(part, other_floors.shape)
    if needed is not None:
        program.needed.value = needed
    order = np.argsort(np.r_[best, np.delete(np.arange(floors.size), best)])  # where the share of each arm is
    problem = program.problem
    if bounds is not None:
        weights = floors + spare * program.shares[order]
        problem = cp.Problem(problem.objective, [*program.constraints, *_within(weights, bounds)])
    with warnings.catch_warnings():
        # Missing the very tight tolerance is expected now and then, and no worse than the promised accuracy.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(
            solver=cp.CLARABEL, tol_gap_abs=TOLERANCE, tol_gap_rel=TOLERANCE, tol_feas=TOLERANCE, max_iter=500
        )
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise ArithmeticError(f"the cone solver ended with status {problem.status}")
    return 1.0 / (unit * float(program.value.value)), floors + spare * np.asarray(program.shares.value)[order]


def _within(weights: Any, bounds: Bounds) -> list[Any]:
    """The limits beside the floors; ceilings only where there are any."""
    full = np.flatnonzero(bounds.ceilings < 1.0)
    ceilings = [weights[full] <= bounds.ceilings[full]] if full.size else []
    least = [cp.sum(weights[list(arms)]) >= floor for arms, floor, _ in bounds.groups if floor > 0.0]
    most = [cp.sum(weights[list(arms)]) <= ceiling for arms, _, ceiling in bounds.groups if ceiling < 1.0]
    return ceilings + least + most


def _divergence(family: str, mean: Floats, point: Floats) -> Floats:
    if family == "bernoulli":
        return np.asarray(mean * np.log(mean / point) + (1 - mean) * np.log((1 - mean) / (1 - point)))
    if family == "poisson":
        return np.asarray(mean * np.log(mean / point) + point - mean)
    return np.asarray(mean / point - 1 - np.log(mean / point))


def _entropy_unit(theta: Floats, floors: Floats, family: str) -> float:
    """Return the value at floors plus equal shares."""
    weights = floors + (1.0 - floors.sum()) / theta.size
    best = int(np.argmax(theta))
    others = np.delete(np.arange(theta.size), best)
    left, right = weights[best], weights[others]
    middle = (left * theta[best] + right * theta[others]) / (left + right)
    costs = left * _divergence(family, theta[best], middle)
    costs += right * _divergence(family, theta[others], middle)
    return float(np.min(costs))
