"""The run loop: whole experiments on simulated rewards, by the same kernels that the Identifier calls.

A run goes on until the smallest delta is answered, and notes when the evidence first reaches the level of each. What
is kept does not grow with the length of a run.
"""

import functools

import numba
import numpy as np

from fairbai.kernels.config import FAMILY, SEED, configure_run
from fairbai.kernels.families import GAUSSIAN
from fairbai.kernels.jit import borrowed, entry, kernel, pointer
from fairbai.kernels.linear.evidence import Model, update_linear
from fairbai.kernels.loop.records import Task, decides, give_up, note, task_reward
from fairbai.kernels.loop.steps import count_reward, update_evidence
from fairbai.kernels.rates import EPSILON, unspent
from fairbai.kernels.sampling.choose import choose
from fairbai.kernels.state import FLOOR, MEAN, ROUND, SPARE, UNSEEN
from fairbai.kernels.stopping.design import bet
from fairbai.kernels.stopping.scores import DESIGN_BASED
from fairbai.kernels.streams.philox import two_uniforms


@entry
def draw(codes, task, run, number, arm):
    """The reward of an arm in a round of a run, for the loop in Python."""
    return task_reward(codes[FAMILY], task, number, arm, two_uniforms(codes[SEED], run, number)[1])


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
def _custom_floors(custom, state, scalars):
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
    scalars[SPARE] = rest if rest > EPSILON else 0.0
    return True


@kernel
def _bet_on(config, state, scalars, arm, earned, policy):
    """Count a drawn trial for a stop that survives drift. Where there is no policy, there is no such stop."""
    if policy is not None and config.stopping == DESIGN_BASED:
        bet(state, scalars, arm, earned, policy[arm])


@kernel
def _simulate(family, law, experiment, before, task, first, custom, record, linear=None):
    codes, params, state = borrowed(experiment[0]), borrowed(experiment[1]), borrowed(experiment[2])
    scalars, policy, workspace = borrowed(experiment[3]), borrowed(experiment[4]), borrowed(experiment[5])
    truth, levels, grid, longest = borrowed(task.truth), borrowed(task.levels), borrowed(task.grid), task.longest
    drift, every, repeats = borrowed(task.drift), task.look_every, task.repeats
    task = Task(truth, levels, task.settles, longest, grid, every, drift, repeats, law, task.least)
    watched = record.histogram.shape[1] > 1
    for row in range(record.decided.shape[0]):
        state[:], scalars[:] = before[0], before[1]
        config, column, mark = configure_run(family, codes, params, first + row), 0, 0
        while column < levels.size and scalars[ROUND] < longest:
            number = int(scalars[ROUND])
            for_rule, for_reward = two_uniforms(config.seed, config.run, number)
            arm = choose(config, state, scalars, policy, workspace, for_rule)
            if arm < 0:
                break  # a rule that has no kernel
            earned = task_reward(family, task, number, arm, for_reward)
            count_reward(config, state, scalars, arm, earned)
            _bet_on(config, state, scalars, arm, earned, policy)
            if custom is not None and scalars[UNSEEN] == 0.0 and not _custom_floors(custom, state, scalars):
                truth[0] = state[MEAN]
                return config.run
            traced = mark < grid.size and grid[mark] == scalars[ROUND]
            mark += 1 if traced else 0
            asked = -np.inf if traced else levels[column]  # a trace shows the exact evidence of its rounds
            if linear is None:
                score, _, glr, _, _ = update_evidence(config, state, scalars, workspace, asked)
            else:
                score, _, glr, _, _ = update_linear(config, linear, state, scalars)
            if not decides(task, scalars):
                score = -np.inf
            if watched or traced or score >= levels[column]:
                column = note(config, task, state, scalars, (score, glr), record, (row, column), linear)
        give_up(config, task, state, scalars, record, (row, column), linear)
    return -1


def simulate_for(experiment, law):
    """The run loop for the arrays of an experiment and this law (-1: the family's own).

    It makes the runs ``first``, ``first`` + 1, ... into the rows of ``record``.

    Its arguments:
        experiment: Its arrays: codes, params, state, scalars, policy, workspace and, for linear arms, their model.
        before: The state and the scalars of an experiment that has not begun.
        task: What to find out.
        first: The number of the first run.
        record: What is kept.
    """
    if len(experiment) > 6:
        return simulate_linear
    return simulate_gaussian if experiment[0][FAMILY] == GAUSSIAN and law < 0 else simulate_others


@entry
def simulate_gaussian(experiment, before, task, first, record):
    """The loop with Gaussian rewards of known variance. The family is a constant: the compiler drops the others."""
    _simulate(GAUSSIAN, -1, experiment, before, task, first, None, record)


@entry
def simulate_others(experiment, before, task, first, record):
    """The loop with any other rewards."""
    _simulate(experiment[0][FAMILY], task.law, experiment, before, task, first, None, record)


@entry
def simulate_linear(experiment, before, task, first, record):
    """The loop with linear arms."""
    one = experiment[6]
    limits = borrowed(one.members), borrowed(one.totals), borrowed(one.inside)
    model = Model(borrowed(one.features), borrowed(one.floors), limits[0], limits[1], limits[2])
    _simulate(GAUSSIAN, task.law, experiment, before, task, first, None, record, model)


@entry
def simulate_runs_with(custom, experiment, before, task, first, record):
    """The loop with floors by a function of the user, as ``floors_by`` makes it.

    Returns:
        The run in which it gave something else than floors, whose means are then in ``truth``; else -1.
    """
    return _simulate(experiment[0][FAMILY], task.law, experiment, before, task, first, custom, record)
