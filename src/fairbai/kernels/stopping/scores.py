"""When to stop: the generalised likelihood ratio of every pair (best arm, other arm), and what is asked of it.

Every rule here has the form: stop when min_a score_a >= level, where the scores depend on the data alone and the level
on delta and the number of arms. One trajectory therefore answers every delta. A score that takes long to find is only
found where it may decide: ``level`` is what is asked now, and below it the score may be any number below it.
"""

import math

import numpy as np

from fairbai.kernels.families import BERNOULLI, GAUSSIAN, POISSON, transport
from fairbai.kernels.jit import entry, kernel
from fairbai.kernels.state import COST, MEAN, OBSERVED, PENALTY, RATIO, SCALE, SEEN, SUM, UNSEEN, largest
from fairbai.kernels.stopping.tilts import tie_evidence

SCALES = 25
HEURISTIC, MIXTURE, PAIRWISE_GAUSSIAN, KAUFMANN_KOOLEN, KAUFMANN_KOOLEN_PAIRWISE, TWO_SIDED_MIXTURE = range(6)
TWO_SIDED_SHARE = 0.05  # of the two-sided mixture in MIXTURE; the rest is one-sided


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
def penalty(family, rule, kappa, size, count, total):
    """The part that an arm with ``count`` rewards of sum ``total`` has in a threshold; see docs/stopping.md."""
    if rule == TWO_SIDED_MIXTURE:
        if family == GAUSSIAN:
            return 0.5 * math.log1p(count / kappa)
        return _regret(family, size, count, total)
    if rule == PAIRWISE_GAUSSIAN:
        return 2.0 * math.log(4.0 + math.log(count))
    if rule in (HEURISTIC, MIXTURE):
        return 0.0
    return 3.0 * math.log1p(math.log(count))  # both of Kaufmann and Koolen


@kernel
def _fill_costs(family, state, best):
    """Rows COST and RATIO: the GLR of every pair (best, a), and what a trial of either adds to it, as a ratio."""
    top, top_scale, top_count = state[MEAN, best], state[SCALE, best], state[OBSERVED, best]
    for a in range(state.shape[1]):
        mean, scale, count = state[MEAN, a], state[SCALE, a], state[OBSERVED, a]
        if family == GAUSSIAN:  # ``transport`` without its branches, so that the compiler can use vector instructions
            gap, relative = top - mean, count / top_count
            state[COST, a] = 0.5 * gap * gap * count / (relative * top_scale + scale)
            state[RATIO, a] = relative * relative * top_scale / scale
        else:
            state[COST, a], state[RATIO, a] = transport(family, top, top_scale, top_count, mean, scale, count)
    state[COST, best], state[RATIO, best] = 0.0, 1.0


@kernel
def evidence(family, rule, kappa, size, state, numbers, level):
    """The least score over the pairs, the arm that has it, and its GLR, factor and penalty.

    The score of a pair is factor * GLR - penalty. Before every arm has a reward there is none: the score is -inf.
    """
    best = largest(state, MEAN)
    if numbers[UNSEEN] > 0.0:
        return -np.inf, best, 0.0, 1.0, 0.0
    _fill_costs(family, state, best)
    if rule == MIXTURE:
        return _least_mixture(family, kappa, size, state, best, level)
    common = 0.0
    if rule == HEURISTIC:
        common = math.log1p(math.log(numbers[SEEN]))
    elif rule == KAUFMANN_KOOLEN:
        for a in range(state.shape[1]):
            common += state[PENALTY, a]
    else:
        return _least_score(family, rule, kappa, state, best)
    worst = _cheapest(state, best)
    return state[COST, worst] - common, worst, state[COST, worst], 1.0, common


@kernel
def _cheapest(state, best):
    """The arm that ties with the best at the least cost."""
    worst = 1 if best == 0 else 0
    for a in range(state.shape[1]):
        if state[COST, a] < state[COST, worst] and a != best:
            worst = a
    return worst


@kernel
def _least_score(family, rule, kappa, state, best):
    """``evidence`` of the rules whose penalty depends on the pair."""
    least, worst, worst_factor, worst_penalty = np.inf, best, 1.0, 0.0
    for a in range(state.shape[1]):
        if a != best:
            factor, cost = _factor_and_penalty(family, rule, kappa, state, best, a)
            score = factor * state[COST, a] - cost
            if score < least or worst == best:
                least, worst, worst_factor, worst_penalty = score, a, factor, cost
    return least, worst, state[COST, worst], worst_factor, worst_penalty


@kernel
def _factor_and_penalty(family, rule, kappa, state, best, a):
    cost = state[PENALTY, a] + state[PENALTY, best]
    if rule == TWO_SIDED_MIXTURE and family == GAUSSIAN:
        return _gaussian_factor(kappa, state, best, a), cost
    return 1.0, cost


@kernel
def _gaussian_factor(kappa, state, best, a):
    count, scale, top_count, top_scale = state[OBSERVED, a], state[SCALE, a], state[OBSERVED, best], state[SCALE, best]
    plain = scale / count + top_scale / top_count
    return plain / (plain + kappa * (scale / (count * count) + top_scale / (top_count * top_count)))


@entry
def _least_mixture(family, kappa, size, state, best, level):
    """``evidence`` of the mixture, whose scores are below the GLR: while one of these is below ``level``, it is enough.

    The arm with the least GLR comes first, as it is most often the one that keeps the experiment from stopping.
    """
    first = _cheapest(state, best)
    glr = state[COST, first]
    if glr < level:
        return glr, first, glr, 1.0, 0.0
    least, worst = _mixture_score(family, kappa, size, state, best, first, level), first
    for a in range(state.shape[1]):
        if least < level:
            break
        if a != best and a != first:
            score = _mixture_score(family, kappa, size, state, best, a, level)
            if score < least:
                least, worst = score, a
    return least, worst, state[COST, worst], 1.0, state[COST, worst] - least


@kernel
def _mixture_score(family, kappa, size, state, best, a, level):
    """The larger of the two parts of the mixture of a pair; the two-sided part is at most the GLR times its share."""
    share = math.log1p(-TWO_SIDED_SHARE)
    score = tie_evidence(family, kappa, size, state, best, a, level - share) + share
    share = math.log(TWO_SIDED_SHARE)
    if state[COST, a] + share > max(score, level):
        score = max(score, _two_sided(family, kappa, size, state, best, a) + share)
    return score


@entry
def _two_sided(family, kappa, size, state, best, a):
    """The score of a pair under ``TWO_SIDED_MIXTURE``."""
    factor = _gaussian_factor(kappa, state, best, a) if family == GAUSSIAN else 1.0
    top = penalty(family, TWO_SIDED_MIXTURE, kappa, size, state[OBSERVED, best], state[SUM, best])
    own = penalty(family, TWO_SIDED_MIXTURE, kappa, size, state[OBSERVED, a], state[SUM, a])
    return factor * state[COST, a] - top - own
