"""Checks of user input: each error names the argument, what was expected, and what it got."""

import math
import sys
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt

from fairbai.kernels.rates import EPSILON, unspent

Array = npt.NDArray[np.float64]
Numbers = Sequence[float] | npt.NDArray[Any]

SUM_TOLERANCE = 1e-9


def fraction(value: Any) -> Any:
    """The number that text such as "12%" or "12 %" stands for; whatever else is given, as it is.

    Example:
        >>> fraction("12.3%"), fraction("50 %"), fraction(0.5), fraction("half")
        (0.123, 0.5, 0.5, 'half')
    """
    if not isinstance(value, str) or not value.rstrip().endswith("%"):
        return value
    try:
        return float(Decimal(value.rstrip()[:-1].strip()) / 100)
    except InvalidOperation:
        return value


def fractions(value: Any) -> Any:
    """A list with what its percentages stand for; whatever else is given, as it is."""
    if isinstance(value, (list, tuple)) and any(isinstance(one, str) for one in value):
        return [fraction(one) for one in value]
    return value


def array(name: str, value: Any, arms: int | None = None, dimensions: int = 1) -> Array:
    """``value`` as a new read-only array of finite numbers: a vector with one entry per arm, or rows of them."""
    value = fractions(value)
    try:
        if np.asarray(value).dtype.kind not in "biufO":  # NumPy would take strings of digits
            raise ValueError
        numbers = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        given = value.tolist() if isinstance(value, np.ndarray) else value
        raise ValueError(f"{name} must be numbers, got {given!r}") from None
    except OverflowError:  # of a whole number
        raise ValueError(f"{name} must be numbers up to {sys.float_info.max:.2g}, got a larger one") from None
    if numbers.ndim != dimensions:
        expected = "a vector" if dimensions == 1 else "a matrix"
        raise ValueError(f"{name} must be {expected}, got shape {numbers.shape}")
    if arms is not None and numbers.shape[-1] != arms:
        raise ValueError(f"{name} must have one entry per arm ({arms}), got {numbers.shape[-1]}")
    refuse(name, "be finite", numbers, ~np.isfinite(numbers))
    return frozen(numbers)


def frozen(numbers: Array) -> Array:
    """A read-only view; Numba compiles a kernel anew for each mix of read-only and writable arguments."""
    view = numbers.view()
    view.setflags(write=False)
    return view


def refuse(name: str, expected: str, numbers: Array, wrong: npt.NDArray[np.bool_]) -> None:
    """Raise an error that shows the first wrong number and where it stands."""
    if wrong.any():
        where = tuple(int(index[0]) for index in np.nonzero(wrong))
        place = f"arm {where[-1]}" + (f" of row {where[0]}" if len(where) == 2 else "")
        raise ValueError(f"{name} must {expected}, got {numbers[where]} for {place}")


def number(name: str, value: Any, low: float, high: float, expected: str) -> float:
    """``value`` as a float in [low, high]; ``expected`` is how the error describes the interval."""
    try:
        given = fraction(value)
        result = math.nan if isinstance(given, str) else float(given)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be {expected}, got {value!r}") from None
    if not low <= result <= high:
        raise ValueError(f"{name} must be {expected}, got {value!r}")
    return result


def whole(name: str, value: Any, low: int, high: float = math.inf, expected: str | None = None) -> int:
    """``value`` as an int from ``low`` to ``high``; ``expected`` is how the error describes it, if not by these."""
    if not is_whole(value, low, high):
        words = f"a whole number from {low}" + (f" to {high}" if high < math.inf else "")
        raise ValueError(f"{name} must be {expected or words}, got {value!r}")
    return int(value)


def whole_trials(name: str, value: Any, low: int) -> int:
    """``value`` as a number of trials, for which somebody may give a duration."""
    if isinstance(value, str):
        raise ValueError(f"{name} must be a number of trials, got {value!r}: only the service has a clock")
    return whole(name, value, low)


def is_whole(value: Any, low: int, high: float = math.inf) -> bool:
    """Whether ``value`` is a whole number from ``low`` to ``high``; true and false are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(low <= value <= high)


def true_or_false(name: str, value: Any) -> bool:
    """``value`` as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be true or false, got {value!r}")
    return bool(value)


def confidence(delta: Any) -> float:
    """``delta`` as a float in (0, 1/2)."""
    return number("delta", delta, math.ulp(0.0), math.nextafter(0.5, 0.0), "in (0, 1/2)")


def floors(name: str, value: Any, arms: int, dimensions: int = 1) -> Array:
    """``value`` as floors: not negative, with a sum of at most 1.

    A sum that exceeds 1 by no more than ``SUM_TOLERANCE`` is taken for 1, and the floors are scaled to it.
    """
    result = array(name, value, arms, dimensions)
    refuse(name, "not be negative", result, result < 0.0)
    rest = np.array([unspent(row) for row in np.atleast_2d(result)])
    if (rest < -SUM_TOLERANCE).any():
        worst = int(rest.argmin())
        where = f"in row {worst} " if dimensions == 2 else ""
        start = "" if name == "floors" else f"{name} must sum to at most 1: "
        raise ValueError(f"{start}{where}{_too_much(np.atleast_2d(result)[worst])}")
    if (rest < -EPSILON).any():
        totals = np.where(rest < -EPSILON, 1.0 - rest, 1.0)
        result = frozen(result / (totals[:, None] if dimensions == 2 else totals[0]))
    return result


def _too_much(row: Array) -> str:
    """What is wrong with floors that ask for more than there is, in percent."""
    total = f"add up to {100.0 * (1.0 - float(unspent(row))):.12g} %"
    if np.any(row != row[0]):
        return f"the floors {total}; at most 100 % is possible"
    largest = math.floor(1000.0 / row.size) / 10.0
    return f"{row.size} floors of {100.0 * row[0]:.12g} % {total}; at most {largest:g} % each is possible"
