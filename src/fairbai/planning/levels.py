"""The levels of factors in a plan: their floors and their shares of the trials."""

from collections.abc import Sequence
from typing import NamedTuple

from fairbai.problems import Instance
from fairbai.problems.factors import Factorial
from fairbai.problems.rates.overlapping import joint_floors


class PlannedLevel(NamedTuple):
    """A level of a factor.

    Attributes:
        factor: The factor.
        level: The level.
        floor: The share of the trials that it is guaranteed: its own floor, or those of its combinations together.
        weight: Its optimal share of the trials, in all combinations that have it.
    """

    factor: str
    level: str
    floor: float
    weight: float


def levels_of(instance: Instance, weights: Sequence[float]) -> list[PlannedLevel]:
    """All levels of all factors in their order; none if the instance is not factorial."""
    family = instance.family
    if not isinstance(family, Factorial):
        return []
    levels = [one for one in family.effects if one.factor in family.factors]
    floors = joint_floors(instance.rates, instance.floors, [one.arms for one in levels])
    return [
        PlannedLevel(one.factor, one.level, floor, float(sum(weights[arm] for arm in one.arms)))
        for one, floor in zip(levels, floors, strict=True)
    ]
