"""What an experiment knows at a moment."""

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbai.experiment.experiment import Experiment
from fairbai.kernels import state as rows
from fairbai.kernels.allocation.floors import allocate
from fairbai.kernels.allocation.limits import allocate_within
from fairbai.problems.checks import Array


@dataclass(frozen=True, eq=False)
class Status:
    """A snapshot of an experiment for people and programs; arrays have one entry an arm.

    Attributes:
        arms: The labels.
        assigned: Trials of every arm that ``ask`` gave or a batch reported.
        observed: Of these, the trials whose reward has come.
        means: Mean of the rewards that have come; nan for an arm that has none.
        shares: assigned / sum(assigned); 0 before the first trial.
        floors: The share that every arm is guaranteed, at the present means (after the decision: at the decision).
        ceilings: The share that every arm may have at most; 1 where there is no such limit.
        glr: Generalised likelihood ratio of the pair that is hardest to tell apart.
        threshold: What that ratio has to reach.
        proved: Whether the threshold is proved to err with probability at most delta for this family.
        decided: Whether the answer is found; it never changes after that.
        stopped: Whether, besides, all floors are met.
        recommendation: The label of the best arm so far, final when ``decided``; None before every arm has a reward.
        expected_remaining: About how many trials are still needed; inf as long as nothing can be said.
    """

    arms: tuple[Hashable, ...]
    assigned: npt.NDArray[np.int64]
    observed: npt.NDArray[np.int64]
    means: Array
    shares: Array
    floors: Array
    ceilings: Array
    glr: float
    threshold: float
    proved: bool
    decided: bool
    stopped: bool
    recommendation: Hashable | None
    expected_remaining: float


def trials_for(experiment: Experiment, evidence: float) -> float:
    """About how many trials bring so much more evidence: the GLR grows by about 1 / T*_p a trial."""
    state, numbers = experiment.state, experiment.numbers
    if numbers[rows.UNSEEN] > 0.0:
        return math.inf
    weights, room = np.empty(experiment.policy.size), experiment.room[1:]
    question = (experiment.family.code, state[rows.INSIDE], state[rows.SCALE], state[rows.FLOOR])
    if experiment.limited:
        bounds = (state[rows.CEILING], state[rows.GROUP], state[rows.GROUP_FLOOR])
        _, cost, _, _ = allocate_within(*question, *bounds, 0.0, weights, room)
    else:
        _, cost, _, _ = allocate(*question, numbers[rows.SPARE], 0.0, weights, room)
    rest = max(0.0, evidence) / float(cost) if cost > 0.0 else math.inf
    return float(math.ceil(rest)) if math.isfinite(rest) else math.inf
