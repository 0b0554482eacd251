"""The allocation w*_p and the characteristic time T*_p of an instance, exactly."""

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairbai.allocation.linear import solve_linear
from fairbai.compiling.entry import patiently
from fairbai.kernels.allocation import floors as kernels
from fairbai.kernels.allocation.arms import ROWS
from fairbai.kernels.allocation.limits import LIMITED_ROWS, allocate_within
from fairbai.problems.checks import Array, fraction, fractions, frozen
from fairbai.problems.checks import floors as check_floors
from fairbai.problems.families import Bounded as BoundedFamily
from fairbai.problems.families import Family, Gaussian
from fairbai.problems.instance import Instance
from fairbai.problems.linear import Linear
from fairbai.problems.rates import Bounded, Constant, Overlapping, Rate
from fairbai.problems.short_forms import FamilyForm, RateForm, family_of, rates_of, shares_given


@dataclass(frozen=True, eq=False)
class Allocation:
    """The optimal shares of the trials.

    Attributes:
        weights: w*_p, the optimal share of each arm: at least its floor, summing to 1.
        characteristic_time: T*_p, evaluated at ``weights``. It is infinite if arms tie for the best and there is no
            tolerance, or if the floors leave nothing for an arm that needs trials.
        best_arm: The arm that is the answer: the best (the first of them, if several tie) or, with a tolerance, the one
            of ``Instance.acceptable`` that takes the fewest trials to prove.
        duality_gap: Certified relative distance of ``characteristic_time`` from the optimum: no allocation has a
            time below (1 - duality_gap) * characteristic_time. The bound comes from a dual feasible point.
        floors: The floors that were met.
        ceilings: The ceilings that were kept; 1 if there are none.
    """

    weights: Array
    characteristic_time: float
    best_arm: int
    duality_gap: float
    floors: Array
    ceilings: Array

    @property
    def at_floor(self) -> npt.NDArray[np.bool_]:
        """For every arm, whether its weight is its (positive) floor."""
        return (self.floors > 0.0) & (self.weights <= self.floors * (1.0 + kernels.AT_FLOOR))

    @property
    def at_ceiling(self) -> npt.NDArray[np.bool_]:
        """For every arm, whether its weight is its ceiling."""
        return self.weights >= self.ceilings * (1.0 - kernels.AT_FLOOR)


@dataclass(frozen=True, eq=False)
class AllocationBatch:
    """The same for many instances: each attribute has one row (or entry) per instance."""

    weights: Array
    characteristic_time: Array
    best_arm: npt.NDArray[np.int64]
    duality_gap: Array
    floors: Array

    @property
    def at_floor(self) -> npt.NDArray[np.bool_]:
        """For every arm, whether its weight is its (positive) floor."""
        return (self.floors > 0.0) & (self.weights <= self.floors * (1.0 + kernels.AT_FLOOR))


def solve(instance: Instance) -> Allocation:
    """The optimal allocation of an instance.

    If arms tie for the best, no number of trials separates them: T*_p is infinite, and the weights are the limit of a
    vanishing gap.

    With a tolerance (or a control) several answers can be right; the allocation is that of the answer which takes the
    fewest trials. It is exact, with its certificate, for every family: docs/tolerance.md.

    Example:
        >>> import fairbai as fb
        >>> best = fb.solve(fb.Instance([1.0, 0.0, 0.0], floors=[0.0, 0.0, 0.3]))
        >>> best.weights.round(6)
        array([0.4, 0.3, 0.3])
        >>> round(best.characteristic_time, 6)
        11.666667
    """
    if instance.question.exact:
        return _solve(instance, -1)
    return min((_solve(instance, arm) for arm in instance.acceptable), key=lambda one: one.characteristic_time)


def _solve(instance: Instance, named: int) -> Allocation:
    """The optimal allocation if this arm is to be the answer; -1 for the best."""
    arms = instance.means.size
    if isinstance(instance.family, Linear):
        best = instance.best_arm if named < 0 else named
        shares, time, gap = solve_linear(instance, best)
        ceilings = instance.rates.ceilings(arms) if isinstance(instance.rates, Overlapping) else frozen(np.ones(arms))
        return Allocation(shares, time, best, gap, instance.floors, ceilings)
    weights, limits = np.empty(arms), instance.limits
    question = instance.problem(named)
    if limits is None:
        best, cost, gap, _ = kernels.allocate(*question, instance.floors, 0.0, weights, _workspace(arms))
    else:
        bounds = (instance.floors, limits.ceilings, limits.groups, limits.group_floors, limits.group_ceilings)
        best, cost, gap, _ = allocate_within(*question, bounds, 0.0, weights, np.empty((LIMITED_ROWS, arms)))
    time = 1.0 / float(cost) if cost > 0.0 else math.inf
    ceilings = frozen(np.ones(arms)) if limits is None else limits.ceilings
    return Allocation(frozen(weights), time, int(best), float(gap), instance.floors, ceilings)


_kept = threading.local()


def _workspace(arms: int) -> Array:
    """The workspace of the last solve in this thread, if it fits: fresh memory costs more than a small solve."""
    workspace: Array | None = getattr(_kept, "workspace", None)
    if workspace is None or workspace.shape[1] != arms:
        workspace = _kept.workspace = np.empty((ROWS, arms))
    return workspace


def solve_batch(
    means: npt.ArrayLike,
    floors: RateForm | npt.ArrayLike = None,
    family: FamilyForm = None,
    rates: RateForm | npt.ArrayLike = None,
) -> AllocationBatch:
    """The optimal allocations of many instances with the same number of arms.

    They are those of the plain question, which arm has the largest mean: for a tolerance, goal="min" or a control,
    ``solve`` an ``Instance`` for each.

    Args:
        means: One row per instance.
        floors: One number, one per arm, or a matrix like ``means``; or a rate or its JSON form, applied to every row;
            none by default.
        family: The reward family of all instances; Gaussian with variance 1 by default.
        rates: Another name of ``floors``, for floors that are learned.

    Example:
        >>> import fairbai as fb
        >>> fb.solve_batch([[1.0, 0.0], [2.0, 0.0]]).characteristic_time
        array([8., 2.])
    """
    family = Gaussian() if family is None else family_of(family)
    given: Any = fraction(shares_given(floors, rates))  # type: ignore[arg-type]  # a matrix passes
    if given is None or isinstance(given, (Rate, str, Mapping)):
        given = rates_of(given)
    matrix = _contiguous("means", means)
    if matrix.ndim != 2 or matrix.shape[1] < 2:
        raise ValueError(f"means must be a matrix with one row per instance and at least two arms, got {matrix.shape}")
    if isinstance(given, Bounded) or isinstance(family, Linear):
        every = given if isinstance(given, Rate) else None
        rows = _floors(given, matrix) if every is None else matrix
        return _one_by_one(matrix, [every or Constant(row) for row in rows], family)
    if isinstance(family, BoundedFamily):
        checked = family.check_means(matrix, dimensions=2)
        rows = given.floors_batch(checked) if isinstance(given, Rate) else _floors(given, checked)
        return _one_by_one(checked, [Constant(row) for row in rows], family)
    least = frozen(given.floors_batch(matrix) if isinstance(given, Rate) else _floors(given, matrix))
    count, arms = matrix.shape
    weights = np.empty((count, arms))
    best, costs, gaps = np.empty(count, dtype=np.int64), np.empty(count), np.empty(count)
    scales, domain = family.problem(frozen(np.zeros(arms)))[2], (family.low, family.high)
    results = weights, best, costs, gaps
    long = matrix.size > kernels.MANY
    allocate_batch = patiently(kernels.allocate_batch) if long else kernels.allocate_batch
    if allocate_batch(family.code, domain, matrix, scales, least, results) >= 0:
        matrix = family.check_means(matrix, dimensions=2)  # raises, unless a sum is 1 up to rounding
        least = check_floors("floors", least, arms, dimensions=2)
        if kernels.allocate_batch(family.code, domain, matrix, scales, least, results) >= 0:
            raise ValueError("means and floors must be legal in every row")
    with np.errstate(divide="ignore"):
        times = 1.0 / costs
    return AllocationBatch(frozen(weights), times, best, gaps, least)


def _one_by_one(means: Array, rates: Sequence[Rate], family: Family) -> AllocationBatch:
    """``solve_batch`` with limits, or for bounded arms."""
    solved = [solve(Instance(row, family, rate)) for row, rate in zip(means, rates, strict=True)]
    return AllocationBatch(
        weights=frozen(np.array([one.weights for one in solved]).reshape(means.shape)),
        characteristic_time=np.array([one.characteristic_time for one in solved]),
        best_arm=np.array([one.best_arm for one in solved], dtype=np.int64),
        duality_gap=np.array([one.duality_gap for one in solved]),
        floors=frozen(np.array([one.floors for one in solved]).reshape(means.shape)),
    )


def _floors(value: Any, means: Array) -> Array:
    """Floors given as numbers, as a matrix like ``means``."""
    floors = _contiguous("floors", value)
    if floors.ndim < 2:
        arms = means.shape[1]
        one = check_floors("floors", floors if floors.ndim == 1 else np.full(arms, floors), arms)
        return np.tile(one, (len(means), 1))
    if floors.shape != means.shape:
        raise ValueError(f"floors must have the shape of means {means.shape}, got {floors.shape}")
    return floors


def _contiguous(name: str, value: Any) -> Array:
    try:
        return frozen(np.ascontiguousarray(fractions(value), dtype=np.float64).reshape(np.shape(value)))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {value!r}") from None
