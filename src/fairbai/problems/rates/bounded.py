"""Limits beyond floors: ceilings on the shares of arms, and floors and ceilings on those of groups of arms."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from fairbai.kernels import limits as kernels
from fairbai.problems import checks
from fairbai.problems.checks import Array, Numbers, frozen
from fairbai.problems.labels import labels_of
from fairbai.problems.rates import implied as implications
from fairbai.problems.rates.constant import Constant
from fairbai.problems.rates.contradictions import refuse_contradictions
from fairbai.problems.rates.declared import Declared
from fairbai.problems.rates.groups import MIN_CEILING, Group, groups_of


class Limits(NamedTuple):
    """The limits for a number of arms, as the kernels take them.

    Attributes:
        floors: One per arm.
        ceilings: One per arm.
        groups: The number of each arm's group; -1 for an arm in none.
        group_floors: The floor of group g at index g; 0 if there is no such group.
        group_ceilings: The ceiling of group g at index g; 1 if it has none, or if there is no such group.
        centre: Shares within all limits: the floors, raised in proportion to the distance from the ceilings.
        slack: How much room the tightest limit leaves; 0 if some limit is met by one share only.
    """

    floors: Array
    ceilings: Array
    groups: Array
    group_floors: Array
    group_ceilings: Array
    centre: Array
    slack: float


@dataclass(frozen=True, eq=False)
class Bounded(Constant):
    """Floors and ceilings for arms, and for groups of arms together, all known beforehand.

    Every share stays between its floor and its ceiling, and the shares of every group sum to at least the group's floor
    and at most its ceiling. No arm may be in two groups.

    Args:
        floor: One for all arms, or one per arm.
        ceiling: One for all arms, or one per arm; positive, because an arm that is never tried cannot be judged.
        groups: Groups, such as ``Group([0, 1], floor=0.4)`` or ``{"arms": [0, 1], "floor": 0.4, "ceiling": 0.6}``.

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
        groups = groups_of(self.groups)
        seen: set[int | str] = set()
        for group in groups:
            for arm in seen.intersection(group.arms):
                raise ValueError(f"groups must not overlap, got arm {arm!r} in two of them")
            seen.update(group.arms)
        self._set(groups=groups)

    def numbered(self, labels: Sequence[Any]) -> Self:
        """The same limits, with the arms of groups by their numbers; an error if the limits contradict each other."""
        groups = tuple(group.numbered(labels) for group in groups_of(self.groups))
        found = self if groups == self.groups else replace(self, groups=groups)
        found.limits(len(labels), labels)
        return found

    def floors(self, means: Numbers) -> Array:
        """The floors, whatever the means; checks all other limits for this number of arms too."""
        return self.limits(len(means)).floors

    def limits(self, arms: int, labels: Sequence[Any] | None = None) -> Limits:
        """The limits for this number of arms; an error, with these labels, if they contradict each other."""
        floors, ceilings, groups, _ = declared = self._declared(arms, labels)
        refuse_contradictions(declared)
        of, group_floors, group_ceilings = np.full(arms, -1.0), np.zeros(arms), np.ones(arms)
        room, most = 1.0, float(ceilings.sum())
        for number, group in enumerate(groups):
            members = group.numbers
            low, high = float(floors[members].sum()), float(ceilings[members].sum())
            of[members], group_floors[number] = number, min(group.floor, high)
            room = min(room, high - group.floor)
            if group.ceiling < 1.0:
                group_ceilings[number] = max(group.ceiling, low)
                room = min(room, group.ceiling - max(group.floor, low))
                most -= max(0.0, high - group.ceiling)
        forced = _forced(floors, of, group_floors)
        if forced > 1.0:
            floors, group_floors = floors / forced, group_floors / forced
        centre = floors.copy()
        kernels.fill_up(ceilings, of, group_floors, group_ceilings, centre, np.empty((2, arms)))
        slack = max(0.0, min(room, 1.0 - forced, most - 1.0, float((ceilings - floors).min())))
        groups_of = frozen(of), frozen(group_floors), frozen(group_ceilings)
        return Limits(frozen(floors), ceilings, *groups_of, frozen(centre), slack)

    def implied(self, arms: int | Sequence[Hashable]) -> list[str]:
        """What the limits imply but do not say: who gets more than their floor, or less than their ceiling, says.

        Args:
            arms: The labels of the arms, or their number.

        Example:
            >>> rates = Bounded(floor=[0.3, 0.0, 0.0], groups=[Group(["b", "c"], ceiling=0.5)])
            >>> rates.implied(["control", "b", "c"])[0]
            "'control' has a floor of 30 %, but as all others together may have at most 50 %, it gets at least 50 %"
        """
        return implications.implied(self._feasible(arms))

    def tightened(self, arms: int | Sequence[Hashable]) -> implications.Tightened:
        """The least and the largest share that every arm and every group can really have within the limits.

        Example:
            >>> rates = Bounded(floor=[0.3, 0.0, 0.0], groups=[Group([1, 2], ceiling=0.5)])
            >>> rates.tightened(3).floors
            array([0.5, 0. , 0. ])
        """
        return implications.tightened(self._feasible(arms))

    def _feasible(self, arms: int | Sequence[Hashable]) -> Declared:
        labels = labels_of(arms)
        declared = self._declared(len(labels), labels)
        refuse_contradictions(declared)
        return declared

    def _declared(self, arms: int, labels: Sequence[Any] | None) -> Declared:
        """The limits of these arms, each checked by itself."""
        floors = Constant.floors(self, np.zeros(arms))
        one = np.full(arms, self.ceiling) if np.ndim(self.ceiling) == 0 else self.ceiling
        ceilings = checks.array("ceiling", one, arms)
        groups = [group.numbered(labels) for group in groups_of(self.groups)]
        for group in groups:
            last = max(group.numbers)
            if last >= arms:
                raise ValueError(f"groups must hold arms below {arms}, got arm {last}")
        return Declared(floors, ceilings, groups, range(arms) if labels is None else labels)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; groups are dictionaries."""
        return {**super().to_dict(), "groups": [group.to_dict() for group in groups_of(self.groups)]}


def _forced(floors: Array, groups: Array, group_floors: Array) -> float:
    """What the floors of arms and groups ask for together."""
    grouped = groups >= 0.0
    sums = np.bincount(groups[grouped].astype(np.int64), floors[grouped], minlength=floors.size)
    return float(floors[~grouped].sum() + np.maximum(sums, group_floors).sum())
