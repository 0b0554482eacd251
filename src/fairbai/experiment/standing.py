"""Where an experiment stands: its evidence, how sure it is, and which arms may still be the best."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairbai.experiment.decision import Decision
from fairbai.experiment.design import average_intervals
from fairbai.experiment.experiment import Experiment
from fairbai.kernels.state import STRETCH
from fairbai.problems.families import Bernoulli

if TYPE_CHECKING:
    from fairbai.experiment.procedure import Procedure

MAX_EVIDENCE = 1e300  # so that JSON can hold it


@dataclass(frozen=True)
class Standing:
    """What the evidence says now, or said at the decision.

    Attributes:
        glr: The GLR of the pair that is furthest from its threshold.
        threshold: What it has to reach.
        confidence: How sure it is that the named arm is right; None for a rule that is not proved.
        candidates: The arms that are not excluded; None for a rule that is not proved.
    """

    glr: float
    threshold: float
    confidence: float | None
    candidates: tuple[int, ...] | None


def standing_now(experiment: Experiment, level: float, risk: Callable[[float], float] | None = None) -> Standing:
    """How an experiment without a decision stands, whose score has to reach ``level``.

    Args:
        experiment: The experiment.
        level: What its score has to reach.
        risk: The probability of an error at a score, if it is not that of the stopping rule for so many arms.
    """
    best, (_, _, glr, factor, penalty) = experiment.how_sure()
    confidence, candidates = None, None
    if experiment.stopping.proved(experiment.family):
        risked = experiment.stopping.risk(best, experiment.policy.size) if risk is None else risk(best)
        confidence = 0.0 if experiment.unseen else 1.0 - risked
        candidates = not_excluded(experiment, level)
    threshold = min(float((level + penalty) / factor), MAX_EVIDENCE)
    return Standing(min(float(glr), MAX_EVIDENCE), threshold, confidence, candidates)


def expected_remaining(procedure: "Procedure", evidence: float) -> float:
    """About how many trials are still needed; inf as long as nothing can be said.

    Args:
        procedure: The experiment.
        evidence: How far the GLR is below its threshold.
    """
    one = procedure.experiment
    if procedure.decision is None:
        left = (one if procedure.remaining is None else procedure.remaining.load()).trials_for(evidence)
        return max(left, float(procedure.untested))
    last = procedure.decision.final_round if procedure.assigns else 0
    return float(max(0, min(last, procedure.max_trials or last) - one.round))


def not_excluded(experiment: Experiment, level: float) -> tuple[int, ...]:
    """The arms that no other has a score of at least ``level`` against."""
    if experiment.guarantees is not None and (experiment.state[STRETCH] != 1.0).any():
        return _not_below(experiment, level)
    return tuple(np.flatnonzero(experiment.candidates(level)).tolist())


def _not_below(experiment: Experiment, level: float) -> tuple[int, ...]:
    """The arms whose interval is not below that of another, for a design-based stop with a tolerance in percent.

    Its bets on pairs are not on their differences. The intervals of all arms hold together with the probability that
    pairs would have: ``level`` is that of a union over K (K - 1) events, and here there are 2 K.
    """
    arms = experiment.policy.size
    delta = min(0.5, arms * (arms - 1.0) * math.exp(-level))
    ends = average_intervals(experiment.state, experiment.scalars, Bernoulli(), delta)  # in the unit of the kernels
    return tuple(np.flatnonzero(ends[:, 1] >= ends[:, 0].max()).tolist())


def standing_then(decision: Decision, delta: float) -> Standing:
    """How an experiment stood when it decided; the decisions of earlier versions excluded all other arms."""
    confidence = 1.0 - delta if decision.confidence is None else max(decision.confidence, 1.0 - delta)
    candidates = (decision.recommendation,) if decision.candidates is None else decision.candidates
    return Standing(decision.glr, decision.threshold, confidence, candidates)
