"""When the best arm is worth a trial that its challenger would learn more from; see docs/sampling.md."""

import math

from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.state import (
    ASSIGNED,
    COST,
    FLOOR,
    MEAN,
    RATIO,
    ROUND,
    awaits_rewards,
    pair_cost,
    useful,
)

ALL = 1.0 - 1e-9  # floors that leave nothing


@kernel
def _price(earning, gap, scale):
    """What a trial costs: itself and what it forgoes, in mean gaps."""
    return (1.0 - earning) + earning * max(0.0, gap) / scale


@kernel
def _above(state, scalars, margin, arm):
    return state[ASSIGNED, arm] > state[FLOOR, arm] * scalars[ROUND] + margin


@subroutine
def slope_that_earns(config, best, least, state, scalars):
    """H, the slope condition, over the arms above their floors, if a trial costs what it forgoes.

    A trial of arm a costs c_a = 1 - e + e gap_a / (mean gap); with it come the trials that the floors ask for, so that
    c_a + S is to be paid, S = sum p c / (1 - sum p) over the arms at their floors. As in IMED, the best arm is not
    worth it while log N_best is more than ``least``, the evidence about the challenger with log N added: else an arm
    that is best by luck would never be found out. Where floors are learned, only arms whose evidence is near the least
    count.
    """
    count, earning, margin = state.shape[1], config.second, config.parameter
    if math.log(useful(state, best)) >= least:
        return 0.0
    scale = 0.0
    for a in range(count):
        scale += max(0.0, state[MEAN, best] - state[MEAN, a]) / (count - 1.0)
    if not scale > 0.0:
        return 0.0
    spent, floors = 0.0, 0.0
    for a in range(count):
        if a != best and not _above(state, scalars, margin, a):
            floors += state[FLOOR, a]
            spent += state[FLOOR, a] * _price(earning, state[MEAN, best] - state[MEAN, a], scale)
    if floors >= ALL:
        return math.inf
    more, pull = spent / (1.0 - floors), 0.0
    most, pending = least + 2.0 * math.sqrt(max(0.0, least)), awaits_rewards(scalars)
    for a in range(count):
        if a != best and _above(state, scalars, margin, a):
            cost, ratio = state[COST, a], state[RATIO, a]
            if pending:
                cost, ratio = pair_cost(config.family, state, best, a)
            if not config.learned or cost + math.log(useful(state, a)) <= most:
                pull += ratio * (_price(earning, state[MEAN, best] - state[MEAN, a], scale) + more)
    own = _price(earning, 0.0, scale) + more
    return pull / own if own > 0.0 else math.inf
