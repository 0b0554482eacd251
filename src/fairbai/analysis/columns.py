"""The columns of a log, as numbers: labels become codes, times become seconds; every error names its place."""

import math
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fairbai.problems.checks import Array

MAX_ARMS = 1_000  # different labels: more are those of visitors, say, and not of arms
EMPTY = ("", "nan", "<na>")  # the last is pandas.NA
TRUTH = {"true": 1.0, "false": 0.0}
TIME_EXPECTED = "a time in ISO 8601, such as 2026-05-01T12:30:00, or a number"

Codes = npt.NDArray[np.int64]
Clock = Literal["iso", "number"]


class WrongValueError(ValueError):
    """A value that a column cannot have: the row within its chunk, what was expected, and what came."""

    def __init__(self, row: int, expected: str, got: Any) -> None:
        super().__init__(f"must be {expected}, got {shown(got)}")
        self.row = row


def is_missing(value: Any) -> bool:
    """Whether a field is empty: None, NaN, or a text without a character."""
    return value is None or str(value).strip().lower() in EMPTY


def shown(value: Any) -> str:
    """A value in an error."""
    return "nothing" if is_missing(value) else repr(value.item() if isinstance(value, np.generic) else value)


class Numbers:
    """A column of finite numbers, in the interval from ``low`` to ``high``.

    Args:
        expected: How errors describe what is expected.
        accepts: Which numbers are.
        decimal_comma: Whether 1,5 may stand for 1.5.
        silence: What an empty field counts as; None to refuse it.

    Attributes:
        silent: How many fields were empty.
    """

    def __init__(
        self,
        expected: str,
        accepts: Callable[[Array], Any] = np.isfinite,
        decimal_comma: bool = False,
        silence: float | None = None,
    ):
        self._expected, self._accepts, self._decimal_comma = expected, accepts, decimal_comma
        self._silence, self.silent = silence, 0
        self._parts: list[Array] = []

    def add(self, values: Any) -> None:
        """Add a chunk."""
        numbers = self._converted(values)
        if self._silence is not None:
            empty = np.isnan(numbers)
            self.silent += int(empty.sum())
            numbers = np.where(empty, self._silence, numbers)
        with np.errstate(invalid="ignore"):
            wrong = ~(np.isfinite(numbers) & self._accepts(numbers))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise WrongValueError(row, self._expected, values[row])
        self._parts.append(numbers)

    def result(self) -> Array:
        """The whole column."""
        return np.concatenate([np.empty(0), *self._parts])

    def _converted(self, values: Any) -> Array:
        if getattr(values, "dtype", None) is not None and values.dtype.kind in "biuf":
            return np.asarray(values, dtype=np.float64)
        try:
            return np.array(list(map(float, values)))  # the usual case, and fast
        except (TypeError, ValueError):
            return np.array([self._number(row, value) for row, value in enumerate(values)])

    def _number(self, row: int, value: Any) -> float:
        if is_missing(value):
            return math.nan
        text = str(value).strip()
        if text.lower() in TRUTH:
            return TRUTH[text.lower()]
        try:
            return float(text.replace(",", ".") if self._decimal_comma else text)
        except ValueError:
            raise WrongValueError(row, self._expected, value) from None


class Labels:
    """A column of labels of arms, as codes."""

    def __init__(self) -> None:
        self._codes: dict[str | int, int] = {}
        self._parts: list[Codes] = []

    def add(self, values: Any) -> None:
        """Add a chunk."""
        known = self._codes
        plain = values.tolist() if isinstance(values, np.ndarray) else values
        try:
            codes = [known[value] for value in plain]  # the usual case, and fast
        except (KeyError, TypeError):
            labels = [_label(row, value) for row, value in enumerate(plain)]
            for label in dict.fromkeys(labels):
                known.setdefault(label, len(known))
                if len(known) > MAX_ARMS:
                    raise ValueError(f"has more than {MAX_ARMS:,} different values: are they arms?") from None
            codes = [known[label] for label in labels]
        self._parts.append(np.array(codes, dtype=np.int64))

    def result(self) -> tuple[tuple[str | int, ...], Codes]:
        """The labels, sorted (by their size if all of them are numbers), and the code of every row."""
        labels = sorted(self._codes, key=_sort_key(self._codes))
        place = np.empty(len(labels), dtype=np.int64)
        for number, label in enumerate(labels):
            place[self._codes[label]] = number
        codes = np.concatenate([np.empty(0, dtype=np.int64), *self._parts])
        return tuple(labels), place[codes]


def _label(row: int, value: Any) -> str | int:
    if isinstance(value, bool | np.bool_):
        return str(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)  # pandas has floats where there are gaps
    text = "" if value is None or value != value else str(value).strip()
    if not text:
        raise WrongValueError(row, "the label of an arm", None)
    return text


def _sort_key(labels: Iterable[str | int]) -> Callable[[str | int], Any]:
    if all(isinstance(label, int) or label.isdecimal() for label in labels):
        return int
    return str


class Times:
    """A column of times: as they are if they are numbers, else in seconds since 1970, UTC.

    Attributes:
        clock: What kind of times they are; None before the first.
    """

    def __init__(self) -> None:
        self.clock: Clock | None = None
        self._parts: list[Array] = []

    def add(self, values: Any) -> None:
        """Add a chunk."""
        if len(values) == 0:
            return
        self.clock = self.clock or ("iso" if _is_iso(values[0]) else "number")
        if self.clock == "number":
            column = Numbers(f"{TIME_EXPECTED}, as in the rows before it" if self._parts else TIME_EXPECTED)
            column.add(values)
            self._parts.append(column.result())
        elif isinstance(values, np.ndarray) and values.dtype.kind == "M":
            missing = np.isnat(values)
            if missing.any():
                raise WrongValueError(int(np.argmax(missing)), TIME_EXPECTED, None)
            self._parts.append(values.astype("datetime64[us]").astype(np.int64) / 1e6)
        else:
            self._parts.append(np.array([_seconds(row, value) for row, value in enumerate(values)]))

    def result(self) -> Array:
        """The whole column."""
        return np.concatenate([np.empty(0), *self._parts])


def _is_iso(value: Any) -> bool:
    """Whether a time is one of the calendar, and not a number."""
    if isinstance(value, date | np.datetime64):
        return True
    try:
        float(value)
    except (TypeError, ValueError):
        return True
    return False


def _seconds(row: int, value: Any) -> float:
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
    except ValueError:
        raise WrongValueError(row, TIME_EXPECTED, value) from None
    if found != found:  # a missing time of pandas
        raise WrongValueError(row, TIME_EXPECTED, None)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
