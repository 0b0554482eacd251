"""Posterior fair: smooth policies to draw from, which hedge over what the means may be; see docs/sampling.md.

The policy is pi = p + (1 - sum p) (l / K + (1 - l) x), where the part l is shared equally. With rewards of variance v,
telling the best arm a from arm b takes a time proportional to T_b = (v_a / pi_a + v_b / pi_b) / gap_b^2. The shares x
move, by multiplicative steps against the gradient, towards the least mean of log max_b T_b over draws of the means from
their posterior. The steps are few and small, at times that are further and further apart: where each trial is weighted
by 1 / pi, every swing of pi costs.
"""

import math

from fairbai.kernels.families import BERNOULLI, BOUNDED, variance
from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.special import normal_quantile
from fairbai.kernels.state import (
    FLOOR,
    INSIDE,
    OBSERVED,
    SCALE,
    SEEN,
    SPARE,
    START,
    STRETCH,
    SUM,
    WEIGHT,
    bounded_variance,
    tie_of,
)
from fairbai.kernels.stopping.design import COUNTED, SPREAD, estimated
from fairbai.kernels.stopping.scores import DESIGN_BASED
from fairbai.kernels.ties import pulled_back

DRAWS = 16  # of the means, by a sequence that covers their posterior evenly
STEPS = 2  # against the gradient, each time
POWER = 0.25  # of a step
WIDER = 1.5  # by how much the posterior is wider than the standard errors
TINY = 3e-3  # of the shares is spread equally, so that each can grow again
EVERY = 10.0  # rewards between updates at least
GROWTH = 0.02  # of all rewards, between updates
SHRINK = 5.0  # trials that the mean of all arms counts as, in the mean of each

MEANS, ERRORS, NOISE, DRAWN, SLOPE, POLICY = range(6)
"""Rows of the workspace: estimated means, their standard errors, the variances of rewards; means that were drawn, the
gradient, and the policy."""


@kernel
def update_shares(config, state, scalars, workspace):
    """Bring the shares x, in row WEIGHT, up to date with the rewards, if that is due."""
    if scalars[SPARE] > 0.0 and scalars[SEEN] >= max(scalars[START], EVERY):
        _update(config, state, scalars, workspace)


@subroutine
def _update(config, state, scalars, workspace):
    """All updates that are due; after a batch they may be several. ``START`` is the number of rewards of the next."""
    arms = state.shape[1]
    if scalars[START] == 0.0:
        state[WEIGHT] = 1.0 / arms
    due = max(scalars[START], EVERY)
    _estimate(config, state, scalars, workspace)
    while scalars[SEEN] >= due:
        for _ in range(STEPS):
            _step(config, state, scalars, due, workspace)
        due += max(EVERY, math.floor(GROWTH * due))
    scalars[START] = due


@kernel
def _estimate(config, state, scalars, workspace):
    """Means, standard errors and variances: the weighted averages of the design-based stop, or the sample means."""
    arms, total = state.shape[1], 0.0
    for a in range(arms):
        total += state[SUM, a]
    pool = total / scalars[SEEN]
    for a in range(arms):
        count = state[OBSERVED, a]
        noise = variance(config.family, state[INSIDE, a], state[SCALE, a])
        if config.family == BERNOULLI:
            mean = (state[SUM, a] + 0.5) / (count + 1.0)
            noise = max(mean * (1.0 - mean), 1e-3)
        elif config.family == BOUNDED:
            noise = max(bounded_variance(state, a), 1e-6)
        workspace[NOISE, a] = noise
        workspace[MEANS, a] = (state[SUM, a] + SHRINK * pool) / (count + SHRINK)
        workspace[ERRORS, a] = math.sqrt(noise / (count + 1.0))
        if config.stopping == DESIGN_BASED:
            trials = scalars[COUNTED]
            workspace[MEANS, a] = estimated(state, a) / trials
            own = noise / ((count + 1.0) * (count + 1.0))
            workspace[ERRORS, a] = math.sqrt(state[SPREAD, a] / (trials * trials) + own)


@kernel
def _draw_means(number, ratio, workspace):
    """Means from the posterior: point ``number`` of an additive recurrence, which fills the cube evenly."""
    best, alpha = 0, 1.0
    for a in range(workspace.shape[1]):
        alpha /= ratio
        uniform = 0.5 + number * alpha
        uniform = min(max(uniform - math.floor(uniform), 1e-9), 1.0 - 1e-9)
        workspace[DRAWN, a] = workspace[MEANS, a] + WIDER * workspace[ERRORS, a] * normal_quantile(uniform)
        if workspace[DRAWN, a] > workspace[DRAWN, best]:
            best = a
    return best


@kernel
def _hardest(state, best, workspace):
    """The time that naming ``best`` takes, if the means are those drawn; its hardest rival, and their noise."""
    top = workspace[NOISE, best] / workspace[POLICY, best]
    worst, rival, longest = -1.0, best, 1.0
    for b in range(state.shape[1]):
        if b != best:
            stretch, shift = tie_of(state, b)
            gap = max(0.0, workspace[DRAWN, best] - pulled_back(workspace[DRAWN, b], stretch, shift))
            noise = top + workspace[NOISE, b] / (stretch * stretch * workspace[POLICY, b])
            if noise / (gap * gap + 1e-12) > worst:
                worst, rival, longest = noise / (gap * gap + 1e-12), b, noise
    return worst, rival, longest


@kernel
def _step(config, state, scalars, due, workspace):
    """One multiplicative step against the gradient of the mean of log max_b T_b."""
    arms, least = state.shape[1], equal_part(config.parameter, state[FLOOR], scalars[SPARE])
    for a in range(arms):
        workspace[POLICY, a] = state[FLOOR, a] + scalars[SPARE] * (least / arms + (1.0 - least) * state[WEIGHT, a])
    ratio = 2.0
    for _ in range(20):  # the root of x^(K+1) = x + 1, of which the recurrence is made
        ratio = (1.0 + ratio) ** (1.0 / (arms + 1.0))
    workspace[SLOPE, :] = 0.0
    for j in range(DRAWS):
        best = _draw_means(due * DRAWS + j + 1.0, ratio, workspace)
        worst, rival, longest = _hardest(state, best, workspace)
        if config.control >= 0 and config.control != best:
            other_worst, other_rival, other_longest = _hardest(state, config.control, workspace)
            if other_worst < worst:
                best, rival, longest = config.control, other_rival, other_longest
        own, other = workspace[POLICY, best], workspace[POLICY, rival]
        workspace[SLOPE, best] += workspace[NOISE, best] / own / (own * longest)
        workspace[SLOPE, rival] += workspace[NOISE, rival] / (state[STRETCH, rival] ** 2 * other * other * longest)
    total = 0.0
    for a in range(arms):
        state[WEIGHT, a] *= (workspace[SLOPE, a] / DRAWS + 1e-3) ** POWER
        total += state[WEIGHT, a]
    for a in range(arms):
        state[WEIGHT, a] = (1.0 - TINY) * state[WEIGHT, a] / total + TINY / arms


@kernel
def equal_part(parameter, floors, spare):
    """The part of what the floors leave that is shared equally: as given or, if that is negative, enough for 1/(4K)."""
    if parameter >= 0.0 or spare <= 0.0:
        return max(parameter, 0.0)
    lowest = floors[0]
    for a in range(1, floors.size):
        lowest = min(lowest, floors[a])
    return min(max((0.25 / floors.size - lowest) * floors.size / spare, 0.0), 1.0)


@kernel
def fill_posterior_fair(config, state, scalars, policy):
    """The floors, and of what they leave an equal part and the shares x; equal shares before there are others."""
    arms = policy.size
    least = equal_part(config.parameter, state[FLOOR], scalars[SPARE]) if scalars[START] > 0.0 else 1.0
    for a in range(arms):
        policy[a] = state[FLOOR, a] + scalars[SPARE] * (least / arms + (1.0 - least) * state[WEIGHT, a])
