"""Reward families: one-parameter exponential families, named by their mean, and rewards in an interval.

Each is a few parameters, checks and a sampler; the numerical bodies are in ``kernels.families`` under the same code.
"""

import copy
import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from fairbai.kernels import families as kernels
from fairbai.problems.checks import Array, Numbers, array, frozen, number, refuse
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
            >>> Gaussian(variance=2.0).divergence(1.0, 0.0)
            0.25
        """
        for value in (mean, other):
            if not self.low <= value <= self.high:
                raise ValueError(
                    f"means must be from {self.low:g} to {self.high:g} for {self.kind} arms, got {value!r}"
                )
        scale = np.atleast_1d(self._assumed_variance)
        return float(kernels.divergence(self.code, mean, other, other - mean, scale[min(arm, scale.size - 1)]))

    @property
    def _assumed_variance(self) -> Any:
        """The variances that are known or guessed: one, or one per arm."""
        return getattr(self, "variance", 1.0)


@dataclass(frozen=True, eq=False)
class Gaussian(Family):
    """Normal rewards with known variance, one for all arms or one per arm, or with unknown ones (``variance=None``).

    Unknown variances are estimated while the experiment runs. The stopping rules ``Mixture`` and ``TwoSidedMixture``
    are proved for them, for *normal* rewards only: with a known variance that is large enough they are proved for many
    others.

    Args:
        variance: The known variance; None (or "unknown", where there is no None) if it is unknown.
        guess: A guess of unknown variances, one for all arms or one per arm, for planning and simulation only: the
            proof does not use it.

    Example:
        >>> Gaussian(variance=[1.0, 4.0]).scales(2)
        array([1., 4.])
        >>> Gaussian(variance=None, guess=4.0).to_dict()
        {'kind': 'gaussian', 'variance': None, 'guess': 4.0}
    """

    variance: float | Numbers | str | None = 1.0
    guess: float | Numbers | None = None
    code: ClassVar[int] = kernels.GAUSSIAN

    def __post_init__(self) -> None:
        if isinstance(self.variance, str) and self.variance == "unknown":  # TOML has no null
            self._set(variance=None)
        for name in ("variance", "guess"):
            given = getattr(self, name)
            if given is not None:
                numbers = array(name, np.atleast_1d(np.asarray(given)))
                refuse(name, "be positive", numbers, numbers <= 0.0)
                self._set(**{name: float(numbers[0]) if np.ndim(given) == 0 else numbers})
        if self.unknown_variance:
            self._set(code=kernels.GAUSSIAN_UNKNOWN)
        elif self.guess is not None:
            raise ValueError(f"guess is for unknown variances (variance=None), got variance {self.variance!r}")

    @property
    def unknown_variance(self) -> bool:
        """Whether the variances are to be estimated."""
        return self.variance is None

    @property
    def _assumed_variance(self) -> Any:
        known = self.guess if self.variance is None else self.variance
        if known is None:
            raise ValueError(
                "guess must be given to plan, solve or simulate with unknown variances, such as "
                "Gaussian(variance=None, guess=4.0): the proof does not use it"
            )
        return known

    def scales(self, arms: int) -> Array:
        """The variance of every arm, as it is known or guessed; 1 for unknown variances without a guess."""
        name, known = ("variance", self.variance) if self.variance is not None else ("guess", self.guess)
        if isinstance(known, np.ndarray):
            return array(name, known, arms)
        return frozen(np.full(arms, 1.0 if known is None else known))

    def problem(self, means: Array) -> tuple[int, Array, Array]:
        """As for all families; an error if the variances are neither known nor guessed."""
        assert self._assumed_variance is not None
        return super().problem(means)

    def check_squares(self, pulls: Array, sums: Array, squares: Any) -> Array:
        """The sums of squared rewards of a batch, which must be possible for its pulls and sums."""
        checked = array("squares", squares, pulls.size)
        least = sums * sums / np.maximum(pulls, 1.0)
        wrong = (checked < least * (1.0 - SUM_ROUNDING)) | ((pulls == 0.0) & (checked != 0.0))
        refuse("squares", "be possible for these pulls and sums", checked, wrong)
        return np.maximum(checked, least)

    def sample(self, means: Numbers, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Array:
        """Normal rewards, of the variances that are known or guessed."""
        means = np.asarray(means)
        assert self._assumed_variance is not None
        return rng.normal(means, np.sqrt(self.scales(means.size)), _shape(means, size))

    def __repr__(self) -> str:
        guess = "" if self.guess is None else f", guess={self.guess!r}"
        return f"{type(self).__name__}(variance={self.variance!r}{guess})"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; a guess is left out where there is none."""
        form = super().to_dict()
        return form if self.guess is not None else {name: form[name] for name in form if name != "guess"}


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
        return (rng.random(_shape(means, size)) < means).astype(np.float64)


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
        return rng.poisson(means, _shape(means, size)).astype(np.float64)


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
        return rng.exponential(means, _shape(means, size))


@dataclass(frozen=True, eq=False)
class Bounded(Family):
    """Any rewards in an interval: ratings, shares, revenue with a cap. Nothing else is assumed of their law.

    Stopping rules are proved for all such rewards, whatever their variance. ``variance`` is for planning only: it makes
    ``solve`` and ``plan`` treat the arms like Gaussian ones, and simulated rewards have Beta laws. Without it they
    treat the arms like the most spread ones that there are, with rewards at the two ends, which are then simulated.

    Args:
        low: The least possible reward.
        high: The largest possible reward.
        variance: A guess of the variance of a reward: one for all arms, or one per arm.

    Example:
        >>> stars = Bounded(1.0, 5.0)
        >>> stars.statistic(4.0), stars.in_units(0.75)
        (0.75, 4.0)
    """

    low: float = 0.0  # type: ignore[misc]  # of each family, elsewhere of the class
    high: float = 1.0  # type: ignore[misc]
    variance: float | Numbers | None = None
    code: ClassVar[int] = kernels.BOUNDED
    centre: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        low = number("low", self.low, -MAX_VALUE, MAX_VALUE, "a finite number")
        high = number("high", self.high, -MAX_VALUE, MAX_VALUE, "a finite number")
        if not low < high:
            raise ValueError(f"low must be less than high, got {self.low!r} and {self.high!r}")
        self._set(low=low, high=high)
        if self.variance is not None:
            numbers = array("variance", np.atleast_1d(np.asarray(self.variance)))
            refuse("variance", "be positive", numbers, numbers <= 0.0)
            self._set(variance=float(numbers[0]) if np.ndim(self.variance) == 0 else numbers)

    @property
    def width(self) -> float:
        """The length of the interval."""
        return self.high - self.low

    def variances(self, means: Array) -> Array:
        """The variance of each arm, as it is guessed; without a guess, the largest that there is with its mean."""
        if self.variance is None:
            return (means - self.low) * (self.high - means)
        guess = self.variance if isinstance(self.variance, np.ndarray) else np.full(means.shape[-1], self.variance)
        return array("variance", guess, means.shape[-1])

    def problem(self, means: Array) -> tuple[int, Array, Array]:
        """Gaussian arms with the variances that are guessed; without a guess, Bernoulli arms in another unit."""
        scales = np.ones(means.size) if self.variance is None else self.variances(means) / self.width**2
        code = kernels.BERNOULLI if self.variance is None else kernels.GAUSSIAN
        return code, frozen(self.out_of_units(means)), frozen(scales)

    def in_units(self, means: Any) -> Any:
        """Means of rewards that were moved to [0, 1], in the unit of the rewards."""
        return self.low + self.width * self.turned(means)

    def out_of_units(self, means: Any) -> Any:
        """Means moved to [0, 1]."""
        return self.turned(np.clip((means - self.low) / self.width, 0.0, 1.0))

    def check_means(self, means: Any, dimensions: int = 1) -> Array:
        """The means, strictly inside the interval, and far enough from its ends for the variance that is guessed."""
        checked = super().check_means(means, dimensions)
        most = (checked - self.low) * (self.high - checked)
        if self.variance is not None:
            wrong = np.broadcast_to(self.variances(checked), checked.shape) >= most
            refuse(
                "means", "leave room for the variance: it must be less than (mean - low) (high - mean)", checked, wrong
            )
        return checked

    def statistic(self, reward: Any) -> float:
        """The reward, which must be in the interval, moved to [0, 1]."""
        value = super().statistic(reward)
        if not self.low <= value <= self.high:
            raise ValueError(f"reward of a bounded arm must be from {self.low:g} to {self.high:g}, got {reward!r}")
        return min(max((value - self.low) / self.width, 0.0), 1.0)

    def check_sums(self, pulls: Array, sums: Any) -> Array:
        """The sums, which must be from ``low`` to ``high`` times the pulls, of rewards moved to [0, 1]."""
        checked = super().check_sums(pulls, sums)
        slack = SUM_ROUNDING * pulls * max(abs(self.low), abs(self.high))
        outside = (checked < pulls * self.low - slack) | (checked > pulls * self.high + slack)
        refuse("sums", f"be from {self.low:g} to {self.high:g} times the pulls for bounded arms", checked, outside)
        return np.clip((checked - pulls * self.low) / self.width, 0.0, pulls)

    def check_squares(self, pulls: Array, sums: Array, squares: Any) -> Array:
        """The sums of squared rewards of a batch, of rewards moved to [0, 1]; ``sums`` are moved already."""
        checked = array("squares", squares, pulls.size)
        original = sums * self.width + pulls * self.low
        moved = (checked - 2.0 * self.low * original + pulls * self.low**2) / self.width**2
        slack = 1e-6 * np.maximum(pulls, 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            least = np.where(pulls > 0.0, sums * sums / np.maximum(pulls, 1.0), 0.0)
        refuse(
            "squares", "be possible for these pulls and sums", checked, (moved < least - slack) | (moved > sums + slack)
        )
        return np.clip(moved, least, sums)

    def divergence(self, mean: float, other: float, arm: int = 0) -> float:
        """That of the two-point law or, with a variance that is guessed, of the Gaussian one."""
        for value in (mean, other):
            if not self.low <= value <= self.high:
                raise ValueError(f"means must be from {self.low:g} to {self.high:g} for bounded arms, got {value!r}")
        if self.variance is not None:
            scale = np.atleast_1d(self.variance)
            return float(0.5 * (other - mean) ** 2 / scale[min(arm, scale.size - 1)])
        one, two = float(self.out_of_units(mean)), float(self.out_of_units(other))
        return float(kernels.divergence(self.code, one, two, (other - mean) / self.width, 1.0))

    def sample(self, means: Numbers, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Array:
        """Rewards with Beta laws of the variance that is guessed; without a guess, rewards at the two ends."""
        means = np.asarray(means, dtype=np.float64)
        inside, shape = self.out_of_units(means), _shape(means, size)
        if self.variance is None:
            return self.in_units((rng.random(shape) < inside).astype(np.float64))  # type: ignore[no-any-return]
        weight = inside * (1.0 - inside) * self.width**2 / self.variances(means) - 1.0
        return self.in_units(rng.beta(inside * weight, (1.0 - inside) * weight, shape))  # type: ignore[no-any-return]


def _shape(means: Array, size: int | tuple[int, ...] | None) -> tuple[int, ...]:
    lead = () if size is None else (size,) if isinstance(size, int) else size
    return (*lead, means.size)
