"""Ties within a tolerance, against definitions: minima over fine grids, and concave programs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import fairbai as fb
from fairbai.kernels import families
from fairbai.kernels.pairs import transport
from fairbai.kernels.ties import stretched_weight

CODES = {
    "bernoulli": families.BERNOULLI,
    "poisson": families.POISSON,
    "exponential": families.EXPONENTIAL,
    "mirrored poisson": families.MIRRORED_POISSON,
    "mirrored exponential": families.MIRRORED_EXPONENTIAL,
}
UPRIGHT = {"mirrored poisson": "poisson", "mirrored exponential": "exponential"}
TIES = [(1.0, 0.05), (1.25, 0.0), (1.0 / 1.2, 0.02), (1.0, 0.4)]


def divergence(kind: str, mean: float, other: np.ndarray) -> np.ndarray:
    """By its definition, for means of the rewards as they come."""
    if kind == "bernoulli":
        return mean * np.log(mean / other) + (1.0 - mean) * np.log((1.0 - mean) / (1.0 - other))
    if kind == "poisson":
        return mean * np.log(mean / other) - mean + other
    return mean / other - 1.0 - np.log(mean / other)


def least(kind: str, best: tuple[float, float], rival: tuple[float, float], tie: tuple[float, float]) -> float:
    """The least cost over a grid of 400,001 ties; means and weights of both arms."""
    sign = -1.0 if kind in UPRIGHT else 1.0
    low = max((rival[0] - tie[1]) / tie[0], 1e-12 if sign > 0.0 else -math.inf)
    high = min(best[0], ((1.0 if kind == "bernoulli" else math.inf if sign > 0.0 else 0.0) - tie[1]) / tie[0] - 1e-12)
    own = np.linspace(low, high, 400_001)
    other, law = tie[0] * own + tie[1], UPRIGHT.get(kind, kind)
    with np.errstate(divide="ignore", invalid="ignore"):
        costs = best[1] * divergence(law, sign * best[0], sign * own)
        costs = costs + rival[1] * divergence(law, sign * rival[0], sign * other)
    return float(np.nanmin(costs))


@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("kind", CODES)
def test_cost_is_the_minimum(kind: str, tie: tuple[float, float]) -> None:
    sign = -1.0 if kind in UPRIGHT else 1.0
    rng = np.random.default_rng(3)
    for _ in range(10):
        means = np.sort(rng.uniform(0.1, 0.8, 2))
        best, rival = (means[1], means[0]) if sign > 0.0 else (-means[0], -means[1])
        if sign < 0.0 and tie[0] > 1.0:
            continue  # less is better: a stretch is below 1
        if sign > 0.0 and tie[0] < 1.0 and tie[0] * best + tie[1] < best:
            continue
        weights = rng.uniform(0.05, 1.0, 2)
        found, ratio = transport(CODES[kind], (best, 1.0, weights[0]), (rival, 1.0, weights[1]), tie)
        expected = least(kind, (best, weights[0]), (rival, weights[1]), tie)
        assert found <= expected * (1.0 + 1e-12)
        assert found == pytest.approx(expected, rel=1e-6)
        more = [least(kind, (best, weights[0] + a), (rival, weights[1] + b), tie) for a, b in ((1e-3, 0), (0, 1e-3))]
        assert ratio == pytest.approx((more[0] - expected) / (more[1] - expected), rel=0.02)


@pytest.mark.parametrize("tie", [(1.0 / 0.9, 0.0), (1.0 / 0.7, 0.0), (1.0, 0.002)])
def test_cost_of_rare_successes(tie: tuple[float, float]) -> None:
    """Click rates, and counts that differ by up to ten thousand times."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        best, rival = rng.uniform(0.01, 0.03), rng.uniform(0.001, 0.0095)
        weights = 10.0 ** rng.uniform(0.0, 4.0, 2)
        found, _ = transport(families.BERNOULLI, (best, 1.0, weights[0]), (rival, 1.0, weights[1]), tie)
        assert found == pytest.approx(least("bernoulli", (best, weights[0]), (rival, weights[1]), tie), rel=1e-5)


@pytest.mark.parametrize("kind", ["bernoulli", "poisson", "exponential", "mirrored poisson", "mirrored exponential"])
def test_weight_inverts_the_cost(kind: str) -> None:
    sign = -1.0 if kind in UPRIGHT else 1.0
    tie = (1.25, 0.0) if sign > 0.0 else (0.8, 0.03)
    best, rival = (0.5, 0.45) if sign > 0.0 else (-0.45, -0.5)
    for weight in (1e-3, 0.2, 1.0, 30.0):
        level = transport(CODES[kind], (best, 1.0, 1.0), (rival, 1.0, weight), tie)[0]
        psi, ratio, bend = stretched_weight(CODES[kind], best, rival, *tie, level)
        assert psi == pytest.approx(weight, rel=1e-6)
        step = 1e-3 * level
        near = [stretched_weight(CODES[kind], best, rival, *tie, level + d)[0] for d in (-step, step)]
        slope = (near[1] - near[0]) / (2.0 * step)
        assert ratio == pytest.approx(level * slope - psi, rel=5e-3, abs=1e-9)
        assert bend == pytest.approx((near[0] - 2.0 * psi + near[1]) / step**2, rel=0.02, abs=1e-3)


def best_value(instance: fb.Instance, named: int) -> float:
    """The largest 1 / T if this arm is to be the answer, by a general optimiser, from several starts.

    One start is not enough: the optimiser ends early now and then, which depends on how the machine rounds.
    """
    code, (means, scales, ties, _) = instance.problem()
    rivals = [arm for arm in range(means.size) if arm != named]

    def values(weights: np.ndarray) -> np.ndarray:
        own = (means[named], scales[named], weights[named])
        return np.array([transport(code, own, (means[a], scales[a], weights[a]), tuple(ties[:, a]))[0] for a in rivals])

    def improved(weights: np.ndarray) -> np.ndarray:
        start = np.append(weights, values(weights).min())
        scale = 1.0 / start[-1]
        found = minimize(
            lambda x: -x[-1] * scale,
            start,
            method="SLSQP",
            bounds=[*((max(floor, 1e-9), 1.0) for floor in instance.floors), (0.0, None)],
            constraints=[
                {"type": "eq", "fun": lambda x: x[:-1].sum() - 1.0},
                {"type": "ineq", "fun": lambda x: (values(x[:-1]) - x[-1]) * scale},
            ],
            options={"maxiter": 500, "ftol": 1e-13},
        )
        above = np.maximum(found.x[:-1] - instance.floors, 0.0)
        return instance.floors + instance.spare * above / above.sum()

    shares = [np.full(means.size, 1.0 / means.size), *np.random.default_rng(1).dirichlet(np.full(means.size, 2.0), 7)]
    reached = [improved(instance.floors + instance.spare * share) for share in shares]
    return max(float(values(weights).min()) for weights in [*reached, *map(improved, reached)])


SETTINGS = [
    ("gaussian", {"tolerance": 0.1}),
    ("gaussian", {"tolerance": "20%"}),
    ("gaussian", {"tolerance": "20%", "goal": "min"}),
    ("gaussian", {"tolerance": 0.1, "control": 0}),
    ("bernoulli", {"tolerance": 0.05}),
    ("bernoulli", {"tolerance": "15%"}),
    ("bernoulli", {"tolerance": "15%", "goal": "min"}),
    ("bernoulli", {"tolerance": 0.06, "control": 1}),
    ("poisson", {"tolerance": 0.05, "goal": "min"}),
    ("poisson", {"tolerance": "30%"}),
    ("exponential", {"tolerance": 0.1}),
    ("exponential", {"tolerance": "10%", "goal": "min", "control": 0}),
]


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(("family", "asked"), SETTINGS, ids=str)
def test_allocation_is_the_optimum_over_all_answers(family: str, asked: dict[str, object]) -> None:
    rng = np.random.default_rng(11)
    for _ in range(6):
        arms = int(rng.integers(2, 5))
        kind = fb.Gaussian(rng.uniform(0.2, 3.0, arms)) if family == "gaussian" else family
        floors = rng.uniform(0.0, 0.5 / arms, arms)
        instance = fb.Instance(rng.uniform(0.2, 0.7, arms), kind, floors, **asked)
        found = fb.solve(instance)
        values = {arm: best_value(instance, arm) for arm in instance.acceptable}
        assert found.duality_gap < 1e-9
        assert 1.0 / found.characteristic_time == pytest.approx(max(values.values()), rel=3e-4)
        assert 1.0 / found.characteristic_time >= max(values.values()) * (1.0 - 1e-9)
        assert found.best_arm in instance.acceptable
        assert np.all(found.weights >= instance.floors * (1.0 - 1e-12))


def test_the_best_arm_need_not_be_the_cheapest_answer() -> None:
    """The example of the notes on tolerance: a noisy arm that is better by a hair."""
    found = fb.solve(fb.Instance([0.001, 0.0, 0.0], fb.Gaussian([100.0, 1.0, 1.0]), tolerance=1.0))
    assert found.best_arm == 1
    assert found.characteristic_time == pytest.approx(244.684, abs=1e-3)


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "exponential"])
@pytest.mark.parametrize(("means", "tolerance"), [([0.05, 0.03], 0.1), ([0.02, 0.02, 0.01], 0.5), ([0.97, 0.9], 0.2)])
def test_ties_that_leave_the_domain(family: str, means: list[float], tolerance: float) -> None:
    """A rival that cannot be so good, or a named arm that cannot be so bad."""
    found = fb.solve(fb.Instance(means, family, tolerance=tolerance))
    assert found.duality_gap < 1e-6
    assert 0.0 < found.characteristic_time < 1e3


def test_limits_and_a_tolerance_together() -> None:
    """Ceilings that bind nothing change nothing."""
    for family in (fb.Gaussian(1.0), fb.Bernoulli()):
        for asked in ({"tolerance": 0.05}, {"tolerance": "10%", "control": 2}):
            plain = fb.solve(fb.Instance([0.5, 0.45, 0.4], family, 0.1, **asked))
            limited = fb.solve(fb.Instance([0.5, 0.45, 0.4], family, fb.rates.Bounded(0.1, 0.95), **asked))
            assert limited.characteristic_time == pytest.approx(plain.characteristic_time, rel=1e-9)
            assert limited.weights == pytest.approx(plain.weights, abs=1e-5)
