"""Rates that depend on the means, and are learned with them: defined for every vector of means, also with ties.

``p0`` is their sum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairbai.kernels import rates as kernels
from fairbai.problems import checks
from fairbai.problems.checks import Array, Numbers
from fairbai.problems.rates.constant import Rate


@dataclass(frozen=True, eq=False)
class _Learned(Rate):
    """A theta-dependent rate that a kernel computes."""

    p0: float
    code: ClassVar[int]

    def __post_init__(self) -> None:
        self._set(p0=checks.number("p0", self.p0, 0.0, 1.0, "in [0, 1]"))

    def floors(self, means: Numbers) -> Array:
        """The floors at these means."""
        means = checks.array("means", means)
        if means.size < 2:
            raise ValueError(f"means must hold at least two arms, got {means.size}")
        floors = np.empty(means.size)
        kernels.fill_floors(self.code, self.p0, getattr(self, "temperature", 1.0), means, floors)
        return checks.frozen(floors)

    def floors_batch(self, means: Array) -> Array:
        """The floors at the means of every row."""
        floors = np.empty(means.shape)
        kernels.fill_floors_batch(self.code, self.p0, getattr(self, "temperature", 1.0), means, floors)
        return floors


@dataclass(frozen=True, eq=False)
class Proportional(_Learned):
    """p0 θ_a / Σ θ, with negative means counted as 0; equal rates where no mean is positive.

    Example:
        >>> Proportional(0.8).floors([3.0, 1.0, -2.0])
        array([0.6, 0.2, 0. ])
    """

    code: ClassVar[int] = kernels.PROPORTIONAL


@dataclass(frozen=True, eq=False)
class Softmax(_Learned):
    """p0 exp(θ_a / temperature) / Σ exp(θ / temperature).

    Example:
        >>> Softmax(0.6).floors([1.0, 1.0])
        array([0.3, 0.3])
    """

    temperature: float = 1.0
    code: ClassVar[int] = kernels.SOFTMAX

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(temperature=checks.number("temperature", self.temperature, 1e-300, 1e300, "positive"))


@dataclass(frozen=True, eq=False)
class InverseGap(_Learned):
    """The paper's agonistic rate: p0 f_a / Σ f with f_a = 1 / max(Δ_a, Δ_min).

    Where arms tie for the best, they share p0 equally (for two arms the limit of a vanishing gap).

    Example:
        >>> InverseGap(0.9).floors([1.0, 0.5, -1.0])
        array([0.4, 0.4, 0.1])
    """

    code: ClassVar[int] = kernels.INVERSE_GAP


@dataclass(frozen=True, eq=False)
class Gap(_Learned):
    """The paper's antagonistic rate: p0 Δ_a / Σ Δ; equal rates where all means are equal.

    Example:
        >>> Gap(0.9).floors([1.0, 0.5, 0.0])
        array([0. , 0.3, 0.6])
    """

    code: ClassVar[int] = kernels.GAP


@dataclass(frozen=True, eq=False)
class Custom(Rate):
    """Any function from means to floors.

    Example:
        >>> Custom(lambda means: 0.5 / len(means)).floors([0.2, 0.1])
        array([0.25, 0.25])
    """

    function: Callable[[Array], Any]
    has_json: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"function must be callable, got {self.function!r}")

    def floors(self, means: Numbers) -> Array:
        """What the function returns (one number stands for all arms), checked."""
        means = checks.array("means", means)
        result = self.function(means.copy())
        if np.ndim(result) == 0:
            result = [result] * means.size
        return checks.floors("rates returned by the custom function", result, means.size)

    def to_dict(self) -> dict[str, Any]:
        """Not possible: a function has no JSON form."""
        raise ValueError("custom rates cannot be written as JSON: a function has no JSON form")
