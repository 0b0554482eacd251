"""When decisions may be made: at the end of whole cycles such as weeks, and not before a minimum duration.

Evidence may be looked at whenever one likes, so that waiting costs no part of the guarantee; and an average over whole
weeks means what people think it means.
"""

import math
import re
from dataclasses import dataclass
from typing import Any, Self

PATTERN = r"^[1-9][0-9]{0,8}[smhdw]$"
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
MIN_RETENTION, MAX_RETENTION = 3600.0, 36_500 * 86_400.0
NAMES = {"1d": "day", "24h": "day", "7d": "week", "1w": "week", "1h": "hour"}


def seconds(duration: str) -> float:
    """A duration such as ``"90m"`` or ``"7d"`` in seconds."""
    return float(duration[:-1]) * UNITS[duration[-1]]


def in_seconds(given: Any) -> Any:
    """The seconds of what may be a duration such as ``"7d"``; whatever else is given, as it is."""
    return seconds(given) if isinstance(given, str) and re.fullmatch(PATTERN, given) else given


def as_duration(given: Any) -> Any:
    """What may be a whole number of seconds as a duration, in the largest unit; whatever else is given, as it is.

    Example:
        >>> as_duration(604800), as_duration(5400.0), as_duration("7d")
        ('1w', '90m', '7d')
    """
    if type(given) not in (int, float) or not 0.0 < given < math.inf or given != int(given):
        return given
    unit = max((name for name in UNITS if given % UNITS[name] == 0.0), key=UNITS.__getitem__)
    return f"{int(given / UNITS[unit])}{unit}"


def checked_retention(duration: str) -> str:
    """How long an experiment is kept after its end: a duration from an hour to a hundred years."""
    if not re.fullmatch(PATTERN, duration) or not MIN_RETENTION <= seconds(duration) <= MAX_RETENTION:
        raise ValueError(f"retention must be a duration such as 365d, from 1h to 36500d, got {duration!r}")
    return duration


def cycle_name(duration: str) -> str:
    """What people call a cycle: a week, or a cycle of 36h."""
    return NAMES.get(duration, f"cycle of {duration}")


@dataclass
class Cycles:
    """When an experiment may decide.

    Attributes:
        length: Seconds of a cycle; None if a decision may be made at any time after the minimum duration.
        minimum: Seconds before which nothing is decided.
        begun: When the experiment was created.
        next: When a decision may next be made.
    """

    length: float | None
    minimum: float
    begun: float = 0.0
    next: float = math.inf

    @classmethod
    def of(cls, config: dict[str, Any]) -> Self | None:
        """Of a configuration; None if decisions are made at any time."""
        cycle, least = config.get("cycle"), config.get("min_duration")
        if cycle is None and least is None:
            return None
        return cls(None if cycle is None else seconds(cycle), 0.0 if least is None else seconds(least))

    def begin(self, at: float) -> None:
        """Start counting."""
        self.begun = at
        self._advance(at)

    def due(self, at: float) -> bool:
        """Whether a decision may be made now."""
        return at >= self.next

    def passed(self, at: float) -> None:
        """Go on to the next time at which a decision may be made."""
        if self.length is not None:
            self._advance(at)

    def _advance(self, at: float) -> None:
        """To the first end of a cycle that is after this time and not before the minimum duration."""
        if self.length is None:
            self.next = self.begun + self.minimum
            return
        count = max(math.floor((at - self.begun) / self.length) + 1, math.ceil(self.minimum / self.length))
        while self.begun + count * self.length <= at:  # rounding
            count += 1
        self.next = self.begun + count * self.length
