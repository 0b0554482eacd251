"""What the levels of a factorial experiment add, with intervals that hold for all of them at all times."""

import math
from typing import NamedTuple

import numpy as np

from fairbai.experiment.procedure import Procedure
from fairbai.kernels import state as rows
from fairbai.problems.factors import Factorial
from fairbai.problems.rates.overlapping import joint_floors
from fairbai.stopping import LinearMixture


class LevelEffect(NamedTuple):
    """What a level adds to the average combination; or a pair of levels, beyond what each of them adds.

    Attributes:
        factor: The factor, or the two factors of an interaction.
        level: The level, or the pair of levels.
        effect: The estimate; nan as long as nothing is known.
        low: The lower end of its interval. With probability at least 1 - delta the intervals of all effects hold at
            all times; they are infinite while nothing is proved.
        high: The upper end.
        assigned: The trials of the combinations that have the level.
        floor: The share of the trials that the level is guaranteed: its own floor, or those of its
            combinations together.
    """

    factor: str
    level: str
    effect: float
    low: float
    high: float
    assigned: int
    floor: float


def level_effects(procedure: Procedure) -> tuple[LevelEffect, ...]:
    """The effects of all levels, in the order of the factors; none if the experiment is not factorial."""
    one = procedure.experiment
    family = one.declared
    if not isinstance(family, Factorial):
        return ()
    counts, sums, assigned = one.state[[rows.OBSERVED, rows.SUM, rows.ASSIGNED]]
    contrasts = np.array([effect.contrast for effect in family.effects])
    mixture = one.stopping if isinstance(one.stopping, LinearMixture) else LinearMixture()
    told = one.family.turned(sums, counts)
    found, ends = mixture.contrasts(family, counts, told, procedure.delta, contrasts)
    if not procedure.proved or procedure.doubts.found:
        ends = np.tile([-math.inf, math.inf], (len(contrasts), 1))
    floors = joint_floors(one.rates, one.state[rows.FLOOR], [effect.arms for effect in family.effects])
    listed = []
    for effect, estimate, (low, high), floor in zip(family.effects, found.tolist(), ends.tolist(), floors, strict=True):
        trials = int(assigned[list(effect.arms)].sum())
        listed.append(LevelEffect(effect.factor, effect.level, estimate, low, high, trials, floor))
    return tuple(listed)
