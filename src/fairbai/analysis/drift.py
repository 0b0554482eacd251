"""Did the means change in the course of a log? A plain test, which is no proof that they did not."""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtr

from fairbai.analysis.columns import Codes
from fairbai.problems.checks import Array

LEVEL = 1e-3  # of all comparisons together
BLOCKS = 10  # parts of the log that are compared, beside its halves
MIN_ROWS = 100


@dataclass(frozen=True)
class Change:
    """The mean of an arm in the first and the second half of a log.

    Attributes:
        arm: Its number; None for the level that all arms share: the rewards less the mean of their arm.
        first: The mean in the first half, or nan.
        second: In the second half.
        p_value: That of a difference between the halves, or between ten parts of the log, of an arm that keeps its
            mean; not valid at all times, but once, at the end. 1 where there are too few rewards.
    """

    arm: int | None
    first: float
    second: float
    p_value: float


@dataclass(frozen=True)
class DriftCheck:
    """What was observed about drift.

    Attributes:
        level: The change that all arms share.
        arms: The change of every arm.
        shares: The p-value of a change of the arms' shares from half to half.
        shares_by_half: The shares of the arms, one row per half.
        means_by_part: The means of the arms, one row per tenth of the log; nan where an arm has no trials.
        ends: After how many trials each tenth ends.
    """

    level: Change
    arms: tuple[Change, ...]
    shares: float
    shares_by_half: Array
    means_by_part: Array
    ends: tuple[int, ...]

    @property
    def p_value(self) -> float:
        """That of any change of the means at all, corrected for the number of comparisons."""
        every = [self.level.p_value, *(change.p_value for change in self.arms)]
        return min(1.0, len(every) * min(every))

    @property
    def drifted(self) -> bool:
        """Whether a change was observed."""
        return self.p_value < LEVEL

    @property
    def shares_changed(self) -> bool:
        """Whether the shares of the arms changed."""
        return self.shares < LEVEL


def check_drift(arms: Codes, rewards: Array, count: int) -> DriftCheck:
    """Compare the halves of a log, and ten parts of it."""
    rows = len(arms)
    part = np.arange(rows) * BLOCKS // max(1, rows)
    sizes = np.zeros((BLOCKS, count))
    np.add.at(sizes, (part, arms), 1.0)
    sums = np.zeros((BLOCKS, count))
    np.add.at(sums, (part, arms), rewards)
    totals = sizes.sum(axis=0)
    means = sums.sum(axis=0) / np.maximum(1.0, totals)
    squares = np.bincount(arms, (rewards - means[arms]) ** 2, count)
    changes = tuple(
        _change(arm, sizes[:, arm], sums[:, arm] - sizes[:, arm] * means[arm], squares[arm], means[arm])
        for arm in range(count)
    )
    rest = (sums - sizes * means).sum(axis=1)
    level = _change(None, sizes.sum(axis=1), rest, float(squares.sum()), 0.0)
    halves = np.array([half.sum(axis=0) for half in np.split(sizes, 2)])
    shares = halves / np.maximum(1.0, halves.sum(axis=1, keepdims=True))
    by_part = np.where(sizes > 0.0, sums / np.maximum(1.0, sizes), np.nan)
    ends = tuple(int(end) for end in sizes.sum(axis=1).cumsum())
    return DriftCheck(level, changes, _homogeneity(halves), shares, by_part, ends)


def _change(arm: int | None, sizes: Array, above: Array, squares: float, mean: float) -> Change:
    """The change of rewards that are ``above`` their mean by so much in every part, in sum."""
    half = BLOCKS // 2
    counts = np.array([sizes[:half].sum(), sizes[half:].sum()])
    ends = [above[:half].sum(), above[half:].sum()] / np.maximum(1.0, counts)
    first, second = (mean + float(end) if n > 0.0 else float("nan") for end, n in zip(ends, counts, strict=True))
    if sizes.sum() < MIN_ROWS or counts.min() < 1.0 or squares <= 0.0:
        return Change(arm, first, second, 1.0)
    variance = squares / (sizes.sum() - 1.0)
    z = float((ends[1] - ends[0]) / np.sqrt(variance * (1.0 / counts).sum()))
    filled = sizes > 0.0
    spread = float((above[filled] ** 2 / sizes[filled]).sum() / variance)
    p = min(2.0 * float(ndtr(-abs(z))), float(chdtrc(max(1, filled.sum() - 1), spread)))
    return Change(arm, first, second, min(1.0, 2.0 * p))


def _homogeneity(counts: Array) -> float:
    """The p-value of Pearson's test that two rows of counts have the same shares."""
    used = counts[:, counts.sum(axis=0) > 0.0]
    expected = np.outer(used.sum(axis=1), used.sum(axis=0)) / used.sum()
    if used.sum() < MIN_ROWS or used.shape[1] < 2 or expected.min() < 1.0:
        return 1.0
    return float(chdtrc(used.shape[1] - 1, float(((used - expected) ** 2 / expected).sum())))
