"""F-TaS as most people would write it: a Python loop around CVXPY. Gaussian arms of variance 1."""

import math
from collections.abc import Callable
from typing import Any

import cvxpy
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Solver = Callable[[Floats, Floats], Floats]
"""From the means and the floors to the optimal shares."""

cp: Any = cvxpy  # its functions are exported in a way that type checkers do not see


def written_anew(means: Floats, floors: Floats) -> Floats:
    """The problem as the paper states it: minimise max_a (1 / w_a + 1 / w_b) / gap_a^2 over w >= p, sum w = 1."""
    best, others, needs = _needs(means)
    weights = cp.Variable(means.size)
    value = cp.max(cp.multiply(needs, cp.inv_pos(weights[others]) + cp.inv_pos(weights[best])))
    _solve(cp.Problem(cp.Minimize(value), [weights >= floors, cp.sum(weights) == 1]))
    return np.asarray(weights.value)


class CompiledOnce:
    """The same with parameters, which CVXPY compiles once (DPP), and in the form that we found fastest.

    The demand (1 / w_a + 1 / w_b) / gap_a^2 <= 1 / y is a cone: (w_a - u)(w_b - u) >= u^2 with u = y / gap_a^2. The
    best arm comes first, whichever it is.
    """

    def __init__(self, arms: int) -> None:
        self.needs, self.floors = cp.Parameter(arms - 1, nonneg=True), cp.Parameter(arms, nonneg=True)
        self.weights, value = cp.Variable(arms), cp.Variable()
        twice, one, best = 2 * self.needs * value, self.weights[1:], self.weights[0]
        cone = cp.SOC(one + best - twice, cp.vstack([twice, one - best]), axis=0)
        legal = [self.weights >= self.floors, cp.sum(self.weights) == 1]
        self.problem = cp.Problem(cp.Maximize(value), [*legal, cone])

    def __call__(self, means: Floats, floors: Floats) -> Floats:
        best, others, self.needs.value = _needs(means)
        order = np.append(best, others)
        self.floors.value = floors[order]
        _solve(self.problem)
        weights = np.empty(means.size)
        weights[order] = self.weights.value
        return weights


def one_run(solve: Solver, means: Floats, floors: Floats, delta: float, seed: int) -> tuple[int, int]:
    """One run of F-TaS with the heuristic threshold: each arm once, then its policy. Returns rounds and answer."""
    rng = np.random.default_rng(seed)
    arms = means.size
    counts, sums = np.zeros(arms), np.zeros(arms)
    explore = floors + (1.0 - floors.sum()) / arms
    number = 0
    while True:
        if number < arms:
            arm = number
        else:
            mix = 0.5 / math.sqrt(number + 1)
            policy = (1.0 - mix) * solve(sums / counts, floors) + mix * explore
            arm = rng.choice(arms, p=policy / policy.sum())
        sums[arm] += means[arm] + rng.standard_normal()
        counts[arm] += 1.0
        number += 1
        if number >= arms:
            estimates = sums / counts
            best = int(np.argmax(estimates))
            glr = (estimates[best] - estimates) ** 2 / (2.0 * (1.0 / counts + 1.0 / counts[best]))
            glr[best] = math.inf
            if glr.min() >= math.log((1.0 + math.log(number)) / delta):
                return number, best


def _needs(means: Floats) -> tuple[int, NDArray[np.intp], Floats]:
    """The best arm, the others, and 1 / gap^2 of these in units of the largest, which keeps the solver accurate."""
    best = int(np.argmax(means))
    others = np.delete(np.arange(means.size), best)
    gaps = means[best] - means[others]
    return best, others, (gaps.min() / gaps) ** 2


def _solve(problem: Any) -> None:
    problem.solve(solver=cp.CLARABEL)
    if problem.status != cp.OPTIMAL:
        raise ArithmeticError(f"the cone solver ended with status {problem.status}")
