"""Top-two rules: the best arm or its challenger, fair or not; see docs/sampling.md."""

import math

import numpy as np

from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.sampling.limits import fair_top_two_within
from fairbai.kernels.sampling.policies import draw_fewest_useful, draw_owed, draws_best
from fairbai.kernels.sampling.prices import slope_that_earns
from fairbai.kernels.state import (
    ASSIGNED,
    COST,
    FLOOR,
    RATIO,
    ROUND,
    UNSEEN,
    awaits_rewards,
    fewest_useful,
    has_limits,
    named_arm,
    pair_cost,
    useful,
)


@kernel
def fair_top_two(config, state, scalars, counts, uniform):
    """Fair anchored top-two, with floors alone or within limits; ``counts`` then has one entry per arm."""
    if counts is not None and has_limits(scalars):
        return fair_top_two_within(config, state, scalars, counts, uniform)
    return _by_floors(config, state, scalars, uniform)


@kernel
def _by_floors(config, state, scalars, uniform):
    """Fair anchored top-two with floors alone.

    What floors lack is drawn first; then an arm without a useful pull; then the best arm or its challenger, as H says,
    the slope condition of the allocation problem over the arms above their floors. Floors that are learned jump with
    every reward, and an arm that its floor holds up can look as if it were above; so of these arms only those count in
    H whose evidence is near the least, as it is for arms above. A rule that is to earn also draws the best arm where it
    is worth it.
    """
    family, margin = config.family, config.parameter
    arm, uniform = draw_owed(state, FLOOR, scalars[ROUND] + 1.0, uniform)
    if arm >= 0:
        return arm
    if scalars[UNSEEN] > 0.0 or useful(state, fewest_useful(state)) == 0.0:
        return draw_fewest_useful(state, uniform)
    best = named_arm(config, state, scalars)
    challenger, _, pull, cost = _challenger(family, best, state, scalars, margin)
    if config.learned:
        pull = _pull_of_tight_arms(family, best, cost, state, scalars, margin)
    if config.second > 0.0:
        pull = max(pull, slope_that_earns(config, best, cost, state, scalars))
    return best if draws_best(pull, scalars[ROUND], uniform) else challenger


@kernel
def top_two(config, state, scalars, uniform):
    """Empirical best and transportation-cost-improved challenger; between them by what a trial of each adds."""
    best = named_arm(config, state, scalars)
    challenger, ratio, _, _ = _challenger(config.family, best, state, scalars, np.inf)
    share = ratio * useful(state, best)
    return best if uniform * (share + useful(state, challenger)) < share else challenger


@kernel
def _challenger(family, best, state, scalars, margin):
    """The arm that is cheapest to tie with the best, with log N added to its cost; and H over the arms above floor.

    The costs and ratios are those that the stopping kernel wrote into the state when the last reward was told; they are
    computed anew only if rewards are pending. Trials that were given up bring no evidence: only floors count them.

    Returns:
        The challenger, what a trial of it and of the best arm adds to the evidence (as a ratio), H, and the
        challenger's cost.
    """
    challenger, least, share, pull = -1, np.inf, 1.0, 0.0
    pending = awaits_rewards(scalars)
    for a in range(state.shape[1]):
        if a != best:
            count = useful(state, a)
            cost, ratio = state[COST, a], state[RATIO, a]
            if pending:  # as if the rewards that are still to come would not change the means
                cost, ratio = pair_cost(family, state, best, a)
            if cost < least or challenger < 0:  # else the logarithm, which is not negative, need not be computed
                cost += math.log(count)
                if cost < least or challenger < 0:
                    challenger, least, share = a, cost, ratio
            pull += ratio if state[ASSIGNED, a] > state[FLOOR, a] * scalars[ROUND] + margin else 0.0
    return challenger, share, pull, least


@subroutine
def _pull_of_tight_arms(family, best, least, state, scalars, margin):
    """H over the arms above their floors whose cost is near the least."""
    pending = awaits_rewards(scalars)
    most, pull = least + 2.0 * math.sqrt(least), 0.0
    for a in range(state.shape[1]):
        count = useful(state, a)
        if a != best and state[ASSIGNED, a] > state[FLOOR, a] * scalars[ROUND] + margin:
            cost, ratio = state[COST, a], state[RATIO, a]
            if pending:
                cost, ratio = pair_cost(family, state, best, a)
            pull += ratio if cost + math.log(count) <= most else 0.0
    return pull
