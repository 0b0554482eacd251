"""What is known of a running experiment: one array with a row a quantity and a column an arm, and a few numbers.

Assigned is not observed: fairness counts the trials that were assigned, statistics those whose reward has come.
"""

from fairbai.kernels.families import BERNOULLI, POISSON
from fairbai.kernels.jit import kernel

ASSIGNED, OBSERVED, SUM, MEAN, INSIDE, SCALE, FLOOR, WEIGHT, TARGET, COST, RATIO, PENALTY = range(12)
CEILING, GROUP, GROUP_FLOOR, CENTRE = range(12, 16)
STATE_ROWS = 16
"""Rows: trials assigned and observed, sum and mean of the rewards, the mean moved inside the domain of the family, the
known variance, the floor at the present means, the optimal share, the sum of the shares that were aimed at, the cost of
a tie with the best arm (its GLR) and the ratio of what a trial of either adds to it, and the part that the arm has in
the threshold. Of an experiment with limits also the ceiling of every arm, the number of its group (or -1), the floors
of the groups, and shares that are within all limits."""

ROUND, SEEN, UNSEEN, SPARE, START, SLACK = range(6)
NUMBERS = 6
"""Numbers: trials assigned and observed in all, arms that have no reward yet, 1 - sum of the floors, the r at which
the last solve ended, and how much play the limits leave, or -1 where there are none beside the floors."""


@kernel
def learn(family, state, numbers, arm, reward):
    """Count a reward."""
    if state[OBSERVED, arm] == 0.0:
        numbers[UNSEEN] -= 1.0
    numbers[SEEN] += 1.0
    state[OBSERVED, arm] += 1.0
    state[SUM, arm] += reward
    estimate(family, state, arm)


@kernel
def estimate(family, state, arm):
    """The mean of an arm, and the mean that the allocation problem gets.

    The mean of a Bernoulli or Poisson arm can lie at the edge of the domain, where divergences are infinite and that
    problem has no solution; half a pseudo-count moves it inside. The recommendation goes by the mean itself.
    """
    count = state[OBSERVED, arm]
    mean = state[SUM, arm] / count
    state[MEAN, arm] = mean
    edge = 0.5 / (count + 1.0)
    if family == BERNOULLI:
        mean = min(max(mean, edge), 1.0 - edge)
    elif family == POISSON:
        mean = max(mean, edge)
    state[INSIDE, arm] = mean


@kernel
def largest(state, row):
    """The first arm with the largest entry in a row."""
    best = 0
    for a in range(1, state.shape[1]):
        if state[row, a] > state[row, best]:
            best = a
    return best
