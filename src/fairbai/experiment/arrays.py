"""The arrays that the kernels work on, as an experiment begins with them."""

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fairbai.kernels import state as rows
from fairbai.kernels.rates import CONSTANT, spare_share
from fairbai.kernels.sampling.rules import PYTHON
from fairbai.kernels.stopping import standing
from fairbai.problems.checks import Array
from fairbai.problems.rates import Constant, Limits

if TYPE_CHECKING:
    from fairbai.experiment.experiment import Experiment


def codes_of(one: "Experiment", seed: int, run: int) -> npt.NDArray[np.int64]:
    """What ``kernels.config`` takes: the codes of family, rates and rules, and the random stream."""
    rate, learned = getattr(one.rates, "code", CONSTANT), not isinstance(one.rates, Constant)
    rule = PYTHON if one.sampling.code is None else one.sampling.code
    control = -1 if one.question.control is None else one.question.control
    codes = [one.family.code, rate, learned, rule, one.sampling.origin, one.stopping.code, control, seed, run]
    return np.array(codes, dtype=np.int64)


def params_of(one: "Experiment", arms: int) -> Array:
    """The parameters of rates and rules, in the order of ``kernels.config``."""
    p0, temperature = getattr(one.rates, "p0", 0.0), getattr(one.rates, "temperature", 1.0)
    rule = one.sampling.parameter, one.sampling.second
    return np.array([p0, temperature, *rule, *one.stopping.parameters(arms)])


def first_state(one: "Experiment", arms: int) -> tuple[Array, Array]:
    """The state before the first trial, without floors and limits: one column per arm, and scalars."""
    state, scalars = np.zeros((rows.STATE_ROWS, arms)), np.zeros(rows.SCALARS)
    state[rows.SCALE] = one.family.scales(arms)
    state[[rows.CEILING, rows.GROUP_CEILING]], state[rows.GROUP] = 1.0, -1.0
    state[[rows.STRETCH, rows.SHIFT]] = one.question.ties(one.declared, arms)
    state[rows.BEST_SCORE] = one.stopping.level(1.0, arms)  # which says nothing
    scalars[rows.UNSEEN] = arms
    scalars[rows.SPARE] = 1.0
    scalars[rows.SLACK] = -1.0
    scalars[rows.NEXT_LOOK] = standing.FIRST_LOOK * arms if one.keeps_scores else math.inf
    scalars[rows.SAVED_NAMED] = -1.0
    return state, scalars


def set_floors(state: Array, scalars: Array, floors: Array) -> None:
    """Set the floors, and the share that they leave."""
    state[rows.FLOOR] = floors
    scalars[rows.SPARE] = spare_share(state[rows.FLOOR])


def set_limits(state: Array, scalars: Array, limits: Limits) -> None:
    """Set ceilings and groups."""
    state[rows.CEILING] = limits.ceilings
    state[rows.GROUP] = limits.groups
    state[rows.GROUP_FLOOR] = limits.group_floors
    state[rows.GROUP_CEILING] = limits.group_ceilings
    state[rows.CENTRE] = limits.centre
    scalars[rows.SLACK] = limits.slack
