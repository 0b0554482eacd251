"""Fading: how the power of a signal varies from slot to slot around its mean."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import i0e

from fairbai.problems.checks import Array, frozen, number
from fairbai.problems.configured import Configured

NODES = 400  # of the quadrature
REACH = 9.0  # standard deviations on both sides of the amplitude of the direct path; the mass beyond is below 1e-17
MAX_FACTOR = 1e9


@dataclass(frozen=True, eq=False)
class Fading(Configured):
    """A distribution of power gains with mean 1; the SNR of a slot is the mean SNR times a gain."""

    @property
    @abstractmethod
    def direct(self) -> float:
        """The Rician factor: power of the direct path over that of the scattered paths."""

    def sample(self, rng: np.random.Generator, size: int | None = None) -> Array:
        """Random gains: the squared magnitude of a direct path plus a complex normal sum of scattered paths."""
        mean, deviation = _amplitude(self.direct)
        along, across = rng.normal(mean, deviation, size), rng.normal(0.0, deviation, size)
        return np.asarray(along**2 + across**2)

    def quadrature(self) -> tuple[Array, Array]:
        """Gains g and weights w with E[f(gain)] = sum(w * f(g)) for smooth f."""
        return _quadrature(self.direct)


@dataclass(frozen=True, eq=False)
class Rayleigh(Fading):
    """No direct path: the gain is exponential.

    Example:
        >>> gains, weights = Rayleigh().quadrature()
        >>> round(float(weights @ gains), 9), round(float(weights @ gains**2), 9)
        (1.0, 2.0)
    """

    @property
    def direct(self) -> float:
        """0."""
        return 0.0


@dataclass(frozen=True, eq=False)
class Rician(Fading):
    """A direct path whose power is ``factor`` times that of the scattered paths; factor 0 is Rayleigh fading.

    Example:
        >>> gains, weights = Rician(factor=3.0).quadrature()
        >>> round(float(weights @ gains), 9), round(float(weights @ gains**2), 9)
        (1.0, 1.4375)
    """

    factor: float

    def __post_init__(self) -> None:
        expected = f"from 0 to {MAX_FACTOR:g}"
        object.__setattr__(self, "factor", number("factor", self.factor, 0.0, MAX_FACTOR, expected))

    @property
    def direct(self) -> float:
        """The factor."""
        return self.factor


def _amplitude(factor: float) -> tuple[float, float]:
    """The amplitude of the direct path, and the standard deviation of the scattered paths in each direction."""
    return float(np.sqrt(factor / (factor + 1.0))), float(np.sqrt(0.5 / (factor + 1.0)))


@lru_cache
def _quadrature(factor: float) -> tuple[Array, Array]:
    """Gauss-Legendre over the amplitude, which has a Rice density.

    The amplitude is ``low + (high - low) * u**2``: that puts nodes close to 0, where log(1 + SNR * gain) bends.
    """
    mean, deviation = _amplitude(factor)
    low, high = max(0.0, mean - REACH * deviation), mean + REACH * deviation
    points, weights = np.polynomial.legendre.leggauss(NODES)
    u = (points + 1.0) / 2.0
    amplitude = low + (high - low) * u**2
    # the exponentially scaled Bessel function, so that nothing overflows at large factors
    bessel = i0e(amplitude * mean / deviation**2)
    density = amplitude / deviation**2 * np.exp(-0.5 * ((amplitude - mean) / deviation) ** 2) * bessel
    mass = weights * u * (high - low) * density  # du is half of d(points), and d(u**2) is twice u du
    return frozen(amplitude**2), frozen(mass / mass.sum())
