"""Rewards in an interval."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairbai.kernels import families as kernels
from fairbai.problems.checks import Array, Numbers, array, frozen, number, refuse
from fairbai.problems.families.family import MAX_VALUE, SUM_ROUNDING, Family, checked_variance, shape_of


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
            self._set(variance=checked_variance("variance", self.variance))

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
        self._check_members(mean, other)
        if self.variance is not None:
            scale = np.atleast_1d(self.variance)
            return float(0.5 * (other - mean) ** 2 / scale[min(arm, scale.size - 1)])
        one, two = float(self.out_of_units(mean)), float(self.out_of_units(other))
        return float(kernels.divergence(self.code, one, two, (other - mean) / self.width, 1.0))

    def sample(self, means: Numbers, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Array:
        """Rewards with Beta laws of the variance that is guessed; without a guess, rewards at the two ends."""
        means = np.asarray(means, dtype=np.float64)
        inside, shape = self.out_of_units(means), shape_of(means, size)
        if self.variance is None:
            return self.in_units((rng.random(shape) < inside).astype(np.float64))  # type: ignore[no-any-return]
        weight = inside * (1.0 - inside) * self.width**2 / self.variances(means) - 1.0
        return self.in_units(rng.beta(inside * weight, (1.0 - inside) * weight, shape))  # type: ignore[no-any-return]
