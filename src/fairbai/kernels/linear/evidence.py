"""What the rewards say of linear arms: the fit, the evidence for the arm that looks best, and the optimal shares.

With V = sum_i N_i x_i x_i', the least-squares estimate is V^-1 sum_i x_i S_i, where N_i and S_i are the number and the
sum of the rewards of arm i: these are all that is kept. The score of the named arm b over a is

    gap_a^2 / (2 variance (q_a + k r_a)) - 1/2 log det(I + V / k),   q_a = y_a'V^-1 y_a,   r_a = y_a'V^-2 y_a,

the product of a factor q_a / (q_a + k r_a) and the GLR gap_a^2 / (2 variance q_a), less a penalty; of several k, it is
the logarithm of the weighted sum of their exponentials. See docs/linear.md.
"""

import math
from collections import namedtuple

import numpy as np

from fairbai.kernels.config import configure
from fairbai.kernels.jit import entry, kernel, subroutine
from fairbai.kernels.linear.algebra import add_gram, factor, solve_factored, whiten
from fairbai.kernels.linear.allocate import contrasts_of, linear_shares
from fairbai.kernels.sampling.rules import solves
from fairbai.kernels.state import (
    BEST_SCORE,
    COST,
    INSIDE,
    MEAN,
    NEXT_LOOK,
    OBSERVED,
    SCALE,
    SEEN,
    SHIFT,
    START,
    STRETCH,
    SUM,
    UNSEEN,
    WEIGHT,
    largest,
)
from fairbai.kernels.stopping.scores import HEURISTIC, LINEAR_MIXTURE
from fairbai.kernels.stopping.standing import GROWTH, MAX_SCORE, looks_now

Model = namedtuple("Model", "features floors members totals inside")
"""What the kernels know of linear arms beside the state: the features, one column per arm, and what
``allocate.linear_shares`` takes of floors and groups."""

SINGULAR = 1e-10  # what is left of a diagonal entry of V, relatively, if V is taken for singular
ALWAYS = 10.0  # rewards per parameter up to which the shares are solved for after each
LAZY = 1.01  # the growth of the number of rewards after which they are, from then on
GAP = 1e-7  # of the shares that an experiment aims at
KAPPAS = (5.0, 40.0, 320.0, 2_560.0, 20_480.0, 163_840.0)  # that the rule without a kappa averages over
LOG_SHARES = tuple(-math.log(m * m * (1 + 1 / 4 + 1 / 9 + 1 / 16 + 1 / 25 + 1 / 36)) for m in range(1, 7))
"""The logarithms of their weights, which are in proportion to 1, 1/4, 1/9 and so on."""


@subroutine
def fit(model, state, scalars, gram, upper):
    """Write the fitted means into the state; ``gram`` and ``upper`` become V and its factor. Whether V is regular."""
    features = model.features
    gram[:] = 0.0
    add_gram(features, state[OBSERVED], gram)
    upper[:] = gram
    regular = factor(upper)
    for k in range(len(upper)):
        regular = regular and upper[k, k] * upper[k, k] > SINGULAR * gram[k, k]
    scalars[UNSEEN] = 0.0 if regular else 1.0
    if not regular:
        state[MEAN], state[INSIDE] = 0.0, 0.0
        return False
    estimate = np.zeros(len(features))
    for k in range(len(features)):
        for a in range(state.shape[1]):
            estimate[k] += features[k, a] * state[SUM, a]
    solve_factored(upper, estimate)
    state[MEAN] = 0.0
    for k in range(len(features)):
        for a in range(state.shape[1]):
            state[MEAN, a] += estimate[k] * features[k, a]
    state[INSIDE] = state[MEAN]
    return True


@subroutine
def _mixtures(config, scalars, gram):
    """The spread k of every mixture, and its penalty: what a score is below its factor times its GLR."""
    if config.stopping == HEURISTIC:
        return np.zeros(1), np.full(1, math.log1p(math.log(scalars[SEEN])))
    size, single = len(gram), config.kappa > 0.0
    count = 1 if single else len(KAPPAS)
    spreads, penalties, upper = np.empty(count), np.full(count, np.inf), np.empty((size, size))
    for m in range(count):
        spreads[m] = size * (config.kappa if single else KAPPAS[m])
        upper[:] = gram
        for k in range(size):
            upper[k, k] += spreads[m]
        if config.stopping == LINEAR_MIXTURE and factor(upper):
            penalties[m] = 0.0 if single else -LOG_SHARES[m]
            for k in range(size):
                penalties[m] += math.log(upper[k, k]) - 0.5 * math.log(spreads[m])
    return spreads, penalties


@kernel
def _score(glr, length, back, mixtures):
    """The score of a rival: the logarithm of the sum over the mixtures; and the factor of the largest of them."""
    spreads, penalties = mixtures
    top, place, total = -math.inf, 0, 0.0
    for m in range(spreads.size):
        value = length / (length + spreads[m] * back) * glr - penalties[m]
        top, place = (value, m) if value > top else (top, place)
    if top == -math.inf:
        return top, 1.0
    for m in range(spreads.size):
        total += math.exp(length / (length + spreads[m] * back) * glr - penalties[m] - top)
    return top + math.log(total), length / (length + spreads[place] * back)


@subroutine
def _score_against(model, state, named, upper, mixtures, scores, factors):
    """Row COST: the GLR of every rival of ``named``; with their scores, and the factors q / (q + k r)."""
    contrasts, is_rival = contrasts_of(model.features, state[STRETCH], named)
    whiten(upper, contrasts)
    size = len(upper)
    for a in range(factors.size):
        length, back = 0.0, 0.0
        for k in range(size):
            length += contrasts[k, a] * contrasts[k, a]
        for k in range(size - 1, -1, -1):
            for j in range(k + 1, size):
                contrasts[k, a] -= upper[k, j] * contrasts[j, a]
            contrasts[k, a] /= upper[k, k]
            back += contrasts[k, a] * contrasts[k, a]
        gap = state[STRETCH, a] * state[MEAN, named] + state[SHIFT, a] - state[MEAN, a]
        state[COST, a], scores[a], factors[a] = np.inf, np.inf, 1.0
        if is_rival[a] and length > 0.0:
            state[COST, a] = 0.5 * gap * max(0.0, gap) / (state[SCALE, a] * length)
            scores[a], factors[a] = _score(min(state[COST, a], MAX_SCORE), length, back, mixtures)


@subroutine
def linear_evidence(config, model, state, scalars):
    """Fit the means, and find the least score over the rivals, the arm that has it, and its GLR, factor and penalty."""
    size, arms = len(model.features), state.shape[1]
    gram, upper, scores, factors = np.empty((size, size)), np.empty((size, size)), np.empty(arms), np.empty(arms)
    if not fit(model, state, scalars, gram, upper):
        return -np.inf, 0, 0.0, 1.0, 0.0
    named = largest(state, MEAN)
    _score_against(model, state, named, upper, _mixtures(config, scalars, gram), scores, factors)
    worst = named
    for a in range(arms):
        worst = a if scores[a] < scores[worst] else worst
    glr, score = min(state[COST, worst], MAX_SCORE), min(scores[worst], MAX_SCORE)
    return score, worst, glr, factors[worst], factors[worst] * glr - score


@subroutine
def update_linear(config, model, state, scalars):
    """Bring the fit and the optimal shares up to date with the rewards; returns the evidence, always exact.

    Shares are solved for after every reward at first, then whenever the number of rewards has grown by a hundredth.
    """
    found = linear_evidence(config, model, state, scalars)
    if scalars[UNSEEN] == 0.0:
        named = largest(state, MEAN)
        if looks_now(scalars):
            scalars[NEXT_LOOK] = math.floor(scalars[SEEN] * GROWTH) + 1.0
            state[BEST_SCORE, named] = max(state[BEST_SCORE, named], found[0])
        if solves(config.rule) and scalars[SEEN] >= scalars[START]:
            often = scalars[SEEN] < ALWAYS * len(model.features)
            scalars[START] = scalars[SEEN] + 1.0 if often else math.floor(scalars[SEEN] * LAZY) + 1.0
            ties, groups = state[STRETCH : SHIFT + 1], (model.members, model.totals)
            limits, means, shares = (model.floors, groups, model.inside), state[MEAN], state[WEIGHT]
            linear_shares(model.features, state[SCALE, 0], means, ties, named, limits, GAP, shares)
    return found


@entry
def reconsider_linear(codes, params, model, state, scalars):
    """``update_linear`` for Python."""
    return update_linear(configure(codes, params), model, state, scalars)


@entry
def evidence_of_linear(codes, params, model, state, scalars):
    """``linear_evidence`` for Python."""
    return linear_evidence(configure(codes, params), model, state, scalars)


@entry
def linear_candidates(codes, params, model, state, scalars, level):
    """Whether every arm may still be the best: no other has a score of at least ``level`` against it.

    The tie is the exact one, whatever the tolerance of the answer.
    """
    config, size, arms = configure(codes, params), len(model.features), state.shape[1]
    state, scalars, found = state.copy(), scalars.copy(), np.ones(state.shape[1], dtype=np.bool_)
    state[STRETCH], state[SHIFT] = 1.0, 0.0
    gram, upper, scores, factors = np.empty((size, size)), np.empty((size, size)), np.empty(arms), np.empty(arms)
    if not fit(model, state, scalars, gram, upper):
        return found
    mixtures = _mixtures(config, scalars, gram)
    for better in range(arms):
        _score_against(model, state, better, upper, mixtures, scores, factors)
        for a in range(arms):
            found[a] = found[a] and not (
                state[MEAN, a] < state[MEAN, better]
                and state[COST, a] < np.inf  # else they have the same features
                and scores[a] >= level
            )
    return found
