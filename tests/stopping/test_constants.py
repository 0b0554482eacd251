"""The calibration functions of Kaufmann and Koolen: known values, direct minimisation, 30 digits."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.special import zeta

from fairbai.stopping.constants import c_exp, c_exp_inverse, c_g, c_g_inverse

TABLE = [  # x, C_exp, C_g
    (0.01, 6.22, 1.43),
    (0.23, 7.25, 1.67),
    (1.0, 9.10, 2.51),
    (5.0, 15.19, 6.76),
    (10.0, 21.45, 11.95),
    (20.0, 32.91, 22.20),
]
X = [row[0] for row in TABLE]
MANY = [1e-7, *X, 2.0, 3.0, 50.0, 150.0, 345.0, 599.0, 601.0, 700.0]

mp = mpmath.mp.clone()
mp.dps = 30


@pytest.mark.parametrize(("x", "exponential", "gaussian"), TABLE)
def test_known_values(x: float, exponential: float, gaussian: float) -> None:
    assert c_exp(x) == pytest.approx(exponential, abs=0.005)
    assert c_g(x) == pytest.approx(gaussian, abs=0.005)


def h_inverse(x: mpmath.mpf) -> mpmath.mpf:
    """The solution u >= 1 of u - log u = x, by bisection."""
    low, high = mp.one, 2 * x + 10
    for _ in range(150):
        middle = (low + high) / 2
        low, high = (middle, high) if middle - mp.log(middle) < x else (low, middle)
    return low


def precise_c_exp(x: float) -> float:
    y = (h_inverse(1 + mp.mpf(x)) + mp.log(2 * mp.zeta(2))) / 2
    edge = 1 / mp.log(mp.mpf(3) / 2)
    if y < edge - mp.log(edge):
        return float(2 * mp.mpf(3) / 2 * (y - mp.log(mp.log(mp.mpf(3) / 2))))
    u = h_inverse(y)
    return float(2 * mp.exp(1 / u) * u)


@pytest.mark.parametrize("x", MANY)
def test_c_exp_has_all_digits(x: float) -> None:
    assert c_exp(x) == pytest.approx(precise_c_exp(x), rel=1e-12)


def h_tilde(x: float) -> float:
    """Its definition: the least over z in [1, 1.5] of z (x - log log z)."""
    z = np.linspace(1.0 + 1e-7, 1.5, 2_000_001)
    return float((z * (x - np.log(np.log(z)))).min())


@pytest.mark.parametrize("x", X)
def test_c_exp_is_a_minimum(x: float) -> None:
    """On a grid, which can only miss the minimum from above, and by little."""
    inner = (float(h_inverse(1 + mp.mpf(x))) + math.log(2.0 * zeta(2.0))) / 2.0
    assert c_exp(x) == pytest.approx(2.0 * h_tilde(inner), rel=1e-9)
    assert c_exp(x) <= 2.0 * h_tilde(inner) * (1.0 + 1e-14)


def c_g_at(x: float, rest: mpmath.mpf) -> mpmath.mpf:
    """(g(λ) + x) / λ at λ = 1 - rest."""
    λ = 1 - rest
    g = 2 * λ - 2 * λ * mp.log(4 * λ) + mp.log(mp.zeta(2 * λ)) - mp.log(rest) / 2
    return (g + x) / λ


@pytest.mark.parametrize("x", MANY)
def test_c_g_is_the_minimum(x: float) -> None:
    """Ternary search for log(1 - λ), in 30 digits."""
    low, high = mp.log(mp.mpf(1) / (100 * (x + 1))), mp.log(mp.mpf("0.49999"))
    for _ in range(100):
        one, other = (2 * low + high) / 3, (low + 2 * high) / 3
        if c_g_at(x, mp.exp(one)) < c_g_at(x, mp.exp(other)):
            high = other
        else:
            low = one
    assert c_g(x) == pytest.approx(float(c_g_at(x, mp.exp(low))), rel=1e-10)


@pytest.mark.parametrize("x", X)
def test_c_g_is_the_minimum_on_a_grid(x: float) -> None:
    λ = np.linspace(0.5, 1.0, 1_000_001)[1:-1]
    values = (2 * λ - 2 * λ * np.log(4 * λ) + np.log(zeta(2 * λ)) - 0.5 * np.log1p(-λ) + x) / λ
    assert c_g(x) <= values.min() * (1.0 + 1e-13)
    assert c_g(x) == pytest.approx(values.min(), rel=1e-9)


@pytest.mark.parametrize("function", [c_exp, c_g])
def test_both_exceed_x_and_grow(function: object) -> None:
    values = np.array([function(x) for x in MANY])  # type: ignore[operator]
    xs = np.array(MANY)
    assert (values > xs).all()
    assert (np.diff(values[np.argsort(xs)]) > 0.0).all()


@pytest.mark.parametrize("x", [0.0, 1e-6, 0.3, 1.2, *MANY])
def test_inverses(x: float) -> None:
    assert c_exp_inverse(c_exp(x)) == pytest.approx(x, rel=1e-9, abs=1e-12)
    assert c_g_inverse(c_g(x)) == pytest.approx(x, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("value", [-10.0, 0.0, 1.0, 1.4, 5.9])
def test_values_that_are_not_reached(value: float) -> None:
    """C_exp begins at 5.99; C_g is below a value for negative x too."""
    assert c_exp_inverse(value) == -math.inf
    assert c_g(0.0) > value or c_g_inverse(value) > 0.0


def test_a_popular_approximation_of_c_exp_is_too_small_to_prove_anything() -> None:
    def popular(x: float) -> float:
        return x + 4.0 * math.log(1.0 + x + math.sqrt(2.0 * x))

    assert all(popular(x) < c_exp(x) for x in (0.01, 1.0, 5.0, 15.0))
    assert popular(15.4) > c_exp(15.4)
