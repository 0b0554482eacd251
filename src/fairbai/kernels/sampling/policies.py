"""The policies of the rules that have one: probabilities to draw from, or shares to track; see docs/sampling.md."""

import math

from fairbai.kernels.jit import kernel
from fairbai.kernels.sampling.posterior import fill_posterior_fair
from fairbai.kernels.sampling.rules import CUMULATIVE, FAIR_CUMULATIVE, FAIR_SAMPLED, POSTERIOR_FAIR, UNIFORM_FAIR
from fairbai.kernels.state import (
    ASSIGNED,
    CENTRE,
    FLOOR,
    ROUND,
    SPARE,
    TARGET,
    UNSEEN,
    WEIGHT,
    fewest_useful,
    has_limits,
    useful,
)

MAX_OWED = 1.0  # by how many trials an arm may be behind before it goes first
SURE = 1.0 - 1e-12  # of what arms are owed together
TINY = 2.0**-53


@kernel
def fill_policy(config, state, scalars, policy):
    """The policy of the next round; nan for a rule that has none."""
    if config.rule == CUMULATIVE:
        _explore_at_random(state, scalars, policy)
    elif config.rule in (UNIFORM_FAIR, POSTERIOR_FAIR) and has_limits(scalars):
        _mix_with_centre(1.0, state, policy)
    elif config.rule == UNIFORM_FAIR:
        _fill_uniform_fair(state, scalars, policy)
    elif config.rule == POSTERIOR_FAIR:
        fill_posterior_fair(config, state, scalars, policy)
    elif config.rule in (FAIR_SAMPLED, FAIR_CUMULATIVE) and has_limits(scalars):
        _mix_with_centre(_exploration(scalars), state, policy)
    elif config.rule in (FAIR_SAMPLED, FAIR_CUMULATIVE):
        _mix_with_floors(config.learned, _exploration(scalars), state, scalars, policy)
    else:
        policy[:] = math.nan


@kernel
def _exploration(scalars):
    """The share of exploration in F-TaS: 1 / (2 sqrt(t)), or everything before there are means."""
    return 1.0 if scalars[UNSEEN] > 0.0 else 0.5 / math.sqrt(scalars[ROUND] + 1.0)


@kernel
def _explore_at_random(state, scalars, policy):
    """The optimal shares, kept away from 0 by 1 / (2 sqrt(K^2 + t))."""
    count = state.shape[1]
    blind = scalars[UNSEEN] > 0.0
    share = 0.5 / math.sqrt(count * count + (scalars[ROUND] + 1.0))
    for a in range(count):
        policy[a] = 1.0 / count if blind else (1.0 - count * share) * state[WEIGHT, a] + share


@kernel
def _fill_uniform_fair(state, scalars, policy):
    """The floors, and the same part for every arm of what they leave."""
    rest = scalars[SPARE] / policy.size
    for a in range(policy.size):
        policy[a] = state[FLOOR, a] + rest


@kernel
def _mix_with_centre(mix, state, policy):
    """The optimal shares, mixed with shares that are within all limits."""
    for a in range(policy.size):
        policy[a] = (1.0 - mix) * state[WEIGHT, a] + mix * state[CENTRE, a]


@kernel
def _mix_with_floors(learned, mix, state, scalars, policy):
    """The optimal shares, mixed with the pi_c of F-TaS.

    That is uniform for learned floors; else it is the floors, with what they leave for all arms or, where some have no
    floor, for these.
    """
    count = state.shape[1]
    zeros = 0
    for a in range(count):
        zeros += 1 if state[FLOOR, a] == 0.0 else 0
    floored, others = scalars[SPARE] / count, scalars[SPARE] / count
    if learned:
        floored, others = 1.0 / count, 1.0 / count
    elif zeros > 0:
        floored, others = 0.0, scalars[SPARE] / zeros
    rated = 0.0 if learned else mix
    for a in range(count):
        rest = floored if state[FLOOR, a] > 0.0 else others
        policy[a] = (1.0 - mix) * state[WEIGHT, a] + (rated * state[FLOOR, a] + mix * rest)


@kernel
def draw_arm(policy, uniform):
    """An arm with these probabilities."""
    reached = 0.0
    for a in range(policy.size):
        reached += policy[a]
        if uniform < reached:
            return a
    last = policy.size - 1  # the probabilities sum to a little less than one
    while policy[last] == 0.0:
        last -= 1
    return last


@kernel
def track(rule, state, policy, uniform):
    """An arm below the sum of the policies so far, this one included: drawn or, in C-tracking, the furthest."""
    furthest = 0
    for a in range(policy.size):
        state[TARGET, a] += policy[a]
        if state[TARGET, a] - state[ASSIGNED, a] > state[TARGET, furthest] - state[ASSIGNED, furthest]:
            furthest = a
    if rule == CUMULATIVE:
        return furthest
    arm, _ = draw_owed(state, TARGET, 1.0, uniform)
    return arm if arm >= 0 else furthest  # what all arms lack together is one trial, but for rounding


@kernel
def draw_owed(state, row, factor, uniform):
    """An arm that lacks trials, or -1; and a uniform for what is drawn instead.

    An arm is owed what ``factor`` times its entry in ``row`` exceeds its trials. If one is owed more than a trial, it
    is the one that is owed most. Else each is drawn with the probability of what it is owed or, if that sums to more
    than one, in proportion to it: in a random order, no arm waits for a certain turn.
    """
    most, total, arm = MAX_OWED, 0.0, -1
    for a in range(state.shape[1]):
        owed = factor * state[row, a] - state[ASSIGNED, a]
        most, arm = (owed, a) if owed > most else (most, arm)
        total += max(0.0, owed)
    if arm >= 0:
        return arm, uniform
    left = uniform * max(1.0, total)
    for a in range(state.shape[1]):
        owed = factor * state[row, a] - state[ASSIGNED, a]
        if owed > 0.0:
            arm = a
            if left < owed:
                return arm, uniform
            left -= owed
    if total >= SURE:
        return arm, uniform
    return -1, min(max(left / (1.0 - total), TINY), 1.0 - TINY)


@kernel
def draw_fewest_useful(state, uniform):
    """One of the arms with the fewest trials that have a reward or may still get one, each as likely."""
    least, ties = useful(state, fewest_useful(state)), 0.0
    for a in range(state.shape[1]):
        ties += 1.0 if useful(state, a) == least else 0.0
    place, arm = math.floor(uniform * ties), -1
    for a in range(state.shape[1]):
        if place >= 0.0 and useful(state, a) == least:
            arm, place = a, place - 1.0
    return arm


@kernel
def draws_best(pull, number, uniform):
    """Whether the best arm is drawn, or else its challenger: the odds are H^sqrt(t) to 1.

    Where H = 1, as at the optimal shares, they are even. The longer the experiment, the sooner a slope that is not 1 is
    corrected, and the power is so low that the odds change little from trial to trial.
    """
    return pull > 0.0 and math.log(uniform / (1.0 - uniform)) < math.sqrt(number) * math.log(pull)
