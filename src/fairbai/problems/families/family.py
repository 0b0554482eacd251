"""What all reward families have in common, and the checks that several of them share."""

import copy
import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from fairbai.kernels import families as kernels
from fairbai.problems.checks import Array, Numbers, array, frozen, refuse
from fairbai.problems.configured import Configured

MAX_VALUE = 1e150  # of means and rewards, so that their squares are finite
SYMMETRIC = (kernels.GAUSSIAN, kernels.GAUSSIAN_UNKNOWN, kernels.BERNOULLI, kernels.BOUNDED)
"""The families whose mirrored rewards are of the same family."""

SUM_ROUNDING = 1e-9  # relative, of the sum of a batch


@dataclass(frozen=True, eq=False)
class Family(Configured):
    """A family of reward distributions with one unknown parameter, the mean.

    All that is kept of an arm is the number of its rewards and the sum of ``statistic(reward)``.

    A subclass may transform rewards in ``statistic``, for instance take their logarithm. That changes what "best"
    means: the answer is the arm with the largest mean of the *transformed* rewards, which need not be the arm with the
    largest mean reward.

    Attributes:
        code: Its number in ``kernels.families``.
        low: The lower end of its domain, which no mean reaches.
        high: The upper end.
        structured: Whether arms share parameters; such a family needs to know more than the means.
        mirrored: Whether less is better; see ``for_goal``.
        condition: What its proofs need besides rewards of the family, as "the effects add up"; empty if nothing.
        centre: Where the kernels see rewards mirrored: x becomes ``centre`` - x.
    """

    argument: ClassVar[str] = "family"
    code: ClassVar[int]
    low: ClassVar[float] = -MAX_VALUE
    high: ClassVar[float] = MAX_VALUE
    structured: ClassVar[bool] = False
    mirrored: ClassVar[bool] = False
    centre: ClassVar[float] = 0.0

    @property
    def condition(self) -> str:
        """What its proofs need besides."""
        return ""

    @abstractmethod
    def sample(self, means: Numbers, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Array:
        """Rewards of arms with these means; with a ``size``, that many for each arm (the last axis is the arm)."""

    def scales(self, arms: int) -> Array:
        """The known variance of each arm; 1 for a family whose variance follows from its mean."""
        return frozen(np.ones(arms))

    def problem(self, means: Array) -> tuple[int, Array, Array]:
        """What the allocation problem takes of arms with these means: a code, and means and variances in its unit."""
        return self.code, frozen(self.out_of_units(means)), self.scales(means.size)

    def for_goal(self, goal: str) -> Self:
        """The same family for an experiment that looks for the largest ("max") or the least mean ("min").

        The kernels always look for the largest mean. For the least one they see all rewards mirrored, which is what
        ``value``, ``in_units`` and ``out_of_units`` then do; everything that people see stays as it is.
        """
        if goal == "max":
            return self
        if self.code not in SYMMETRIC and self.code not in kernels.MIRRORED:
            raise ValueError(f"goal='min' needs a family whose rewards can be mirrored, got {self.kind}")
        one = copy.copy(self)
        one._set(mirrored=True, code=kernels.MIRRORED.get(self.code, self.code))
        return one

    @property
    def upright_code(self) -> int:
        """The number in ``kernels.families`` of the rewards as they come, whether less is better or not."""
        return kernels.UPRIGHT.get(self.code, self.code)

    def turned(self, sums: Any, count: Any = 1.0) -> Any:
        """Sums of ``count`` statistics each, as the kernels see them: mirrored, if less is better."""
        return count * self.centre - sums if self.mirrored else sums

    def turned_squares(self, squares: Any, sums: Any, count: Any) -> Any:
        """The sums of the squares of ``count`` statistics each, as the kernels see them."""
        if not self.mirrored:
            return squares
        return count * self.centre**2 - 2.0 * self.centre * sums + squares

    def value(self, reward: Any) -> float:
        """What the kernels count of a reward."""
        return float(self.turned(self.statistic(reward)))

    def in_units(self, means: Any) -> Any:
        """Means of what the kernels count, in the unit of the rewards."""
        return self.turned(means)

    def out_of_units(self, means: Any) -> Any:
        """The inverse of ``in_units``."""
        return self.turned(means)

    def check_means(self, means: Any, dimensions: int = 1) -> Array:
        """The means as a vector (or a matrix, one row per instance), all strictly inside the domain of the family."""
        checked = array("means", means, dimensions=dimensions)
        if checked.shape[-1] < 2:
            raise ValueError(f"means must hold at least two arms, got {checked.shape[-1]}")
        if self.high < MAX_VALUE:
            outside = (checked <= self.low) | (checked >= self.high)
            refuse("means", f"be in ({self.low:g}, {self.high:g}) for {self.kind} arms", checked, outside)
        refuse("means", f"be greater than {self.low:g} for {self.kind} arms", checked, checked <= self.low)
        refuse("means", f"be less than {self.high:g} for {self.kind} arms", checked, checked >= self.high)
        return checked

    def statistic(self, reward: Any) -> float:
        """What a reward adds to the sum of its arm; an error if the family cannot produce such a reward."""
        try:
            if isinstance(reward, (str, bytes)):  # float() would take digits
                raise TypeError
            value = float(reward)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"reward must be a number, got {reward!r}") from None
        if not math.isfinite(value):
            raise ValueError(f"reward must be finite, got {reward!r}")
        if abs(value) >= MAX_VALUE:
            raise ValueError(f"reward must be less than {MAX_VALUE:g} in size, got {reward!r}")
        return value

    def check_sums(self, pulls: Array, sums: Any) -> Array:
        """What ``pulls`` rewards of every arm add up to; an error if the family cannot produce such sums."""
        checked = array("sums", sums, pulls.size)
        refuse("sums", f"be less than {MAX_VALUE:g} in size", checked, np.abs(checked) >= MAX_VALUE)
        refuse("sums", "be 0 where pulls are 0", checked, (pulls == 0.0) & (checked != 0.0))
        return checked

    def divergence(self, mean: float, other: float, arm: int = 0) -> float:
        """Kullback-Leibler divergence between two members of the family; ``arm`` matters where variances differ.

        Example:
            >>> import fairbai as fb
            >>> fb.Gaussian(variance=2.0).divergence(1.0, 0.0)
            0.25
        """
        self._check_members(mean, other)
        scale = np.atleast_1d(self._assumed_variance)
        return float(kernels.divergence(self.code, mean, other, other - mean, scale[min(arm, scale.size - 1)]))

    def _check_members(self, *means: float) -> None:
        for value in means:
            if not self.low <= value <= self.high:
                raise ValueError(
                    f"means must be from {self.low:g} to {self.high:g} for {self.kind} arms, got {value!r}"
                )

    @property
    def _assumed_variance(self) -> Any:
        """The variances that are known or guessed: one, or one per arm."""
        return getattr(self, "variance", 1.0)


def checked_variance(name: str, given: Any) -> float | Array:
    """A positive variance: one for all arms, or one per arm."""
    numbers = array(name, np.atleast_1d(np.asarray(given)))
    refuse(name, "be positive", numbers, numbers <= 0.0)
    return float(numbers[0]) if np.ndim(given) == 0 else numbers


def shape_of(means: Array, size: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """The shape of what ``Family.sample`` returns: ``size`` rewards of every arm."""
    lead = () if size is None else (size,) if isinstance(size, int) else size
    return (*lead, means.size)
