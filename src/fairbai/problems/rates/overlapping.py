"""Floors on arms, and floors and ceilings on groups of arms that may overlap, such as the levels of several factors.

A ceiling on a group is a floor on all other arms: they get at least what the ceiling leaves. Either way it is a row
of one matrix.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from fairbai.problems.checks import SUM_TOLERANCE, Array, Numbers, frozen
from fairbai.problems.labels import some
from fairbai.problems.rates.bounded import Bounded
from fairbai.problems.rates.constant import Constant, Rate
from fairbai.problems.rates.groups import Group, groups_of
from fairbai.problems.sentences import listed, named, told

MAX_NAMED = 4  # floors that an error names
DIGITS = 12  # of shares that a solver finds


class Polytope(NamedTuple):
    """All shares within limits: w >= floors, members @ w >= group_floors, and sum(w) = 1.

    Attributes:
        floors: One per arm.
        members: One row per floor of a group: 1 for its arms, 0 for the others; and one per ceiling, with -1 for its
            arms.
        group_floors: One per row; of a ceiling, its negative.
        centre: The shares within the floors that are closest to equal ones.
    """

    floors: Array
    members: Array
    group_floors: Array
    centre: Array


@dataclass(frozen=True, eq=False)
class Overlapping(Constant):
    """Floors for arms, and limits for groups of arms together; an arm may be in several. For ``Linear`` arms only.

    ``fb.factorial(...).rates({"headline": 0.2})`` makes such rates from floors for the levels of factors. A ceiling on
    one arm is that of a group of one; linear arms take ``Bounded``, too, which has them for all arms.

    Args:
        floor: One for all arms, or one per arm.
        groups: Groups with a floor or a ceiling or both, such as ``Group([0, 1], floor=0.4)`` or
            ``{"arms": [0, 1], "floor": 0.4, "ceiling": 0.6}``.

    Example:
        >>> rates = Overlapping(groups=[Group([0, 1], floor=0.6), Group([0, 2], floor=0.6)])
        >>> rates.polytope(4).centre.round(3)
        array([0.35, 0.25, 0.25, 0.15])
    """

    groups: Sequence[Group | dict[str, Any]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(groups=groups_of(self.groups))

    def numbered(self, labels: Sequence[Any]) -> Self:
        """The same floors, with the arms of groups by their numbers; an error if they contradict each other."""
        groups = tuple(group.numbered(labels) for group in groups_of(self.groups))
        found = self if groups == self.groups else replace(self, groups=groups)
        found.polytope(len(labels), labels)
        return found

    def floors(self, means: Numbers) -> Array:
        """The floors of the arms by themselves; checks those of the groups for this number of arms too."""
        return self.polytope(len(means)).floors

    def polytope(self, arms: int, labels: Sequence[Any] | None = None, names: Sequence[str] | None = None) -> Polytope:
        """The shares within the limits; an error if there are none, with these labels and names of the groups."""
        floors = Constant.floors(self, np.zeros(arms))
        groups = [group.numbered(labels) for group in groups_of(self.groups)]
        every = range(arms) if labels is None else labels
        if names is None:
            names = [_name(group, every) for group in groups]
        rows = [row for group, name in zip(groups, names, strict=True) for row in _rows(group, name, arms)]
        _refuse_contradictions(floors, rows, every)
        members = np.array([row.members for row in rows]).reshape(len(rows), arms)
        group_floors = np.array([row.least for row in rows])
        centre = _centre(floors, members, group_floors)
        return Polytope(floors, frozen(members), frozen(group_floors), frozen(centre))

    @property
    def group_floors(self) -> dict[tuple[int, ...], float]:
        """The floor of every group, by the numbers of its arms in order; the largest, if a group is given twice."""
        found: dict[tuple[int, ...], float] = {}
        for group in groups_of(self.groups):
            arms = tuple(sorted(group.numbers))
            found[arms] = max(group.floor, found.get(arms, 0.0))
        return found

    def ceilings(self, arms: int) -> Array:
        """The ceiling of every arm by itself, which is that of a group of one; 1 where there is none."""
        found = np.ones(arms)
        for group in groups_of(self.groups):
            if len(group.arms) == 1:
                arm = group.numbers[0]
                found[arm] = min(found[arm], group.ceiling)
        return frozen(found)

    def scaled(self, by: float) -> Self:
        """The same with floors that are all larger or smaller by a factor, up to the ceilings."""
        groups = [replace(group, floor=min(by * group.floor, group.ceiling)) for group in groups_of(self.groups)]
        return replace(self, floor=by * np.asarray(self.floor), groups=groups)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; groups are dictionaries."""
        return {**super().to_dict(), "groups": [group.to_dict() for group in groups_of(self.groups)]}


def overlapping(rates: Bounded, arms: int) -> Overlapping:
    """The same limits in the form that linear arms take."""
    ceilings = np.broadcast_to(np.asarray(rates.ceiling), arms).tolist()
    single = [Group([arm], ceiling=ceiling) for arm, ceiling in enumerate(ceilings) if ceiling < 1.0]
    return Overlapping(rates.floor, [*groups_of(rates.groups), *single])


def joint_floors(rates: Rate, floors: Array, groups: Iterable[Sequence[int]]) -> list[float]:
    """The share of the trials that each of some groups of arms is guaranteed.

    Args:
        rates: The rates, which may have floors for these groups.
        floors: Those of the arms.
        groups: The numbers of the arms of each.
    """
    own = rates.group_floors if isinstance(rates, Overlapping) else {}
    return [max(own.get(tuple(sorted(arms)), 0.0), math.fsum(floors[list(arms)].tolist())) for arms in groups]


class _Row(NamedTuple):
    """A limit of some arms together as a row of the matrix, and how an error tells it."""

    members: Array
    least: float
    words: tuple[str, float]
    ceiling: bool


def _name(group: Group, labels: Sequence[Any]) -> str:
    arms = [labels[arm] for arm in group.numbers if arm < len(labels)]
    return named(arms[0]) if len(group.arms) == 1 and arms else f"the group {some(arms)}"


def _rows(group: Group, name: str, arms: int) -> list[_Row]:
    """The floor of a group and its ceiling."""
    last = max(group.numbers)
    if last >= arms:
        raise ValueError(f"groups must hold arms below {arms}, got arm {last}")
    members, found = np.zeros(arms), []
    members[group.numbers] = 1.0
    if group.ceiling == 1.0 or group.floor > 0.0:
        found.append(_Row(members, group.floor, (f"{name} at least ", group.floor), False))
    if group.ceiling < 1.0:
        if members.all():
            much = told("a ceiling of ", group.ceiling)
            raise ValueError(f"groups must leave all trials to somebody, got {much} for all arms together")
        found.append(_Row(-members, -group.ceiling, (f"{name} at most ", group.ceiling), True))
    return found


def _refuse_contradictions(floors: Array, rows: Sequence[_Row], labels: Sequence[Any]) -> None:
    """Raise a ValueError if no shares are within all limits; it names the limits that a proof of this needs.

    The least sum of shares that meet all floors is a linear program, in which a ceiling is a floor on all other arms.
    Where it is above 1, its dual solution proves it: weights on the floors such that no arm counts more than once,
    under which the floors sum to more than 1.

    Args:
        floors: One per arm.
        rows: The limits of groups.
        labels: Those of the arms.
    """
    if not rows:
        return  # floors of arms are checked where they are declared
    from scipy.optimize import linprog  # here: a third of a second that no other rates need

    members = np.array([row.members + row.ceiling for row in rows])
    least = np.array([row.least + row.ceiling for row in rows])
    found = linprog(np.ones(floors.size), -members, -least, bounds=[(floor, None) for floor in floors])
    total = float(found.fun or 0.0)
    if total <= 1.0 + SUM_TOLERANCE:
        return
    chosen = [rows[row] for row in np.flatnonzero(found.ineqlin.marginals).tolist()]
    needed = [row.words for row in sorted(chosen, key=lambda row: -row.words[1])]
    own = np.flatnonzero((found.lower.marginals > 0.0) & (floors > 0.0)).tolist()
    needed += [(f"{named(labels[arm])} at least ", float(floors[arm])) for arm in own]
    words = [told(*pair) for pair in needed[:MAX_NAMED]]
    words += [f"{len(needed) - MAX_NAMED} others theirs"] if len(needed) > MAX_NAMED else []
    why = told(f"{listed(words)} would take ", total, " of the trials")
    if any(row.ceiling for row in chosen):
        why = f"{listed(words)} cannot all be kept"
    raise ValueError(f"limits must not contradict each other: {why}")


def _centre(floors: Array, members: Array, group_floors: Array) -> Array:
    """The shares within the floors that are closest to equal ones, by non-negative least squares.

    The point of {x : G x >= h} that is closest to 0 is x = r / r_last up to sign, where r is the residual of the best
    approximation of (0, 1) by a non-negative combination of the columns of (G, h)^T (Lawson and Hanson, chapter 23).
    """
    arms = floors.size
    equal, equal_sums = np.full(arms, 1.0 / arms), members.sum(axis=1) / arms
    if (equal >= floors).all() and (equal_sums >= group_floors).all():
        return equal
    from scipy.optimize import nnls  # here: as above

    ones = np.ones((1, arms))
    rows = np.vstack([np.eye(arms), members, ones, -ones])
    least = np.concatenate([floors - equal, group_floors - equal_sums, [0.0, 0.0]])
    target = np.append(np.zeros(arms), 1.0)
    columns = np.vstack([rows.T, least])
    residual = columns @ nnls(columns, target)[0] - target
    return rounded(equal - residual[:-1] / residual[-1])


def rounded(shares: Array) -> Array:
    """Shares without the last digits, which a solver finds differently on other machines; they sum to 1."""
    few = shares.round(DIGITS)
    return few / math.fsum(few.tolist())
