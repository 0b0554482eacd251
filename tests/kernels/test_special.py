"""Special functions of the kernels, against many digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from fairbai.kernels.special import log_gamma

mp = mpmath.mp.clone()
mp.dps = 40


@pytest.mark.parametrize("x", [1e-3, 0.5, 1.0, 1.5, 2.0, 7.25, 9.999, 10.0, 10.5, 100.5, 1e4, 1e6 + 0.5, 1e12, 1e300])
def test_log_gamma(x: float) -> None:
    assert log_gamma(x) == pytest.approx(float(mp.loggamma(x)), rel=1e-15, abs=4e-15)


def test_log_gamma_of_many_halves() -> None:
    """The arguments that counts give."""
    for x in np.arange(0.5, 500.0, 0.5):
        assert log_gamma(x) == pytest.approx(float(mp.loggamma(x)), rel=1e-15, abs=4e-15)
