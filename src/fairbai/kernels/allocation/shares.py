"""The optimal shares of a running experiment: without floors, with floors alone or within limits."""

from fairbai.kernels.allocation.arms import Problem
from fairbai.kernels.allocation.floors import allocate_in_line, allocate_others
from fairbai.kernels.allocation.limits import LIMITED_ROWS, allocate_within
from fairbai.kernels.families import BOUNDED, GAUSSIAN
from fairbai.kernels.jit import kernel
from fairbai.kernels.state import (
    CEILING,
    FLOOR,
    GROUP,
    GROUP_CEILING,
    GROUP_FLOOR,
    INSIDE,
    NAMED,
    SCALE,
    SHIFT,
    SPARE,
    STRETCH,
    bounded_variance,
    has_limits,
)

SHARES_ROWS = LIMITED_ROWS + 2
"""Rows of the workspace: floors that are zero, estimated variances, and the workspace of the allocation."""


@kernel
def optimal_shares(config, fair, state, scalars, start, weights, workspace):
    """``allocate`` for the means of an experiment and, if ``fair``, its limits.

    Bounded arms count as Gaussian ones with the variances that are estimated. Writes ``weights``, and returns what
    ``allocate`` does.
    """
    family, means, scales, ties = config.family, state[INSIDE], state[SCALE], state[STRETCH : SHIFT + 1]
    named = -1 if config.control < 0 else int(scalars[NAMED])
    if family == BOUNDED:
        family, scales = GAUSSIAN, workspace[1]
        for a in range(scales.size):
            scales[a] = bounded_variance(state, a)
    if fair and has_limits(scalars):
        limits = (state[FLOOR], state[CEILING], state[GROUP], state[GROUP_FLOOR], state[GROUP_CEILING])
        return allocate_within(family, (means, scales, ties, named), limits, start, weights, workspace[2:])
    floors, spare = (state[FLOOR], scalars[SPARE]) if fair else (workspace[0], 1.0)
    if not fair:
        floors[:] = 0.0
    if family == GAUSSIAN:  # the others are slow enough for a call not to matter
        problem = Problem(means, scales, ties, named, floors, spare)
        return allocate_in_line(GAUSSIAN, problem, start, weights, workspace[2:])
    return allocate_others(family, (means, scales, ties, named), floors, start, weights, workspace[2:])
