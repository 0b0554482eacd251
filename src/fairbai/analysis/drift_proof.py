"""What a log says whatever the drift, if it has the probability with which every arm was drawn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairbai.analysis.columns import Codes
from fairbai.analysis.evidence import MANY, Look, Reached
from fairbai.compiling.entry import patiently
from fairbai.experiment.design import Averages, averages, prepared
from fairbai.experiment.experiment import Experiment
from fairbai.kernels.config import CONTROL, STOPPING
from fairbai.kernels.loop import replay as kernels
from fairbai.kernels.state import NAMED
from fairbai.kernels.stopping import design
from fairbai.problems.checks import Array
from fairbai.stopping import DesignBased


@dataclass(frozen=True, eq=False)
class DriftProof:
    """The averages of the arms over the log, with what is proved about them whatever the drift.

    Attributes:
        stopping: The rule, with the bet that it was given.
        level: The evidence that it asks for, in nats.
        looks: The evidence as it grew.
        paths: What was known of the averages at every look.
        reached: When the evidence first sufficed, if somebody looked after every trial; None if it never did.
        least: The least probability of every arm, which limits the bets.
        declared: Whether these were declared; else they are the least in the log.
    """

    stopping: DesignBased
    level: float
    looks: tuple[Look, ...]
    paths: tuple[Averages, ...]
    reached: Reached | None
    least: Array
    declared: bool

    @property
    def last(self) -> Averages:
        """What is known at the end."""
        return self.paths[-1]


def replay_draws(
    experiment: Experiment,
    stopping: DesignBased,
    delta: float,
    least: tuple[Array, bool],
    columns: tuple[Codes, Array, Array],
    looks: Sequence[int],
) -> DriftProof:
    """Count drawn trials in their order.

    Args:
        experiment: One that has not begun, with Bernoulli or bounded rewards; its stop does not matter.
        stopping: The rule.
        delta: The error probability.
        least: The least probability of every arm, and whether it was declared.
        columns: Arms, rewards (as the kernels see them) and probabilities.
        looks: The trials after which to look, which rise.
    """
    floors, declared = least
    codes, control = experiment.codes.copy(), int(experiment.codes[CONTROL])
    codes[STOPPING] = stopping.code
    state, scalars = prepared(stopping, floors, experiment.state, experiment.scalars)
    level, seen, paths, reached, start = stopping.level(delta, floors.size), [], [], None, 0
    replay = patiently(kernels.replay_draws) if len(columns[0]) > MANY else kernels.replay_draws
    for end in looks:
        part = [column[start:end] for column in columns]
        asked = level if reached is None else math.inf
        row, arm = replay(codes, experiment.params, state, scalars, *part, asked)
        if row >= 0:
            reached = Reached(start + int(row) + 1, int(arm))
        start = end
        score = float(design.design_evidence(control, state, scalars, -math.inf)[0])
        paths.append(averages(state, scalars, experiment.family, delta, control))
        seen.append(Look(end, int(scalars[NAMED]), score))
    return DriftProof(stopping, level, tuple(seen), tuple(paths), reached, floors, declared)
