"""When to stop: the generalised likelihood ratio of every pair (best arm, other arm), and what is asked of it.

Every rule here has the form: stop when min_a score_a >= level, where the scores depend on the data alone and the level
on delta and the number of arms. One trajectory therefore answers every delta. A score that takes long to find is only
found where it may decide: ``level`` is what is asked now, and below it the score may be any number below it.
"""

import math

import numpy as np

from fairbai.kernels.families import GAUSSIAN, regret, variance
from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.pairs import transport
from fairbai.kernels.state import COST, INSIDE, MEAN, OBSERVED, PENALTY, RATIO, SCALE, SEEN, SUM, UNSEEN, largest
from fairbai.kernels.stopping.design import design_evidence, leader
from fairbai.kernels.stopping.tilts import tie_evidence

HEURISTIC, MIXTURE, PAIRWISE_GAUSSIAN, KAUFMANN_KOOLEN, KAUFMANN_KOOLEN_PAIRWISE = range(5)
TWO_SIDED_MIXTURE, DESIGN_BASED, CHANCE_TO_WIN = range(5, 8)
TWO_SIDED_SHARE = 0.05  # of the two-sided mixture in MIXTURE; the rest is one-sided


@kernel
def penalty(family, rule, kappa, size, count, total):
    """The part that an arm with ``count`` rewards of sum ``total`` has in a threshold; see docs/stopping.md."""
    if rule in (HEURISTIC, MIXTURE, DESIGN_BASED, CHANCE_TO_WIN):
        return 0.0
    if rule == TWO_SIDED_MIXTURE:
        return regret(family, kappa, size, count, total)
    if rule == PAIRWISE_GAUSSIAN:
        return 2.0 * math.log(4.0 + math.log(count))
    if rule in (KAUFMANN_KOOLEN, KAUFMANN_KOOLEN_PAIRWISE):
        return 3.0 * math.log1p(math.log(count))
    return math.nan


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
def answer(config, state):
    """The arm that is named if the experiment stops now."""
    return leader(state) if config.stopping == DESIGN_BASED else largest(state, MEAN)


@kernel
def evidence(config, state, scalars, level):
    """The least score over the pairs, the arm that has it, and its GLR, factor and penalty.

    The score of a pair is factor * GLR - penalty. Before every arm has a reward there is none: the score is -inf. A
    rule that is none of those above scores nan, with which nothing stops.
    """
    if config.stopping == DESIGN_BASED:
        return design_evidence(state, scalars, level)
    best = largest(state, MEAN)
    if scalars[UNSEEN] > 0.0:
        return -np.inf, best, 0.0, 1.0, 0.0
    _fill_costs(config.family, state, best)
    if config.stopping == MIXTURE:
        return _least_mixture(config, state, best, level)
    if config.stopping in (PAIRWISE_GAUSSIAN, KAUFMANN_KOOLEN_PAIRWISE, TWO_SIDED_MIXTURE):
        return _least_score(config, state, best)
    if config.stopping == CHANCE_TO_WIN:
        return _chance_to_win(config, state, best)
    common = math.nan
    if config.stopping == HEURISTIC:
        common = math.log1p(math.log(scalars[SEEN]))
    elif config.stopping == KAUFMANN_KOOLEN:
        common = 0.0
        for a in range(state.shape[1]):
            common += state[PENALTY, a]
    worst = _cheapest(state, best)
    return state[COST, worst] - common, worst, state[COST, worst], 1.0, common


@subroutine
def _chance_to_win(config, state, best):
    """-log(1 - P(the best arm is the best)), with independent normal posteriors; -inf while an arm has few rewards.

    P = E[prod over the others of Phi((mean + error X - their mean) / their error)] for X standard normal, by the
    trapezoidal rule, which is as good as exact for such functions.
    """
    worst = _cheapest(state, best)
    losing = 0.0
    for step in range(-40, 41):
        x, others = 0.2 * step, 1.0
        point = state[INSIDE, best] + x * _error(config.family, state, best)
        for a in range(state.shape[1]):
            if state[OBSERVED, a] < config.kappa:
                return -np.inf, worst, state[COST, worst], 1.0, np.inf
            if a != best:
                others *= 0.5 * math.erfc(
                    (state[INSIDE, a] - point) / (math.sqrt(2.0) * _error(config.family, state, a))
                )
        losing += 0.2 * math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) * (1.0 - others)
    score = -math.log(max(losing, 1e-300))
    return score, worst, state[COST, worst], 1.0, state[COST, worst] - score


@kernel
def _error(family, state, arm):
    """The standard error of the mean of an arm."""
    return math.sqrt(variance(family, state[INSIDE, arm], state[SCALE, arm]) / state[OBSERVED, arm])


@kernel
def _cheapest(state, best):
    """The arm that ties with the best at the least cost."""
    worst = 1 if best == 0 else 0
    for a in range(state.shape[1]):
        if state[COST, a] < state[COST, worst] and a != best:
            worst = a
    return worst


@kernel
def _least_score(config, state, best):
    """``evidence`` of the rules whose penalty depends on the pair."""
    least, worst, worst_factor, worst_penalty = np.inf, best, 1.0, 0.0
    for a in range(state.shape[1]):
        if a != best:
            factor, cost = _factor_and_penalty(config, state, best, a)
            score = factor * state[COST, a] - cost
            if score < least or worst == best:
                least, worst, worst_factor, worst_penalty = score, a, factor, cost
    return least, worst, state[COST, worst], worst_factor, worst_penalty


@kernel
def _factor_and_penalty(config, state, best, a):
    cost = state[PENALTY, a] + state[PENALTY, best]
    if config.stopping == TWO_SIDED_MIXTURE and config.family == GAUSSIAN:
        return _gaussian_factor(config.kappa, state, best, a), cost
    return 1.0, cost


@kernel
def _gaussian_factor(kappa, state, best, a):
    count, scale, top_count, top_scale = state[OBSERVED, a], state[SCALE, a], state[OBSERVED, best], state[SCALE, best]
    plain = scale / count + top_scale / top_count
    return plain / (plain + kappa * (scale / (count * count) + top_scale / (top_count * top_count)))


@subroutine
def _least_mixture(config, state, best, level):
    """``evidence`` of the mixture, whose scores have a bound by the GLR: while one is below ``level``, it is enough.

    At the tie of the likelihood ratio the martingales of the two arms are at most exp(x) and exp(y), where x and y are
    not negative and add up to the GLR. So a score is at most the GLR and log(1 - alpha + bonus). The arm with the least
    GLR comes first, as it is most often the one that keeps the experiment from stopping.
    """
    first, above = _cheapest(state, best), math.log1p(config.bonus - config.alpha)
    glr = state[COST, first]
    if glr + above < level:
        return glr + above, first, glr, 1.0, -above
    least, worst = _mixture_score(config, state, best, first, level), first
    for a in range(state.shape[1]):
        if least < level:
            break
        if a != best and a != first:
            score = _mixture_score(config, state, best, a, level)
            if score < least:
                least, worst = score, a
    return least, worst, state[COST, worst], 1.0, state[COST, worst] - least


@kernel
def _mixture_score(config, state, best, a, level):
    """The larger of the two parts of the mixture of a pair; the two-sided part is at most the GLR times its share."""
    share = math.log1p(-TWO_SIDED_SHARE)
    score = tie_evidence(config, state, best, a, level - share) + share
    share = math.log(TWO_SIDED_SHARE)
    if state[COST, a] + share > max(score, level):
        score = max(score, _two_sided(config, state, best, a) + share)
    return score


@subroutine
def _two_sided(config, state, best, a):
    """The score of a pair under ``TWO_SIDED_MIXTURE``."""
    factor = _gaussian_factor(config.kappa, state, best, a) if config.family == GAUSSIAN else 1.0
    top = regret(config.family, config.kappa, config.size, state[OBSERVED, best], state[SUM, best])
    own = regret(config.family, config.kappa, config.size, state[OBSERVED, a], state[SUM, a])
    return factor * state[COST, a] - top - own
