"""What is known of a running experiment: one array with one row per quantity and one column per arm, and a few scalars.

Assigned is not observed: fairness counts the trials that were assigned, statistics those whose reward has come. A trial
that was given up stays assigned, and no reward of it is expected any more.
"""

from fairbai.kernels.families import BOUNDED, GAUSSIAN_UNKNOWN, moved_inside
from fairbai.kernels.jit import kernel
from fairbai.kernels.pairs import transport

ASSIGNED, OBSERVED, SUM, MEAN, INSIDE, SCALE, FLOOR, WEIGHT, TARGET, COST, RATIO, PENALTY = range(12)
CEILING, GROUP, GROUP_FLOOR, CENTRE, LOST, SQUARES, STRETCH, SHIFT, GROUP_CEILING = range(12, 21)
BEST_SCORE, SAVED_OBSERVED, SAVED_SUM, SAVED_SQUARES = range(21, 25)
STATE_ROWS = 25
"""Rows: trials assigned and observed, sum and mean of the rewards, the mean moved inside the domain of the family,
the variance (estimated, if it is unknown), the floor at the present means, the optimal share, the sum of the shares
that were aimed at, the cost of a tie with the best arm (its GLR) and the ratio of what a trial of either adds to it,
and the part that the arm has in the threshold. An experiment with limits also has the ceiling of every arm, the number
of its group (or -1), the floors of the groups, and shares that are within all limits. Then the trials that were given
up; the sum of the squared rewards of bounded arms, or of squared deviations from the mean where variances are unknown;
the tie at which the arm speaks against the named one (see ``kernels.ties``); and the ceilings of the groups, 1 for
none. Last, what ``kernels.stopping.standing`` keeps: the best score that is known to have spoken for the arm, and the
counts and sums at a time at which a better one may have done so. ``kernels.stopping.design`` adds rows of its own."""

ROUND, SEEN, UNSEEN, SPARE, START, SLACK, GIVEN_UP, NAMED, NEXT_LOOK, SAVED_NAMED, SAVED_GLR = range(11)
SCALARS = 11
"""Scalars: trials assigned and observed in total, arms that are not seen (``is_seen``), 1 - sum of the floors, the r at
which the last solve ended, how much play the limits leave, or -1 where there are none beside the floors, the trials
that were given up in total, and the arm that is named if there is a control; then the number of rewards at which to
look next whether the counts and sums are worth saving (inf: never), the arm that was named when they were saved (-1:
none), and its least GLR then. ``kernels.stopping.design`` adds scalars of its own."""

MIN_REWARDS = 8.0  # of an arm of unknown variance: a few that happen to be close would look like strong evidence
SAME = 1e-20  # squared deviations, in squared means, that are no more than rounding
ROUNDING = 1e-12  # of the deviations within a batch, in its squares


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
def fewest_useful(state):
    """The first arm with the fewest trials that have a reward or may still get one."""
    least = 0
    for a in range(1, state.shape[1]):
        if useful(state, a) < useful(state, least):
            least = a
    return least


@kernel
def is_seen(family, state, arm):
    """Whether an arm has the rewards that its estimates need: any, or some that differ if its variance is unknown."""
    if family == GAUSSIAN_UNKNOWN:
        size = SAME * state[SUM, arm] * state[MEAN, arm]
        return state[OBSERVED, arm] >= MIN_REWARDS and state[SQUARES, arm] > size
    return state[OBSERVED, arm] > 0.0


@kernel
def learn(family, state, scalars, arm, reward):
    """Count a reward. If none was expected any more, a trial that had been given up got one after all."""
    seen = is_seen(family, state, arm)
    add_squares(family, state, arm, 1.0, reward, reward * reward)
    scalars[SEEN] += 1.0
    state[OBSERVED, arm] += 1.0
    if state[LOST, arm] > 0.0 and state[OBSERVED, arm] > useful(state, arm):
        state[LOST, arm] -= 1.0
        scalars[GIVEN_UP] -= 1.0
    state[SUM, arm] += reward
    estimate(family, state, arm)
    if seen != is_seen(family, state, arm):
        scalars[UNSEEN] += 1.0 if seen else -1.0


@kernel
def estimate(family, state, arm):
    """The mean of an arm, and the mean inside the domain that the allocation problem gets; and its unknown variance.

    The recommendation goes by the mean itself.
    """
    count = state[OBSERVED, arm]
    mean = state[SUM, arm] / count
    state[MEAN, arm] = mean
    state[INSIDE, arm] = moved_inside(family, mean, count)
    if family == GAUSSIAN_UNKNOWN and state[SQUARES, arm] > 0.0:
        state[SCALE, arm] = state[SQUARES, arm] / count


@kernel
def add_squares(family, state, arm, count, total, squares):
    """Add the squares of a reward or of a batch, of ``count`` rewards of sum ``total``, that is not counted yet.

    Unknown variances: the deviations within the batch, and that of its mean from the mean before. Of what rounding may
    have taken from the former, the most is added: less than the variance would be false evidence.
    """
    if family == BOUNDED:
        state[SQUARES, arm] += squares
    if family == GAUSSIAN_UNKNOWN and count > 0.0:
        before, change = state[OBSERVED, arm], total / count - state[MEAN, arm]
        within = max(squares - total * (total / count), ROUNDING * squares) if count > 1.0 else 0.0
        state[SQUARES, arm] += within + change * change * (before * count / (before + count))


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


@kernel
def named_arm(config, state, scalars):
    """The arm that the experiment would name now: the best or, where that needs less evidence, the control."""
    return largest(state, MEAN) if config.control < 0 else int(scalars[NAMED])


@kernel
def tie_of(state, arm):
    """The stretch and the shift at which an arm speaks against the named one."""
    return state[STRETCH, arm], state[SHIFT, arm]


@kernel
def pair_cost(family, state, named, arm):
    """``pairs.transport`` with the trials of both arms that have a reward or may still get one."""
    best = (state[MEAN, named], state[SCALE, named], useful(state, named))
    rival = (state[MEAN, arm], state[SCALE, arm], useful(state, arm))
    return transport(family, best, rival, tie_of(state, arm))
