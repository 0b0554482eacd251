"""Gains and their quadrature."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from fairbai.environments import Fading, Rayleigh, Rician

FACTORS = [0.0, 1e-3, 1.0, 7.0, 100.0, 1e6, 1e9]


@pytest.mark.parametrize("factor", FACTORS)
def test_moments(factor: float) -> None:
    """E[G] = 1 and Var[G] = (1 + 2k) / (1 + k)^2."""
    gains, weights = Rician(factor).quadrature()
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert weights @ gains == pytest.approx(1.0, rel=1e-12)
    assert weights @ (gains - 1.0) ** 2 == pytest.approx((1.0 + 2.0 * factor) / (1.0 + factor) ** 2, rel=1e-9)


@pytest.mark.parametrize("snr", [1e-8, 1e-2, 1.0, 1e3, 1e9])
def test_rayleigh_ergodic_rate_is_the_closed_form(snr: float) -> None:
    """E[ln(1 + SNR G)] = exp(1/SNR) E1(1/SNR) for an exponential G."""
    expected = mp.exp(1 / mp.mpf(snr)) * mp.e1(1 / mp.mpf(snr))
    gains, weights = Rayleigh().quadrature()
    assert weights @ np.log1p(snr * gains) == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("snr", [1e-8, 1.0, 1e6])
@pytest.mark.parametrize("factor", [0.5, 10.0])
def test_rician_ergodic_rate_in_many_digits(snr: float, factor: float) -> None:
    def integrand(gain: Any) -> Any:
        root = 2 * mp.sqrt(factor * (factor + 1) * gain)
        density = (factor + 1) * mp.exp(-factor - (factor + 1) * gain) * mp.besseli(0, root)
        return density * mp.log1p(snr * gain)

    expected = mp.quad(integrand, [0, 1e-6, 1e-2, 0.2, 0.6, 1, 1.5, 2, 4, 8, 40])
    gains, weights = Rician(factor).quadrature()
    assert weights @ np.log1p(snr * gains) == pytest.approx(float(expected), rel=1e-11)


def test_rician_without_direct_path_is_rayleigh() -> None:
    for one, other in zip(Rician(0.0).quadrature(), Rayleigh().quadrature(), strict=True):
        assert (one == other).all()
    one, other = (fading.sample(np.random.default_rng(1), 100) for fading in (Rician(0.0), Rayleigh()))
    assert (one == other).all()
    gains, weights = Rician(1e-9).quadrature()
    expected = Rayleigh().quadrature()[1] @ np.log1p(Rayleigh().quadrature()[0])
    assert weights @ np.log1p(gains) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("fading", [Rayleigh(), Rician(0.5), Rician(20.0)])
def test_samples_follow_the_quadrature(fading: Fading) -> None:
    """Means of three functions of the gain, within five standard errors."""
    draws = fading.sample(np.random.default_rng(3), 100_000)
    gains, weights = fading.quadrature()
    for function in (lambda g: g, np.log1p, lambda g: np.exp(-3.0 * g)):
        values = function(draws)
        assert abs(values.mean() - weights @ function(gains)) < 5.0 * values.std() / math.sqrt(draws.size)


def test_json_form() -> None:
    for fading in (Rayleigh(), Rician(2.5)):
        assert Fading.from_dict(fading.to_dict()) == fading
    assert Rician(2.5).to_dict() == {"kind": "rician", "factor": 2.5}


@pytest.mark.parametrize("factor", [-0.1, math.inf, math.nan, "a", None])
def test_bad_factor(factor: Any) -> None:
    with pytest.raises(ValueError, match=f"factor must be from 0 to 1e\\+09, got {factor!r}"):
        Rician(factor)
