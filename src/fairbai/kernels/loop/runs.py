"""The run loop: whole experiments on simulated rewards, by the same kernels that the Identifier calls.

A run goes on until the smallest delta is answered, and notes when the evidence first reaches the level of each. What
is kept does not grow with the length of a run.
"""

import functools
import math
from collections import namedtuple

import numba
import numpy as np

from fairbai.kernels.families import GAUSSIAN
from fairbai.kernels.jit import borrowed, entry, kernel, pointer
from fairbai.kernels.loop.steps import FAMILY, P0, RATE, SEED, TEMPERATURE, choose_arm, count_reward, weigh
from fairbai.kernels.rates import EPSILON, unspent
from fairbai.kernels.settling.floors import (
    FROZEN,
    LEARNING,
    NOT,
    furthest_behind,
    raise_floors,
    settle,
    settling_trials,
)
from fairbai.kernels.settling.limits import settle_within, violation_within
from fairbai.kernels.state import ASSIGNED, FLOOR, MEAN, ROUND, SLACK, SPARE, UNSEEN, largest, learn
from fairbai.kernels.streams.philox import two_uniforms
from fairbai.kernels.streams.rewards import FLOOR as TRUE_FLOOR
from fairbai.kernels.streams.rewards import reward

Record = namedtuple("Record", ["decided", "stopped", "answers", "violations", "pulls", "histogram", "shares", "glr"])
"""What is kept of a chunk of runs. A row a run, then one entry a delta: the trials at the decision and at the stop, the
answer (-1 if there is none), the violation, the pulls of every arm (these all at the stop). Of all runs together: for
each delta, how many rounds until the decision had no violation, or one in the n-th of equal steps up to 1. And of each
run, at every round of a grid, the shares of the arms and the GLR."""


@kernel
def violation(floors, pulls, total):
    """By how much the share of an arm is below its floor, at most: max (p_a - N_a / t), or 0.

    The difference is taken in trials, so that an arm that has all that it is owed counts as exactly 0.
    """
    most = 0.0
    for a in range(floors.size):
        most = max(most, floors[a] * total - pulls[a])
    return most / total


@entry
def settle_with_margin(codes, reals, truth, run, settles, state, numbers, pulls):
    """Settle against raised floors: those of the decision, or those that follow from every reward that comes.

    Writes the trials of every arm and returns their sum; the run itself stays as it was. Learning ends, with the floors
    that are known by then, after as many further trials as there were before the decision.
    """
    family, last = codes[FAMILY], 2.0 * numbers[ROUND]
    state, numbers = state.copy(), numbers.copy()
    floors, room = np.empty(state.shape[1]), np.empty((4, state.shape[1]))
    while True:
        spare = raise_floors(family, codes[RATE], reals[P0], reals[TEMPERATURE], settles[1], state, floors, room)
        more = settling_trials(state, numbers, floors, spare)
        if settles[0] != LEARNING or more <= 1 or numbers[ROUND] >= last:
            return settle(state, numbers, floors, spare, pulls)
        arm = furthest_behind(state, floors, numbers[ROUND] + more, spare)
        uniform = two_uniforms(codes[SEED], run, int(numbers[ROUND]))[1]
        state[ASSIGNED, arm] += 1.0
        numbers[ROUND] += 1.0
        learn(family, state, numbers, arm, reward(family, truth, arm, uniform))


@kernel
def _violation(truth, state, numbers, pulls, total):
    if numbers[SLACK] >= 0.0:
        return violation_within(state, pulls, total, np.empty(pulls.size))
    return violation(truth[TRUE_FLOOR], pulls, total)


@kernel
def _stop(codes, reals, truth, run, settles, state, numbers, record, row, column):
    """Note the pulls and the violation at the stop."""
    pulls = record.pulls[row, column]
    total = numbers[ROUND]
    if settles[0] == NOT:
        for a in range(pulls.size):
            pulls[a] = state[ASSIGNED, a]
    elif numbers[SLACK] >= 0.0:
        total = settle_within(state, numbers, np.empty((2, pulls.size)), pulls)
    elif settles[0] == FROZEN and settles[1] == 0.0:
        total = settle(state, numbers, state[FLOOR], numbers[SPARE], pulls)
    else:
        total = settle_with_margin(codes, reals, truth, run, settles, state, numbers, pulls)
    record.stopped[row, column] = total
    record.violations[row, column] = _violation(truth, state, numbers, pulls, total)


@entry
def note(codes, reals, run, truth, levels, settles, grid, state, numbers, score, glr, record, row, column):
    """Note what a round brought. ``column`` is the first delta without an answer; returns the next such."""
    number = numbers[ROUND]
    if record.histogram.shape[1] > 1 and column < levels.size:
        most = _violation(truth, state, numbers, state[ASSIGNED], number)
        place = math.ceil(most * (record.histogram.shape[1] - 1))
        for later in range(column, levels.size):
            record.histogram[later, place] += 1.0
    if grid.size > 0:
        mark = np.searchsorted(grid, number)
        if mark < grid.size and grid[mark] == number:
            record.glr[row, mark] = glr
            for a in range(state.shape[1]):
                record.shares[row, mark, a] = state[ASSIGNED, a] / number
    while column < levels.size and score >= levels[column]:
        record.decided[row, column] = number
        record.answers[row, column] = largest(state, MEAN)
        _stop(codes, reals, truth, run, settles, state, numbers, record, row, column)
        column += 1
    return column


@entry
def give_up(codes, reals, run, truth, levels, state, numbers, record, row, column):
    """Note how a run that has had all its rounds stands, for every delta that it could not answer."""
    for unanswered in range(column, levels.size):
        record.decided[row, unanswered] = numbers[ROUND]
        record.answers[row, unanswered] = -1.0
        _stop(codes, reals, truth, run, (NOT, 0.0), state, numbers, record, row, unanswered)


@entry
def draw(codes, truth, run, number, arm):
    """The reward of an arm in a round of a run, for the loop in Python."""
    return reward(codes[FAMILY], truth, arm, two_uniforms(codes[SEED], run, number)[1])


@functools.lru_cache
def floors_by(function):
    """A compiled function of the user, from means to floors, as one that ``simulate_runs_with`` takes.

    The loop is compiled once for all of them, and nothing of a user's function is kept on disk: numba reads all that it
    has kept of a kernel when it reads any, and a function among it whose module is gone would spoil it for everybody.
    """

    def write_floors(means, floors):
        try:
            found = np.asarray(function(means))
        except Exception:  # what it raised is found out by a call from Python
            return False
        if found.ndim > 0 and found.size != floors.size:
            return False
        floors[:] = found
        return True

    return pointer(numba.boolean(numba.float64[::1], numba.float64[::1]), write_floors)


@kernel
def _custom_floors(custom, state, numbers):
    """The floors that the user's function writes; whether they are floors."""
    floors = state[FLOOR]
    if not custom(state[MEAN].copy(), floors):
        return False
    for a in range(floors.size):
        if not floors[a] >= 0.0:
            return False
    rest = unspent(floors)
    if not rest >= -1e-9:
        return False
    if rest < -EPSILON:
        floors[:] /= 1.0 - rest
        rest = 0.0
    numbers[SPARE] = rest if rest > EPSILON else 0.0
    return True


@kernel
def _simulate(family, experiment, before, truth, levels, settles, longest, grid, first, custom, record):
    codes, reals, state = borrowed(experiment[0]), borrowed(experiment[1]), borrowed(experiment[2])
    numbers, policy, room = borrowed(experiment[3]), borrowed(experiment[4]), borrowed(experiment[5])
    truth, levels = borrowed(truth), borrowed(levels)
    watched = record.histogram.shape[1] > 1 or grid.size > 0
    for row in range(record.decided.shape[0]):
        state[:], numbers[:] = before[0], before[1]
        run, column = first + row, 0
        while column < levels.size and numbers[ROUND] < longest:
            for_rule, for_reward = two_uniforms(codes[SEED], run, int(numbers[ROUND]))
            arm = choose_arm(family, codes, reals, state, numbers, policy, for_rule)
            count_reward(family, codes, reals, state, numbers, arm, reward(family, truth, arm, for_reward))
            if custom is not None and numbers[UNSEEN] == 0.0 and not _custom_floors(custom, state, numbers):
                truth[0] = state[MEAN]
                return run
            asked = -np.inf if grid.size > 0 else levels[column]  # a trace shows the exact evidence of all rounds
            score, _, glr, _, _ = weigh(family, codes, reals, state, numbers, room, asked)
            if watched or score >= levels[column]:
                column = note(
                    codes, reals, run, truth, levels, settles, grid, state, numbers, score, glr, record, row, column
                )
        give_up(codes, reals, run, truth, levels, state, numbers, record, row, column)
    return -1


@entry
def simulate_runs(experiment, before, truth, levels, settles, longest, grid, first, record):
    """Runs ``first``, ``first`` + 1, ... into the rows of ``record``.

    Args:
        experiment: The arrays of ``kernels.experiment``: codes, reals, state, numbers, policy and room.
        before: The state and the numbers of an experiment that has not begun.
        truth: Of the rewards, as in ``kernels.rewards``.
        levels: What the evidence must reach, one for each delta, rising.
        settles: How the floors are met before the stop (NOT, FROZEN or LEARNING), and the margin in standard errors.
        longest: The number of rounds after which a run is given up.
        grid: The rounds to trace.
        first: The number of the first run.
        record: What is kept.
    """
    if experiment[0][FAMILY] == GAUSSIAN:  # a constant, so that the compiler drops the other families
        _simulate(GAUSSIAN, experiment, before, truth, levels, settles, longest, grid, first, None, record)
    else:
        family = experiment[0][FAMILY]
        _simulate(family, experiment, before, truth, levels, settles, longest, grid, first, None, record)


@entry
def simulate_runs_with(custom, experiment, before, truth, levels, settles, longest, grid, first, record):
    """``simulate_runs`` with floors by a function of the user, as ``floors_by`` makes it.

    Returns:
        The run in which it gave something else than floors, whose means are then in ``truth``; else -1.
    """
    family = experiment[0][FAMILY]
    return _simulate(family, experiment, before, truth, levels, settles, longest, grid, first, custom, record)
