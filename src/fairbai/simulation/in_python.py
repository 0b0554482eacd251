"""Simulated runs of rules and rates that are written in Python: the loop of ``kernels.loop.runs``, slower."""

import math
from typing import TYPE_CHECKING

from fairbai.experiment import Settling
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.settling import MAX_LEARNING, settling_choice, settling_plan
from fairbai.kernels.config import configure
from fairbai.kernels.loop import runs as kernels
from fairbai.kernels.loop.records import Record, Task, decides, give_up, note
from fairbai.kernels.settling.settle import NOT, violation
from fairbai.kernels.state import ASSIGNED
from fairbai.kernels.streams import rewards
from fairbai.problems.checks import Array
from fairbai.problems.rates import Custom

if TYPE_CHECKING:
    from fairbai.simulation.scenario import Scenario


def simulate_in_python(scenario: "Scenario", first: int, levels: Array, record: Record) -> None:
    """Simulate the runs from ``first`` on for which the record has room.

    Args:
        scenario: What they depend on.
        first: The number of the first run.
        levels: What the score has to reach for every delta, rising.
        record: Where the kernels write what happens.
    """
    settle, custom = scenario.settle, isinstance(scenario.instance.rates, Custom)
    later = settle if isinstance(settle, Settling) and custom else None  # the kernels cannot call the rates
    task, marks = scenario.task(levels, scenario.settles if later is None else (NOT, 0.0)), frozenset(scenario.grid)
    for row in range(len(record.decided)):
        run, column = first + row, 0
        experiment = scenario.experiment(run)
        state, scalars = experiment.state, experiment.scalars
        config = configure(experiment.codes, experiment.params)
        while column < levels.size and experiment.round < scenario.maximum_rounds:
            number = experiment.round
            arm = experiment.assign()
            experiment.observe(arm, kernels.draw(experiment.codes, task, run, number, arm))
            asked = -math.inf if number + 1 in marks else float(levels[column])
            score, _, glr, _, _ = experiment.reconsider(asked)
            if not decides(task, scalars):
                score = -math.inf
            before = column
            column = note(config, task, state, scalars, (score, glr), record, (row, column))
            if later is not None:
                for decided in range(before, column):
                    _settle(later, experiment, task, record, row, decided)
        give_up(config, task, state, scalars, record, (row, column))


def _settle(settle: Settling, decided: Experiment, task: Task, record: Record, row: int, column: int) -> None:
    """What ``settle_with_margin`` in the kernels does, for rates that are written in Python."""
    one, run = decided.copied(), decided.run
    floors, end = settling_plan(one, settle)
    while one.round < end:
        arm = settling_choice(one, floors, end)
        value = kernels.draw(one.codes, task, run, one.round, arm)
        one.count_assigned(arm)
        if settle.learn and one.round < end and one.round <= MAX_LEARNING * decided.round:
            one.observe(arm, value)
            floors, end = settling_plan(one, settle)
    record.pulls[row, column] = one.state[ASSIGNED]
    record.stopped[row, column] = end
    record.violations[row, column] = violation(
        one.state, one.scalars, task.truth[rewards.FLOOR], one.state[ASSIGNED], float(end)
    )
