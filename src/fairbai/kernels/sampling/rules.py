"""Which arm next: every sampling rule, as an integer code; see docs/sampling.md.

A rule reads the state of the experiment. It aims with the trials that were assigned, and estimates with the rewards
that have come. ``refresh`` does what depends on the rewards (floors, allocation), ``choose`` picks and counts an arm.
"""

import math

import numpy as np

from fairbai.kernels.allocation.floors import allocate, allocate_in_line
from fairbai.kernels.allocation.limits import LIMITED_ROWS, allocate_within
from fairbai.kernels.families import BERNOULLI, GAUSSIAN, divergence, transport
from fairbai.kernels.jit import entry, kernel
from fairbai.kernels.limits import PATIENCE
from fairbai.kernels.rates import CONSTANT, fill_floors, spare_share
from fairbai.kernels.sampling.limits import fair_top_two_within
from fairbai.kernels.state import (
    ASSIGNED,
    CEILING,
    CENTRE,
    COST,
    FLOOR,
    GROUP,
    GROUP_FLOOR,
    INSIDE,
    MEAN,
    OBSERVED,
    RATIO,
    ROUND,
    SCALE,
    SEEN,
    SLACK,
    SPARE,
    START,
    TARGET,
    UNSEEN,
    WEIGHT,
    largest,
)

FAIR_SAMPLED, FAIR_CUMULATIVE, DIRECT, CUMULATIVE, UNIFORM_FAIR, FAIR_TOP_TWO, TOP_TWO, LUCB, PYTHON = range(9)
FROM_POLICY, FROM_EACH_ARM = range(2)


@kernel
def rule_workspace(arms):
    """Room for ``refresh``: floors of zero, and the workspace of the allocation."""
    return np.empty((LIMITED_ROWS + 1, arms))


@kernel
def refresh(family, rate, p0, temperature, rule, state, numbers, room):
    """Bring the floors and, for the rules that track it, the optimal allocation up to date with the means.

    Until every arm has a reward there are no means, and theta-dependent floors are 0.
    """
    if numbers[UNSEEN] > 0.0:
        return
    fill_floors(rate, p0, temperature, state[MEAN], state[FLOOR])
    if rate != CONSTANT:
        numbers[SPARE] = spare_share(state[FLOOR])
    if rule <= CUMULATIVE:
        fair = rule in (FAIR_SAMPLED, FAIR_CUMULATIVE)
        if fair and numbers[SLACK] >= 0.0:
            limits = (state[FLOOR], state[CEILING], state[GROUP], state[GROUP_FLOOR])
            arms = (family, state[INSIDE], state[SCALE])
            numbers[START] = allocate_within(*arms, *limits, numbers[START], state[WEIGHT], room[1:])[3]
            return
        floors, spare = (state[FLOOR], numbers[SPARE]) if fair else (room[0], 1.0)
        if not fair:
            floors[:] = 0.0
        problem = (state[INSIDE], state[SCALE], floors, spare, numbers[START], state[WEIGHT], room[1:])
        if family == GAUSSIAN:  # the others are slow enough for a call not to matter
            numbers[START] = allocate_in_line(GAUSSIAN, *problem)[3]
        else:
            numbers[START] = allocate(family, *problem)[3]


@kernel
def _aim(rule, learned, state, numbers, policy):
    """The probabilities of the rules that have a policy."""
    count = state.shape[1]
    number = numbers[ROUND] + 1.0
    blind = numbers[UNSEEN] > 0.0
    if rule == CUMULATIVE:
        share = 0.5 / math.sqrt(count * count + number)
        for a in range(count):
            policy[a] = 1.0 / count if blind else (1.0 - count * share) * state[WEIGHT, a] + share
        return
    if numbers[SLACK] >= 0.0:
        mix = 1.0 if blind or rule == UNIFORM_FAIR else 0.5 / math.sqrt(number)
        for a in range(count):
            policy[a] = (1.0 - mix) * state[WEIGHT, a] + mix * state[CENTRE, a]
        return
    if rule == UNIFORM_FAIR:
        rest = numbers[SPARE] / count
        for a in range(count):
            policy[a] = state[FLOOR, a] + rest
        return
    # F-TaS mixes in pi_c: uniform for learned floors; else the floors, with what they leave for all arms or, where
    # some have no floor, for these
    zeros = 0
    for a in range(count):
        zeros += 1 if state[FLOOR, a] == 0.0 else 0
    mix = 1.0 if blind else 0.5 / math.sqrt(number)
    floored, others = numbers[SPARE] / count, numbers[SPARE] / count
    if learned:
        floored, others = 1.0 / count, 1.0 / count
    elif zeros > 0:
        floored, others = 0.0, numbers[SPARE] / zeros
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
def _least_assigned(state):
    least = 0
    for a in range(1, state.shape[1]):
        if state[ASSIGNED, a] < state[ASSIGNED, least]:
            least = a
    return least


@kernel
def _direct(state, numbers):
    """D-tracking: the least pulled arm if it lags behind sqrt(t) - K / 2, else the one furthest below t w*."""
    count = state.shape[1]
    least = _least_assigned(state)
    if state[ASSIGNED, least] < math.sqrt(numbers[ROUND]) - 0.5 * count:
        return least
    furthest = 0
    for a in range(1, count):
        lag = numbers[ROUND] * state[WEIGHT, a] - state[ASSIGNED, a]
        if lag > numbers[ROUND] * state[WEIGHT, furthest] - state[ASSIGNED, furthest]:
            furthest = a
    return furthest


@kernel
def _track(state, policy):
    """C-tracking: the arm furthest below the sum of the policies so far, this one included."""
    furthest = 0
    for a in range(policy.size):
        state[TARGET, a] += policy[a]
        if state[TARGET, a] - state[ASSIGNED, a] > state[TARGET, furthest] - state[ASSIGNED, furthest]:
            furthest = a
    return furthest


@kernel
def _challenger(family, best, state, numbers, margin):
    """The arm that is cheapest to tie with the best, with log N added to its cost; and H over the arms above floor.

    Returns:
        The challenger, what a trial of it and of the best arm adds to the evidence (as a ratio), H, and the
        challenger's cost.
    """
    top, top_scale, top_count = state[MEAN, best], state[SCALE, best], state[ASSIGNED, best]
    challenger, least, share, pull = -1, np.inf, 1.0, 0.0
    pending = numbers[ROUND] > numbers[SEEN]
    for a in range(state.shape[1]):
        if a != best:
            count = state[ASSIGNED, a]
            cost, ratio = state[COST, a], state[RATIO, a]
            if pending:  # as if the rewards that are still to come would not change the means
                cost, ratio = transport(family, top, top_scale, top_count, state[MEAN, a], state[SCALE, a], count)
            if cost < least or challenger < 0:  # else the logarithm, which is not negative, need not be computed
                cost += math.log(count)
                if cost < least or challenger < 0:
                    challenger, least, share = a, cost, ratio
            pull += ratio if count > state[FLOOR, a] * numbers[ROUND] + margin else 0.0
    return challenger, share, pull, least


@entry
def _pull_of_tight_arms(family, best, least, state, numbers, margin):
    """H over the arms above their floors whose cost is near the least."""
    top, top_scale, top_count = state[MEAN, best], state[SCALE, best], state[ASSIGNED, best]
    pending = numbers[ROUND] > numbers[SEEN]
    most, pull = least + 2.0 * math.sqrt(least), 0.0
    for a in range(state.shape[1]):
        count = state[ASSIGNED, a]
        if a != best and count > state[FLOOR, a] * numbers[ROUND] + margin:
            cost, ratio = state[COST, a], state[RATIO, a]
            if pending:
                cost, ratio = transport(family, top, top_scale, top_count, state[MEAN, a], state[SCALE, a], count)
            pull += ratio if cost + math.log(count) <= most else 0.0
    return pull


@kernel
def _fair_top_two(family, margin, learned, state, numbers):
    """Fair anchored top-two.

    An arm that is behind its floor by more than a quarter of a pull goes first; then an arm that was never pulled; then
    the best arm if H > 1, the slope condition of the allocation problem over the arms above their floors, else its
    challenger. Floors that are learned jump with every reward, and an arm that its floor holds up can look as if it
    were above; so of these arms only those count in H whose evidence is near the least, as it is for arms above.
    """
    number = numbers[ROUND] + 1.0
    furthest, lag, least = -1, PATIENCE, 0
    for a in range(state.shape[1]):
        behind = state[FLOOR, a] * number - state[ASSIGNED, a]
        furthest, lag = (a, behind) if behind > lag else (furthest, lag)
        least = a if state[ASSIGNED, a] < state[ASSIGNED, least] else least
    if furthest >= 0:
        return furthest
    if state[ASSIGNED, least] == 0.0 or numbers[UNSEEN] > 0.0:
        return least
    best = largest(state, MEAN)
    challenger, _, pull, cost = _challenger(family, best, state, numbers, margin)
    if learned and pull > 1.0:
        pull = _pull_of_tight_arms(family, best, cost, state, numbers, margin)
    return best if pull > 1.0 else challenger


@kernel
def _top_two(family, state, numbers, uniform):
    """Empirical best and transportation-cost-improved challenger; between them by what a trial of each adds."""
    best = largest(state, MEAN)
    challenger, ratio, _, _ = _challenger(family, best, state, numbers, np.inf)
    share = ratio * state[ASSIGNED, best]
    return best if uniform * (share + state[ASSIGNED, challenger]) < share else challenger


@kernel
def _upper_end(family, mean, count, scale, bonus):
    """The upper end of the interval {m : count d(mean, m) <= bonus}, by bisection."""
    inside, outside = 0.0, 1.0
    if family == BERNOULLI:
        outside = 1.0 - mean
    else:
        while count * divergence(family, mean, mean + outside, outside, scale) < bonus and outside < 1e12:
            inside, outside = outside, 2.0 * outside
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        if count * divergence(family, mean, mean + middle, middle, scale) < bonus:
            inside = middle
        else:
            outside = middle
    return mean + inside


@entry
def _lucb(family, delta, state, numbers):
    """The best arm or the one with the largest upper confidence bound among the others: whichever has fewer trials."""
    count = state.shape[1]
    best = largest(state, MEAN)
    bonus = math.log(12.0 * count / delta) + 1.1 * math.log(numbers[ROUND])
    challenger, highest = -1, -np.inf
    for a in range(count):
        if a != best:
            upper = _upper_end(family, state[INSIDE, a], state[OBSERVED, a], state[SCALE, a], bonus)
            if upper > highest:
                challenger, highest = a, upper
    return best if state[ASSIGNED, best] <= state[ASSIGNED, challenger] else challenger


@kernel
def choose(family, rule, start, parameter, learned, state, numbers, policy, uniform):
    """The next arm, counted as assigned.

    ``parameter`` is the margin of FAIR_TOP_TWO or the delta of LUCB; ``policy`` is room for one number an arm.
    """
    arm = 0
    tracks = rule in (FAIR_CUMULATIVE, CUMULATIVE)
    if rule <= UNIFORM_FAIR and rule != DIRECT:
        _aim(rule, learned, state, numbers, policy)
    if tracks:
        arm = _track(state, policy)
    if start == FROM_EACH_ARM and numbers[ROUND] < state.shape[1]:
        arm = int(numbers[ROUND])
    elif rule in (FAIR_SAMPLED, UNIFORM_FAIR):
        arm = draw_arm(policy, uniform)
    elif rule == FAIR_TOP_TWO and numbers[SLACK] >= 0.0:
        arm = fair_top_two_within(family, parameter, state, numbers, policy)
    elif rule == FAIR_TOP_TWO:
        arm = _fair_top_two(family, parameter, learned, state, numbers)
    elif not tracks:
        if numbers[UNSEEN] > 0.0:
            arm = _least_assigned(state)
        elif rule == DIRECT:
            arm = _direct(state, numbers)
        elif rule == TOP_TWO:
            arm = _top_two(family, state, numbers, uniform)
        else:
            arm = _lucb(family, parameter, state, numbers)
    state[ASSIGNED, arm] += 1.0
    numbers[ROUND] += 1.0
    return arm
