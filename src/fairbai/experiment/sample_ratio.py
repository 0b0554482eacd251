"""Sample-ratio mismatch: are arms assigned as often as was declared? Tests that hold at all times, one trial at a time.

A mismatch says that something between the assignment and the log is broken: visitors are lost, doubled or redirected,
more of one arm than of another. Comparisons of the arms cannot be trusted then, however sure they look.
"""

import copy
import math
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from fairbai.compiling.entry import patiently
from fairbai.experiment.doubts import LEVEL
from fairbai.kernels import sample_ratio as kernels
from fairbai.problems.checks import Array, Numbers, array, number, refuse, whole

SUM_TOLERANCE = 1e-6
MANY = 2_000  # rows from which on it is worth waiting for the compiled kernel
LARGER = np.arange(1, 8) / 8.0  # powers of the least probability of an arm: bets between it and 1
ROUNDING = 1e-9  # of probabilities
MAX_LOG = 700.0  # of an e-value, so that it is finite


class SampleRatio(ABC):
    """What the two tests have in common.

    Attributes:
        level: The probability of a false alarm, ever.
        counts: The trials of every arm and, last, of all arms.
        logs: What the e-value is made of; ``kernels.sample_ratio`` says how.
        largest: The logarithm of the largest e-value so far.
        found: After how many trials the mismatch was first evident; None if it never was.
    """

    level: float
    counts: Array
    logs: Array
    largest: float = 0.0
    found: int | None = None

    def __init__(self, arms: int, rows: tuple[int, ...], level: float) -> None:
        self.level = number("level", level, 1e-300, 1.0, "in (0, 1]")
        self.counts, self.logs = np.zeros(arms + 1), np.zeros(rows)

    @property
    def trials(self) -> int:
        """The trials that are counted."""
        return int(self.counts[-1])

    @property
    def mismatch(self) -> bool:
        """Whether the arms are not assigned as they should be, at this level."""
        return self.found is not None

    @property
    @abstractmethod
    def log_evidence(self) -> float:
        """The logarithm of the e-value now."""

    @property
    def e_value(self) -> float:
        """The e-value now: about 1 if all is well, and large if not."""
        return math.exp(min(self.log_evidence, MAX_LOG))

    @property
    def p_value(self) -> float:
        """A p-value that holds at all times: 1 over the largest e-value so far."""
        return math.exp(-max(0.0, self.largest))

    def count(self, arm: int, probability: float = 1.0) -> None:
        """Count a trial; ``probability`` is that of its draw, for a test that asks for it."""
        self.count_rows(np.array([arm]), np.array([probability]))

    def count_rows(self, arms: Any, probabilities: Any = None) -> None:
        """Count trials in the order in which they were assigned, arms by their number."""
        before = self.trials
        arms = np.ascontiguousarray(arms, dtype=np.int64)
        row, largest = self._counted(arms, probabilities, -math.log(self.level))
        self.largest = max(self.largest, float(largest))
        if self.found is None and row >= 0:
            self.found = before + int(row) + 1

    @abstractmethod
    def _counted(self, arms: Any, probabilities: Any, level: float) -> tuple[int, float]:
        """Count, and say in which row the level is first reached (or -1), and how large the log e-value became."""

    def copied(self) -> Self:
        """A copy, to return to."""
        one = copy.copy(self)
        one.counts, one.logs = self.counts.copy(), self.logs.copy()
        return one

    def to_dict(self) -> dict[str, Any]:
        """What was counted so far, as JSON."""
        counted = {"counts": self.counts.tolist(), "logs": self.logs.ravel().tolist()}
        return {**counted, "largest": self.largest, "found": self.found}

    def restore(self, form: dict[str, Any]) -> None:
        """Go on from what ``to_dict`` gave."""
        self.counts[:] = array("counts", form["counts"], self.counts.size)
        self.logs[:] = array("logs", form["logs"], self.logs.size).reshape(self.logs.shape)
        self.largest = number("largest", form["largest"], 0.0, math.inf, "at least 0")
        self.found = None if form["found"] is None else whole("found", form["found"], 1)


class DeclaredShares(SampleRatio):
    """Are arms assigned in the shares that were declared? For shares that do not change.

    Args:
        shares: The share of every arm; positive, with a sum of 1.
        level: The probability of a false alarm, ever.

    Example:
        >>> test = DeclaredShares([0.5, 0.5])
        >>> test.count_rows([0, 1] * 45 + [1] * 10)
        >>> test.mismatch, round(test.p_value, 2)
        (False, 1.0)
    """

    def __init__(self, shares: Numbers, level: float = LEVEL) -> None:
        self.shares = checked_shares(shares)
        super().__init__(self.shares.size, kernels.CONCENTRATIONS.shape, level)

    @property
    def log_evidence(self) -> float:
        """The logarithm of the e-value now."""
        return float(kernels.shares_evidence(self.logs))

    def count_totals(self, trials: Array) -> None:
        """Count trials of which only the number of every arm is known; the order does not matter to the e-value."""
        from scipy.special import gammaln

        if self.trials > 0:
            raise ValueError(f"totals must come before any other trials, got {self.trials} trials already")
        c, n = kernels.CONCENTRATIONS[:, None], np.asarray(trials, dtype=np.float64)
        arms = gammaln(c * self.shares + n) - gammaln(c * self.shares) - n * np.log(self.shares)
        self.logs[:] = arms.sum(axis=1) + gammaln(c[:, 0]) - gammaln(c[:, 0] + n.sum())
        self.counts[:-1], self.counts[-1] = n, n.sum()
        self.largest = max(0.0, self.log_evidence)
        if self.largest >= -math.log(self.level):
            self.found = self.trials

    def _counted(self, arms: Any, probabilities: Any, level: float) -> tuple[int, float]:
        count = patiently(kernels.count_shares) if arms.size > MANY else kernels.count_shares
        found: tuple[int, float] = count(self.counts, self.logs, self.shares, arms, level)
        return found


class DrawnShares(SampleRatio):
    """Are arms drawn with the probabilities that were logged? For probabilities that may change with every trial.

    Args:
        least: The least probability with which every arm is ever drawn, known beforehand.
        level: The probability of a false alarm, ever.

    Example:
        >>> test = DrawnShares([0.5, 0.5])
        >>> test.count_rows([0, 1] * 45 + [1] * 10, [0.5] * 100)
        >>> test.mismatch, test.ratios.round(2).tolist()
        (False, [0.9, 1.1])
    """

    def __init__(self, least: Numbers, level: float = LEVEL) -> None:
        self.least = array("least", least)
        refuse("least", "be in (0, 1]", self.least, (self.least <= 0.0) | (self.least > 1.0))
        larger = self.least ** LARGER[:, None]  # no factor of an upward bet below 1 can be negative
        self.bets = np.vstack([np.outer(kernels.BETS, self.least), larger]) * kernels.EDGE
        self.weights = np.zeros(self.least.size)
        super().__init__(self.least.size, self.bets.shape, level)

    @property
    def log_evidence(self) -> float:
        """The logarithm of the e-value now."""
        return float(kernels.draws_evidence(self.counts, self.logs, self.bets))

    @property
    def ratios(self) -> Array:
        """How often every arm was assigned, over how often it should have been; without bias 1 if all is well."""
        return self.weights / max(1.0, self.trials)

    @property
    def most_at_odds(self) -> int:
        """The arm against which most of the evidence is."""
        missed = (self.trials - self.counts[:-1]) * np.log1p(-self.bets)
        return int(np.argmax((self.logs + missed).max(axis=0)))

    def count(self, arm: int, probability: float = 1.0) -> None:
        """Count a trial that was drawn with this probability."""
        if probability < self.least[arm] * (1.0 - ROUNDING):
            raise ValueError(f"probability must be at least {self.least[arm]:g} for arm {arm}, got {probability:g}")
        self._add(arm, probability, 1.0)
        self._look()

    def count_batch(self, pulls: Array, probabilities: Array) -> None:
        """Count trials that were all drawn with the same probabilities, of which the number of every arm is known.

        The order does not matter to the e-value, which is looked at once, after all of them.
        """
        for arm in np.flatnonzero(pulls).tolist():
            self._add(arm, float(probabilities[arm]), float(pulls[arm]))
        self._look()

    def _add(self, arm: int, probability: float, trials: float) -> None:
        kernels.count_drawn(self.counts, self.logs, self.bets, arm, probability, trials)
        self.weights[arm] += trials / probability

    def _look(self) -> None:
        """Keep the largest e-value, and when it first was enough."""
        self.largest = max(self.largest, self.log_evidence)
        if self.found is None and self.largest >= -math.log(self.level):
            self.found = self.trials

    def _counted(self, arms: Any, probabilities: Any, level: float) -> tuple[int, float]:
        chances = np.ascontiguousarray(probabilities, dtype=np.float64)
        short = chances < self.least[arms] * (1.0 - ROUNDING)
        if short.any():
            row = int(np.argmax(short))
            least = self.least[arms[row]]
            raise ValueError(
                f"probabilities must be at least {least:g} for arm {arms[row]}, got {chances[row]:g} in row {row}"
            )
        self.weights += np.bincount(arms, 1.0 / chances, self.weights.size)
        count = patiently(kernels.count_draws) if arms.size > MANY else kernels.count_draws
        found: tuple[int, float] = count(self.counts, self.logs, self.bets, arms, chances, level)
        return found

    def copied(self) -> Self:
        """A copy, to return to."""
        one = super().copied()
        one.weights = self.weights.copy()
        return one

    def to_dict(self) -> dict[str, Any]:
        """What was counted so far, as JSON."""
        return {**super().to_dict(), "weights": self.weights.tolist()}

    def restore(self, form: dict[str, Any]) -> None:
        """Go on from what ``to_dict`` gave."""
        super().restore(form)
        self.weights[:] = array("weights", form["weights"], self.weights.size)


def checked_shares(shares: Any) -> Array:
    """Declared shares, which must be positive and add up to 1."""
    checked = array("shares", shares)
    refuse("shares", "be positive", checked, checked <= 0.0)
    total = float(checked.sum())
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise ValueError(f"shares must add up to 1, got {total:.12g}")
    return array("shares", checked / total)
