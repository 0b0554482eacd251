"""Laws of rewards other than the declared one, for simulations of what happens when a declaration is wrong.

An experiment simulated with one of them declares the family of its instance, and gets rewards of this law with the
means of the instance.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairbai.kernels.streams import rewards
from fairbai.problems.checks import Array, number, refuse
from fairbai.problems.configured import Configured
from fairbai.problems.families import Family, Gaussian

__all__ = ["Law", "Revenue"]


@dataclass(frozen=True, eq=False)
class Law(Configured):
    """A law of rewards, up to its mean.

    Attributes:
        code: Its number in ``kernels.streams.rewards``.
    """

    argument: ClassVar[str] = "law"
    code: ClassVar[int]

    @abstractmethod
    def variances(self, means: Any) -> Array:
        """The variances of rewards with these means."""

    @abstractmethod
    def parameters(self) -> tuple[float, float]:
        """What its kernel takes in the rows SPREAD and BELOW."""

    def check(self, family: Family, means: Array) -> None:
        """Refuse a family whose rewards it cannot stand in for, and means that it cannot have."""
        if not isinstance(family, Gaussian):
            raise ValueError(f"law can be simulated for gaussian arms, got {family.kind}")
        refuse("means", f"be positive for the law {self.kind}", means, means <= 0.0)


@dataclass(frozen=True, eq=False)
class Revenue(Law):
    """What visitors pay: most buy nothing, and the others pay a log-normal amount.

    Such rewards are neither Gaussian nor bounded, so that a stop for Gaussian arms is not proved for them: its errors
    are then only observed. Give the family the variances of this law, or leave them unknown.

    Args:
        conversion: The share of the visitors who buy, in (0, 1].
        sigma: The standard deviation of the logarithm of what they pay.

    Example:
        >>> law = Revenue(conversion=0.05, sigma=1.0)
        >>> law.variances([1.2, 1.0]).round(1)
        array([76.8, 53.4])
    """

    conversion: float = 0.05
    sigma: float = 1.0
    code: ClassVar[int] = rewards.REVENUE

    def __post_init__(self) -> None:
        conversion = number("conversion", self.conversion, 1e-9, 1.0, "in (0, 1]")
        self._set(conversion=conversion, sigma=number("sigma", self.sigma, 0.0, 10.0, "from 0 to 10"))

    def variances(self, means: Any) -> Array:
        """mean^2 (exp(sigma^2) / conversion - 1)."""
        squares: Array = np.asarray(means, dtype=np.float64) ** 2
        return squares * (math.exp(self.sigma**2) / self.conversion - 1.0)

    def parameters(self) -> tuple[float, float]:
        """Sigma, and the share of those who do not buy."""
        return self.sigma, 1.0 - self.conversion
