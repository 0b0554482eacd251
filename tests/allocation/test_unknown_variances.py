"""The allocation for Gaussian arms of unknown variance, against a cutting-plane method of its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import fairbai as fb

Draw = tuple[np.ndarray, np.ndarray, np.ndarray]


def draws(count: int, seed: int = 0) -> list[Draw]:
    """Means, variances and floors of two to five arms."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        arms = int(rng.integers(2, 6))
        means = rng.normal(size=arms) * np.exp(rng.normal())
        floors = rng.dirichlet(np.ones(arms)) * rng.choice([0.0, 0.3, 0.8, 0.99])
        found.append((means, np.exp(1.5 * rng.normal(size=arms)), floors))
    return found


def instance(draw: Draw) -> fb.Instance:
    means, variances, floors = draw
    return fb.Instance(means, fb.Gaussian(None, guess=variances), fb.rates.Constant(floors))


def slopes(draw: Draw, weights: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """For every arm but the best, the gradient of its cost: that of its cheapest tie of a grid."""
    means, variances, _ = draw
    best = int(np.argmax(means))
    rows = []
    for arm in range(means.size):
        if arm != best:
            gap = means[best] - means[arm]
            own = 0.5 * np.log1p((ties * gap) ** 2 / variances[best])
            other = 0.5 * np.log1p(((1.0 - ties) * gap) ** 2 / variances[arm])
            at = int(np.argmin(weights[best] * own + weights[arm] * other))
            row = np.zeros(means.size)
            row[best], row[arm] = own[at], other[at]
            rows.append(row)
    return np.array(rows)


def optimum(draw: Draw) -> float:
    """The largest least cost, by Kelley's method: every cost lies below its tangents."""
    means, _, floors = draw
    ties, cuts = np.linspace(0.0, 1.0, 20_001), []
    weights = floors + (1.0 - floors.sum()) / means.size
    size = float(slopes(draw, weights, ties).max())  # the solver of linear programs has absolute tolerances
    for _ in range(300):
        rows = slopes(draw, weights, ties) / size
        cuts += rows.tolist()
        lower = float((rows @ weights).min())
        table = np.hstack([-np.array(cuts), np.ones((len(cuts), 1))])
        sums = np.append(np.ones(means.size), 0.0)[None, :]
        bounds = [(floor, 1.0) for floor in floors] + [(None, None)]
        goal = np.append(np.zeros(means.size), -1.0)
        solved = linprog(goal, A_ub=table, b_ub=np.zeros(len(cuts)), A_eq=sums, b_eq=[1.0], bounds=bounds)
        if -solved.fun - lower <= 1e-9 * lower:
            break
        weights = solved.x[:-1]
    return -float(solved.fun) * size


@pytest.mark.parametrize(
    "draw",
    [pytest.param(draw, marks=[pytest.mark.long] * (number >= 1)) for number, draw in enumerate(draws(12))],
    ids=range(12),
)
def test_optimum_is_that_of_cutting_planes(draw: Draw) -> None:
    found = fb.solve(instance(draw))
    assert 1.0 / found.characteristic_time == pytest.approx(optimum(draw), rel=2e-5)
    assert found.duality_gap < 1e-9
    assert (found.weights >= draw[2] - 1e-12).all()
    assert found.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("draw", draws(60, seed=1), ids=range(60))
def test_certificate(draw: Draw) -> None:
    found = fb.solve(instance(draw))
    assert 0.0 <= found.duality_gap < 1e-9


def test_large_variances_are_like_known_ones() -> None:
    """The divergence is then that of known variances, up to the fourth power of the gap over the deviation."""
    means, variances = [1.0, 0.2, 0.0], [1e8, 2e8, 5e8]
    unknown = fb.solve(fb.Instance(means, fb.Gaussian(None, guess=variances), 0.1))
    known = fb.solve(fb.Instance(means, fb.Gaussian(variances), 0.1))
    assert unknown.weights == pytest.approx(known.weights, rel=1e-6)
    assert unknown.characteristic_time == pytest.approx(known.characteristic_time, rel=1e-6)


def test_unknown_variances_take_longer() -> None:
    """log(1 + x) < x; for two arms alike, T* = 2 / log(1 + gap^2 / (4 variance))."""
    known = fb.solve(fb.Instance([1.0, 0.0], fb.Gaussian(1.0))).characteristic_time
    unknown = fb.solve(fb.Instance([1.0, 0.0], fb.Gaussian(None, guess=1.0))).characteristic_time
    assert known == pytest.approx(8.0)
    assert unknown == pytest.approx(2.0 / math.log1p(0.25))


def test_ties_for_the_best() -> None:
    found = fb.solve(fb.Instance([1.0, 1.0, 0.0], fb.Gaussian(None, guess=[1.0, 4.0, 1.0]), [0.0, 0.0, 0.1]))
    assert math.isinf(found.characteristic_time)
    assert found.weights == pytest.approx([0.3, 0.6, 0.1])


def test_limits() -> None:
    """No allocation within the limits is better: of many random ones, and of those close by."""
    rates = fb.rates.Bounded(0.1, [1.0, 0.25, 1.0, 1.0], [fb.rates.Group([2, 3], floor=0.4)])
    one = fb.Instance([1.0, 0.6, 0.3, 0.0], fb.Gaussian(None, guess=[1.0, 4.0, 0.5, 1.0]), rates)
    found = fb.solve(one)
    assert found.duality_gap < 1e-9
    assert found.weights[1] <= 0.25 + 1e-9
    assert found.weights[2:].sum() >= 0.4 - 1e-9
    rng, draw = np.random.default_rng(0), (one.means, one.scales, np.full(4, 0.1))
    ties, best = np.linspace(0.0, 1.0, 2001), 1.0 / found.characteristic_time
    for share in rng.dirichlet(np.ones(4), 300):
        other = 0.1 + 0.6 * share
        if other[1] <= 0.25 and other[2:].sum() >= 0.4:
            for step in (1.0, 0.1, 0.01):
                weights = found.weights + step * (other - found.weights)
                assert (slopes(draw, weights, ties) @ weights).min() <= best * (1.0 + 1e-5)


def test_batches_are_solved_like_single_instances() -> None:
    rng = np.random.default_rng(5)
    means, family = rng.normal(size=(20, 4)), fb.Gaussian(None, guess=[1.0, 0.5, 2.0, 1.0])
    batch = fb.solve_batch(means, 0.1, family)
    for row, weights in zip(means, batch.weights, strict=True):
        assert weights == pytest.approx(fb.solve(fb.Instance(row, family, 0.1)).weights, rel=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        fb.solve,
        lambda one: fb.lower_bound(one, 0.1),
        lambda one: fb.solve_batch([one.means], 0.0, one.family),
        fb.price_of_fairness,
        fb.plan,
        lambda one: fb.simulate(one, runs=1),
        lambda one: fb.simulation.simulate_edges(one, runs=1),
        lambda one: one.family.divergence(0.0, 1.0),
        lambda one: one.family.sample([0.0, 1.0], np.random.default_rng(0)),
    ],
)
def test_a_guess_must_be_given(call: Any) -> None:
    with pytest.raises(
        ValueError, match=r"^guess must be given to plan, solve or simulate .* the proof does not use it$"
    ):
        call(fb.Instance([1.0, 0.0], fb.Gaussian(None)))
