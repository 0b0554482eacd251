"""What a log says was counted, without some tickets: exact, so that a huge wrong reward leaves nothing behind."""

from collections.abc import Collection
from fractions import Fraction
from typing import Any

import numpy as np

from fairbai.experiment.doubts import Doubts
from fairbai.experiment.lack_of_fit import is_time_to_look
from fairbai.identifier.batches import checked, checked_squares
from fairbai.kernels.families import BOUNDED, GAUSSIAN_UNKNOWN
from fairbai.kernels.state import ROUNDING
from fairbai.service.domain.configs import identifier_of

BITS = 1074  # of the smallest number: so many make every number whole
UNIT, SQUARE_UNIT = 1 << BITS, 1 << (2 * BITS)
MADE_ANEW = ("_identifier", "_one")


class LogChangedError(Exception):
    """What was read of a log has since been voided, or is no longer there."""


class Tally:
    """Counts, sums and squares of the rewards of every arm, and the tests of what was declared.

    Args:
        config: The experiment.
        without: The tickets whose rewards do not count.

    Attributes:
        without: These tickets.
        version: The number of the last event that is in it.
        told: Of these tickets, those whose reward was told, and whether that was before the decision or
            the end.
        in_time: Of these tickets, those whose reward was not late.
        counted: Of these tickets, those that were counted, with their reward or without it.
        doubts: What the tests say.
    """

    def __init__(self, config: dict[str, Any], without: Collection[int]) -> None:
        self.without, self._config = frozenset(without), config
        self._prepare()
        self._at_an_age = config.get("report_after") is not None
        self._unknown = self._one.family.code == GAUSSIAN_UNKNOWN
        arms = len(config["arms"])
        self._counts, self._sums, self._squares = [0] * arms, [0] * arms, [0] * arms  # in units
        self.version, self._trials, self._decided = 0, 0, False
        self.told: dict[int, bool] = {}
        self.in_time: set[int] = set()
        self.counted: set[int] = set()
        self.doubts = Doubts(self._one.family, arms)

    def _prepare(self) -> None:
        self._identifier = identifier_of(self._config)  # knows the configuration, and no reward
        self._one = self._identifier.procedure.experiment

    def __getstate__(self) -> dict[str, Any]:
        """What another worker needs to go on: all but the identifier, whose lock stays here."""
        return {name: value for name, value in vars(self).items() if name not in MADE_ANEW}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Go on in another worker."""
        vars(self).update(state)
        self._prepare()

    def take(self, version: int, kind: str, data: dict[str, Any]) -> None:
        """Count an event; those of other kinds change nothing. After the decision or the end nothing is evidence."""
        self.version = version
        if kind in ("decided", "stopped", "closed"):
            self._decided = True
        elif kind == "asked":
            self._trials += len(data["arms"])
        elif kind in ("told", "earned"):
            told = self.without.intersection(data["tickets"])
            self.told |= dict.fromkeys(told, not self._decided)
            self.in_time |= told.difference(data["late"])
            if not self._at_an_age:
                self._count(data)
        elif kind == "counted":
            self._count(data)
        elif kind == "batch" and not self._decided:
            self._add_batch(data)

    def _count(self, data: dict[str, Any]) -> None:
        if self._decided:
            return
        for number, arm, reward in zip(data["tickets"], data["arms"], data["rewards"], strict=True):
            if number in self.without:
                self.counted.add(number)
            elif reward is not None:
                value = self._one.family.value(reward)
                self._add(arm, 1, value)
                self._squares[arm] += _whole(value) ** 2
                self.doubts.observe(arm, value, self._trials, False)
                if self.doubts.tests_fit and is_time_to_look(sum(self._counts)):
                    self._test_fit()

    def _test_fit(self) -> None:
        """Test linear means where they were tested at first, so that a void takes back no doubt that others caused."""
        sums = [float(Fraction(total, UNIT)) for total in self._sums]
        self.doubts.observe_fit(np.array(self._counts, dtype=float), np.array(sums), self._trials, False)

    def _add(self, arm: int, count: int, total: float) -> None:
        self._counts[arm] += count
        self._sums[arm] += _whole(total)

    def _add_batch(self, data: dict[str, Any]) -> None:
        pulls, sums = checked(self._identifier, data["pulls"], data["sums"])
        squares = checked_squares(self._one, np.array(pulls), np.array(sums), data.get("squares"))
        self._trials += int(pulls.sum())
        for arm in np.flatnonzero(pulls).tolist():
            count, total, square = float(pulls[arm]), float(sums[arm]), float(squares[arm])
            least = total * (total / count)  # as in ``kernels.state.add_squares``
            if self._unknown:
                square = least + max(square - least, ROUNDING * square) if count > 1.0 else least
            self._add(arm, int(count), total)
            self._squares[arm] += _whole(square) * UNIT
        if data.get("squares") is not None:
            self.doubts.observe_batch(pulls, sums, squares, self._trials, False)
        self._test_fit()

    def rewards(self, arm: int) -> tuple[int, float, float]:
        """How many rewards an arm has, their sum, and their squares as ``Experiment.set_rewards`` takes them."""
        count, total = self._counts[arm], self._sums[arm]
        squares: Fraction | int = self._squares[arm]
        if self._unknown:
            squares = max(Fraction(0), Fraction(count * self._squares[arm] - total * total, max(1, count)))
        elif self._one.family.code != BOUNDED:
            squares = 0
        return count, float(Fraction(total, UNIT)), float(Fraction(squares, SQUARE_UNIT))


def _whole(value: float) -> int:
    """A number in units."""
    numerator, denominator = value.as_integer_ratio()
    return numerator * (UNIT // denominator)
