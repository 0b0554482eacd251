"""How an experiment stands before it decides: how sure the arm is that would be named, and which arms are excluded.

A score at which the rule would stop for some delta says how sure the named arm is, and stays true of that arm whatever
comes later. So the best score of every arm counts, over the times at which it was named. Scores take long to find, and
there is a look only when the number of rewards reaches the next one of a fixed schedule. It saves the counts and sums
if the GLR is the largest since the arm is named; the score is found from them when the arm is no longer named, or when
somebody asks. What is known follows from the rewards alone, and not from who asks. See docs/stopping.md.
"""

import math

import numpy as np

from fairbai.kernels.config import configure
from fairbai.kernels.families import divergence
from fairbai.kernels.jit import entry, kernel, subroutine
from fairbai.kernels.pairs import transport
from fairbai.kernels.state import (
    BEST_SCORE,
    COST,
    MEAN,
    NEXT_LOOK,
    OBSERVED,
    PENALTY,
    SAVED_GLR,
    SAVED_NAMED,
    SAVED_OBSERVED,
    SAVED_SQUARES,
    SAVED_SUM,
    SCALE,
    SEEN,
    SHIFT,
    SQUARES,
    STRETCH,
    SUM,
    UNSEEN,
    estimate,
    largest,
)
from fairbai.kernels.stopping.design import _at_most, estimated, leader, pair_score
from fairbai.kernels.stopping.scores import (
    DESIGN_BASED,
    KAUFMANN_KOOLEN,
    MIXTURE,
    _cheapest,
    _factor_and_penalty,
    _mixture_score,
    answer,
    evidence,
    has_pair_penalty,
    penalty,
    scores_by_mixture,
)

FIRST_LOOK = 10  # rewards per arm
GROWTH = 1.1  # of the number of rewards from one look to the next
MAX_SCORE = 1e300  # so that JSON can hold it


@kernel
def looks_now(scalars):
    """Whether it is time for a look."""
    return scalars[SEEN] >= scalars[NEXT_LOOK]


@subroutine
def look(config, state, scalars):
    """Save the counts and sums if the GLR is the largest since the arm is named; the costs of ties are up to date."""
    scalars[NEXT_LOOK] = math.floor(scalars[SEEN] * GROWTH) + 1.0
    if scalars[UNSEEN] > 0.0:
        return
    named = answer(config, state, scalars)
    glr = state[COST, _cheapest(state, named)]
    if named != scalars[SAVED_NAMED]:
        before = int(scalars[SAVED_NAMED])
        if before >= 0:
            state[BEST_SCORE, before] = _with_saved(config, state, scalars, state[BEST_SCORE, before])
    elif glr <= scalars[SAVED_GLR]:
        return
    scalars[SAVED_NAMED], scalars[SAVED_GLR] = named, glr
    for a in range(state.shape[1]):
        state[SAVED_OBSERVED, a] = state[OBSERVED, a]
        state[SAVED_SUM, a] = state[SUM, a]
        state[SAVED_SQUARES, a] = state[SQUARES, a]


@kernel
def _with_saved(config, state, scalars, score):
    """The larger of a score and the one of the time that is saved, which is computed only if it may be larger."""
    if scalars[SAVED_GLR] + _above(config) <= score:
        return score
    return min(max(score, _saved_score(config, state, scalars, score)), MAX_SCORE)


@subroutine
def _saved_score(config, state, scalars, level):
    """The score at the time that is saved, exact from ``level`` on."""
    then = state.copy()
    then[OBSERVED], then[SUM], then[SQUARES] = state[SAVED_OBSERVED], state[SAVED_SUM], state[SAVED_SQUARES]
    for a in range(state.shape[1]):
        estimate(config.family, then, a)
        count, total = then[OBSERVED, a], then[SUM, a]
        then[PENALTY, a] = penalty(config.family, config.stopping, config.kappa, config.size, count, total)
    return _score(config, then, scalars.copy(), level)  # which names an arm, too, but not that of the present


@subroutine
def _score(config, state, scalars, level):
    return evidence(config, state, scalars, level)[0]


@kernel
def score_of_answer(config, state, scalars, named, score):
    """The best score that speaks for the named arm, whose present score is given."""
    best = max(score, state[BEST_SCORE, named])
    return _with_saved(config, state, scalars, best) if scalars[SAVED_NAMED] == named else best


@subroutine
def best_score(config, state, scalars):
    """The named arm, and the best score that speaks for it."""
    score, named = _score(config, state, scalars, -np.inf), answer(config, state, scalars)
    return named, score_of_answer(config, state, scalars, named, score)


# --- the arms that are not excluded -------------------------------------------------------------------------------


@entry
def candidates(codes, params, state, scalars, level):
    """Whether every arm may still be the best: no other arm has a score of at least ``level`` against it.

    The tie is the exact one, whatever the tolerance of the answer; for the design-based stop, that tolerance must not
    be relative. The evidence against an arm is at most that of its rewards against the largest mean, and at most the
    GLR of the pair: most pairs need no more than that.
    """
    config, arms = configure(codes, params), state.shape[1]
    found = np.ones(arms, dtype=np.bool_)
    if scalars[UNSEEN] > 0.0:
        return found
    state = state.copy()  # the score of a pair needs the GLR in the state, where the sampling rule expects another
    state[SHIFT] = 0.0
    if config.stopping != DESIGN_BASED:  # whose bets have the stretch in them
        state[STRETCH] = 1.0
    best = leader(state) if config.stopping == DESIGN_BASED else largest(state, MEAN)
    common = _common_penalty(config, state)
    for a in range(arms):
        if a != best and _open_to_doubt(config, state, a, best, level + common):
            found[a] = not _is_excluded(config, state, scalars, best, a, level + common)
    return found


@kernel
def _common_penalty(config, state):
    """The penalty that all pairs have in common."""
    total = 0.0
    if config.stopping == KAUFMANN_KOOLEN:
        for a in range(state.shape[1]):
            total += state[PENALTY, a]
    return total


@kernel
def _above(config):
    """By how much a score may be above the GLR of its pair."""
    return math.log1p(config.bonus - config.alpha) if config.stopping == MIXTURE else 0.0


@kernel
def _open_to_doubt(config, state, a, best, level):
    """Whether the rewards of an arm alone allow that it is excluded: N d(mean, m) is at least the GLR for all m."""
    if config.stopping == DESIGN_BASED:
        return True
    mean, top = state[MEAN, a], state[MEAN, best]
    alone = state[OBSERVED, a] * divergence(config.family, mean, top, top - mean, state[SCALE, a])
    return not alone + _above(config) < level


@subroutine
def _is_excluded(config, state, scalars, best, a, level):
    """Whether some arm has enough evidence against arm ``a``; the one with the largest mean comes first."""
    if _excludes(config, state, scalars, best, a, level):
        return True
    excluded, b = False, 0
    while b < state.shape[1] and not excluded:
        excluded = b not in (a, best) and _excludes(config, state, scalars, b, a, level)
        b += 1
    return excluded


@kernel
def _excludes(config, state, scalars, b, a, level):
    """Whether arm b has enough evidence against arm ``a``."""
    if config.stopping == DESIGN_BASED:
        if estimated(state, b) <= estimated(state, a) or _at_most(state, scalars, b, a) < level:
            return False
        return pair_score(state, scalars, b, a) >= level
    if state[MEAN, b] <= state[MEAN, a]:
        return False
    top_count, count = state[OBSERVED, b], state[OBSERVED, a]
    named, rival = (state[MEAN, b], state[SCALE, b], top_count), (state[MEAN, a], state[SCALE, a], count)
    glr, ratio = transport(config.family, named, rival, (1.0, 0.0))
    if glr + _above(config) < level:
        return False
    if (
        config.stopping == MIXTURE
        and _mixture_at_most(config, glr, glr * (count / (count + ratio * top_count))) < level
    ):
        return False
    state[COST, a] = glr
    return _pair_score(config, state, b, a, level) >= level


@kernel
def _mixture_at_most(config, glr, own):
    """A bound on the score of a pair by what its two arms have in the GLR; ``own`` is the part of the worse one.

    At the tie of the likelihood ratio the martingales of the two arms are at most the exponentials of their parts.
    """
    shared = math.log1p(-config.alpha) + glr
    if config.bonus > 0.0:
        shared += math.log1p(math.exp(math.log(config.bonus) + own - shared))
    return max(shared, glr)


@kernel
def _pair_score(config, state, b, a, level):
    """The score of arm b over arm ``a``, whose GLR is in the state; exact from ``level`` on."""
    if scores_by_mixture(config):
        return _mixture_score(config, state, b, a, level)
    if has_pair_penalty(config.stopping):
        factor, cost = _factor_and_penalty(config, state, b, a)
        return factor * state[COST, a] - cost
    if config.stopping == KAUFMANN_KOOLEN:  # its penalty is in the level
        return state[COST, a]
    return math.nan
