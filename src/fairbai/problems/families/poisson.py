"""Counts."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairbai.kernels import families as kernels
from fairbai.problems.checks import Array, Numbers, refuse
from fairbai.problems.families.family import Family, shape_of


@dataclass(frozen=True, eq=False)
class Poisson(Family):
    """Counts: 0, 1, 2, ...

    Example:
        >>> round(Poisson().divergence(2.0, 1.0), 4)
        0.3863
    """

    code: ClassVar[int] = kernels.POISSON
    low: ClassVar[float] = 0.0

    def statistic(self, reward: Any) -> float:
        """The reward, which must be a count."""
        value = super().statistic(reward)
        if value < 0.0 or value != int(value):
            raise ValueError(f"reward of a poisson arm must be a whole number from 0, got {reward!r}")
        return value

    def check_sums(self, pulls: Array, sums: Any) -> Array:
        """The sums, which must be counts."""
        checked = super().check_sums(pulls, sums)
        refuse("sums", "be counts for poisson arms", checked, (checked < 0.0) | (checked != np.floor(checked)))
        return checked

    def sample(self, means: Numbers, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Array:
        """Counts, as floats."""
        means = np.asarray(means)
        return rng.poisson(means, shape_of(means, size)).astype(np.float64)
