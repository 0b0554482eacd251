"""How fast an experiment can learn: what its best allocation gains per trial, at the means so far."""

from typing import TYPE_CHECKING

import numpy as np

from fairbai.kernels import state as rows
from fairbai.kernels.allocation.floors import allocate
from fairbai.kernels.allocation.limits import allocate_within
from fairbai.kernels.families import GAUSSIAN
from fairbai.problems.checks import frozen
from fairbai.problems.families import Bounded

if TYPE_CHECKING:
    from fairbai.experiment.experiment import Experiment


def optimal_cost(one: "Experiment") -> float:
    """1 / T*_p at the present means: how much the GLR grows with every trial, at best."""
    means, scales, floors = (frozen(one.state[row]) for row in (rows.INSIDE, rows.SCALE, rows.FLOOR))
    code, weights, ties = one.family.code, np.empty(means.size), frozen(one.state[rows.STRETCH : rows.SHIFT + 1])
    if isinstance(one.family, Bounded):
        noise = np.array([rows.bounded_variance(one.state, arm) for arm in range(means.size)])
        code, scales = GAUSSIAN, frozen(noise)
    question = code, (means, scales, ties, -1 if one.question.control is None else one.best)
    if one.limited:
        others = (rows.CEILING, rows.GROUP, rows.GROUP_FLOOR, rows.GROUP_CEILING)
        limits = (floors, *(frozen(one.state[row]) for row in others))
        return float(allocate_within(*question, limits, 0.0, weights, one.workspace[1:])[1])
    return float(allocate(*question, floors, 0.0, weights, one.workspace[1:])[1])
