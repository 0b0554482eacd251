"""Groups of arms: what they are guaranteed and allowed together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbai.problems import checks
from fairbai.problems.labels import some
from fairbai.problems.sentences import told

MIN_CEILING = 1e-12  # one trial in a million millions


@dataclass(frozen=True)
class Group:
    """Arms with a floor or a ceiling (or both) on their shares together.

    Args:
        arms: The arms: by their labels, where they are text, or by their numbers from 0.
        floor: The least share that they get together; 0 by default.
        ceiling: The largest share that they may have together; 1 by default.

    Example:
        >>> Group(["red", "blue"], floor=0.5)
        Group(arms=('red', 'blue'), floor=0.5, ceiling=1.0)
    """

    arms: tuple[int | str, ...]
    floor: float
    ceiling: float

    def __init__(self, arms: Sequence[int | str], floor: float | None = None, ceiling: float | None = None) -> None:
        if isinstance(arms, str) or not isinstance(arms, (Sequence, np.ndarray)) or len(arms) == 0:
            raise ValueError(f"arms of a group must be a list of arms, got {arms!r}")
        for arm in arms:
            if not isinstance(arm, str) and not checks.is_whole(arm, 0):
                raise ValueError(f"arms of a group must be labels or whole numbers from 0, got {arm!r}")
        if len(set(arms)) < len(arms):
            raise ValueError(f"arms of a group must be different, got {list(arms)!r}")
        if floor is None and ceiling is None:
            raise ValueError(f"a group must have a floor or a ceiling, got neither for {some(list(arms))}")
        least = checks.number("floor of a group", 0.0 if floor is None else floor, 0.0, 1.0, "in [0, 1]")
        expected = f"in [{MIN_CEILING:g}, 1]"
        most = checks.number("ceiling of a group", 1.0 if ceiling is None else ceiling, MIN_CEILING, 1.0, expected)
        members = tuple(str(arm) if isinstance(arm, str) else int(arm) for arm in arms)
        if most < least:
            why = told(f"the group {some(members)} has a floor of ", least, " but a ceiling of ", most)
            raise ValueError(f"ceiling of a group must be at least its floor: {why}")
        for name, value in (("arms", members), ("floor", least), ("ceiling", most)):
            object.__setattr__(self, name, value)

    def numbered(self, labels: Sequence[Any] | None) -> "Group":
        """The same group, with its arms by their numbers."""
        if all(isinstance(arm, int) for arm in self.arms):
            return self
        return Group([_number(arm, labels) for arm in self.arms], self.floor, self.ceiling)

    @property
    def numbers(self) -> list[int]:
        """The numbers of the arms; for a group that is ``numbered``."""
        return [int(arm) for arm in self.arms]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; a ceiling is part of it only if there is one."""
        form = {"arms": list(self.arms), "floor": self.floor}
        return form if self.ceiling == 1.0 else {**form, "ceiling": self.ceiling}

    @classmethod
    def of(cls, form: Any) -> "Group":
        """The group that is given, as itself or in its JSON form."""
        if isinstance(form, cls):
            return form
        if not isinstance(form, dict) or not {"arms"} < set(form) <= {"arms", "floor", "ceiling"}:
            raise ValueError(f"a group must have arms, and a floor or a ceiling, got {form!r}")
        return cls(**form)


def groups_of(given: Any) -> tuple[Group, ...]:
    """A list of groups, each as itself or in its JSON form."""
    if isinstance(given, (str, dict)) or not isinstance(given, Sequence):
        raise ValueError(f"groups must be a list of groups, got {given!r}")
    return tuple(Group.of(form) for form in given)


def _number(arm: int | str, labels: Sequence[Any] | None) -> int:
    """The number of an arm of a group."""
    if not isinstance(arm, str):
        return arm
    if labels is None:
        raise ValueError(f"a group by label needs the labels of the arms, got {arm!r} for numbered arms")
    if arm not in labels:
        raise ValueError(f"a group must hold arms of {some(labels)}, got {arm!r}")
    return list(labels).index(arm)
