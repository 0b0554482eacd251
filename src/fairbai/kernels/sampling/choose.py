"""Which arm next: what every sampling rule does in a round; see docs/sampling.md.

A rule reads the state of the experiment. It aims with the trials that were assigned, and estimates with the rewards
that have come. ``refresh`` does what depends on the rewards (floors, allocation), ``choose`` picks and counts an arm.
"""

import math

from fairbai.kernels.allocation.shares import optimal_shares
from fairbai.kernels.jit import kernel
from fairbai.kernels.rates import CONSTANT, fill_floors, spare_share
from fairbai.kernels.sampling.earning import earn
from fairbai.kernels.sampling.lucb import lucb
from fairbai.kernels.sampling.policies import draw_arm, draw_fewest_useful, fill_policy, track
from fairbai.kernels.sampling.posterior import update_shares
from fairbai.kernels.sampling.rules import (
    DIRECT,
    FAIR_TOP_TWO,
    FROM_EACH_ARM,
    LUCB,
    POSTERIOR_FAIR,
    TOP_TWO,
    draws,
    earns,
    has_policy,
    is_fair,
    solves,
    tracks,
)
from fairbai.kernels.sampling.top_two import fair_top_two, top_two
from fairbai.kernels.state import ASSIGNED, FLOOR, MEAN, ROUND, SPARE, START, UNSEEN, WEIGHT, fewest_useful, useful


@kernel
def refresh(config, state, scalars, workspace):
    """Bring the floors and, for the rules that aim at it, the optimal allocation up to date with the means.

    Until every arm has a reward there are no means, and theta-dependent floors are 0. ``workspace`` is None for a rule
    that never solves: the compiler then leaves the solver out.
    """
    if scalars[UNSEEN] > 0.0:
        return
    fill_floors(config.rate, config.p0, config.temperature, state[MEAN], state[FLOOR])
    if config.rate != CONSTANT:
        scalars[SPARE] = spare_share(state[FLOOR])
    if workspace is not None and config.rule == POSTERIOR_FAIR:
        update_shares(config, state, scalars, workspace)
    if workspace is not None and solves(config.rule):
        fair, start = is_fair(config.rule), scalars[START]
        scalars[START] = optimal_shares(config, fair, state, scalars, start, state[WEIGHT], workspace)[3]


@kernel
def choose(config, state, scalars, policy, workspace, uniform):
    """The next arm, counted as assigned; -1, and nothing is counted, for a rule that is not known here.

    ``policy`` is where the rules that have one write it, and where those within limits count. It may be None for a
    rule that does neither, as may ``workspace``: the compiler then leaves out all that needs one.
    """
    arm = _chosen(config, state, scalars, policy, workspace, uniform)
    if arm >= 0:
        state[ASSIGNED, arm] += 1.0
        scalars[ROUND] += 1.0
    return arm


@kernel
def _chosen(config, state, scalars, policy, workspace, uniform):
    rule, arm = config.rule, -1
    if policy is not None:
        if earns(rule):
            return earn(config, state, scalars, policy, workspace, uniform)
        arm = _by_policy(config, state, scalars, policy, uniform)
    if config.origin == FROM_EACH_ARM and scalars[ROUND] < state.shape[1]:
        arm = int(scalars[ROUND])
    elif arm >= 0:
        return arm
    elif rule == FAIR_TOP_TWO:
        arm = fair_top_two(config, state, scalars, policy, uniform)
    elif rule in (DIRECT, LUCB) and scalars[UNSEEN] > 0.0:
        arm = fewest_useful(state)
    elif rule == TOP_TWO and scalars[UNSEEN] > 0.0:
        arm = draw_fewest_useful(state, uniform)
    elif rule == DIRECT:
        arm = _direct(state, scalars)
    elif rule == TOP_TWO:
        arm = top_two(config, state, scalars, uniform)
    elif rule == LUCB:
        arm = lucb(config.family, config.parameter, state, scalars)
    return arm


@kernel
def _by_policy(config, state, scalars, policy, uniform):
    """The arm that a rule draws from its policy, or that lags behind it; -1 for a rule that does neither.

    The policy of a round counts even if the start of the rule decides.
    """
    if has_policy(config.rule):
        fill_policy(config, state, scalars, policy)
    if tracks(config.rule):
        return track(config.rule, state, policy, uniform)
    return draw_arm(policy, uniform) if draws(config.rule) else -1


@kernel
def _direct(state, scalars):
    """D-tracking: the least pulled arm if it lags behind sqrt(t) - K / 2, else the one furthest below t w*."""
    count = state.shape[1]
    least = fewest_useful(state)
    if useful(state, least) < math.sqrt(scalars[ROUND]) - 0.5 * count:
        return least
    furthest = 0
    for a in range(1, count):
        lag = scalars[ROUND] * state[WEIGHT, a] - state[ASSIGNED, a]
        if lag > scalars[ROUND] * state[WEIGHT, furthest] - state[ASSIGNED, furthest]:
            furthest = a
    return furthest
