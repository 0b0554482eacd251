"""Which arm next, for the rules that earn while they learn; see docs/earning.md.

They are chosen for here and not in ``choose``, by a subroutine: loops of other rules do not grow with their number.
"""

import math

from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.sampling.confidence import fill_upper_bounds, most_promising
from fairbai.kernels.sampling.limits import furthest_behind
from fairbai.kernels.sampling.merit import catch_up, fill_chain, fill_exposure
from fairbai.kernels.sampling.policies import draw_arm
from fairbai.kernels.sampling.programs import explore_within, fill_best_policy, part_of_exploration
from fairbai.kernels.sampling.queues import serve_queues
from fairbai.kernels.sampling.rules import (
    CONSTRAINED_EPSILON_GREEDY,
    CONSTRAINED_LP,
    EXPOSURE_FAIR,
    FAIR_THOMPSON,
    FAIR_UCB,
    MERITOCRATIC_CHAIN,
    PROPORTIONAL_CATCH_UP,
    STOCHASTIC_QUOTA,
    STRICT_QUOTA,
    VIRTUAL_QUEUES,
    draws,
)
from fairbai.kernels.sampling.thompson import update_chances
from fairbai.kernels.state import FLOOR, MEAN, ROUND, SPARE, UNSEEN, WEIGHT, fewest_useful, is_seen

VALUES, TOTALS = range(2)
"""Rows of the workspace: the value of every arm, and the shares of the groups."""


@subroutine
def earn(config, state, scalars, policy, workspace, uniform):
    """The next arm; -1 for a rule that is not known here."""
    rule, number, arm = config.rule, scalars[ROUND], -1
    if draws(rule):
        _fill_policy(config, state, scalars, policy, workspace)
        return draw_arm(policy, uniform)
    if rule == VIRTUAL_QUEUES:
        return serve_queues(config, state, scalars, workspace)
    if rule == PROPORTIONAL_CATCH_UP:
        return catch_up(config, state, scalars)
    if rule == FAIR_UCB:
        arm = furthest_behind(state, number, config.parameter)
    elif rule == STRICT_QUOTA:
        arm = furthest_behind(state, number + 1.0, 0.0)
    else:
        return -1
    return arm if arm >= 0 else _optimist(config, state, scalars)


@kernel
def _optimist(config, state, scalars):
    """The arm with the largest upper confidence bound; while arms are unseen, the one with the fewest trials."""
    return fewest_useful(state) if scalars[UNSEEN] > 0.0 else most_promising(config.family, state, scalars)


@kernel
def _fill_policy(config, state, scalars, policy, workspace):
    """The policy of the next round; nan for a rule that has none."""
    rule = config.rule
    if rule == FAIR_THOMPSON:
        _fill_thompson(config, state, scalars, policy)
    elif rule == STOCHASTIC_QUOTA:
        _spread(state, scalars, policy, _optimist(config, state, scalars))
    elif rule == CONSTRAINED_EPSILON_GREEDY:
        fill_best_policy(state, scalars, state[MEAN], policy, workspace[TOTALS])
        explore_within(state, scalars, part_of_exploration(config, scalars), policy)
    elif rule == CONSTRAINED_LP:
        _fill_by_bounds(config, state, scalars, policy, workspace)
    elif rule == MERITOCRATIC_CHAIN:
        fill_chain(config, state, scalars, policy, workspace)
    elif rule == EXPOSURE_FAIR:
        fill_exposure(config, state, scalars, policy, workspace)
    else:
        policy[:] = math.nan


@kernel
def _fill_by_bounds(config, state, scalars, policy, workspace):
    """The best policy if every mean were its upper confidence bound; one in the interior while arms are unseen."""
    if scalars[UNSEEN] > 0.0:
        explore_within(state, scalars, 1.0, policy)
        return
    fill_upper_bounds(config.family, state, scalars, workspace[VALUES])
    fill_best_policy(state, scalars, workspace[VALUES], policy, workspace[TOTALS])


@kernel
def _spread(state, scalars, policy, arm):
    """The floors, and all that they leave for one arm."""
    for a in range(policy.size):
        policy[a] = state[FLOOR, a] + (scalars[SPARE] if a == arm else 0.0)


@kernel
def _fill_thompson(config, state, scalars, policy):
    """The floors; what they leave by the chances to be the best or, while arms are unseen, equally to these."""
    arms, total = policy.size, 0.0
    if scalars[UNSEEN] == 0.0:
        update_chances(config, state, scalars)
    for a in range(arms):
        blind = scalars[UNSEEN] > 0.0
        policy[a] = (0.0 if is_seen(config.family, state, a) else 1.0) if blind else state[WEIGHT, a]
        total += policy[a]
    for a in range(arms):
        chance = policy[a] / total if total > 0.0 else 1.0 / arms
        policy[a] = state[FLOOR, a] + scalars[SPARE] * chance
