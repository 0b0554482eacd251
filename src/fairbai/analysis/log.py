"""A log of an experiment that somebody has already made: one row per trial, or totals, one row per arm."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from fairbai.analysis.columns import Clock, Codes, Labels, Numbers, Times, WrongValueError
from fairbai.analysis.tables import Table, opened
from fairbai.problems.checks import Array, number

UNIX = {"seconds": 1.0, "milliseconds": 1e3}
CENTURY = 1e9, 4.1e9  # seconds since 1970: the years 2001 to 2099
REWARD = "a number (say with silence what a trial without a reward counts as; do not leave such trials out)"


@dataclass(frozen=True)
class Names:
    """The names of the columns.

    Attributes:
        arm: The column with the label of the arm.
        reward: That of the reward of a trial; not for totals.
        time: That of the time of a trial, if there is one.
        probability: That of the probability with which the arm of a trial was drawn, if there is one.
        trials: For totals, that of the number of trials of an arm.
        sum: For totals, that of the sum of their rewards.
        squares: For totals, that of the sum of their squared rewards, if there is one.
    """

    arm: str = "arm"
    reward: str | None = None
    time: str | None = None
    probability: str | None = None
    trials: str | None = None
    sum: str | None = None
    squares: str | None = None

    def wanted(self) -> dict[str, str]:
        """The columns to read, by argument; a ValueError says which arguments do not go together."""
        given = {name: column for name, column in vars(self).items() if column is not None}
        for name, column in given.items():
            if not isinstance(column, str):
                raise ValueError(f"{name} must be the name of a column, got {column!r}")
        if self.trials is None and self.sum is None and self.squares is None:
            return {"arm": self.arm, "reward": self.reward or "reward", **given}
        missing = [name for name in ("trials", "sum") if name not in given]
        if missing:
            raise ValueError(f"{missing[0]} is missing: totals need the columns arm, trials and sum")
        for name in ("reward", "time", "probability"):
            if name in given:
                raise ValueError(f"{name} is a column of single trials, got {given[name]!r} beside totals")
        return given


@dataclass(frozen=True, eq=False)
class Log:
    """One row per trial, in the order of time, or else in that of the file.

    Attributes:
        name: Where it comes from.
        labels: The labels of the arms.
        arms: The arm of every trial, by its number.
        rewards: The reward of every trial.
        times: The time of every trial, or None.
        clock: Whether times are those of the calendar ("iso") or numbers.
        probabilities: The probability with which the arm was drawn, or None.
        notes: What was noticed while it was read, such as how many trials have no reward.
        table: To find the place of a row in the file.
        order: The row of every trial in the file, where these differ.
    """

    name: str
    labels: tuple[str | int, ...]
    arms: Codes
    rewards: Array
    times: Array | None
    clock: Clock | None
    probabilities: Array | None
    notes: tuple[str, ...]
    table: Table
    order: Codes | None

    def place(self, trial: int) -> str:
        """Where a trial is in the file, in words."""
        return self.table.place(int(trial if self.order is None else self.order[trial]))

    def time(self, trial: int) -> str | float | None:
        """The time of a trial, by its number from 0, as text or as a number."""
        return None if self.times is None else moment(float(self.times[trial]), self.clock)


@dataclass(frozen=True, eq=False)
class Totals:
    """One row per arm: how many trials it had, what they earned and, if known, the sum of the squared rewards."""

    name: str
    labels: tuple[str | int, ...]
    trials: Array
    sums: Array
    squares: Array | None
    notes: tuple[str, ...]


def moment(time: float, clock: Clock | None) -> str | float:
    """A time as text, if it is one of the calendar."""
    if clock != "iso":
        return time
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _calendar(times: Array, clock: Clock | None) -> tuple[Array, Clock | None, list[str]]:
    """Numbers that are Unix times of this century as times of the calendar, and a note that says so."""
    low, high = float(times.min()), float(times.max())
    for unit, size in UNIX.items() if clock == "number" else ():
        if CENTURY[0] * size <= low and high < CENTURY[1] * size:
            return times / size, "iso", [f"The times are taken for Unix times in {unit}."]
    return times, clock, []


def read(data: Any, names: Names, silence: float | None = None) -> Log | Totals:
    """Read a log or totals, and check them; a trial without a reward counts as ``silence``, or is refused if None."""
    wanted = names.wanted()
    if silence is not None and "reward" not in wanted:
        raise ValueError(f"silence is for single trials, got {silence!r} beside totals")
    table = opened(data, wanted)
    columns: dict[str, Any] = {argument: _column(argument, table) for argument in wanted}
    if silence is not None:
        counts_as = number("silence", silence, -1e300, 1e300, "a finite number")
        columns["reward"] = Numbers(REWARD, np.isfinite, table.decimal_comma, counts_as)
    row = 0
    for chunk in table.chunks:
        for (argument, column), values in zip(columns.items(), chunk, strict=True):
            _add(table, wanted[argument], row, column, values)
        row += len(chunk[0])
    if row == 0:
        raise ValueError(f"{table.name} has no rows: there is nothing to analyze")
    labels, arms = columns["arm"].result()
    if len(labels) < 2:
        raise ValueError(f"{table.name} must have at least two arms in {wanted['arm']!r}, got only {labels[0]!r}")
    return _log(table, labels, arms, columns) if "reward" in columns else _totals(table, labels, arms, columns)


def _column(argument: str, table: Table) -> Any:
    if argument == "arm":
        return Labels()
    if argument == "time":
        return Times()
    if argument == "probability":
        return Numbers("a probability in (0, 1]", lambda p: (p > 0.0) & (p <= 1.0), table.decimal_comma)
    if argument == "trials":
        return Numbers("a whole number from 0", lambda n: (n >= 0.0) & (n == np.floor(n)))
    return Numbers(REWARD if argument == "reward" else "a number", np.isfinite, table.decimal_comma)


def _add(table: Table, name: str, row: int, column: Any, values: Any) -> None:
    try:
        column.add(values)
    except WrongValueError as error:
        raise ValueError(f"{table.place(row + error.row)}: {name!r} {error}") from None
    except ValueError as error:
        raise ValueError(f"{table.name}: the column {name!r} {error}") from None


def _log(table: Table, labels: tuple[Any, ...], arms: Codes, columns: Mapping[str, Any]) -> Log:
    rewards, notes, order, clock = columns["reward"].result(), list(table.notes), None, None
    if silent := columns["reward"].silent:
        notes.append(f"{silent:,} of {len(arms):,} trials have no reward, and count as silence declares.")
    times = columns["time"].result() if "time" in columns else None
    chances = columns["probability"].result() if "probability" in columns else None
    if times is None:
        notes.append("There is no time: the rows are taken in their order.")
    else:
        times, clock, taken = _calendar(times, columns["time"].clock)
        notes += taken
        late = int((np.diff(times) < 0.0).sum())
        if late > 0:
            order = np.argsort(times, kind="stable")
            arms, rewards, times = arms[order], rewards[order], times[order]
            chances = None if chances is None else chances[order]
            notes.append(f"The rows were not in the order of time ({late:,} of them go back): they were sorted.")
    return Log(table.name, labels, arms, rewards, times, clock, chances, tuple(notes), table, order)


def _totals(table: Table, labels: tuple[Any, ...], arms: Codes, columns: Mapping[str, Any]) -> Totals:
    if len(arms) > len(labels):
        twice = labels[int(np.argmax(np.bincount(arms) > 1))]
        raise ValueError(f"{table.name} must have one row per arm if it has totals, got several for {twice!r}")
    back = np.argsort(arms)
    trials, sums = columns["trials"].result()[back], columns["sum"].result()[back]
    squares = columns["squares"].result()[back] if "squares" in columns else None
    if not trials.sum() > 0.0:
        raise ValueError(f"{table.name} has no trials: there is nothing to analyze")
    return Totals(table.name, labels, trials, sums, squares, tuple(table.notes))
