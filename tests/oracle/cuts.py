"""The allocation problem as a sequence of linear programs, from nothing but the definition of the cost.

C_a(w) is the minimum over m of w_b d(theta_b, m) + w_a d(theta_a, m), a linear function of w for each m.
Finitely many points m give a linear program with a value above the true one; the points that are optimal at
its solution are added until the value no longer falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from tests.oracle import extended
from tests.oracle.limits import Bounds

Floats = NDArray[np.float64]
_ROUNDS = 60
_STOP = 1e-10


def cutting_plane_characteristic_time(
    means: Sequence[float],
    floors: Sequence[float],
    family: str,
    variance: float | Sequence[float] = 1.0,
    bounds: Bounds | None = None,
) -> tuple[float, Floats]:
    """Solve the allocation problem to a relative accuracy of about 1e-8.

    Args:
        means: One mean an arm, the largest unique.
        floors: One floor an arm, with a sum of at most 1 that leaves room for every arm.
        family: "gaussian", "bernoulli", "poisson" or "exponential".
        variance: One known variance or one an arm; read for "gaussian" only.
        bounds: Ceilings and groups besides, if there are any.

    Returns:
        The characteristic time and the weights.
    """
    size, best = len(means), int(np.argmax(means))
    spread = np.broadcast_to(np.asarray(variance, dtype=np.longdouble), (1, size))
    theta = np.asarray(means, dtype=np.longdouble)[None, :]
    pairs = extended.pairs_of(family, theta, spread, np.array([best]))
    slack = float(max(1 - sum(map(Fraction, floors), Fraction(0)), Fraction(0)))
    lower = np.asarray(floors, dtype=float)
    order = np.concatenate([[best], np.delete(np.arange(size), best)])
    program = _Program(pairs, lower[order], slack)
    if bounds is not None:
        program.limit(bounds, order)
    value, excess = program.run()
    weights = np.empty(size)
    weights[order] = lower[order] + excess
    return 1.0 / value, weights


class _Program:
    """The growing linear program over the excess w - p, the best arm first, and the value, in `unit`s."""

    def __init__(self, pairs: extended.Pairs, floors: Floats, slack: float) -> None:
        self.pairs, self.floors, self.slack = pairs, floors, slack
        self.rows: list[Floats] = []
        self.bounds: list[float] = []
        self.most = np.full(floors.size, np.inf)
        self.highs: Any = None  # made when the limits are known
        self.given = 0  # rows that it has
        weights = floors + slack / floors.size
        to_best, to_other = self._slopes(weights[1:] / weights[0])
        self.unit = float(np.min(weights[0] * to_best + weights[1:] * to_other))
        for exponent in range(-12, 13):
            self._cut(np.full(floors.size - 1, 10.0 ** (exponent / 2)))

    def limit(self, bounds: Bounds, order: NDArray[np.intp]) -> None:
        """Add the ceilings, and the floors and ceilings of the groups; ``order`` has the best arm first."""
        self.most = bounds.ceilings[order] - self.floors
        for row, most in zip(*bounds.rows(), strict=True):
            self.rows.append(np.append(row[order], 0.0))
            self.bounds.append(float(most - row[order] @ self.floors))

    def run(self) -> tuple[float, Floats]:
        """Return the value and the excess of every arm over its floor."""
        previous = np.inf
        for _ in range(_ROUNDS):
            value, excess = self._solve()
            if previous - value <= _STOP * value:
                break
            previous = value
            weights = self.floors + excess
            # A ratio of zero has its point m at the best mean, where the cut is flat: stay a little away.
            self._cut(np.maximum(weights[1:] / weights[0], 1e-12))
        return value * self.unit, excess

    def _slopes(self, ratios: Floats) -> tuple[Floats, Floats]:
        """Return d(theta_b, m_a) and d(theta_a, m_a) for the points m_a that the ratios fix."""
        to_best, to_other = extended.divergences(self.pairs, ratios.astype(np.longdouble)[None, :])
        return to_best[0].astype(float), to_other[0].astype(float)

    def _cut(self, ratios: Floats) -> None:
        to_best, to_other = self._slopes(ratios)
        for arm in range(ratios.size):
            row = np.zeros(self.floors.size + 1)
            row[0], row[arm + 1], row[-1] = -to_best[arm], -to_other[arm], self.unit
            scale = np.max(np.abs(row))
            self.rows.append(row / scale)
            at_floor = to_best[arm] * self.floors[0] + to_other[arm] * self.floors[arm + 1]
            self.bounds.append(float(at_floor / scale))

    def _solve(self) -> tuple[float, Floats]:
        """Hand the new cuts to HiGHS, which goes on from its last solution."""
        if self.highs is None:
            self.highs = self._start()
        for row, bound in zip(self.rows[self.given :], self.bounds[self.given :], strict=True):
            places = np.flatnonzero(row).astype(np.int32)
            self.highs.addRow(-highspy.kHighsInf, bound, places.size, places, row[places])
        self.given = len(self.rows)
        self.highs.run()
        if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise ArithmeticError(f"the linear program ended with: {self.highs.getModelStatus()}")
        found = np.array(self.highs.getSolution().col_value)
        return float(found[-1]), found[:-1]

    def _start(self) -> Any:
        """The program without its cuts: maximise the value over excesses that share the slack."""
        size, highs = self.floors.size, highspy.Highs()
        highs.silent()
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            highs.setOptionValue(option, 1e-10)
        highs.addVars(size + 1, np.zeros(size + 1), np.append(self.most, highspy.kHighsInf))
        highs.changeColCost(size, -1.0)
        highs.addRow(self.slack, self.slack, size, np.arange(size, dtype=np.int32), np.ones(size))
        return highs
