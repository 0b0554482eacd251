"""What a simulated run leaves behind: when it decided and stopped, its answer, and how fair it was."""

import math
from collections import namedtuple

import numpy as np

from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.linear.evidence import linear_evidence
from fairbai.kernels.linear.settling import group_violation, settle_groups
from fairbai.kernels.settling.margins import raise_floors
from fairbai.kernels.settling.settle import FROZEN, LEARNING, NOT, settle, settling_arm, settling_trials, violation
from fairbai.kernels.state import (
    ASSIGNED,
    BEST_SCORE,
    FLOOR,
    MEAN,
    OBSERVED,
    ROUND,
    SEEN,
    UNSEEN,
    has_limits,
    largest,
    learn,
)
from fairbai.kernels.stopping.scores import answer
from fairbai.kernels.stopping.standing import best_score, score_of_answer
from fairbai.kernels.streams.philox import two_uniforms
from fairbai.kernels.streams.rewards import FLOOR as TRUE_FLOOR
from fairbai.kernels.streams.rewards import drifting_reward, reward

Task = namedtuple(
    "Task",
    ["truth", "levels", "settles", "longest", "grid", "look_every", "drift", "repeats", "law", "least"],
    defaults=(1, np.empty((0, 0)), False, -1, 0),
)
"""What a simulation is to find out: the truth of the rewards (see ``kernels.streams.rewards``); what the evidence must
reach, one level per delta, rising; how the floors are met before the stop (NOT, FROZEN or LEARNING) and the margin in
standard errors; the number of rounds after which a run is given up; the rounds to trace; decisions are made only in
rounds that are multiples of a number; the means of every arm in the first rounds, if they drift, which then stay or are
repeated; the code of the law of the rewards if that is not the declared family, else -1; and the rewards before which
nothing is decided."""

Record = namedtuple(
    "Record",
    [
        "decided",
        "stopped",
        "answers",
        "guesses",
        "scores",
        "violations",
        "pulls",
        "histogram",
        "behind",
        "shares",
        "glr",
    ],
)
"""What is kept of a chunk of runs. One row per run, with one entry per delta: the trials at the decision and at the
stop, the answer (-1 if there is none), the arm that is named if there is none (-1 before every arm has a reward) or
else the answer, the best score that speaks for it, the violation, the pulls of every arm (these all at the stop). Of
all runs together: for each delta, how many rounds until the decision had no violation, or one in the n-th of equal
steps up to 1. Of each run and delta, if rounds are counted so: the most trials by which a share was outside its limits
in any round until the decision. And of each run, at every round of a grid, the shares of the arms and the GLR."""


@kernel
def decides(task, scalars):
    """Whether the evidence may bring a decision in this round."""
    return scalars[SEEN] >= task.least and (task.look_every == 1 or scalars[ROUND] % task.look_every == 0.0)


@kernel
def task_reward(family, task, number, arm, uniform):
    """The reward of an arm in a round, the first of which is 0."""
    rows, law = task.drift.shape[0], family if task.law < 0 else task.law
    if rows == 0:
        return reward(law, task.truth, arm, uniform)
    row = number % rows if task.repeats else min(number, rows - 1)
    return drifting_reward(law, task.truth, task.drift[row, arm], arm, uniform)


@subroutine
def settle_with_margin(config, task, state, scalars, pulls):
    """Settle against raised floors: those of the decision, or those that follow from every reward that comes.

    Writes the trials of every arm and returns their sum; the run itself stays as it was. Learning ends, with the floors
    that are known by then, after as many further trials as there were before the decision.
    """
    last = 2.0 * scalars[ROUND]
    state, scalars = state.copy(), scalars.copy()
    floors, workspace = np.empty(state.shape[1]), np.empty((4, state.shape[1]))
    while True:
        raise_floors(config, task.settles[1], state, floors, workspace)
        more = settling_trials(state, scalars, floors, workspace)
        if task.settles[0] != LEARNING or more <= 1 or scalars[ROUND] >= last:
            return settle(state, scalars, floors, workspace, pulls)
        arm = settling_arm(state, scalars, floors, scalars[ROUND] + more, workspace)
        uniform = two_uniforms(config.seed, config.run, int(scalars[ROUND]))[1]
        state[ASSIGNED, arm] += 1.0
        scalars[ROUND] += 1.0
        number = int(scalars[ROUND]) - 1
        learn(config.family, state, scalars, arm, task_reward(config.family, task, number, arm, uniform))


@kernel
def _stop(config, task, settling, state, scalars, record, place, linear):
    """Note the pulls and the violation at the stop."""
    pulls = record.pulls[place]
    total = scalars[ROUND]
    known = has_limits(scalars) or (settling == FROZEN and task.settles[1] == 0.0)
    if settling == NOT:
        for a in range(pulls.size):
            pulls[a] = state[ASSIGNED, a]
    elif linear is not None and has_limits(scalars):
        total = settle_groups(linear, state[FLOOR], state[ASSIGNED], pulls)
    elif known:
        total = settle(state, scalars, state[FLOOR], np.empty((2, pulls.size)), pulls)
    else:
        total = settle_with_margin(config, task, state, scalars, pulls)
    record.stopped[place] = total
    record.violations[place] = violation(state, scalars, task.truth[TRUE_FLOOR], pulls, total)
    if linear is not None:
        record.violations[place] = max(record.violations[place], group_violation(linear, pulls, total))


@subroutine
def note(config, task, state, scalars, found, record, place, linear=None):
    """Note what a round brought.

    ``found`` are the score and the GLR, ``place`` is the row of the run and the first delta without an answer. Returns
    the next such delta.
    """
    levels, grid, number = task.levels, task.grid, scalars[ROUND]
    score, glr = found
    row, column = place
    if record.histogram.shape[1] > 1 and column < levels.size:
        most = violation(state, scalars, task.truth[TRUE_FLOOR], state[ASSIGNED], number)
        step = math.ceil(most * (record.histogram.shape[1] - 1))
        for later in range(column, levels.size):
            record.histogram[later, step] += 1.0
            record.behind[row, later] = max(record.behind[row, later], most * number)
    if grid.size > 0:
        mark = np.searchsorted(grid, number)
        if mark < grid.size and grid[mark] == number:
            record.glr[row, mark] = glr
            for a in range(state.shape[1]):
                record.shares[row, mark, a] = state[ASSIGNED, a] / number
    best = score
    while column < levels.size and score >= levels[column]:
        named = answer(config, state, scalars)
        if task.look_every > 1 or task.least > 0:  # else no score before was as large
            best = score_of_answer(config, state, scalars, named, score)
        record.decided[row, column] = number
        record.answers[row, column] = named
        record.guesses[row, column] = named
        record.scores[row, column] = best
        _stop(config, task, task.settles[0], state, scalars, record, (row, column), linear)
        column += 1
    return column


@subroutine
def give_up(config, task, state, scalars, record, place, linear=None):
    """Note how a run that has had all its rounds stands, for every delta that it could not answer.

    ``place`` is as in ``note``.
    """
    row, column = place
    if column == task.levels.size:
        return
    if linear is None:
        named, score = best_score(config, state, scalars)
        known = state[OBSERVED].min() > 0.0
    else:
        named, known = largest(state, MEAN), scalars[UNSEEN] == 0.0
        score = max(linear_evidence(config, linear, state, scalars)[0], state[BEST_SCORE, named])
    for unanswered in range(column, task.levels.size):
        record.decided[row, unanswered] = scalars[ROUND]
        record.answers[row, unanswered] = -1.0
        record.guesses[row, unanswered] = named if known else -1.0
        record.scores[row, unanswered] = score
        _stop(config, task, NOT, state, scalars, record, (row, unanswered), linear)
