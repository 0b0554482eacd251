"""What an experiment knows at a moment."""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fairbai.experiment.design import average_intervals
from fairbai.experiment.doubts import Doubt
from fairbai.experiment.drawn_trials import DrawnTrials, Wait
from fairbai.experiment.procedure import Procedure
from fairbai.experiment.standing import expected_remaining
from fairbai.identifier import sentences
from fairbai.identifier.effects import LevelEffect, level_effects
from fairbai.kernels import state as rows
from fairbai.problems.checks import Array
from fairbai.problems.linear import Linear
from fairbai.problems.question import Question
from fairbai.problems.sentences import named
from fairbai.stopping import LinearMixture
from fairbai.stopping.intervals import intervals


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
        doubts: What the trials contradict the declared family or, with ``DesignBased``, the probabilities of the draws
            by, oldest first; see docs/doubts.md.
        hints: What would suit the rewards better than the present settings, and what a decision waits for.
        decided: Whether the answer is found; it never changes after that.
        stopped: Whether, besides, all floors are met; or whether the experiment was ended without an answer, and no
            reward is out that could bring one.
        recommendation: The label of the best arm so far, final when ``decided``; None before every arm has a reward.
        expected_remaining: About how many trials are still needed, whatever ``max_trials`` is; inf as long as nothing
            can be said.
        late: Rewards that were told after the age of ``report_after`` and are not counted.
        waits: With ``DesignBased``, which trial without a reward the rewards after it wait for, and until when; None if
            none waits, and after the decision, when none is evidence.
        confidence: How sure it is that the recommendation is right, if one stops now: with probability at least c,
            nothing is ever recommended wrongly with a confidence above c, whenever one looks. After the decision it is
            what it was then, at least 1 - delta. None while ``proved`` is false; see docs/stopping.md.
        candidates: The labels of the arms that are not excluded: with probability at least 1 - delta the best arm is
            always among them. After the decision those that were left then. None while ``proved`` is false.
        intervals: An interval for the mean of every arm, one row per arm, in the unit of the rewards: with probability
            at least 1 - delta all of them hold at all times. With ``DesignBased``, for the average of every arm so far.
            None where nothing is proved of the rewards.
        sample_ratio: With ``DesignBased``, a p-value of the hypothesis that arms come as often as they are drawn, which
            holds at all times; None otherwise.
        ended_by: Why no further trials are assigned: "decision", "max_trials", or the reason that was given to
            ``Identifier.end``; None while they are.
        effects: What every level adds, if the experiment is factorial; else none. See docs/factorial.md.
        condition: What the proof needs besides rewards of the declared family, such as "the effects in the model add
            up", which ``sentence`` says; empty if nothing.
        proved_if: The conditions of what is ``proved``, such as "every arm keeps its mean", which ``sentence`` says
            of a decision.
        question: What the answer must be, which ``sentence`` says unless it is the arm with the largest mean.
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
    waits: Wait | None = None
    confidence: float | None = None
    candidates: tuple[Hashable, ...] | None = None
    intervals: Array | None = None
    ended_by: str | None = None
    effects: tuple[LevelEffect, ...] = ()
    sample_ratio: float | None = None
    question: Question = field(default_factory=Question)
    condition: str = ""
    proved_if: str = ""

    def sentence(self, quote: Callable[[Any], str] = repr) -> str:
        """What this means, in one sentence; ``quote`` is how it names an arm. A confidence is rounded down.

        Example:
            >>> import fairbai as fb
            >>> ident = fb.Identifier(["A", "B"], delta=0.05, family="bernoulli")
            >>> ident.tell_batch([40, 40], [10, 20])
            >>> ident.status().sentence()
            "If you stop now: 'B', 77 % sure; 'A' and 'B' are still in the race."
        """
        return sentences.sentence(self, quote)

    @classmethod
    def of(cls, procedure: Procedure, arms: tuple[Any, ...]) -> Self:
        """What is known now of an experiment whose arms have these labels."""
        state, decision, answer = procedure.experiment.state.copy(), procedure.decision, procedure.answer
        standing, proved = procedure.standing(), procedure.proved
        possible = standing.candidates if proved else None
        unknown = state[rows.OBSERVED] == 0.0
        state[rows.MEAN, procedure.experiment.unseen if procedure.experiment.family.structured else unknown] = math.nan
        return cls(
            arms=arms,
            assigned=state[rows.ASSIGNED].astype(np.int64),
            observed=state[rows.OBSERVED].astype(np.int64),
            means=procedure.experiment.family.in_units(state[rows.MEAN]),
            shares=state[rows.ASSIGNED] / max(1, procedure.experiment.round),
            floors=state[rows.FLOOR] if decision is None else decision.floors.copy(),
            ceilings=state[rows.CEILING],
            glr=standing.glr,
            threshold=standing.threshold,
            proved=proved,
            doubts=procedure.doubts.listed(arms),
            hints=(*procedure.doubts.hints(decision is not None), *_waits(procedure, arms)),
            decided=decision is not None,
            stopped=procedure.stopped,
            recommendation=None if answer is None else arms[answer],
            expected_remaining=expected_remaining(procedure, standing.threshold - standing.glr),
            late=0 if procedure.open_trials is None else procedure.open_trials.late,
            waits=_waits_for(procedure),
            confidence=standing.confidence if proved else None,
            candidates=None if possible is None else tuple(arms[arm] for arm in possible),
            intervals=_intervals(procedure),
            ended_by=procedure.ended_by,
            effects=level_effects(procedure),
            sample_ratio=None if procedure.doubts.ratio is None else procedure.doubts.ratio.p_value,
            question=procedure.experiment.question,
            condition=procedure.experiment.declared.condition,
            proved_if=procedure.experiment.proved_if,
        )


def _waits_for(procedure: Procedure) -> Wait | None:
    opened = procedure.open_trials
    if not isinstance(opened, DrawnTrials) or procedure.decision is not None:
        return None
    silence = None if opened.silence is None else float(procedure.experiment.family.in_units(opened.silence))
    return opened.wait(procedure.assigns, silence)


def _waits(procedure: Procedure, arms: tuple[Any, ...]) -> tuple[str, ...]:
    """Why there is no decision although the evidence is enough; nothing if there is no reason."""
    if missing := procedure.waits_for:
        more = sentences.counted(missing, "more reward")
        check = f"{more} {'is' if missing == 1 else 'are'} needed to check the declared variance"
        return (f"There is enough evidence for an answer, but {check}: the decision waits for them",)
    arm = procedure.preferred
    if arm is None:
        return ()
    why = f"with the interactions that the model lacks, {named(arms[arm])} looks better"
    return (f"There is enough evidence for an answer, but {why}: the decision waits for more rewards",)


def _intervals(procedure: Procedure) -> Array | None:
    """Intervals that hold at all times; None if the rule is not proved, or if rewards contradict the family."""
    one = procedure.experiment
    if not one.stopping.proved(one.family) or procedure.doubts.found:
        return None
    if isinstance(one.stopping, LinearMixture) and isinstance(one.family, Linear):
        counts, sums = one.state[[rows.OBSERVED, rows.SUM]]
        ends = one.stopping.intervals(one.family, counts, sums, procedure.delta)
        return np.sort(one.family.in_units(ends), axis=1)
    if one.guarantees is not None:
        return average_intervals(one.state, one.scalars, one.family, procedure.delta)
    means = one.family.in_units(one.state[rows.MEAN])
    counts = one.state[rows.OBSERVED]
    variances = one.state[rows.SQUARES] / np.maximum(counts, 1.0)  # which only unknown variances need
    return intervals(one.declared, counts, means, procedure.delta, one.stopping, variances)
