"""The levels of factors in a plan: their floors and their shares of the trials."""

from collections.abc import Sequence
from typing import NamedTuple

from fairbai.problems import Instance
from fairbai.problems.factors import Factorial
from fairbai.problems.rates import Overlapping


class PlannedLevel(NamedTuple):
    """A level of a factor.

    Attributes:
        factor: The factor.
        level: The level.
        floor: The share of the trials that it is guaranteed; 0 if there is no such floor.
        weight: Its optimal share of the trials, in all combinations that have it.
    """

    factor: str
    level: str
    floor: float
    weight: float


def levels_of(instance: Instance, weights: Sequence[float]) -> list[PlannedLevel]:
    """All levels of all factors in their order; none if the instance is not factorial."""
    family, rates = instance.family, instance.rates
    if not isinstance(family, Factorial):
        return []
    floors = rates.group_floors if isinstance(rates, Overlapping) else {}
    return [
        PlannedLevel(one.factor, one.level, floors.get(one.arms, 0.0), float(sum(weights[arm] for arm in one.arms)))
        for one in family.effects
        if one.factor in family.factors
    ]
