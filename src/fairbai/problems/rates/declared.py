"""Limits as they were declared, for sentences about what is wrong with them and what they imply.

Groups do not overlap, so that an arm in no group can be counted as a group of its own. Such groups are the parts here.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fairbai.problems.checks import Array
from fairbai.problems.labels import some
from fairbai.problems.rates.groups import Group
from fairbai.problems.sentences import named


class Subject(NamedTuple):
    """An arm or a group, as the subject of a sentence."""

    name: str
    several: bool = False

    @property
    def together(self) -> str:
        """The name, where it must be clear that several arms are meant together."""
        return f"{self.name} together" if self.several else self.name

    @property
    def has(self) -> str:
        """The verb after the name."""
        return "have" if self.several else "has"

    @property
    def gets(self) -> str:
        """Pronoun and verb, where the name came before."""
        return "they get" if self.several else "it gets"


class Parts(NamedTuple):
    """The groups, then the arms in no group; one entry per part.

    Attributes:
        of: The part of every arm.
        floors: The sum of the floors of its arms.
        ceilings: The sum of the ceilings of its arms.
        least: What it must have: its own floor or those of its arms, whichever is more.
        most: What it may have: its own ceiling or those of its arms, whichever is less.
    """

    of: npt.NDArray[np.int64]
    floors: Array
    ceilings: Array
    least: Array
    most: Array


class Declared(NamedTuple):
    """Limits as they were declared.

    Attributes:
        floors: One per arm.
        ceilings: One per arm.
        groups: The groups, with their arms by number.
        labels: The labels of the arms.
    """

    floors: Array
    ceilings: Array
    groups: Sequence[Group]
    labels: Sequence[Any]

    @property
    def alone(self) -> npt.NDArray[np.intp]:
        """The arms in no group."""
        free = np.ones(self.floors.size, dtype=bool)
        for group in self.groups:
            free[group.numbers] = False
        return np.flatnonzero(free)

    def arm(self, arm: int) -> Subject:
        """An arm as a subject."""
        return Subject(named(self.labels[arm]))

    def group(self, group: Group) -> Subject:
        """A group as a subject: named by the arm that it leaves out, if that is a single one."""
        others = len(self.labels) - len(group.arms)
        if others == 1 and len(group.arms) > 1:
            (other,) = set(range(len(self.labels))).difference(group.numbers)
            return Subject(f"all arms but {named(self.labels[other])}", several=True)
        return self.members(group)

    def members(self, group: Group) -> Subject:
        """A group as a subject that is named by its arms."""
        return Subject(f"the group {some([self.labels[arm] for arm in group.numbers])}")

    def parts(self) -> Parts:
        """What the groups, and the arms in none, must and may have."""
        groups, alone = self.groups, self.alone
        of = np.empty(self.floors.size, dtype=np.int64)
        of[alone] = len(groups) + np.arange(alone.size)
        for number, group in enumerate(groups):
            of[group.numbers] = number
        size = len(groups) + alone.size
        floors: Array = np.bincount(of, self.floors, size).astype(np.float64)
        ceilings: Array = np.bincount(of, self.ceilings, size).astype(np.float64)
        least, most = floors.copy(), ceilings.copy()
        least[: len(groups)] = np.maximum(least[: len(groups)], [group.floor for group in groups])
        most[: len(groups)] = np.minimum(most[: len(groups)], [group.ceiling for group in groups])
        return Parts(of, floors, ceilings, least, most)
