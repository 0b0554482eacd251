"""What rates are, and those that are known beforehand."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairbai.problems import checks
from fairbai.problems.checks import Array, Numbers
from fairbai.problems.configured import Configured


@dataclass(frozen=True, eq=False)
class Rate(Configured):
    """A map from means to floors."""

    argument: ClassVar[str] = "floors"

    @abstractmethod
    def floors(self, means: Numbers) -> Array:
        """The floor of each arm: not negative, with a sum of at most 1."""

    def floors_batch(self, means: Array) -> Array:
        """``floors`` for every row of a matrix of means."""
        return np.array([self.floors(row) for row in means]).reshape(means.shape)


@dataclass(frozen=True, eq=False)
class Constant(Rate):
    """Floors that are known beforehand: one for all arms, or one per arm.

    Example:
        >>> Constant(0.1).floors([0.3, 0.2, 0.1])
        array([0.1, 0.1, 0.1])
    """

    floor: float | Numbers = 0.0

    def __post_init__(self) -> None:
        if np.ndim(self.floor) == 0:
            floor = checks.number("floor", self.floor, 0.0, 1.0, "in [0, 1]")
            self._set(floor=floor)
        else:
            self._set(floor=checks.floors("floors", self.floor, np.size(self.floor)))

    def floors(self, means: Numbers) -> Array:
        """The floors, whatever the means."""
        floor = self.floor if isinstance(self.floor, np.ndarray) else np.full(len(means), self.floor)
        return checks.floors("floors", floor, len(means))

    def floors_batch(self, means: Array) -> Array:
        """The same floors in every row."""
        return np.tile(self.floors(np.zeros(means.shape[1])), (len(means), 1))
