"""Waiting times."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairbai.kernels import families as kernels
from fairbai.problems.checks import Array, Numbers, refuse
from fairbai.problems.families.family import Family, shape_of


@dataclass(frozen=True, eq=False)
class Exponential(Family):
    """Waiting times with an exponential distribution.

    Example:
        >>> round(Exponential().divergence(2.0, 1.0), 4)
        0.3069
    """

    code: ClassVar[int] = kernels.EXPONENTIAL
    low: ClassVar[float] = 0.0

    def statistic(self, reward: Any) -> float:
        """The reward, which must be positive."""
        value = super().statistic(reward)
        if value <= 0.0:
            raise ValueError(f"reward of an exponential arm must be positive, got {reward!r}")
        return value

    def check_sums(self, pulls: Array, sums: Any) -> Array:
        """The sums, which must be positive where there are pulls."""
        checked = super().check_sums(pulls, sums)
        refuse("sums", "be positive for exponential arms", checked, (pulls > 0.0) & (checked <= 0.0))
        return checked

    def sample(self, means: Numbers, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Array:
        """Waiting times."""
        means = np.asarray(means)
        return rng.exponential(means, shape_of(means, size))
