"""Evidence that survives drift: bets on the residuals of drawn trials, weighted by the probability of each draw.

Trial t drew arm A with probability pi_t(A), and its reward Y is in [0, 1]. With a prediction m_t(a) for every arm, made
from the trials before,

    r_t = (Y - m_t(A)) / pi_t(A)                                            the residual of the arm that was drawn
    U_a(lambda) = sum of log(1 + lambda r_t), D_a(lambda) = sum of log(1 - lambda r_t)    over the trials of arm a
    M_a = sum of m_t(a) over all trials
    log E_ab(lambda) = U_a(lambda) + D_b(lambda) + lambda (M_a - M_b)

E_ab is evidence that the average of arm a over the trials so far is above that of arm b, whatever the drift; it is
mixed over a fixed grid of lambda. With a tolerance the average m of the rival b is pulled back to c (m - e), where
c = 1 / s (see ``kernels.ties``): its bets are c lambda, and M_b becomes c (M_b - e t). docs/stopping.md has the proof.

A trial changes two columns of one arm. They are kept as products of a few factors, and as the sum of the logarithms of
those before: a trial costs multiplications only.
"""

import math

import numpy as np

from fairbai.kernels.jit import borrowed, entry, kernel, subroutine
from fairbai.kernels.state import COST, NAMED, RATIO, SCALARS, SHIFT, STATE_ROWS, STRETCH, UNSEEN

COUNT, DEVIATION, FORECAST, RESIDUAL, SPREAD, CUBES, REACH = range(STATE_ROWS, STATE_ROWS + 7)
BETS = STATE_ROWS + 7
"""Rows of the state: drawn trials of the arm, and how far their rewards were above the common level at the time, in
sum; the sum M of its predictions over all trials; the sums of its residuals, of their squares and of their cubes; and
how many lambdas of the grid, from the least on, are small enough for the arm. Then four rows per lambda: the logarithms
U and D, and the factors that are not yet in them."""

COUNTED, LEVEL, MEMORY = range(SCALARS, SCALARS + 3)
GRID = SCALARS + 3
"""Scalars: drawn trials of all arms; the common level of the rewards now, as a sum with weights that fall with age, and
the sum of these weights. Then the grid: all lambdas, rising; the logarithms of
their weights; and the logarithms of the sums of the weights up to each."""

FOLD = 32  # trials of an arm after which its factors, each from 2^-10 to 2, are taken into the logarithms
EDGE = 1.0 - 2.0**-10  # the most that lambda |r| may be
SHRINK = 5.0  # trials at the common level that every arm is given in its prediction
FORGET = 0.01  # of the common level with every trial: it follows a drift that all arms share
STEPS = 60  # of a bisection


@kernel
def grid_size(scalars):
    """The number of lambdas."""
    return (scalars.size - GRID) // 3


@kernel
def prediction(state, scalars, arm):
    """The common level now, and by how much the arm has been above it: in [0, 1]."""
    return min(max(scalars[LEVEL] / scalars[MEMORY] + _offset(state, arm), 0.0), 1.0)


@kernel
def _offset(state, arm):
    """By how much an arm has been above the common level on average, with five zeros added."""
    return state[DEVIATION, arm] / (state[COUNT, arm] + SHRINK)


@kernel
def estimated(state, arm):
    """The estimate of the sum of an arm's means over all trials; divided by their number it is without bias."""
    return state[FORECAST, arm] + state[RESIDUAL, arm]


@kernel
def leader(state):
    """The first arm with the largest estimate."""
    best = 0
    for a in range(1, state.shape[1]):
        if estimated(state, a) > estimated(state, best):
            best = a
    return best


@kernel
def bet(state, scalars, arm, reward, probability):
    """Count a drawn trial."""
    for a in range(state.shape[1]):
        state[FORECAST, a] += prediction(state, scalars, a)
    residual = (reward - prediction(state, scalars, arm)) / probability
    size, reach, part = grid_size(scalars), int(state[REACH, arm]), 1.0 / state[STRETCH, arm]
    for k in range(reach):
        change = scalars[GRID + k] * residual
        state[BETS + 2 * size + k, arm] *= 1.0 + change
        state[BETS + 3 * size + k, arm] *= 1.0 - part * change
    state[RESIDUAL, arm] += residual
    state[SPREAD, arm] += residual * residual
    state[CUBES, arm] += residual * residual * residual
    scalars[LEVEL] += reward - _offset(state, arm) - FORGET * scalars[LEVEL]
    scalars[MEMORY] += 1.0 - FORGET * scalars[MEMORY]
    state[DEVIATION, arm] += reward - scalars[LEVEL] / scalars[MEMORY]
    state[COUNT, arm] += 1.0
    scalars[COUNTED] += 1.0
    if state[COUNT, arm] % FOLD == 0.0:
        _fold(state, size, arm)


@subroutine
def _fold(state, size, arm):
    """Take the factors of an arm into its logarithms."""
    for row in range(BETS, BETS + 2 * size):
        state[row, arm] += math.log(state[row + 2 * size, arm])
        state[row + 2 * size, arm] = 1.0


@entry
def count_bet(state, scalars, arm, reward, probability):
    """``bet``, for Python."""
    bet(borrowed(state), borrowed(scalars), arm, reward, probability)


@entry
def count_bets(state, scalars, pulls, sums, squares, probabilities, binary):
    """Count a batch of trials that were all drawn with the same probabilities.

    The predictions are those before the batch. Rewards 0 and 1 (``binary``) have their bets in closed form; of others
    log(1 + x) >= x - x^2 (-log(1 - c) - c) / c^2 for x >= -c is counted, where c is the most that they can lose.
    """
    size, trials, above = grid_size(scalars), pulls.sum(), 0.0
    means = np.empty(pulls.size)
    for a in range(pulls.size):
        means[a] = prediction(state, scalars, a)
        state[FORECAST, a] += trials * means[a]
        above += sums[a] - pulls[a] * _offset(state, a)
    left = (1.0 - FORGET) ** trials
    weight = (1.0 - left) / FORGET
    scalars[LEVEL] = left * scalars[LEVEL] + weight * above / trials
    scalars[MEMORY] = left * scalars[MEMORY] + weight
    for a in range(pulls.size):
        if pulls[a] > 0.0:
            _fold(state, size, a)
            mean, chance = means[a], probabilities[a]
            residual = (sums[a] - pulls[a] * mean) / chance
            spread = max(0.0, squares[a] - 2.0 * mean * sums[a] + pulls[a] * mean * mean) / (chance * chance)
            for k in range(int(state[REACH, a])):
                scale, part = scalars[GRID + k], scalars[GRID + k] / state[STRETCH, a]
                if binary:
                    won, lost, failures = (1.0 - mean) / chance, mean / chance, pulls[a] - sums[a]
                    state[BETS + k, a] += sums[a] * math.log1p(scale * won) + failures * math.log1p(-scale * lost)
                    state[BETS + size + k, a] += sums[a] * math.log1p(-part * won) + failures * math.log1p(part * lost)
                else:
                    change, square = scale * residual, scale * scale * spread
                    state[BETS + k, a] += change - square * _curvature(scale * mean / chance)
                    change, square = part * residual, part * part * spread
                    state[BETS + size + k, a] -= change + square * _curvature(part * (1.0 - mean) / chance)
            if binary:
                won, lost = (1.0 - mean) / chance, mean / chance
                state[CUBES, a] += sums[a] * won * won * won - (pulls[a] - sums[a]) * lost * lost * lost
            state[RESIDUAL, a] += residual
            state[SPREAD, a] += spread
            state[DEVIATION, a] += sums[a] - pulls[a] * scalars[LEVEL] / scalars[MEMORY]
            state[COUNT, a] += pulls[a]
    scalars[COUNTED] += trials


@kernel
def _curvature(most):
    """The least number with log(1 + x) >= x - number x^2 for all x >= -most."""
    if most < 1e-3:
        return 0.5 + most / 3.0 + most * most / 3.0  # above the series 1/2 + c/3 + c^2/4 + ...
    return (-math.log1p(-most) - most) / (most * most)


@kernel
def _log_mixture(state, scalars, up, down, shift):
    """Logarithm of the mixture of exp(U_up + D_down + lambda shift); either arm may be -1, for none."""
    size = grid_size(scalars)
    reach = size
    for arm in (up, down):
        reach = min(reach, int(state[REACH, arm])) if arm >= 0 else reach
    top, total = -math.inf, 0.0
    for k in range(reach):
        value, factor = scalars[GRID + size + k] + scalars[GRID + k] * shift, 1.0
        if up >= 0:
            value += state[BETS + k, up]
            factor *= state[BETS + 2 * size + k, up]
        if down >= 0:
            value += state[BETS + size + k, down]
            factor *= state[BETS + 3 * size + k, down]
        value += math.log(factor)
        if value > top:  # a sum of exponentials, kept relative to the largest
            total, top = total * math.exp(top - value) + 1.0, value
        else:
            total += math.exp(value - top)
    return top + math.log(total) - scalars[GRID + 2 * size + reach - 1]


@kernel
def _lead(state, scalars, best, a):
    """By how much the estimate of ``best``, over all trials, is above that of the rival, pulled back to the tie."""
    return estimated(state, best) - (estimated(state, a) - scalars[COUNTED] * state[SHIFT, a]) / state[STRETCH, a]


@kernel
def _at_most(state, scalars, best, a):
    """A bound on the score of a pair without logarithms: log(1 + x) <= x - x^2/2 + x^3/3, and a mixture <= its largest.

    It is also one on what ``count_bets`` counts in place of log(1 + x), which is at most x - x^2/2.
    """
    reach, part = int(min(state[REACH, best], state[REACH, a])), 1.0 / state[STRETCH, a]
    first = _lead(state, scalars, best, a)
    second = 0.5 * (state[SPREAD, best] + part * part * state[SPREAD, a])
    third = (state[CUBES, best] - part * part * part * state[CUBES, a]) / 3.0
    most = -math.inf
    for k in range(reach):
        scale = scalars[GRID + k]
        most = max(most, scale * (first - scale * (second - scale * third)))
    return most


@kernel
def pair_score(state, scalars, best, a):
    """Logarithm of the evidence that the average of ``best`` is above that of ``a``, pulled back to the tie."""
    rival = (state[FORECAST, a] - scalars[COUNTED] * state[SHIFT, a]) / state[STRETCH, a]
    return _log_mixture(state, scalars, best, a, state[FORECAST, best] - rival)


@kernel
def _fill_costs(state, scalars, best):
    """Rows COST and RATIO for an arm that may be named; returns the rival that is closest to it."""
    first = 1 if best == 0 else 0
    for a in range(state.shape[1]):
        change, part = max(0.0, _lead(state, scalars, best, a)), 1.0 / state[STRETCH, a]
        noise = 2.0 * (state[SPREAD, best] + part * part * state[SPREAD, a])
        state[COST, a], state[RATIO, a] = change * change / noise if noise > 0.0 else 0.0, 1.0
        if a != best and state[COST, a] < state[COST, first]:
            first = a
    state[COST, best] = 0.0
    return first


@subroutine
def design_evidence(control, state, scalars, level):
    """The least score of the arm to name against another; the same that ``scores.evidence`` returns.

    That arm is the leader or, if more evidence speaks for it, the control, where there is one.

    The arm with the least z^2 / 2, where z is the difference of the averages in standard errors, comes first: it is
    most often the one that keeps the experiment from stopping, and most often its bound is enough. That z^2 / 2 takes
    the place of the GLR.
    """
    best, for_control = leader(state), -1.0
    if scalars[UNSEEN] > 0.0:
        scalars[NAMED] = best
        return -np.inf, best, 0.0, 1.0, 0.0
    if control >= 0 and control != best:
        for_control = state[COST, _fill_costs(state, scalars, control)]
    first = _fill_costs(state, scalars, best)
    if for_control > state[COST, first]:
        best = control
        first = _fill_costs(state, scalars, best)
    scalars[NAMED] = best
    least, worst = np.inf, first
    for number in range(-1, state.shape[1]):
        a = first if number < 0 else number
        if a != best and (a != first or number < 0):
            score = _at_most(state, scalars, best, a)
            if score >= level:
                score = pair_score(state, scalars, best, a)
            if not score >= least:
                least, worst = score, a
            if least < level:
                break
    return least, worst, state[COST, worst], 1.0, state[COST, worst] - least


@entry
def lower_end(state, scalars, up, down, level):
    """The largest number that the average of ``up``, less that of ``down``, is above; -1 for ``down`` is no arm.

    With ``up`` -1, the largest number that minus the average of ``down`` is above. Two arms can be compared only if
    ``down`` has no stretch.
    """
    trials, forecast = scalars[COUNTED], 0.0
    if up >= 0:
        forecast += state[FORECAST, up]
    if down >= 0:
        forecast -= state[FORECAST, down] / state[STRETCH, down]
        trials /= state[STRETCH, down]
    low = 0.0 if down < 0 else -1.0
    high = 0.0 if up < 0 else 1.0
    if trials == 0.0 or _log_mixture(state, scalars, up, down, forecast - trials * low) < level:
        return low
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if _log_mixture(state, scalars, up, down, forecast - trials * middle) >= level:
            low = middle
        else:
            high = middle
    return low
