"""Many instances at once in extended precision: the candidate solutions that `precise` then proves.

The unknown is one number an instance. Write b for the best arm, x = w_b, and r_a = w_a / x. The cost of arm
a is homogeneous, C_a(w) = x h_a(r_a) with h_a concave and increasing, so a common value c asks for
h_a(r_a) = q with q = c / x. A value of q fixes all ratios r_a; the budget x + sum_a max(p_a, x r_a) = 1 then
fixes x, and the value is c = q x. Because c is concave in x, and q = c / x falls while x grows, the best q is
found by bisection on the sign of one slope. The bisection variable is not q but the ratio t of the arm
nearest to the best: q = h_nearest(t) covers all attainable values without cancellation at either end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.longdouble]

LOG_RATIO_RANGE = 60.0
"""Bisection runs over log t in [-60, 60], beyond what floors and slacks of rounding size can bring about."""
_STEPS = 60  # to a width of 1e-16: tighter, rounding could put both ends on one side of a kink
_NEWTON_STEPS = 30
_NEWTON_WIDTH = 1e-10  # the step after this one would be of the order of its square
_SERIES_BELOW = 0.1
_TERMS = 9


@dataclass(frozen=True)
class Pairs:
    """The best arm against every other arm, for n instances with k other arms.

    Attributes:
        family: "gaussian", "bernoulli", "poisson" or "exponential".
        best: Means of the best arms, shape (n, 1).
        other: Means of the other arms, shape (n, k).
        best_variance: Variances of the best arms, shape (n, 1); read for "gaussian" only.
        other_variance: Variances of the other arms, shape (n, k); read for "gaussian" only.
    """

    family: str
    best: Array
    other: Array
    best_variance: Array
    other_variance: Array


@dataclass(frozen=True)
class Budget:
    """The floors: of the best arms (n, 1), of the others (n, k), and 1 minus all of them (n, 1)."""

    best: Array
    other: Array
    slack: Array


@dataclass(frozen=True)
class Point:
    """Everything that one value of the bisection variable implies.

    Attributes:
        ratios: r_a, shape (n, k).
        share: x, shape (n, 1); below the best arm's floor if the value is out of reach.
        above: Which arms lie strictly above their floors, shape (n, k).
        slopes: d(theta_b, m_a) / d(theta_a, m_a), what arm a gives up when x grows by one, shape (n, k).
        too_high: Whether the optimum lies at a smaller value of the variable, shape (n, 1).
    """

    ratios: Array
    share: Array
    above: NDArray[np.bool_]
    slopes: Array
    too_high: NDArray[np.bool_]


@dataclass(frozen=True)
class Candidates:
    """Approximate primal and dual solutions, one a row, the best arm first in `excess`.

    Attributes:
        excess: w - p, shape (n, k + 1).
        ratios: r_a at the solution, which fix the points m_a, shape (n, k).
        multipliers: Dual weights of the arms' costs, unnormalised, shape (n, k).
    """

    excess: Array
    ratios: Array
    multipliers: Array


def _offset_minus_log(ratio: Array, offset: Array) -> Array:
    """Return u - log(1 + u) for u = `offset`, 1 + u = `ratio`, without cancellation for small u."""
    z = offset / (ratio + 1)
    square = z * z
    tail = np.zeros_like(z)
    for term in range(_TERMS, 0, -1):
        tail = square * (tail + 1 / np.longdouble(2 * term + 1))
    # u = 2z / (1 - z) and log(1 + u) = 2 artanh z; the two first-order terms are cancelled by hand.
    series = 2 * square / (1 - z) - 2 * z * tail
    return np.where(np.abs(offset) < _SERIES_BELOW, series, offset - np.log(ratio))


def split(values: Array, best: NDArray[np.intp]) -> tuple[Array, Array]:
    """Split rows of K values into the best arm's, shape (n, 1), and the others', shape (n, K - 1)."""
    rows, size = values.shape
    others = np.arange(size)[None, :] != best[:, None]
    return np.take_along_axis(values, best[:, None], axis=1), values[others].reshape(rows, size - 1)


def pairs_of(family: str, means: Array, variances: Array, best: NDArray[np.intp]) -> Pairs:
    """Arrange means and variances, shape (n, K), as pairs."""
    return Pairs(family, *split(means, best), *split(variances, best))


def repeat(pairs: Pairs, count: int) -> Pairs:
    """Repeat every instance `count` times."""
    arrays = (pairs.best, pairs.other, pairs.best_variance, pairs.other_variance)
    return Pairs(pairs.family, *(np.repeat(array, count, axis=0) for array in arrays))


def divergences(pairs: Pairs, ratios: Array) -> tuple[Array, Array]:
    """Return d(theta_b, m) and d(theta_a, m) at the minimiser m of d(theta_b, m) + r d(theta_a, m)."""
    best, other = pairs.best, pairs.other
    gap = best - other
    if pairs.family == "gaussian":
        pull = ratios * pairs.best_variance / pairs.other_variance
        down, up = gap * pull / (1 + pull), gap / (1 + pull)
        return down**2 / (2 * pairs.best_variance), up**2 / (2 * pairs.other_variance)
    down, up = gap * ratios / (1 + ratios), gap / (1 + ratios)
    middle = (best + ratios * other) / (1 + ratios)
    if pairs.family == "poisson":
        return (
            best * _offset_minus_log(middle / best, -down / best),
            other * _offset_minus_log(middle / other, up / other),
        )
    if pairs.family == "exponential":
        return (
            _offset_minus_log(best / middle, down / middle),
            _offset_minus_log(other / middle, -up / middle),
        )
    co_best, co_other = 1 - best, 1 - other
    co_middle = (co_best + ratios * co_other) / (1 + ratios)
    return (
        best * _offset_minus_log(middle / best, -down / best)
        + co_best * _offset_minus_log(co_middle / co_best, down / co_best),
        other * _offset_minus_log(middle / other, up / other)
        + co_other * _offset_minus_log(co_middle / co_other, -up / co_other),
    )


def invert(pairs: Pairs, target: Array, start: Array) -> Array:
    """Solve h_a(r_a) = target for the ratios by Newton's method on 1/h as a function of 1/r.

    In these coordinates the Gaussian h is a straight line and the other families are nearly straight.
    """
    ratios = start
    for _ in range(_NEWTON_STEPS):
        to_best, to_other = divergences(pairs, ratios)
        height = to_best + ratios * to_other
        step = height * (height - target) / (target * to_other * ratios)
        ratios = ratios / np.clip(1 + step, 1e-6, 1e6)
        if np.nanmax(np.abs(step)) < _NEWTON_WIDTH:
            break
    return ratios


def spend(budget: Budget, ratios: Array) -> Array:
    """Solve x + sum_a max(p_a, x r_a) = 1 for x.

    The left side is convex, increasing and piecewise linear in x: Newton's method from the right passes every
    breakpoint at most once.
    """
    share = budget.best + budget.slack
    for _ in range(ratios.shape[1] + 1):
        above = share * ratios > budget.other
        money = budget.best + budget.slack + np.sum(np.where(above, budget.other, 0), axis=1, keepdims=True)
        share = money / (1 + np.sum(np.where(above, ratios, 0), axis=1, keepdims=True))
    return share


@np.errstate(all="ignore")  # far from the optimum ratios may overflow; the bisection leaves them behind
def evaluate(pairs: Pairs, budget: Budget, closest: Pairs, log_ratio: Array, start: Array) -> Point:
    """Return what log t = `log_ratio` implies; `closest` is `nearest(pairs)`."""
    ratio = np.exp(log_ratio)
    to_best, to_other = divergences(closest, ratio)
    ratios = invert(pairs, to_best + ratio * to_other, start)
    share = spend(budget, ratios)
    above = share * ratios > budget.other
    to_best, to_other = divergences(pairs, ratios)
    slopes = to_best / to_other
    given_up = np.sum(np.where(above, slopes, 0), axis=1, keepdims=True)
    return Point(ratios, share, above, slopes, (share < budget.best) | (given_up > 1))


def nearest(pairs: Pairs) -> Pairs:
    """Keep of every instance only the arm nearest to the best."""
    index = np.argmax(pairs.other, axis=1)[:, None]
    return Pairs(
        pairs.family,
        pairs.best,
        np.take_along_axis(pairs.other, index, axis=1),
        pairs.best_variance,
        np.take_along_axis(pairs.other_variance, index, axis=1),
    )


@np.errstate(all="ignore")
def _multipliers(pairs: Pairs, low: Point, high: Point) -> Array:
    """Mix the dual weights 1 / d(theta_a, m_a) of the arms above their floors at the bracket's two ends.

    At a kink an arm is above its floor at one end only, and the best arm's gradient jumps across the common
    value 1 of the others; the mixture brings it to 1.
    """
    _, to_other = divergences(pairs, low.ratios)
    gradient = [np.sum(np.where(end.above, end.slopes, 0), axis=1, keepdims=True) for end in (low, high)]
    jump = np.where(gradient[1] > gradient[0], gradient[1] - gradient[0], 1)
    mix = np.where(gradient[1] > 1, np.clip((1 - gradient[0]) / jump, 0, 1), 1)
    return (np.where(low.above, 1 - mix, 0) + np.where(high.above, mix, 0)) / to_other


def search(pairs: Pairs, budget: Budget) -> Candidates:
    """Bisect every instance and return candidates for the proof."""
    closest = nearest(pairs)
    low: Array = np.full(pairs.best.shape, -LOG_RATIO_RANGE, dtype=np.longdouble)
    high: Array = -low
    start = np.ones_like(pairs.other)
    for _ in range(_STEPS):
        middle = (low + high) / np.longdouble(2)
        point = evaluate(pairs, budget, closest, middle, start)
        start = np.where(np.isfinite(point.ratios) & (point.ratios > 0), point.ratios, 1)
        low, high = np.where(point.too_high, low, middle), np.where(point.too_high, middle, high)
    bottom = evaluate(pairs, budget, closest, low, start)
    top = evaluate(pairs, budget, closest, high, start)
    excess = np.concatenate([bottom.share - budget.best, bottom.share * bottom.ratios - budget.other], axis=1)
    return Candidates(np.maximum(excess, 0), bottom.ratios, _multipliers(pairs, bottom, top))
