"""When to stop: the generalised likelihood ratio of every pair (best arm, other arm), and what is asked of it.

Every rule here has the form: stop when min_a score_a >= level, where the scores depend on the data alone and the level
on delta and the number of arms. One trajectory therefore answers every delta.
"""

import math

import numpy as np

from fairbai.kernels.families import BERNOULLI, GAUSSIAN, POISSON, transport
from fairbai.kernels.jit import kernel
from fairbai.kernels.state import COST, MEAN, OBSERVED, PENALTY, RATIO, SCALE, SEEN, UNSEEN, largest

SCALES = 25
HEURISTIC, MIXTURE, PAIRWISE_GAUSSIAN, KAUFMANN_KOOLEN, KAUFMANN_KOOLEN_PAIRWISE = range(5)


@kernel
def _xlogy(x, y):
    return x * math.log(y) if x > 0.0 else 0.0


@kernel
def _stirling(s, shift):
    """The value of log Gamma(s + shift) - s log s + s to all digits, for large s too; shift is 1/2 or 1."""
    if s <= 0.0:
        return math.lgamma(shift)
    if s < 1e6:
        return math.lgamma(s + shift) - s * math.log(s) + s
    return 0.5 * math.log(2.0 * math.pi) + (shift - 0.5) * math.log(s)  # the next term is below 1e-7


@kernel
def _regret(family, scale, count, total):
    """Log-likelihood of an arm at its own mean, less that of the mixture of its family over a fixed prior.

    The priors: Beta(1/2, 1/2) on a Bernoulli mean; Gamma(1/2, rate) on a Poisson mean and Gamma(1, rate) on 1 / mean of
    an exponential arm, each with the rates of many scales 4^j ``scale`` of the mean, which weigh
    2 / (3 (|j| + 1) (|j| + 2)): a scale that is far off costs a few nats. ``total`` is the sum of the rewards.
    """
    if family == BERNOULLI:
        rest = count - total
        best = _xlogy(total, total / count) + _xlogy(rest, rest / count)
        mixed = math.lgamma(total + 0.5) + math.lgamma(rest + 0.5) - math.lgamma(count + 1.0) - math.log(math.pi)
        return best - mixed
    least, mixed = math.inf, 0.0
    for j in range(-SCALES, SCALES + 1):
        size = scale * 4.0**j
        if family == POISSON:
            rate = 0.5 / size
            regret = 0.5 * math.log(math.pi * (rate + count) / rate) + total * math.log1p(rate / count)
        else:  # EXPONENTIAL
            regret = math.log((size + total) / size) + count * math.log1p(size / total)
        regret += math.log(1.5 * (abs(j) + 1) * (abs(j) + 2))
        if regret < least:  # a sum of exponentials, kept relative to the largest
            mixed = mixed * math.exp(regret - least) + 1.0
            least = regret
        else:
            mixed += math.exp(least - regret)
    known = _stirling(total, 0.5) if family == POISSON else _stirling(count, 1.0)
    return least - math.log(mixed) - known


@kernel
def penalty(family, rule, parameter, count, total):
    """The part that an arm with ``count`` rewards of sum ``total`` has in a threshold; see docs/stopping.md."""
    if rule == MIXTURE:
        if family == GAUSSIAN:
            return 0.5 * math.log1p(count / parameter)
        return _regret(family, parameter, count, total)
    if rule == PAIRWISE_GAUSSIAN:
        return 2.0 * math.log(4.0 + math.log(count))
    if rule == HEURISTIC:
        return 0.0
    return 3.0 * math.log1p(math.log(count))  # both of Kaufmann and Koolen


@kernel
def evidence(family, rule, parameter, state, numbers):
    """The least score over the pairs, the arm that has it, and its GLR, factor and penalty.

    The score of a pair is factor * GLR - penalty. Before every arm has a reward there is none: the score is -inf.
    """
    best = largest(state, MEAN)
    if numbers[UNSEEN] > 0.0:
        return -np.inf, best, 0.0, 1.0, 0.0
    count = state.shape[1]
    common = 0.0
    if rule == HEURISTIC:
        common = math.log1p(math.log(numbers[SEEN]))
    elif rule == KAUFMANN_KOOLEN:
        for a in range(count):
            common += state[PENALTY, a]
    least, worst, worst_glr, worst_factor, worst_penalty = np.inf, best, 0.0, 1.0, 0.0
    top, top_scale, top_count = state[MEAN, best], state[SCALE, best], state[OBSERVED, best]
    state[COST, best], state[RATIO, best] = 0.0, 1.0
    for a in range(count):
        if a != best:
            n, scale = state[OBSERVED, a], state[SCALE, a]
            glr, ratio = transport(family, top, top_scale, top_count, state[MEAN, a], scale, n)
            state[COST, a], state[RATIO, a] = glr, ratio  # the rules read them too
            factor, cost = 1.0, common
            if rule == MIXTURE and family == GAUSSIAN:
                plain = scale / n + top_scale / top_count
                factor = plain / (plain + parameter * (scale / (n * n) + top_scale / (top_count * top_count)))
            if rule != HEURISTIC and rule != KAUFMANN_KOOLEN:
                cost = state[PENALTY, a] + state[PENALTY, best]
            score = factor * glr - cost
            if math.isnan(score):
                score = -np.inf  # no evidence
            if score < least or worst == best:
                least, worst, worst_glr, worst_factor, worst_penalty = score, a, glr, factor, cost
    return least, worst, worst_glr, worst_factor, worst_penalty
