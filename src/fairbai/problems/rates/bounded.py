"""Limits beyond floors: ceilings on the shares of arms, and floors on the shares of groups of arms."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from fairbai.kernels import limits as kernels
from fairbai.problems import checks
from fairbai.problems.checks import SUM_TOLERANCE, Array, Numbers, frozen
from fairbai.problems.labels import some
from fairbai.problems.rates.constant import Constant

MIN_CEILING = 1e-12  # one trial in a million millions


@dataclass(frozen=True)
class Group:
    """Arms that are guaranteed a share together: by their labels, where they are text, or by their numbers from 0.

    Example:
        >>> Group(["red", "blue"], floor=0.5)
        Group(arms=('red', 'blue'), floor=0.5)
    """

    arms: tuple[int | str, ...]
    floor: float

    def __init__(self, arms: Sequence[int | str], floor: float) -> None:
        if isinstance(arms, str) or not isinstance(arms, (Sequence, np.ndarray)) or len(arms) == 0:
            raise ValueError(f"arms of a group must be a list of arms, got {arms!r}")
        for arm in arms:
            if not isinstance(arm, str) and not checks.is_whole(arm, 0):
                raise ValueError(f"arms of a group must be labels or whole numbers from 0, got {arm!r}")
        if len(set(arms)) < len(arms):
            raise ValueError(f"arms of a group must be different, got {list(arms)!r}")
        object.__setattr__(self, "arms", tuple(str(arm) if isinstance(arm, str) else int(arm) for arm in arms))
        object.__setattr__(self, "floor", checks.number("floor of a group", floor, 0.0, 1.0, "in [0, 1]"))


class Limits(NamedTuple):
    """The limits for a number of arms, as the kernels take them.

    Attributes:
        floors: One per arm.
        ceilings: One per arm.
        groups: The number of each arm's group; -1 for an arm in none.
        group_floors: The floor of group g at index g; 0 if there is no such group.
        centre: Shares within all limits: the floors, raised in proportion to the distance from the ceilings.
        slack: How much room the tightest limit leaves; 0 if some limit is met by one share only.
    """

    floors: Array
    ceilings: Array
    groups: Array
    group_floors: Array
    centre: Array
    slack: float


@dataclass(frozen=True, eq=False)
class Bounded(Constant):
    """Floors and ceilings for arms, and floors for groups of arms, all known beforehand.

    Every share stays between its floor and its ceiling, and the shares of every group sum to at least the group's
    floor. No arm may be in two groups.

    Args:
        floor: One for all arms, or one per arm.
        ceiling: One for all arms, or one per arm; positive, because an arm that is never tried cannot be judged.
        groups: Groups, such as ``Group([0, 1], floor=0.4)`` or ``{"arms": [0, 1], "floor": 0.4}``.

    Example:
        >>> rates = Bounded(floor=0.1, ceiling=0.5, groups=[Group([1, 2], floor=0.6)])
        >>> rates.limits(3).centre.round(3)
        array([0.25 , 0.375, 0.375])
    """

    ceiling: float | Numbers = 1.0
    groups: Sequence[Group | dict[str, Any]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.ndim(self.ceiling) == 0:
            expected = f"in [{MIN_CEILING:g}, 1]"
            self._set(ceiling=checks.number("ceiling", self.ceiling, MIN_CEILING, 1.0, expected))
        else:
            ceilings = checks.array("ceiling", self.ceiling)
            wrong = (ceilings < MIN_CEILING) | (ceilings > 1.0)
            checks.refuse("ceiling", f"be in [{MIN_CEILING:g}, 1]", ceilings, wrong)
            self._set(ceiling=ceilings)
        if isinstance(self.groups, (str, dict)) or not isinstance(self.groups, Sequence):
            raise ValueError(f"groups must be a list of groups, got {self.groups!r}")
        groups = tuple(_group(form) for form in self.groups)
        seen: set[int | str] = set()
        for group in groups:
            for arm in seen.intersection(group.arms):
                raise ValueError(f"groups must not overlap, got arm {arm!r} in two of them")
            seen.update(group.arms)
        self._set(groups=groups)

    def numbered(self, labels: Sequence[Any]) -> Self:
        """The same limits, with the arms of groups by their numbers."""
        groups = tuple(Group([_number(arm, labels) for arm in group.arms], group.floor) for group in self._groups)
        return self if groups == self.groups else replace(self, groups=groups)

    def floors(self, means: Numbers) -> Array:
        """The floors, whatever the means; checks all other limits for this number of arms too."""
        return self.limits(len(means)).floors

    def limits(self, arms: int) -> Limits:
        """The limits for this number of arms; an error if they contradict each other."""
        floors = Constant.floors(self, np.zeros(arms))
        one = np.full(arms, self.ceiling) if np.ndim(self.ceiling) == 0 else self.ceiling
        ceilings = checks.array("ceiling", one, arms)
        checks.refuse("ceiling", "be at least the floor", ceilings, ceilings < floors)
        most = float(ceilings.sum())
        if most < 1.0 - SUM_TOLERANCE:
            raise ValueError(f"ceilings must sum to at least 1, got {most:.12g}")
        groups, group_floors, room = self._numbered(floors, ceilings)
        forced = _forced(floors, groups, group_floors)
        if forced > 1.0 + SUM_TOLERANCE:
            raise ValueError(f"floors of arms and groups together must ask for at most 1, got {forced:.12g}")
        if forced > 1.0:
            floors, group_floors = floors / forced, group_floors / forced
        centre = floors.copy()
        kernels.fill_up(ceilings, groups, group_floors, centre, np.empty((2, arms)))
        slack = max(0.0, min(room, 1.0 - forced, most - 1.0, float((ceilings - floors).min())))
        return Limits(frozen(floors), ceilings, frozen(groups), frozen(group_floors), frozen(centre), slack)

    def _numbered(self, floors: Array, ceilings: Array) -> tuple[Array, Array, float]:
        """The group of every arm, the floors of the groups, and the least room that a group has."""
        arms = floors.size
        groups, group_floors, room = np.full(arms, -1.0), np.zeros(arms), 1.0
        for number, group in enumerate(self._groups):
            members = [_number(arm) for arm in group.arms]
            if max(members) >= arms:
                raise ValueError(f"groups must hold arms below {arms}, got arm {max(members)}")
            most = float(ceilings[members].sum())
            if group.floor > most + SUM_TOLERANCE:
                raise ValueError(
                    f"floor of a group must be at most the sum of its ceilings ({most:.12g}), got {group.floor!r}"
                )
            groups[members], group_floors[number] = number, min(group.floor, most)
            room = min(room, most - group.floor)
        return groups, group_floors, room

    @property
    def _groups(self) -> tuple[Group, ...]:
        return tuple(group for group in self.groups if isinstance(group, Group))

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; groups are dictionaries."""
        groups = [{"arms": list(group.arms), "floor": group.floor} for group in self._groups]
        return {**super().to_dict(), "groups": groups}


def _group(form: Group | dict[str, Any]) -> Group:
    if isinstance(form, Group):
        return form
    if not isinstance(form, dict) or set(form) != {"arms", "floor"}:
        raise ValueError(f"a group must have arms and a floor, got {form!r}")
    return Group(form["arms"], form["floor"])


def _number(arm: int | str, labels: Sequence[Any] | None = None) -> int:
    """The number of an arm of a group."""
    if not isinstance(arm, str):
        return arm
    if labels is None:
        raise ValueError(f"a group by label needs the labels of the arms, got {arm!r} for numbered arms")
    if arm not in labels:
        raise ValueError(f"a group must hold arms of {some(labels)}, got {arm!r}")
    return list(labels).index(arm)


def _forced(floors: Array, groups: Array, group_floors: Array) -> float:
    """What the floors of arms and groups ask for together."""
    grouped = groups >= 0.0
    sums = np.bincount(groups[grouped].astype(np.int64), floors[grouped], minlength=floors.size)
    return float(floors[~grouped].sum() + np.maximum(sums, group_floors).sum())
