"""Rewards 0 and 1."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairbai.kernels import families as kernels
from fairbai.problems.checks import Array, Numbers, refuse
from fairbai.problems.families.family import Family, shape_of


@dataclass(frozen=True, eq=False)
class Bernoulli(Family):
    """Rewards 0 and 1: a click, a conversion, a success.

    Example:
        >>> round(Bernoulli().divergence(0.5, 0.25), 4)
        0.1438
    """

    code: ClassVar[int] = kernels.BERNOULLI
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    centre: ClassVar[float] = 1.0

    def statistic(self, reward: Any) -> float:
        """The reward, which must be 0 or 1."""
        value = super().statistic(reward)
        if value not in (0.0, 1.0):
            raise ValueError(f"reward of a bernoulli arm must be 0 or 1, got {reward!r}")
        return value

    def check_sums(self, pulls: Array, sums: Any) -> Array:
        """The sums, which must be whole numbers from 0 to the pulls."""
        checked = super().check_sums(pulls, sums)
        outside = (checked < 0.0) | (checked > pulls) | (checked != np.floor(checked))
        refuse("sums", "be whole numbers from 0 to the pulls for bernoulli arms", checked, outside)
        return checked

    def sample(self, means: Numbers, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Array:
        """Rewards 0.0 and 1.0."""
        means = np.asarray(means)
        return (rng.random(shape_of(means, size)) < means).astype(np.float64)
