"""Evidence where variances are unknown: does any law under which two Gaussian arms tie fit their rewards?

The evidence against a tie is the least one over the tie itself and over the sigmas of both arms, which is not a convex
problem. What is returned is a lower bound on it, and close. With phi(g) the least part of an arm over all its sigmas,
if the tie is at the distance g from its mean, every line below phi bounds it; two lines of opposite slopes, one for
either arm, add up to a constant, which bounds the evidence for all ties between the means. How far a line has to be
moved down is a maximum over sigma and g, for which cells are bounded by chords and tangents.
"""

import math
from collections import namedtuple

import numpy as np

from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.state import MEAN, OBSERVED, SCALE, tie_of
from fairbai.kernels.stopping.unknown_parts import (
    CONSTANT,
    LOG_NO_SHRINK,
    Arm,
    against_mean,
    against_spread,
    joined,
    part_at,
    part_beyond,
)
from fairbai.kernels.ties import pulled_back
from fairbai.kernels.unknown_variance import cheapest_tie

EXACT = 4e-3  # how far bounds may be from what they bound, in nats
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
MAX_LINES = 16
MAX_ROUNDS = 30
END_ROUNDS = 5
MAX_CELLS = 2000
HIGHEST_RHO = 4.0
LOWEST_RHO = 1e-6

Side = namedtuple("Side", "count gap part rest share least")
"""An ``Arm``, with the share of the first term and a lower bound on log U V at the far end of the gap."""


@kernel
def _step(slope, bend):
    """A Newton step downhill, of bounded length."""
    step = -slope / bend if bend > 0.0 else -slope
    return min(max(step, -0.3), 0.3)


@subroutine
def _descend(kappa, two_sided, one, other, level):
    """Go down to a local minimum over the tie and both sigmas, from the tie of the likelihood ratio.

    Returns:
        The value there (or the first one below ``level``), the slope of either part by the distance in gaps, and the
        shares of the arms.
    """
    own, others = 1.0 / (one.gap * one.gap), 1.0 / (other.gap * other.gap)
    near = cheapest_tie(own, others, one.count, other.count)[2]
    log_rho = -0.5 * math.log1p((near * one.gap) ** 2)
    other_rho = -0.5 * math.log1p(((1.0 - near) * other.gap) ** 2)
    value, pull, first_share, second_share, damping = np.inf, 0.0, 1.0, 1.0, 1.0
    move, turn, other_turn = 0.0, 0.0, 0.0
    for _ in range(MAX_ROUNDS):
        first = part_at(kappa, two_sided, one, (near + move) * one.gap, log_rho + turn)
        second = part_at(kappa, two_sided, other, (1.0 - near - move) * other.gap, other_rho + other_turn)
        if first[0] + second[0] > value and damping > 1e-3:
            damping *= 0.5
            move, turn, other_turn = 0.5 * move, 0.5 * turn, 0.5 * other_turn
            continue
        near, log_rho, other_rho = near + move, log_rho + turn, other_rho + other_turn
        value, first_share, second_share = first[0] + second[0], first[1], second[1]
        up, down = first_share * first[2] * one.gap, second_share * second[2] * other.gap
        pull = min(up, down)  # where the minimum is at one of the means, the slope of that arm's part is any number
        done = abs(up - down) < 0.01 * pull and abs(first[4]) < 0.02 and abs(second[4]) < 0.02
        if value < level or done:
            break
        bend = first_share * first[3] * one.gap * one.gap + second_share * second[3] * other.gap * other.gap
        bend += (1.0 - first_share) * first_share * (first[2] * one.gap) ** 2
        bend += (1.0 - second_share) * second_share * (second[2] * other.gap) ** 2
        damping = min(1.0, 2.0 * damping)
        move = damping * min(max((down - up) / max(bend, 1e-300), -0.5 * near), 0.5 * (1.0 - near))
        turn, other_turn = damping * _step(first[4], first[5]), damping * _step(second[4], second[5])
    return value, pull, first_share, second_share


@subroutine
def _least(kappa, two_sided, arm):
    """A lower bound on log U V at the far end of the gap, whatever sigma.

    U rises with rho and V falls. Between two points log U lies above its tangents, as it is convex in rho, and log V
    above its own, as it is convex in rho^2: together they are concave in rho, so that the ends of a cell bound it.
    """
    rho, step = HIGHEST_RHO, 0.2 / math.sqrt(arm.count)
    floor = against_mean(kappa, two_sided, arm.count, 0.0)[0]
    up, steep, _ = against_mean(kappa, two_sided, arm.count, arm.gap * rho)
    down, fall, _ = against_spread(kappa, arm.count, rho * rho)
    base, low = up + LOG_NO_SHRINK, up + LOG_NO_SHRINK
    for _ in range(MAX_CELLS):
        new = rho * math.exp(-step)
        change, less = arm.gap * (rho - new), rho * rho - new * new
        new_up, new_steep, _ = against_mean(kappa, two_sided, arm.count, arm.gap * new)
        new_down, new_fall, _ = against_spread(kappa, arm.count, new * new)
        here, there = up + down, new_up + new_down
        bound = max(
            min(here, here - steep * change - fall * less), min(there, there + new_steep * change + new_fall * less)
        )
        if bound < min(base, there) - EXACT and step > 1e-6:
            step *= 0.5
            continue
        base, low = min(base, there), min(low, bound)
        rho, up, steep, down, fall = new, new_up, new_steep, new_down, new_fall
        step = min(2.0 * step, 0.5)
        if floor + down >= base or rho < LOWEST_RHO:
            break
    return min(low, floor + down)


@subroutine
def _conjugate(kappa, two_sided, side, slope):
    """An upper bound on slope * distance - log U V over all sigma and all distances up to the gap.

    For a given rho the best distance is where rho U' is the slope; it gives slope / rho times p less log U, which is
    convex in rho and so lies below its chords, while -log V lies below its tangents in rho^2. Sums of these are convex:
    the ends of a cell bound it. Once p passes the gap, that is the distance, and ``least`` bounds what is left.
    """
    p, step = 0.05 / math.sqrt(side.count), 0.2 / math.sqrt(side.count)
    up, steep, _ = against_mean(kappa, two_sided, side.count, p)
    most = slope * side.gap
    base = max(p * steep - up - LOG_NO_SHRINK, most - side.least)  # for all larger rho, V at its least
    top, rho = base, slope / steep
    down, fall, _ = against_spread(kappa, side.count, rho * rho)
    for _ in range(MAX_CELLS):
        if p * steep >= most:
            break
        new = p + step
        new_up, new_steep, _ = against_mean(kappa, two_sided, side.count, new)
        new_rho = slope / new_steep
        new_down, new_fall, _ = against_spread(kappa, side.count, new_rho * new_rho)
        less = rho * rho - new_rho * new_rho
        here, there = p * steep - up, new * new_steep - new_up
        bound = min(
            max(here - down, there - down + fall * less), max(there - new_down, here - new_down - new_fall * less)
        )
        base = max(base, here - down)
        past = new * new_steep > 1.01 * most
        if (past or bound > max(base, there - new_down) + EXACT) and step > 1e-9:
            step *= 0.5
            continue
        top = max(top, bound)
        p, up, steep, rho, down, fall = new, new_up, new_steep, new_rho, new_down, new_fall
        step *= 2.0
    return top if p * steep >= most else np.inf


@kernel
def _lost(kappa, two_sided, side, pull):
    """How far the part of an arm may be below pull * distance / gap, at the worst distance and sigma.

    log(part x + rest) is at least the average of log(part x / share) and log(rest / (1 - share)) with these weights.
    """
    share = side.share
    found = share * (_conjugate(kappa, two_sided, side, pull / (share * side.gap)) - math.log(side.part / share))
    return found - (1.0 - share) * math.log(side.rest / (1.0 - share)) if share < 1.0 else found


@kernel
def _at_end(kappa, two_sided, arm):
    """An arm's part at the far end of the gap, for a sigma that is close to the worst."""
    log_rho, least = -0.5 * math.log1p(arm.gap * arm.gap), np.inf
    for _ in range(END_ROUNDS):
        found = part_at(kappa, two_sided, arm, arm.gap, log_rho)
        least = min(least, found[0])
        log_rho += _step(found[4], found[5])
    return least


@subroutine
def _between(kappa, two_sided, one, other, pull):
    """A lower bound on the evidence against ties between the means, by lines of slopes ``pull`` below both parts."""
    return pull - _lost(kappa, two_sided, one, pull) - _lost(kappa, two_sided, other, pull)


@subroutine
def _best_lines(kappa, two_sided, one, other, pull, enough):
    """The best of these bounds, which are concave in the slope; one that is close to ``enough`` will do.

    The slope at the minimum is best where the parts are convex. Where they are not, it is at most that of the chord
    over the whole gap, of the arm whose chord is flatter.
    """
    found = _between(kappa, two_sided, one, other, pull)
    chord = min(one.share * (one.least + 3.0), other.share * (other.least + 3.0))
    low, high = min(pull, chord), max(pull, chord)
    first, second = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    left, right = -np.inf, -np.inf
    for number in range(MAX_LINES):
        if max(found, left, right) >= enough - 4.0 * EXACT or not low > 0.0 or high - low < 0.01 * high:
            break
        if number == 0 or left < right:
            if number > 0:
                low, first, left = first, second, right
                second = low + GOLDEN * (high - low)
            right = _between(kappa, two_sided, one, other, second)
            left = _between(kappa, two_sided, one, other, first) if number == 0 else left
        else:
            high, second, right = second, first, left
            first = high - GOLDEN * (high - low)
            left = _between(kappa, two_sided, one, other, first)
        found = max(found, left, right)
    return found


@kernel
def _pair(config, two_sided, state, best, arm):
    """The two arms, seen from a tie between their means; gaps that are not positive where the means do not differ."""
    stretch, shift = tie_of(state, arm)  # of which the rival's mean and variance are pulled back
    gap = state[MEAN, best] - pulled_back(state[MEAN, arm], stretch, shift)
    constant = 0.0 if two_sided else CONSTANT
    part, rest = (1.0 - config.alpha) * (1.0 - constant), (1.0 - config.alpha) * constant + config.bonus
    one = Arm(state[OBSERVED, best], gap / math.sqrt(state[SCALE, best]), part, rest)
    other = Arm(state[OBSERVED, arm], stretch * gap / math.sqrt(state[SCALE, arm]), 1.0 - constant, constant)
    return one, other


@subroutine
def _attempt(kappa, two_sided, one, other, level):
    """The evidence against ties that are close to the worst, or against the first one that is below ``level``.

    Returns:
        What ``_descend`` does; the evidence against all ties is at most this value.
    """
    if not min(one.gap, other.gap) > 0.0:
        return -np.inf, 0.0, 1.0, 1.0
    value, pull, share, other_share = _descend(kappa, two_sided, one, other, level)
    if value >= level:
        above = part_beyond(kappa, two_sided, one) + _at_end(kappa, two_sided, other)
        value = min(value, above, part_beyond(kappa, two_sided, other) + _at_end(kappa, two_sided, one))
    return value, pull, share, other_share


@subroutine
def unknown_at_most(config, two_sided, state, best, arm, level):
    """An upper bound on ``unknown_evidence``, which is quicker to find; if it is below ``level``, any that is."""
    one, other = _pair(config, two_sided, state, best, arm)
    return _attempt(config.kappa, two_sided, one, other, level)[0]


@subroutine
def unknown_evidence(config, two_sided, state, best, arm, level):
    """A lower bound on the evidence against all ties of ``arm`` with ``best``, whatever the variances.

    -inf where the two means do not differ. If the bound is below ``level``, the answer may be any number below it.
    """
    kappa = config.kappa
    one, other = _pair(config, two_sided, state, best, arm)
    value, pull, share, other_share = _attempt(kappa, two_sided, one, other, level)
    if value < level:
        return value
    if not pull > 0.0:
        return -np.inf
    above, below = part_beyond(kappa, two_sided, one), part_beyond(kappa, two_sided, other)
    least, other_least = _least(kappa, two_sided, one), _least(kappa, two_sided, other)
    value = min(value, above + joined(other, other_least)[0], below + joined(one, least)[0])
    if value < level:
        return value
    near = Side(one.count, one.gap, one.part, one.rest, share, least)
    far = Side(other.count, other.gap, other.part, other.rest, other_share, other_least)
    return min(value, _best_lines(kappa, two_sided, near, far, pull, value))
