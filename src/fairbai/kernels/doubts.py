"""Tests of the declared family: e-values that grow when rewards are more spread than the proofs allow.

There is one test per arm, and one of all arms together, whose e-value is the product over the arms.

Each is at most 1 on average at every time for all rewards that the proofs of the stopping rules cover, so that it ever
reaches 1 / level with probability at most level (Ville's inequality). A reward costs the same however many came before.
The proofs are in docs/doubts.md.
"""

import math

from fairbai.kernels.families import (
    BERNOULLI,
    BOUNDED,
    EXPONENTIAL,
    GAUSSIAN,
    GAUSSIAN_UNKNOWN,
    POISSON,
    divergence,
)
from fairbai.kernels.jit import borrowed, entry, kernel
from fairbai.kernels.special import xlogy
from fairbai.kernels.state import SAME

COUNT, MEAN, SQUARES, BESIDE, LOGS = range(5)
ZEROS, BETS = LOGS, LOGS + 1
"""Rows of the tests: the number of rewards, their mean, and the sum of their squared distances from it; for Gaussian
arms the number of rewards other than 0 and 1, for the others the mean of the rewards after the first few (or -1: not to
be tested any more); then the logarithm of the e-value of each alternative, where it does not follow from the rest, or,
if variances are unknown, the number of rewards that are exactly 0 and the logarithms of the e-values of all bets.

There is one column per arm and one for all arms together, which has the sums of the rows that its e-value follows from;
its squared distances are in declared variances."""

TILTS = (0.1, 0.25, 0.5, 0.75)
"""The s of the Gaussian test, each best against rewards of 1 / (1 - s) times the declared variance."""

FACTORS = (1.3, 2.0, 5.0)
"""Alternatives of the Poisson test: negative binomial counts of so many times the variance of Poisson counts."""

SHAPES = (0.5, 0.25)
TAILS = (5.0, 2.5)
"""Alternatives of the exponential test: gamma waiting times of these shapes, and Lomax ones of these exponents."""

LENGTHS = (0.5, 1.0, 1.7)
STAKES = (0.9, 0.3, -0.3, -0.9)
"""The bets on skewness, of unknown variances: every length with every stake. A reward is called short if it is less
than so many standard deviations from the mean of those before, on whichever side. A positive stake bets that short ones
are below the mean and long ones above it, as rewards are that are skewed to the right."""

FIRST = 5  # rewards of a Poisson or exponential arm that only say about where its mean is
MAX_SQUARES = 1e15  # declared variances that the Gaussian test counts, so that it stays finite
MAX_COUNT = 1e11  # mean of counts from which on their log Gamma has too few digits for a test
MIN_REWARDS = 10.0  # of an arm of unknown variance, before its zeros count
MIN_ZEROS = 0.05  # the share of exact zeros that no normal law has
MAX_DISTANCE = 1e50  # of a reward from the mean of those before it, in standard deviations, so that all stays finite
MAX_RATIO = 1e100  # of a waiting time to the mean of those before it, or the reverse, so that all stays finite


@kernel
def rows_of_tests(family):
    """The number of rows that the tests of a family need; 0 if there is nothing to test."""
    if family == GAUSSIAN:
        return LOGS
    if family == GAUSSIAN_UNKNOWN:
        return BETS + len(LENGTHS) * len(STAKES)
    if family in (BERNOULLI, BOUNDED):
        return 0  # whatever is 0 or 1 is a Bernoulli reward, and all that is refused is not bounded
    if family == POISSON:
        return LOGS + len(FACTORS)
    if family == EXPONENTIAL:
        return LOGS + len(SHAPES) + len(TAILS)
    return 0


@entry
def update_test(family, tests, scales, arm, reward):
    """Count a reward; returns the log e-values of its arm and of all arms together, or nan if there is no test."""
    tests, scales = borrowed(tests), borrowed(scales)
    if family == GAUSSIAN:
        return _test_gaussian(tests, arm, scales[arm], reward)
    if family == GAUSSIAN_UNKNOWN:
        return _test_unknown(tests, arm, reward), math.nan
    if family == POISSON:
        before = (tests[COUNT, arm] * tests[MEAN, arm] + 0.5) / (tests[COUNT, arm] + 1.0)
        if before > MAX_COUNT:
            tests[BESIDE, arm] = -1.0
        _count(tests, arm, reward)
        return _compare(family, tests, arm, before, reward)
    if family == EXPONENTIAL:
        before = tests[MEAN, arm]
        if before > 0.0:
            reward = min(max(reward, before / MAX_RATIO), before * MAX_RATIO)
        _count(tests, arm, reward)
        return _compare(family, tests, arm, before, reward)
    return math.nan, math.nan


@kernel
def _count(tests, arm, reward):
    """Number, mean and squared distances of the rewards, by Welford's recursion; returns what the distances grow by."""
    tests[COUNT, arm] += 1.0
    change = reward - tests[MEAN, arm]
    tests[MEAN, arm] += change / tests[COUNT, arm]
    more = change * (reward - tests[MEAN, arm])
    tests[SQUARES, arm] += more
    return more


@kernel
def _test_gaussian(tests, arm, scale, reward):
    together, limit = tests.shape[1] - 1, MAX_SQUARES * scale
    more = _count(tests, arm, reward)
    if reward != 0.0 and reward != 1.0:
        tests[BESIDE, arm] += 1.0
    tests[COUNT, together] += 1.0
    tests[SQUARES, together] += min(more, limit) / scale
    alone = gaussian_evidence(tests[COUNT, arm], min(tests[SQUARES, arm], limit) / scale)
    return alone, gaussian_evidence(tests[COUNT, together], tests[SQUARES, together])


@kernel
def _test_unknown(tests, arm, reward):
    """The bets on skewness, or infinite evidence if exact zeros are common: normal rewards have none."""
    _bet_on_skewness(tests, arm, reward)
    _count(tests, arm, reward)
    tests[BESIDE, arm] += 1.0 if reward != 0.0 and reward != 1.0 else 0.0
    tests[ZEROS, arm] += 1.0 if reward == 0.0 else 0.0
    common = tests[COUNT, arm] >= MIN_REWARDS and tests[ZEROS, arm] >= MIN_ZEROS * tests[COUNT, arm]
    return math.inf if common else _average(tests, arm, BETS)


@kernel
def _bet_on_skewness(tests, arm, reward):
    """Multiply every e-value by 1 + stake * lean(t), where t is the distance of the reward from the mean before.

    It is in standard deviations of the rewards before, of which there must be two that differ.
    """
    count, squares = tests[COUNT, arm], tests[SQUARES, arm]
    if count < 2.0 or not squares > SAME * count * tests[MEAN, arm] * tests[MEAN, arm]:
        return
    distance = (reward - tests[MEAN, arm]) * math.sqrt(count / (count + 1.0) * ((count - 1.0) / squares))
    distance = min(max(distance, -MAX_DISTANCE), MAX_DISTANCE)
    row = BETS
    for length in LENGTHS:
        for stake in STAKES:
            tests[row, arm] += math.log1p(stake * lean(distance / length))
            row += 1


@kernel
def lean(distance):
    """What a bet with the stake 1 wins: an odd function between -1 and 1, below 0 from 0 to 1 and above 0 from 1."""
    cube = distance * distance * distance
    return (cube - distance) / (abs(cube) + 0.3)


@kernel
def gaussian_evidence(count, squares):
    """Log e-value of rewards whose squared distances from their mean sum to ``squares`` declared variances."""
    half = 0.5 * squares
    top, total = -math.inf, 0.0
    for s in TILTS:
        top = max(top, 0.5 * count * math.log1p(-s) + s * half)
    for s in TILTS:
        total += math.exp(0.5 * count * math.log1p(-s) + s * half - top)
    return top + math.log(total / len(TILTS))


@kernel
def _compare(family, tests, arm, before, reward):
    """Add a reward to the alternatives' log-likelihood less that of the best member of the family in hindsight.

    ``before`` is an estimate from the rewards before this one, which the alternatives take as their mean. With d the
    divergence, the likelihood of the best member with mean m' over k - 1 rewards becomes that with mean m over k: its
    logarithm changes by log p_x(x) - d(x, m) - (k - 1) d(m', m). Returns the log e-values.
    """
    number, together = tests[COUNT, arm] - FIRST, tests.shape[1] - 1
    if number >= 1.0 and tests[BESIDE, arm] >= 0.0:
        mean, fit = tests[BESIDE, arm], 0.0
        change = (reward - mean) / number
        if number > 1.0:
            best = mean + change
            fit = divergence(family, reward, best, best - reward, 1.0)
            fit += (number - 1.0) * divergence(family, mean, best, change, 1.0)
        tests[BESIDE, arm] = mean + change
        for which in range(tests.shape[0] - LOGS):
            more = log_alternative(family, which, before, reward) + fit
            tests[LOGS + which, arm] += more
            tests[LOGS + which, together] += more
    return _average(tests, arm, LOGS), _average(tests, together, LOGS)


@kernel
def log_alternative(family, which, mean, reward):
    """Log density of a reward under an alternative with this mean, less that under the member with mean ``reward``."""
    if family == POISSON:
        shape = mean / (FACTORS[which] - 1.0)
        chance = math.lgamma(reward + shape) - math.lgamma(shape) - shape * math.log(FACTORS[which])
        return chance + reward * math.log1p(-1.0 / FACTORS[which]) - xlogy(reward, reward) + reward
    if family == EXPONENTIAL:
        ratio, log_ratio = reward / mean, math.log(reward / mean)
        if which < len(SHAPES):
            shape = SHAPES[which]
            return shape * (math.log(shape) + log_ratio - ratio) - math.lgamma(shape) + 1.0
        tail = TAILS[which - len(SHAPES)]
        return math.log(tail / (tail - 1.0)) - (tail + 1.0) * math.log1p(ratio / (tail - 1.0)) + log_ratio + 1.0
    return math.nan


@kernel
def _average(tests, arm, first):
    """The logarithm of the average e-value of the alternatives, from row ``first`` on, in one column."""
    top, total = tests[first, arm], 0.0
    for row in range(first + 1, tests.shape[0]):
        top = max(top, tests[row, arm])
    for row in range(first, tests.shape[0]):
        total += math.exp(tests[row, arm] - top)
    return top + math.log(total / (tests.shape[0] - first))
