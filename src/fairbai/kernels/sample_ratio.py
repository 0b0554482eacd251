"""Are arms assigned as often as they should be? E-values that grow when they are not; see docs/analysis.md.

Against declared shares p, a trial of arm A multiplies the e-value by q(A) / p(A), where q is the prediction of a
Dirichlet prior around p after n trials, n_a of them of arm a:

    q(a) = (c p(a) + n_a) / (c + n)                                                                         (shares)

It is averaged over concentrations c. Against the probability pi(A) with which the arm was drawn, there is one factor
per arm a and bet s,

    1 + s (1{A = a} / pi(a) - 1),                                                                            (draws)

averaged over bets up and down, and over all arms; it needs no probability but that of the arm that was drawn. No factor
is negative: bets down are no larger than the least probability of the arm, and bets up are below 1. Each
factor has mean 1 given the past if arms are assigned as they should be, so an e-value ever reaches 1 / level with
probability at most level (Ville's inequality).
"""

import math

import numpy as np

from fairbai.kernels.jit import borrowed, entry, kernel

CONCENTRATIONS = np.array([10.0, 100.0, 1e3, 1e4])
"""The c of the prior: with two equal shares, deviations of about 16, 5, 1.6 and 0.5 percentage points."""

BETS = np.concatenate([0.5 ** np.arange(8.0), -(0.5 ** np.arange(8.0))])
"""Some of the s, relative to the least probability of an arm: deviations of 100 % down to 1 % of its share.

``experiment.sample_ratio`` adds larger ones upwards.
"""

EDGE = 1.0 - 2.0**-10  # by which all bets are multiplied, so that no factor is 0


@kernel
def _log_average(values):
    """The logarithm of the average of exp(values)."""
    top, total = -math.inf, 0.0
    for value in values:
        top = max(top, value)
    for value in values:
        total += math.exp(value - top)
    return top + math.log(total / values.size)


@entry
def count_shares(counts, logs, shares, arms, level):
    """Count trials against declared shares.

    ``counts`` are the trials of every arm and, last, of all; ``logs`` the log e-values, one per concentration.

    Returns:
        The row in which the e-value first reaches the level, or -1, and the largest log e-value of all rows.
    """
    counts, logs, shares, arms = borrowed(counts), borrowed(logs), borrowed(shares), borrowed(arms)
    first, largest, together = -1, -math.inf, counts.size - 1
    for row in range(arms.size):
        arm = arms[row]
        for j in range(logs.size):
            c = CONCENTRATIONS[j]
            logs[j] += math.log((c * shares[arm] + counts[arm]) / ((c + counts[together]) * shares[arm]))
        counts[arm] += 1.0
        counts[together] += 1.0
        value = _log_average(logs)
        largest = max(largest, value)
        if first < 0 and value >= level:
            first = row
    return first, largest


@entry
def count_draws(counts, logs, bets, arms, probabilities, level):
    """Count trials against the probabilities with which their arms were drawn.

    ``counts`` are as above; ``logs`` are the sums of the logarithms of the factors over the arm's own trials, one row
    per bet and one column per arm, and ``bets`` the s.

    Returns:
        As above; the largest is over the last row and the one that reaches the level.
    """
    counts, logs, bets = borrowed(counts), borrowed(logs), borrowed(bets)
    arms, probabilities = borrowed(arms), borrowed(probabilities)
    first, largest, together = -1, -math.inf, counts.size - 1
    missed = np.empty(bets.shape)
    for j in range(bets.shape[0]):
        for arm in range(bets.shape[1]):
            missed[j, arm] = math.log1p(-bets[j, arm])
    for row in range(arms.size):
        arm, more = arms[row], 1.0 / probabilities[row] - 1.0
        for j in range(bets.shape[0]):
            logs[j, arm] += math.log1p(bets[j, arm] * more)
        counts[arm] += 1.0
        counts[together] += 1.0
        if first < 0 and _largest(counts, logs, missed) >= level:  # else the average cannot be
            value = draws_evidence(counts, logs, bets)
            if value >= level:
                first, largest = row, value
    if arms.size > 0:
        largest = max(largest, draws_evidence(counts, logs, bets))
    return first, largest


@entry
def count_drawn(counts, logs, bets, arm, probability, trials):
    """Count so many trials of an arm that were all drawn with one probability; as ``count_draws``, without a test."""
    more = 1.0 / probability - 1.0
    for j in range(bets.shape[0]):
        logs[j, arm] += trials * math.log1p(bets[j, arm] * more)
    counts[arm] += trials
    counts[counts.size - 1] += trials


@kernel
def _largest(counts, logs, missed):
    """The largest of all bets, as a logarithm."""
    top, total = -math.inf, counts[counts.size - 1]
    for j in range(logs.shape[0]):
        for arm in range(logs.shape[1]):
            top = max(top, logs[j, arm] + (total - counts[arm]) * missed[j, arm])
    return top


@entry
def draws_evidence(counts, logs, bets):
    """The log e-value against the probabilities of the draws."""
    values, place, total = np.empty(logs.size), 0, counts[counts.size - 1]
    for j in range(logs.shape[0]):
        for arm in range(logs.shape[1]):
            values[place] = logs[j, arm] + (total - counts[arm]) * math.log1p(-bets[j, arm])
            place += 1
    return _log_average(values)


@entry
def shares_evidence(logs):
    """The log e-value against declared shares."""
    return _log_average(logs)
