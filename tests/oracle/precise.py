"""The characteristic time with a proof: bounds from both sides in 120-digit arithmetic.

Any feasible w gives the lower bound min_a C_a(w) on the optimum c. And since C_a(w) is a minimum over m, any
points m_a and any dual weights l_a >= 0 with sum 1 give an upper bound: for every feasible w

    min_a C_a(w) <= sum_a l_a [w_b d(theta_b, m_a) + w_a d(theta_a, m_a)] = sum_i g_i w_i
                 <= sum_i p_i g_i + (1 - sum_i p_i) max_i g_i.

So it does not matter where w, m and l come from. `precise_characteristic_time` finds them by bisection in the
same 120 digits; `precise_characteristic_times` takes them from `extended`, many instances at once, and
repeats in 120 digits only what it cannot prove. Floors, means and variances count as exact numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from tests.oracle import extended
from tests.oracle.instances import OracleInstance

Number = Any
"""A multi-precision number."""

RELATIVE_ERROR = 1e-13
"""Every returned value is proved to be this close to the optimum."""

# The means may agree in 16 digits, and the bisection looks at points that agree with a mean in another 26, which
# costs the divergences up to 84 of the 120.
_BITS = 402
_SEARCH_WIDTH = 1e-32
_NEWTON_STEPS = 1000
_NEWTON_WIDTH = 1e-20


@dataclass(frozen=True)
class Certified:
    """A solved instance.

    Attributes:
        time: The characteristic time.
        weights: The optimal weights, one an arm.
        relative_gap: The proved distance between the bounds, relative to the value.
    """

    time: float
    weights: tuple[float, ...]
    relative_gap: float


def precise_characteristic_time(
    means: Sequence[float], floors: Sequence[float], family: str, variance: float | Sequence[float] = 1.0
) -> float:
    """Return T*_p with a proved relative error below 1e-13.

    Args:
        means: One mean an arm, the largest unique.
        floors: One floor an arm, with a sum of at most 1 (a sum past 1 by less than 1e-9 is scaled to 1).
        family: "gaussian", "bernoulli", "poisson" or "exponential".
        variance: One known variance or one an arm; read for "gaussian" only.
    """
    plain = float(variance) if isinstance(variance, int | float) else tuple(float(v) for v in variance)
    return certify(OracleInstance(tuple(means), tuple(floors), family, plain)).time


def precise_characteristic_times(instances: Iterable[OracleInstance]) -> NDArray[np.float64]:
    """Return T*_p of many instances, each with a proved relative error below 1e-13."""
    return np.array([solution.time for solution in certify_many(instances)])


def certify(instance: OracleInstance) -> Certified:
    """Solve one instance in 120 digits throughout."""
    with gmpy2.context(precision=_BITS):
        problem = _Problem(instance)
        if problem.slack <= 0:
            return problem.only_point()
        low, high = problem.bracket()
        solution = problem.prove(*problem.candidate(low, high))
    if not abs(solution.relative_gap) <= RELATIVE_ERROR:
        raise ArithmeticError(f"the bounds differ by {solution.relative_gap:.1e} on {instance!r}")
    return solution


def certify_many(instances: Iterable[OracleInstance]) -> list[Certified]:
    """Solve many instances in extended precision, prove in 120 digits, and solve again what is not proved."""
    listed = list(instances)
    groups: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for index, instance in enumerate(listed):
        groups[instance.family, len(instance.means)].append(index)
    solutions: dict[int, Certified] = {}
    with gmpy2.context(precision=_BITS):
        for indices in groups.values():
            problems = [_Problem(listed[index]) for index in indices]
            for index, problem, row in zip(indices, problems, _candidates(problems), strict=True):
                solution = problem.only_point() if problem.slack <= 0 else problem.prove(*row)
                proved = abs(solution.relative_gap) <= RELATIVE_ERROR
                solutions[index] = solution if proved else certify(listed[index])
    return [solutions[index] for index in range(len(listed))]


def divergence(family: str, mean: Number, point: Number, variance: Number) -> Number:
    """Return the Kullback-Leibler divergence between the members with means `mean` and `point`."""
    if family == "gaussian":
        return (mean - point) ** 2 / (2 * variance)
    if family == "bernoulli":
        return mean * gmpy2.log(mean / point) + (1 - mean) * gmpy2.log((1 - mean) / (1 - point))
    if family == "poisson":
        return mean * gmpy2.log(mean / point) + point - mean
    if family == "exponential":
        return mean / point - 1 - gmpy2.log(mean / point)
    raise ValueError(f"unknown family {family!r}")


Candidate = tuple[list[Number], list[Number], list[Number]]
"""Excess w - p of the best arm and the others, ratios r_a, dual weights: to be judged by `_Problem.prove`."""


class _Problem:
    """One instance as exact numbers, the best arm apart from the others."""

    def __init__(self, instance: OracleInstance) -> None:
        self.instance, self.family = instance, instance.family
        best = instance.best
        self.order = [best, *(arm for arm in range(len(instance.means)) if arm != best)]
        self.means = [gmpy2.mpfr(instance.means[arm]) for arm in self.order]
        self.floors = [gmpy2.mpfr(instance.floors[arm]) for arm in self.order]
        self.variances = [gmpy2.mpfr(float(instance.variances[arm])) for arm in self.order]
        self.exact_slack = 1 - sum(map(Fraction, instance.floors), Fraction(0))
        if self.exact_slack < -1e-9:
            raise ValueError(f"floors must sum to at most 1, got {instance.floors!r}")
        self.slack = gmpy2.mpfr(self.exact_slack.numerator) / self.exact_slack.denominator
        self.others = range(1, len(self.order))
        self.nearest = max(self.others, key=lambda arm: instance.means[self.order[arm]])
        # h_a(r) <= r d(theta_a, theta_b), so that target / steepest is below every solution.
        self.steepest = [self.divergence(arm, self.means[0]) for arm in range(len(self.order))]

    def divergence(self, arm: int, point: Number) -> Number:
        return divergence(self.family, self.means[arm], point, self.variances[arm])

    def costs(self, arm: int, best_weight: Number, weight: Number) -> tuple[Number, Number]:
        """Return d(theta_b, m) and d(theta_a, m) at the m that minimises the weighted sum of the two."""
        if self.family == "gaussian":
            best_weight, weight = best_weight / self.variances[0], weight / self.variances[arm]
        point = (best_weight * self.means[0] + weight * self.means[arm]) / (best_weight + weight)
        return self.divergence(0, point), self.divergence(arm, point)

    def value(self, weights: list[Number]) -> Number:
        """Return min_a C_a(w)."""
        values = []
        for arm in self.others:
            if weights[0] == 0 or weights[arm] == 0:
                return gmpy2.mpfr(0)
            to_best, to_other = self.costs(arm, weights[0], weights[arm])
            values.append(weights[0] * to_best + weights[arm] * to_other)
        return min(values)

    def only_point(self) -> Certified:
        """Solve the instance whose floors leave no choice: w = p (scaled to sum 1)."""
        total = 1 - self.slack
        return self._certified([floor / total for floor in self.floors], None)

    def prove(self, excess: list[Number], ratios: list[Number], multipliers: list[Number]) -> Certified:
        """Return the solution with the gap between the bounds that the candidate proves."""
        spent = sum(excess)
        if not (min(excess + multipliers) >= 0 and spent > 0 and sum(multipliers) > 0 and min(ratios) > 0):
            return Certified(float("nan"), (), float("inf"))
        weights = [p + e * self.slack / spent for p, e in zip(self.floors, excess, strict=True)]
        gradient = [gmpy2.mpfr(0)]
        for arm, ratio, multiplier in zip(self.others, ratios, multipliers, strict=True):
            to_best, to_other = self.costs(arm, gmpy2.mpfr(1), ratio)
            gradient[0] += multiplier * to_best
            gradient.append(multiplier * to_other)
        upper = sum(p * g for p, g in zip(self.floors, gradient, strict=True)) + self.slack * max(gradient)
        return self._certified(weights, upper / sum(multipliers))

    def _certified(self, weights: list[Number], upper: Number | None) -> Certified:
        lower = self.value(weights)
        upper = lower if upper is None else upper
        middle = (lower + upper) / 2
        plain = [0.0] * len(weights)
        for arm, weight in zip(self.order, weights, strict=True):
            plain[arm] = float(weight)
        if middle == 0:
            return Certified(float("inf"), tuple(plain), 0.0)
        return Certified(float(1 / middle), tuple(plain), float((upper - lower) / middle))

    def invert(self, arm: int, target: Number, start: Number) -> Number:
        """Solve h_a(r) = target by Newton's method, which for concave h is monotone from the left."""
        least = target / self.steepest[arm]
        ratio = max(least, start)
        for _ in range(_NEWTON_STEPS):
            to_best, to_other = self.costs(arm, gmpy2.mpfr(1), ratio)
            step = (target - to_best - ratio * to_other) / to_other
            previous, ratio = ratio, max(ratio + step, least)
            if abs(ratio - previous) <= _NEWTON_WIDTH * ratio:
                return ratio
        raise ArithmeticError(f"no ratio found for {self.instance!r}")

    def share(self, ratios: list[Number]) -> Number:
        """Solve x + sum_a max(p_a, x r_a) = 1: arms leave their floors in the order of p_a / r_a."""
        money, price = self.floors[0] + self.slack, gmpy2.mpfr(1)
        leaving = sorted((floor / ratio, floor, ratio) for floor, ratio in zip(self.floors[1:], ratios, strict=True))
        for share, floor, ratio in leaving:
            if money <= price * share:
                break
            money, price = money + floor, price + ratio
        return money / price

    def at(self, ratio: Number, start: list[Number]) -> tuple[list[Number], Number, list[Number], list[Number]]:
        """Return all ratios, x, d(theta_a, m_a), and the slopes, which are 0 for arms at their floors."""
        to_best, to_other = self.costs(self.nearest, gmpy2.mpfr(1), ratio)
        target = to_best + ratio * to_other
        ratios = [self.invert(arm, target, start[arm - 1]) for arm in self.others]
        share = self.share(ratios)
        distances, slopes = [], []
        for arm, own in zip(self.others, ratios, strict=True):
            to_best, to_other = self.costs(arm, gmpy2.mpfr(1), own)
            distances.append(to_other)
            slopes.append(to_best / to_other if share * own > self.floors[arm] else gmpy2.mpfr(0))
        return ratios, share, distances, slopes

    def bracket(self) -> tuple[Number, Number]:
        """Bisect the nearest arm's ratio t geometrically; the slope's sign tells the side."""
        high = gmpy2.exp(extended.LOG_RATIO_RANGE)
        low = 1 / high
        ratios = [gmpy2.mpfr(0) for _ in self.others]
        while high - low > _SEARCH_WIDTH * low:
            middle = gmpy2.sqrt(low * high)
            ratios, share, _, slopes = self.at(middle, ratios)
            too_high = share < self.floors[0] or sum(slopes) > 1
            low, high = (low, middle) if too_high else (middle, high)
        return low, high

    def candidate(self, low: Number, high: Number) -> Candidate:
        """Return primal weights from the lower end and dual weights mixed from both ends of the bracket.

        At a kink the sum of the slopes jumps across 1 within the bracket, and the mixture brings it to 1.
        """
        zeros = [gmpy2.mpfr(0) for _ in self.others]
        ratios, share, distances, slopes = self.at(low, zeros)
        *_, top_slopes = self.at(high, ratios)
        bottom, top = sum(slopes), sum(top_slopes)
        mix = (1 - bottom) / (top - bottom) if top > 1 > bottom else gmpy2.mpfr(top <= 1)
        multipliers = [
            ((1 - mix) * (slope > 0) + mix * (top_slope > 0)) / distance
            for slope, top_slope, distance in zip(slopes, top_slopes, distances, strict=True)
        ]
        weights = [share, *(share * ratio for ratio in ratios)]
        excess = [max(w - p, gmpy2.mpfr(0)) for w, p in zip(weights, self.floors, strict=True)]
        return excess, ratios, multipliers


def _candidates(problems: list[_Problem]) -> list[Candidate]:
    """Solve problems of one family and size in extended precision."""
    best = np.array([problem.instance.best for problem in problems])
    means = np.array([problem.instance.means for problem in problems], dtype=np.longdouble)
    floors = np.array([problem.instance.floors for problem in problems], dtype=np.longdouble)
    variances = np.array([problem.instance.variances for problem in problems], dtype=np.longdouble)
    slack = np.array([[_to_extended(max(problem.exact_slack, Fraction(0)))] for problem in problems])
    pairs = extended.pairs_of(problems[0].family, means, variances, best)
    found = extended.search(pairs, extended.Budget(*extended.split(floors, best), slack))
    rows = zip(found.excess, found.ratios, found.multipliers, strict=True)
    return [tuple([_from_extended(v) for v in part] for part in row) for row in rows]  # type: ignore[misc]


def _to_extended(value: Fraction) -> np.longdouble:
    leading = float(value)
    return np.longdouble(leading) + np.longdouble(float(value - Fraction(leading)))


def _from_extended(value: np.longdouble) -> Number:
    leading = float(value)
    return gmpy2.mpfr(leading) + gmpy2.mpfr(float(value - np.longdouble(leading)))
