"""Virtual queues: what every arm is owed, weighed against what it promises; see docs/earning.md."""

import math

import numpy as np

from fairbai.kernels.families import BERNOULLI, BOUNDED
from fairbai.kernels.jit import kernel
from fairbai.kernels.sampling.confidence import exploration, upper_bound
from fairbai.kernels.state import FLOOR, TARGET, is_seen, useful

AVAILABLE, UTILITY = range(2)
"""Rows of the workspace: 1 for every arm that may be pulled now, and what an arm promises."""


@kernel
def _fill_utilities(family, state, scalars, utilities):
    """What every arm promises, in [0, 1]; 1 for an arm that is not seen.

    It is the upper confidence bound of its mean or, unless rewards are in [0, 1], where that lies among all bounds.
    """
    bonus, low, high = exploration(scalars), math.inf, -math.inf
    for a in range(utilities.size):
        if is_seen(family, state, a):
            utilities[a] = upper_bound(family, state, a, bonus)
            low, high = min(low, utilities[a]), max(high, utilities[a])
    for a in range(utilities.size):
        if not is_seen(family, state, a) or low == high:
            utilities[a] = 1.0
        elif family not in (BERNOULLI, BOUNDED):
            utilities[a] = (utilities[a] - low) / (high - low)


@kernel
def serve_queues(config, state, scalars, workspace):
    """The available arm with the largest queue + eta x utility, which is served; all available queues grow by floors.

    Of several, the one with the fewest trials. An arm that is not available is not owed anything in this round.
    """
    available, utilities = workspace[AVAILABLE], workspace[UTILITY]
    _fill_utilities(config.family, state, scalars, utilities)
    chosen, most = -1, -np.inf
    for a in range(available.size):
        score = state[TARGET, a] + config.parameter * utilities[a]
        fewer = chosen >= 0 and score == most and useful(state, a) < useful(state, chosen)
        if available[a] > 0.0 and (score > most or fewer):
            chosen, most = a, score
    for a in range(available.size):
        if available[a] > 0.0:
            state[TARGET, a] += state[FLOOR, a]
    state[TARGET, chosen] = max(state[TARGET, chosen] - 1.0, 0.0)
    return chosen


@kernel
def serve_batch(state, total, pulls):
    """Bring the queues up to date with so many trials that were made elsewhere, with every arm available."""
    for a in range(pulls.size):
        state[TARGET, a] = max(state[TARGET, a] + state[FLOOR, a] * total - pulls[a], 0.0)
