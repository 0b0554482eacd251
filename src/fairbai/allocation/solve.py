"""The allocation w*_p and the characteristic time T*_p of an instance, exactly."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairbai.kernels import allocation as kernels
from fairbai.problems.checks import Array
from fairbai.problems.checks import floors as check_floors
from fairbai.problems.families import Family, Gaussian
from fairbai.problems.instance import Instance
from fairbai.problems.rates import Constant, Rate


@dataclass(frozen=True, eq=False)
class Allocation:
    """The optimal shares of the trials.

    Attributes:
        weights: w*_p, the optimal share of every arm: at least its floor, with sum 1.
        characteristic_time: T*_p, evaluated at ``weights``. It is infinite where arms tie for the best, and where the
            floors leave nothing for an arm that needs trials.
        best_arm: The arm with the largest mean (the first of them, if several tie).
        at_floor: For every arm, whether its weight is its (positive) floor.
        duality_gap: Certified relative distance of ``characteristic_time`` from the optimum: no allocation has a
            time below (1 - duality_gap) * characteristic_time. The bound comes from a dual feasible point.
    """

    weights: Array
    characteristic_time: float
    best_arm: int
    at_floor: npt.NDArray[np.bool_]
    duality_gap: float


@dataclass(frozen=True, eq=False)
class AllocationBatch:
    """As ``Allocation``, with one row (or entry) an instance."""

    weights: Array
    characteristic_time: Array
    best_arm: npt.NDArray[np.int64]
    at_floor: npt.NDArray[np.bool_]
    duality_gap: Array


def solve(instance: Instance) -> Allocation:
    """The optimal allocation of an instance.

    Where arms tie for the best no number of trials separates them: T*_p is infinite, and the weights are the limit
    of a vanishing gap.

    Example:
        >>> import fairbai as fb
        >>> best = fb.solve(fb.Instance([1.0, 0.0, 0.0], rates=fb.rates.Constant([0.0, 0.0, 0.3])))
        >>> best.weights.round(6)
        array([0.4, 0.3, 0.3])
        >>> round(best.characteristic_time, 6)
        11.666667
    """
    arms = instance.means.size
    weights = np.empty(arms)
    best, cost, gap = kernels.allocate(
        instance.family.code,
        instance.means,
        instance.scales,
        instance.floors,
        instance.spare,
        weights,
        kernels.workspace(arms),
    )
    time = 1.0 / cost if cost > 0.0 else np.inf
    weights.setflags(write=False)
    return Allocation(weights, time, best, _at_floor(weights, instance.floors), gap)


def solve_batch(
    means: npt.ArrayLike, rates: Rate | npt.ArrayLike = 0.0, family: Family | None = None
) -> AllocationBatch:
    """The optimal allocations of many instances with the same number of arms.

    Args:
        means: One row an instance.
        rates: A rate, applied to every row, or floors: one number, one an arm, or a matrix like ``means``.
        family: The reward family of all instances; Gaussian with variance 1 by default.

    Example:
        >>> import fairbai as fb
        >>> fb.solve_batch([[1.0, 0.0], [2.0, 0.0]]).characteristic_time
        array([8., 2.])
    """
    family = Gaussian() if family is None else family
    matrix = family.check_means(means, dimensions=2)
    count, arms = matrix.shape
    floors = rates.floors_batch(matrix) if isinstance(rates, Rate) else _same_floors(rates, matrix)
    weights, best = np.empty(matrix.shape), np.empty(count, dtype=np.int64)
    costs, gaps = np.empty(count), np.empty(count)
    kernels.allocate_batch(family.code, matrix, family.scales(arms), floors, weights, best, costs, gaps)
    with np.errstate(divide="ignore"):
        times = 1.0 / costs
    weights.setflags(write=False)
    return AllocationBatch(weights, times, best, _at_floor(weights, floors), gaps)


def _same_floors(value: Any, means: Array) -> Array:
    """Floors given as numbers, for every row of ``means``."""
    if np.ndim(value) == 2:
        floors = check_floors("rates", value, means.shape[1], dimensions=2)
        if floors.shape != means.shape:
            raise ValueError(f"rates must have as many rows as means ({len(means)}), got {len(floors)}")
        return floors
    return Constant(value).floors_batch(means)


def _at_floor(weights: Array, floors: Array) -> npt.NDArray[np.bool_]:
    """Whether a weight is its floor, to within the accuracy at which a kink is found."""
    return (floors > 0.0) & (weights <= floors * (1.0 + 1e-9))
