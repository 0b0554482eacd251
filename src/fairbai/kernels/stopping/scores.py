"""When to stop: the generalised likelihood ratio of every pair (best arm, other arm), and what is asked of it.

Every rule here has the form: stop when min_a score_a >= level, where the scores depend on the data alone and the level
on delta and the number of arms. One trajectory therefore answers every delta. A score that takes long to find is only
found where it may decide: ``level`` is what is asked now, and below it the score may be any number below it.
"""

import math

import numpy as np

from fairbai.kernels.families import GAUSSIAN, GAUSSIAN_UNKNOWN, regret, variance
from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.pairs import transport
from fairbai.kernels.state import (
    COST,
    INSIDE,
    MEAN,
    NAMED,
    OBSERVED,
    PENALTY,
    RATIO,
    SCALE,
    SEEN,
    SHIFT,
    STRETCH,
    SUM,
    UNSEEN,
    largest,
    named_arm,
    tie_of,
)
from fairbai.kernels.stopping.design import design_evidence, leader
from fairbai.kernels.stopping.tilts import tie_evidence
from fairbai.kernels.stopping.unknown import unknown_at_most, unknown_evidence
from fairbai.kernels.ties import pulled_back

HEURISTIC, MIXTURE, PAIRWISE_GAUSSIAN, KAUFMANN_KOOLEN, KAUFMANN_KOOLEN_PAIRWISE = range(5)
TWO_SIDED_MIXTURE, DESIGN_BASED, CHANCE_TO_WIN, LINEAR_MIXTURE = range(5, 9)
TWO_SIDED_SHARE = 0.05  # of the two-sided mixture in MIXTURE; the rest is one-sided


@kernel
def penalty(family, rule, kappa, size, count, total):
    """The part that an arm with ``count`` rewards of sum ``total`` has in a threshold; see docs/stopping.md."""
    if rule in (HEURISTIC, MIXTURE, DESIGN_BASED, CHANCE_TO_WIN, LINEAR_MIXTURE):
        return 0.0
    if rule == TWO_SIDED_MIXTURE and family == GAUSSIAN_UNKNOWN:
        return 0.0  # its score is found as that of MIXTURE
    if rule == TWO_SIDED_MIXTURE:
        return regret(family, kappa, size, count, total)
    if rule == PAIRWISE_GAUSSIAN:
        return 2.0 * math.log(4.0 + math.log(count))
    if rule in (KAUFMANN_KOOLEN, KAUFMANN_KOOLEN_PAIRWISE):
        return 3.0 * math.log1p(math.log(count))
    return math.nan


@kernel
def has_pair_penalty(rule):
    """Whether the penalty of a pair of arms depends on these two alone."""
    return rule in (PAIRWISE_GAUSSIAN, KAUFMANN_KOOLEN_PAIRWISE, TWO_SIDED_MIXTURE)


@kernel
def _fill_costs(family, state, named):
    """Rows COST and RATIO: the GLR of every pair (named, a), and what a trial of either adds to it, as a ratio."""
    top, top_scale, top_count = state[MEAN, named], state[SCALE, named], state[OBSERVED, named]
    for a in range(state.shape[1]):
        mean, scale, count = state[MEAN, a], state[SCALE, a], state[OBSERVED, a]
        if family == GAUSSIAN:  # ``transport`` without its branches, so that the compiler can use vector instructions
            gap, relative = max(0.0, top - pulled_back(mean, state[STRETCH, a], state[SHIFT, a])), count / top_count
            scale /= state[STRETCH, a] * state[STRETCH, a]
            state[COST, a] = 0.5 * gap * gap * count / (relative * top_scale + scale)
            state[RATIO, a] = relative * relative * top_scale / scale
        else:
            best, rival = (top, top_scale, top_count), (mean, scale, count)
            state[COST, a], state[RATIO, a] = transport(family, best, rival, tie_of(state, a))
    state[COST, named], state[RATIO, named] = 0.0, 1.0


@kernel
def _fill_costs_and_name(config, state, scalars):
    """The arm to name, with its costs: the best or, if more evidence speaks for it, the control."""
    best = largest(state, MEAN)
    least = -math.inf
    if config.control >= 0 and config.control != best:
        _fill_costs(config.family, state, config.control)
        least = state[COST, _cheapest(state, config.control)]
    _fill_costs(config.family, state, best)
    if least > state[COST, _cheapest(state, best)]:
        best = config.control
        _fill_costs(config.family, state, best)
    scalars[NAMED] = best
    return best


@kernel
def answer(config, state, scalars):
    """The arm that is named if the experiment stops now."""
    if config.stopping == DESIGN_BASED and config.control < 0:
        return leader(state)
    return named_arm(config, state, scalars)


@kernel
def scores_by_mixture(config):
    """Whether the score of a pair is that of ``_mixture_score``."""
    two_sided = config.stopping == TWO_SIDED_MIXTURE and config.family == GAUSSIAN_UNKNOWN
    return config.stopping == MIXTURE or two_sided


@kernel
def evidence(config, state, scalars, level):
    """The least score over the pairs, the arm that has it, and its GLR, factor and penalty.

    The score of a pair is factor * GLR - penalty. Before every arm has a reward there is none: the score is -inf. A
    rule that is none of those above scores nan, with which nothing stops.
    """
    if config.stopping == DESIGN_BASED:
        return design_evidence(config.control, state, scalars, level)
    if scalars[UNSEEN] > 0.0:
        scalars[NAMED] = largest(state, MEAN)
        return -np.inf, largest(state, MEAN), 0.0, 1.0, 0.0
    best = _fill_costs_and_name(config, state, scalars)
    if scores_by_mixture(config):
        return _least_mixture(config, state, best, level)
    if has_pair_penalty(config.stopping):
        return _least_score(config, state, best)
    if config.stopping == CHANCE_TO_WIN:
        return _chance_to_win(config, state, best, level)
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
def pair_evidence(config, state, better, a):
    """The score of one pair under ``MIXTURE``, exact: that ``a`` is not beyond its tie with ``better``."""
    _fill_costs(config.family, state, better)
    if config.stopping != MIXTURE or not state[COST, a] > 0.0:
        return -np.inf
    return _mixture_score(config, state, better, a, -np.inf)


@subroutine
def _chance_to_win(config, state, best, level):
    """-log(1 - P(the best arm is the best)), with independent normal posteriors; -inf while an arm has few rewards.

    P = E[prod over the others of Phi((mean + error X - their mean) / their error)] for X standard normal, by the
    trapezoidal rule, which is as good as exact for such functions. With a tolerance, it is P(no other is better by
    more). It is at most the least P over the pairs: while that is not enough, nothing is integrated.
    """
    worst = _cheapest(state, best)
    least = _least_lead(config, state, best)
    if least == -np.inf:
        return -np.inf, worst, state[COST, worst], 1.0, np.inf
    bound = -math.log(max(0.5 * math.erfc(least / math.sqrt(2.0)), 1e-300)) + 1e-9  # for the rounding of the integral
    if bound < level:
        return bound, worst, state[COST, worst], 1.0, state[COST, worst] - bound
    losing = 0.0
    for step in range(-40, 41):
        x, others = 0.2 * step, 1.0
        point = state[INSIDE, best] + x * _error(config.family, state, best)
        for a in range(state.shape[1]):
            if a != best:
                ahead = state[INSIDE, a] - (state[STRETCH, a] * point + state[SHIFT, a])
                others *= 0.5 * math.erfc(ahead / (math.sqrt(2.0) * _error(config.family, state, a)))
        losing += 0.2 * math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) * (1.0 - others)
    score = -math.log(max(losing, 1e-300))
    return score, worst, state[COST, worst], 1.0, state[COST, worst] - score


@kernel
def _least_lead(config, state, best):
    """The least lead of the best arm over another, in standard errors; -inf while an arm has few rewards."""
    least, error = np.inf, _error(config.family, state, best)
    for a in range(state.shape[1]):
        if state[OBSERVED, a] < config.kappa:
            return -np.inf
        if a != best:
            lead = state[STRETCH, a] * state[INSIDE, best] + state[SHIFT, a] - state[INSIDE, a]
            least = min(least, lead / math.hypot(state[STRETCH, a] * error, _error(config.family, state, a)))
    return least


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
            if not score >= least or worst == best:
                least, worst, worst_factor, worst_penalty = score, a, factor, cost
    return least, worst, state[COST, worst], worst_factor, worst_penalty


@kernel
def _factor_and_penalty(config, state, best, a):
    cost = state[PENALTY, a] + state[PENALTY, best]
    if config.stopping == TWO_SIDED_MIXTURE and config.family == GAUSSIAN:
        return _gaussian_factor(config.kappa, state, best, a, tie_of(state, a)), cost
    return 1.0, cost


@kernel
def _gaussian_factor(kappa, state, best, a, tie):
    count, top_count, top_scale = state[OBSERVED, a], state[OBSERVED, best], state[SCALE, best]
    scale = state[SCALE, a] / (tie[0] * tie[0])
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
    if config.family == GAUSSIAN_UNKNOWN:  # whose scores take long: only if no pair is sure to be below the level
        for a in range(state.shape[1]):
            if a != best:
                bound = unknown_at_most(config, config.stopping == TWO_SIDED_MIXTURE, state, best, a, level)
                if bound < level:
                    return bound, a, state[COST, a], 1.0, state[COST, a] - bound
    least, worst = _mixture_score(config, state, best, first, level), first
    for a in range(state.shape[1]):
        if least < level:
            break
        if a != best and a != first:
            score = _mixture_score(config, state, best, a, level)
            if not score >= least:  # nan, too: with it nothing stops
                least, worst = score, a
    return least, worst, state[COST, worst], 1.0, state[COST, worst] - least


@kernel
def _mixture_score(config, state, best, a, level):
    """The larger of the two parts of the mixture of a pair; the two-sided part is at most the GLR times its share.

    Arms of unknown variance have one mixture only.
    """
    if config.family == GAUSSIAN_UNKNOWN:
        return unknown_evidence(config, config.stopping == TWO_SIDED_MIXTURE, state, best, a, level)
    share = math.log1p(-TWO_SIDED_SHARE)
    score = tie_evidence(config, state, best, a, tie_of(state, a), level - share) + share
    share = math.log(TWO_SIDED_SHARE)
    if state[COST, a] + share > max(score, level):
        score = max(score, _two_sided(config, state, best, a) + share)
    return score


@subroutine
def _two_sided(config, state, best, a):
    """The score of a pair under ``TWO_SIDED_MIXTURE``."""
    factor = _gaussian_factor(config.kappa, state, best, a, tie_of(state, a)) if config.family == GAUSSIAN else 1.0
    top = regret(config.family, config.kappa, config.size, state[OBSERVED, best], state[SUM, best])
    own = regret(config.family, config.kappa, config.size, state[OBSERVED, a], state[SUM, a])
    return factor * state[COST, a] - top - own
