"""How the means of arms change in the course of an experiment, for simulations.

A drift is a table of means, with one row per trial, that starts from the means of an instance. After its last row the
means stay as they are, or the table starts again.
"""

import itertools
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairbai.problems.checks import Array, Numbers, array, number, true_or_false, whole
from fairbai.problems.configured import Configured
from fairbai.problems.families import Family, Poisson

__all__ = ["Custom", "Drift", "Novelty", "Ramp", "Seasonal", "Steps"]

MAX_ROWS = 10_000_000
HALVES = 20  # half-lives after which nothing is left of a novelty


@dataclass(frozen=True, eq=False)
class Drift(Configured):
    """A change of the means with the trials.

    Attributes:
        repeats: Whether the table of means starts again after its last row; else the means stay as they are there.
    """

    argument: ClassVar[str] = "drift"
    repeats: ClassVar[bool] = False

    @abstractmethod
    def table(self, means: Array) -> Array:
        """The means of every arm in the first trials, one row per trial, for an instance with these means."""

    def checked_table(self, family: Family, means: Array) -> Array:
        """The table, all of whose means are inside the domain of the family."""
        if isinstance(family, Poisson):
            raise ValueError(
                "drift can be simulated for gaussian, bernoulli, exponential and bounded arms, got poisson"
            )
        found = self.table(means)
        inside = (found > family.low) & (found < family.high)
        if not inside.all():
            trial, arm = (int(index[0]) for index in np.nonzero(~inside))
            where = f"arm {arm} in trial {trial}"
            raise ValueError(
                f"drift must leave means inside the domain of the family, got {found[trial, arm]} for {where}"
            )
        return found

    def averages(self, means: Array, trials: Any) -> Array:
        """The average of every arm (last axis) over the first ``trials`` trials, for each entry of ``trials``."""
        found, after = self.table(means), np.asarray(trials, dtype=np.int64)
        sums = np.vstack([np.zeros(means.size), np.cumsum(found, axis=0)])
        rows = len(found)
        if self.repeats:
            whole_tables, rest = np.divmod(after, rows)
            total = whole_tables[..., None] * sums[-1] + sums[rest]
        else:
            total = sums[np.minimum(after, rows)] + np.maximum(after - rows, 0)[..., None] * found[-1]
        return np.asarray(total / np.maximum(after, 1)[..., None])


@dataclass(frozen=True, eq=False)
class Ramp(Drift):
    """Means that change steadily for some trials, and then stay.

    Args:
        change: By how much the means change in all: one number for all arms, or one per arm.
        trials: In how many trials.

    Example:
        >>> Ramp(0.7, trials=3000).averages(np.array([0.07, 0.05]), 3000).round(3)
        array([0.42, 0.4 ])
    """

    change: float | Numbers
    trials: int

    def __post_init__(self) -> None:
        self._set(change=_numbers("change", self.change), trials=whole("trials", self.trials, 1, MAX_ROWS))

    def table(self, means: Array) -> Array:
        """A straight line from the means to the means and the change."""
        part = np.arange(1.0, self.trials + 1.0) / self.trials
        return np.asarray(means + part[:, None] * _per_arm("change", self.change, means))


@dataclass(frozen=True, eq=False)
class Seasonal(Drift):
    """Means that go up and down like a sine: hours of the day, days of the week.

    Args:
        amplitude: How far up and down: one number for all arms, or one per arm.
        period: After how many trials it starts again.
        phase: Where it starts, in periods.
    """

    amplitude: float | Numbers
    period: int
    phase: float = 0.0
    repeats: ClassVar[bool] = True

    def __post_init__(self) -> None:
        phase = number("phase", self.phase, -1e6, 1e6, "a finite number")
        period = whole("period", self.period, 2, MAX_ROWS)
        self._set(amplitude=_numbers("amplitude", self.amplitude), period=period, phase=phase)

    def table(self, means: Array) -> Array:
        """One period."""
        wave = np.sin(2.0 * np.pi * ((np.arange(self.period) + 0.5) / self.period + self.phase))
        return np.asarray(means + wave[:, None] * _per_arm("amplitude", self.amplitude, means))


@dataclass(frozen=True, eq=False)
class Steps(Drift):
    """Means that jump at given trials, and stay until the next jump.

    Args:
        at: The trials at which they jump, rising; the first trial of an experiment is 0.
        changes: By how much the means then differ from those of the instance: for every jump one number for all arms,
            or one per arm.
    """

    at: Numbers
    changes: Any

    def __post_init__(self) -> None:
        at = [whole("at", trial, 0, MAX_ROWS - 1) for trial in np.asarray(self.at).tolist()]
        if not at or any(one >= other for one, other in itertools.pairwise(at)):
            raise ValueError(f"at must be one or more rising trials, got {self.at!r}")
        if len(self.changes) != len(at):
            raise ValueError(f"changes must be as many as jumps ({len(at)}), got {len(self.changes)}")
        changes = [np.atleast_1d(_numbers("changes", change)) for change in self.changes]
        arms = max(change.size for change in changes)
        if any(change.size not in (1, arms) for change in changes):
            raise ValueError(f"changes must have one number, or one per arm, for every jump, got {self.changes!r}")
        self._set(at=np.array(at), changes=np.array([np.broadcast_to(change, arms) for change in changes]))

    def table(self, means: Array) -> Array:
        """Until after the last jump."""
        rows = np.tile(means, (int(self.at[-1]) + 1, 1))
        for start, change in zip(self.at, self.changes, strict=True):
            rows[int(start) :] = means + _per_arm("changes", change if change.size > 1 else change[0], means)
        return rows


@dataclass(frozen=True, eq=False)
class Novelty(Drift):
    """An effect of what is new, which fades.

    Args:
        effect: What is added to the means at the start: one number for all arms, or one per arm.
        half_life: After how many trials half of it is left.
    """

    effect: float | Numbers
    half_life: int

    def __post_init__(self) -> None:
        half_life = whole("half_life", self.half_life, 1, MAX_ROWS // HALVES)
        self._set(effect=_numbers("effect", self.effect), half_life=half_life)

    def table(self, means: Array) -> Array:
        """Until nothing is left."""
        left = 0.5 ** (np.arange(HALVES * self.half_life) / self.half_life)
        left[-1] = 0.0
        return np.asarray(means + left[:, None] * _per_arm("effect", self.effect, means))


@dataclass(frozen=True, eq=False)
class Custom(Drift):
    """Means that are given trial by trial; those of the instance do not matter.

    Args:
        means: One row per trial and one column per arm.
        repeat: Whether they start again after the last row; else they stay as they are there.
    """

    means: Any
    repeat: bool = False

    def __post_init__(self) -> None:
        means = array("means", self.means, dimensions=2)
        if not 1 <= len(means) <= MAX_ROWS:
            raise ValueError(f"means must have from 1 to {MAX_ROWS:,} rows, got {len(means)}")
        self._set(means=means, repeat=true_or_false("repeat", self.repeat))

    @property
    def repeats(self) -> bool:  # type: ignore[override]
        """Whether the table starts again."""
        return self.repeat

    def table(self, means: Array) -> Array:
        """As it was given."""
        return array("means", self.means, means.size, dimensions=2)


def _numbers(name: str, value: Any) -> Any:
    """One number, or a vector."""
    numbers = array(name, np.atleast_1d(np.asarray(value)))
    return float(numbers[0]) if np.ndim(value) == 0 else numbers


def _per_arm(name: str, value: Any, means: Array) -> Array:
    """One number per arm."""
    return array(name, value if isinstance(value, np.ndarray) else np.full(means.size, value), means.size)
