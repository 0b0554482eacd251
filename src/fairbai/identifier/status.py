"""What an experiment knows at a moment."""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fairbai.experiment.doubts import Doubt
from fairbai.experiment.procedure import Procedure
from fairbai.kernels import state as rows
from fairbai.problems.checks import Array


@dataclass(frozen=True, eq=False)
class Status:
    """A snapshot of an experiment for people and programs; arrays have one entry per arm.

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
        proved: Whether the threshold is proved to err with probability at most delta for this family, and the rewards
            have not contradicted the family; after the decision: whether that was so at the decision.
        doubts: What the rewards contradict the declared family by, oldest first; see docs/doubts.md.
        hints: What would suit the rewards better than the present settings.
        decided: Whether the answer is found; it never changes after that.
        stopped: Whether, besides, all floors are met.
        recommendation: The label of the best arm so far, final when ``decided``; None before every arm has a reward.
        expected_remaining: About how many trials are still needed; inf as long as nothing can be said.
        late: Rewards that were told after the age of ``report_after`` and are not counted.
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
    doubts: tuple[Doubt, ...]
    hints: tuple[str, ...]
    decided: bool
    stopped: bool
    recommendation: Hashable | None
    expected_remaining: float
    late: int = 0

    @classmethod
    def of(cls, procedure: Procedure, arms: tuple[Any, ...]) -> Self:
        """What is known now of an experiment whose arms have these labels."""
        state, decision, answer = procedure.experiment.state.copy(), procedure.decision, procedure.answer
        glr, threshold = procedure.glr_and_threshold()
        state[rows.MEAN, state[rows.OBSERVED] == 0.0] = math.nan
        return cls(
            arms=arms,
            assigned=state[rows.ASSIGNED].astype(np.int64),
            observed=state[rows.OBSERVED].astype(np.int64),
            means=procedure.experiment.family.in_units(state[rows.MEAN]),
            shares=state[rows.ASSIGNED] / max(1, procedure.experiment.round),
            floors=state[rows.FLOOR] if decision is None else decision.floors.copy(),
            ceilings=state[rows.CEILING],
            glr=glr,
            threshold=threshold,
            proved=procedure.proved,
            doubts=procedure.doubts.listed(arms),
            hints=procedure.doubts.hints(decision is not None),
            decided=decision is not None,
            stopped=procedure.stopped,
            recommendation=None if answer is None else arms[answer],
            expected_remaining=procedure.expected_remaining(threshold - glr),
            late=0 if procedure.open_trials is None else procedure.open_trials.late,
        )
