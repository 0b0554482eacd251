"""What is known of a running experiment: one array with one row per quantity and one column per arm, and a few scalars.

Assigned is not observed: fairness counts the trials that were assigned, statistics those whose reward has come. A trial
that was given up stays assigned, and no reward of it is expected any more.
"""

from fairbai.kernels.families import BOUNDED, moved_inside
from fairbai.kernels.jit import kernel

ASSIGNED, OBSERVED, SUM, MEAN, INSIDE, SCALE, FLOOR, WEIGHT, TARGET, COST, RATIO, PENALTY = range(12)
CEILING, GROUP, GROUP_FLOOR, CENTRE, LOST, SQUARES = range(12, 18)
STATE_ROWS = 18
"""Rows: trials assigned and observed, sum and mean of the rewards, the mean moved inside the domain of the family, the
known variance, the floor at the present means, the optimal share, the sum of the shares that were aimed at, the cost of
a tie with the best arm (its GLR) and the ratio of what a trial of either adds to it, and the part that the arm has in
the threshold. An experiment with limits also has the ceiling of every arm, the number of its group (or -1), the floors
of the groups, and shares that are within all limits. Last, the trials that were given up, and the sum of the squared
rewards of bounded arms. ``kernels.stopping.design`` adds rows of its own."""

ROUND, SEEN, UNSEEN, SPARE, START, SLACK, GIVEN_UP = range(7)
SCALARS = 7
"""Scalars: trials assigned and observed in total, arms that have no reward yet, 1 - sum of the floors, the r at which
the last solve ended, how much play the limits leave, or -1 where there are none beside the floors, and the trials that
were given up in total. ``kernels.stopping.design`` adds scalars of its own."""


@kernel
def has_limits(scalars):
    """Whether there are ceilings or groups beside the floors."""
    return scalars[SLACK] >= 0.0


@kernel
def awaits_rewards(scalars):
    """Whether rewards are still expected."""
    return scalars[ROUND] - scalars[GIVEN_UP] > scalars[SEEN]


@kernel
def useful(state, arm):
    """The trials of an arm that have a reward or may still get one."""
    return state[ASSIGNED, arm] - state[LOST, arm]


@kernel
def learn(family, state, scalars, arm, reward):
    """Count a reward. If none was expected any more, a trial that had been given up got one after all."""
    if state[OBSERVED, arm] == 0.0:
        scalars[UNSEEN] -= 1.0
    scalars[SEEN] += 1.0
    state[OBSERVED, arm] += 1.0
    if state[LOST, arm] > 0.0 and state[OBSERVED, arm] > useful(state, arm):
        state[LOST, arm] -= 1.0
        scalars[GIVEN_UP] -= 1.0
    state[SUM, arm] += reward
    if family == BOUNDED:
        state[SQUARES, arm] += reward * reward
    estimate(family, state, arm)


@kernel
def estimate(family, state, arm):
    """The mean of an arm, and the mean inside the domain that the allocation problem gets.

    The recommendation goes by the mean itself.
    """
    count = state[OBSERVED, arm]
    mean = state[SUM, arm] / count
    state[MEAN, arm] = mean
    state[INSIDE, arm] = moved_inside(family, mean, count)


@kernel
def bounded_variance(state, arm):
    """The variance of the rewards of a bounded arm, with the largest possible one added as if it were one reward."""
    count, mean, inside = state[OBSERVED, arm], state[MEAN, arm], state[INSIDE, arm]
    return (max(0.0, state[SQUARES, arm] - count * mean * mean) + inside * (1.0 - inside)) / (count + 1.0)


@kernel
def count_groups(state, counts):
    """The trials of every group."""
    counts[:] = 0.0
    for a in range(state.shape[1]):
        if state[GROUP, a] >= 0.0:
            counts[int(state[GROUP, a])] += state[ASSIGNED, a]


@kernel
def largest(state, row):
    """The first arm with the largest entry in a row."""
    best = 0
    for a in range(1, state.shape[1]):
        if state[row, a] > state[row, best]:
            best = a
    return best
