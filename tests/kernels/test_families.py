"""The numerical bodies of the families, against their definitions in 120 digits."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import pytest
from scipy.optimize import minimize_scalar

from fairbai.kernels import families as kernels
from fairbai.kernels.families import BERNOULLI, EXPONENTIAL, GAUSSIAN, POISSON
from fairbai.kernels.pairs import relative_weight, transport
from fairbai.kernels.special import log1p_minus

CODES = {"gaussian": GAUSSIAN, "bernoulli": BERNOULLI, "poisson": POISSON, "exponential": EXPONENTIAL}
codes = pytest.mark.parametrize("code", CODES.values(), ids=CODES)
others = pytest.mark.parametrize("code", list(CODES.values())[1:], ids=list(CODES)[1:])

mp = mpmath.mp.clone()
mp.dps = 120  # a point m may agree with a mean in 24, which costs the divergence 48 of them


def near(value: Any, rel: float) -> Any:
    return pytest.approx(float(value), rel=rel, abs=0.0)


def divergence(code: int, mean: Any, other: Any, variance: float = 1.0) -> Any:
    """The definition; arguments are multi-precision numbers."""
    if code == GAUSSIAN:
        return (mean - other) ** 2 / (2 * variance)
    if code == BERNOULLI:
        return mean * mp.log(mean / other) + (1 - mean) * mp.log((1 - mean) / (1 - other))
    if code == POISSON:
        return mean * mp.log(mean / other) + other - mean
    return mean / other - 1 - mp.log(mean / other)


def computed(code: int, mean: float, other: float, variance: float = 1.0) -> float:
    return float(kernels.divergence(code, mean, other, other - mean, variance))


SMALL = (1e-300, 1e-20, 1e-12, 1e-8, 1e-4)


@pytest.mark.parametrize(
    "u", [*SMALL, *(-u for u in SMALL), -0.99999999, -0.41, -0.4, -0.39, 0.59, 0.6, 0.61, 7.0, 1e9]
)
def test_log1p_minus_keeps_all_digits(u: float) -> None:
    assert log1p_minus(u) == near(mp.log1p(mp.mpf(u)) - mp.mpf(u), rel=2e-15)


def test_log1p_minus_of_zero() -> None:
    assert log1p_minus(0.0) == 0.0


@codes
@pytest.mark.parametrize("mean", [0.003, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("relative", [1e-12, 1e-8, 1e-4, 0.05, -1e-12, -1e-8, -1e-4, -0.05, -0.5])
def test_divergence_of_close_means_keeps_all_digits(code: int, mean: float, relative: float) -> None:
    other = mean * (1.0 + relative)
    assert computed(code, mean, other) == near(divergence(code, mp.mpf(mean), mp.mpf(other)), rel=1e-14)


@codes
@pytest.mark.parametrize("mean", [0.3, 0.7])
@pytest.mark.parametrize("other", [0.999999, 0.1, 1e-3, 1e-8, 1e-13, 1e-200])
def test_divergence_of_far_means_keeps_all_digits(code: int, mean: float, other: float) -> None:
    for pair in ((mean, other), (other, mean)):
        assert computed(code, *pair) == near(divergence(code, *map(mp.mpf, pair)), rel=1e-14)


@codes
def test_divergence_of_equal_means_is_zero(code: int) -> None:
    assert computed(code, 0.3, 0.3, 2.0) == 0.0


def test_divergence_reads_the_variance_of_gaussian_arms() -> None:
    assert computed(GAUSSIAN, 1.0, -2.0, 2.0) == 9.0 / 4.0


@pytest.mark.parametrize(
    ("code", "mean", "other", "expected"),
    [(BERNOULLI, 0.0, 0.25, -math.log(0.75)), (BERNOULLI, 1.0, 0.75, -math.log(0.75)), (POISSON, 0.0, 0.25, 0.25)],
)
def test_divergence_at_the_ends_of_the_domain(code: int, mean: float, other: float, expected: float) -> None:
    """Means that learning can produce: an arm that had nothing but failures, or successes."""
    assert computed(code, mean, other) == near(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("code", "expected"), [(GAUSSIAN, 3.0), (BERNOULLI, 0.21), (POISSON, 0.3), (EXPONENTIAL, 0.09)], ids=CODES
)
def test_variance(code: int, expected: float) -> None:
    assert kernels.variance(code, 0.3, 3.0) == near(expected, rel=1e-15)


EQUAL = (1.0, 0.0)  # a tie of equal means
WEIGHTS = [(0.5, 0.5), (0.9, 0.1), (0.001, 0.7), (0.3, 1e-6)]


@codes
@pytest.mark.parametrize(("best_weight", "weight"), WEIGHTS)
@pytest.mark.parametrize(("best_mean", "mean"), [(0.8, 0.2), (0.31, 0.3), (0.95, 0.001)])
def test_transport_cost_is_the_minimum(
    code: int, best_mean: float, mean: float, best_weight: float, weight: float
) -> None:
    best_scale, scale = (0.5, 3.0) if code == GAUSSIAN else (1.0, 1.0)

    def cost(middle: float) -> float:
        point = mp.mpf(middle)
        own = divergence(code, mp.mpf(mean), point, scale)
        return float(best_weight * divergence(code, mp.mpf(best_mean), point, best_scale) + weight * own)

    least = minimize_scalar(cost, bounds=(mean, best_mean), method="bounded", options={"xatol": 1e-13})
    found, _ = transport(code, (best_mean, best_scale, best_weight), (mean, scale, weight), EQUAL)
    assert found == near(least.fun, rel=1e-6)  # as near as a minimiser comes to a minimum at an end
    assert found <= least.fun * (1.0 + 1e-13)


@codes
@pytest.mark.parametrize(("best_weight", "weight"), WEIGHTS)
@pytest.mark.parametrize(("best_mean", "mean"), [(0.8, 0.2), (0.3 + 1e-8, 0.3), (0.95, 0.001)])
def test_transport_keeps_all_digits(
    code: int, best_mean: float, mean: float, best_weight: float, weight: float
) -> None:
    best, other = mp.mpf(best_mean), mp.mpf(mean)
    best_scale, scale = (0.5, 3.0) if code == GAUSSIAN else (1.0, 1.0)
    best_pull, pull = mp.mpf(best_weight) / best_scale, mp.mpf(weight) / scale
    middle = (best_pull * best + pull * other) / (best_pull + pull)
    to_best, to_other = divergence(code, best, middle, best_scale), divergence(code, other, middle, scale)
    cost, ratio = transport(code, (best_mean, best_scale, best_weight), (mean, scale, weight), EQUAL)
    assert cost == near(best_weight * to_best + weight * to_other, rel=1e-13)
    assert ratio == near(to_best / to_other, rel=1e-13)


@codes
@pytest.mark.parametrize(("best_weight", "weight"), [(0.0, 0.5), (0.5, 0.0), (0.0, 0.0)])
def test_transport_is_free_where_an_arm_has_no_weight(code: int, best_weight: float, weight: float) -> None:
    assert transport(code, (0.6, 1.0, best_weight), (0.5, 1.0, weight), EQUAL)[0] == 0.0


@codes
def test_transport_is_free_between_equal_means(code: int) -> None:
    assert transport(code, (0.6, 1.0, 0.5), (0.6, 1.0, 0.5), EQUAL)[0] == 0.0


PSI = [1e-9, 1e-3, 0.4, 1.0, 7.0, 1e4, 1e16]


@others
@pytest.mark.parametrize("psi", PSI)
@pytest.mark.parametrize(
    ("best_mean", "mean"), [(0.8, 0.2), (0.9999, 0.98), (0.3 + 1e-8, 0.3), (0.9, 1e-5), (0.9, 1e-9)]
)
@pytest.mark.parametrize("guess", [1e-12, 0.5, 2.0, 1e12])
def test_relative_weight_inverts_the_transport_cost(
    code: int, best_mean: float, mean: float, psi: float, guess: float
) -> None:
    best, other, psi = mp.mpf(best_mean), mp.mpf(mean), mp.mpf(psi)

    def middle(weight: Any) -> Any:
        return (best + weight * other) / (1 + weight)

    point, slope = middle(psi), lambda weight: divergence(code, other, middle(weight))
    level = divergence(code, best, point) + psi * slope(psi)
    shortfall = float((1 + psi) * divergence(code, point, other))
    found = relative_weight(code, mean, best_mean, float(level), shortfall, guess * float(psi))
    assert found[0] == near(psi, rel=1e-9)
    assert found[1] == near(divergence(code, best, point) / slope(psi), rel=1e-7)
    assert found[2] == near(-mp.diff(slope, psi) / slope(psi) ** 3, rel=1e-6)
