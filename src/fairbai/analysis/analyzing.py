"""From a log to what it says."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairbai.analysis.analysis import Analysis, Arms, Standing
from fairbai.analysis.drift import check_drift
from fairbai.analysis.drift_proof import DriftProof, replay_draws
from fairbai.analysis.evidence import Replay, rules_for
from fairbai.analysis.family import Choice, Moments, chosen, moments
from fairbai.analysis.floors import least_of
from fairbai.analysis.hints import hints_for
from fairbai.analysis.log import Log, Names, Totals, read
from fairbai.analysis.ratio import RatioCheck, check_ratio, declared_shares
from fairbai.experiment.doubts import LEVEL, Doubts
from fairbai.experiment.experiment import Experiment
from fairbai.kernels.families import GAUSSIAN_UNKNOWN
from fairbai.problems import Bounded, Gaussian
from fairbai.problems.checks import Array, Numbers, confidence, number
from fairbai.problems.families import Family
from fairbai.problems.question import Goal, Question, Tolerance, question_of
from fairbai.problems.short_forms import FamilyForm
from fairbai.stopping import DesignBased, Mixture

LOOKS, FEW_LOOKS = 100, 20  # at which the evidence is noted; few of them if there are many arms
MANY_ARMS = 50
HALF = 0.5 * LEVEL  # of the probability of a false doubt: one for the family, one for the sample ratio


@dataclass(frozen=True)
class Declared:
    """What is known beside the log itself.

    Attributes:
        family: The family of the rewards, or None to guess it.
        delta: The error probability.
        shares: The shares in which arms were to be assigned.
        floor: The least probability of every arm, or of each.
        low: The least possible reward.
        high: The largest possible reward.
        planned: The trials that were planned beforehand.
        asked: The goal, the tolerance and the control, by its label.
    """

    family: FamilyForm
    delta: float
    shares: Any
    floor: Any
    low: float | None
    high: float | None
    planned: float | None
    asked: tuple[Goal, Tolerance, Any]


def analyze(
    data: Any,
    arm: str = "arm",
    reward: str | None = None,
    *,
    time: str | None = None,
    probability: str | None = None,
    trials: str | None = None,
    sum: str | None = None,
    squares: str | None = None,
    family: FamilyForm = None,
    low: float | None = None,
    high: float | None = None,
    delta: float = 0.05,
    shares: str | Mapping[Any, float] | Numbers | None = None,
    floor: float | Mapping[Any, float] | None = None,
    planned: float | None = None,
    goal: Goal = "max",
    tolerance: Tolerance = None,
    control: str | int | None = None,
    silence: float | None = None,
) -> Analysis:
    """What a log that you already have says: who leads, how sure that is, and what speaks against trusting it.

    Args:
        data: The path of a CSV or Parquet file, a data frame, or a dictionary of columns. One row per trial; or, with
            ``trials`` and ``sum``, one row per arm.
        arm: The column with the label of the arm.
        reward: The column with the reward; "reward" by default. For a comparison whatever the drift, every trial that
            was drawn must be there, with its reward as it was known at one fixed age.
        time: The column with the time at which the arm was assigned, in ISO 8601 or as a number; without it, rows must
            be in the order of assignment.
        probability: The column with the probability with which the arm of this trial was drawn. With it, arms are also
            compared whatever the drift.
        trials: For totals, the column with the number of trials of an arm.
        sum: For totals, the column with the sum of their rewards.
        squares: For totals, the column with the sum of their squared rewards.
        family: The reward family; guessed from the rewards by default.
        low: The least possible reward, for bounded rewards.
        high: The largest possible reward, for bounded rewards.
        delta: The error probability, in (0, 1/2).
        shares: The shares in which arms were to be assigned, by label or in the order of the labels; equal ones by
            default; "any" if they are not to be tested, as those of a rule that adapts.
        floor: The least probability with which any arm was ever drawn, fixed beforehand; one for all, or by label. By
            default the least in the log.
        planned: How many trials were planned before the experiment, if they were: makes the evidence a little stronger.
            It must not come from the log.
        goal: "min" if less is better.
        tolerance: How far from the best the answer may be, such as 0.01 or "10%"; by default it is the best arm.
        control: The label of the arm that is in use, which another must beat; see ``Identifier``.
        silence: What a trial without a reward (an empty field, None or NaN) counts as: 0 where only successes are told.
            By default such a trial is refused: to leave it out would favour the arm whose failures are not told.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(1)
        >>> variant = rng.integers(0, 2, 4000)
        >>> bought = rng.random(4000) < np.where(variant == 1, 0.25, 0.2)
        >>> found = analyze({"variant": variant, "bought": bought}, arm="variant", reward="bought")
        >>> found.leader, found.decided, round(found.confidence, 3)
        (1, True, 0.977)
    """
    names = Names(arm, reward, time, probability, trials, sum, squares)
    if planned is not None:
        planned = number("planned", planned, 1.0, 1e300, "at least 1")
    asked = (goal, tolerance, control)
    declared = Declared(family, confidence(delta), shares, floor, low, high, planned, asked)
    log = read(data, names, silence)
    found = moments(log)
    choice = chosen(found, family, low, high)
    return _of_log(log, found, choice, declared) if isinstance(log, Log) else _of_totals(log, found, choice, declared)


def _of_log(log: Log, found: Moments, choice: Choice, declared: Declared) -> Analysis:
    looks = _looks(log)
    values = _statistics(log, choice.family)
    question = _question(declared, log.labels, found)
    replay = _replay(log, choice, declared, question)
    replay.count_rows(log.arms, values, looks)
    shares = declared_shares(declared.shares, log.labels)
    least = least_of(log, declared.floor)
    ratio = check_ratio(log, shares, least, "assumed" if declared.shares is None else "declared", HALF, looks)
    if ratio is not None and least is not None and declared.floor is None:
        ratio = replace(ratio, assumed=float(least.min()))
    doubts = Doubts(choice.family, len(log.labels), HALF)
    advice: tuple[str, ...] = ()
    if choice.proved or choice.family.code != GAUSSIAN_UNKNOWN:  # else nothing is said that rewards could contradict
        doubts.observe_rows(log.arms, values, None if replay.reached is None else replay.reached.trial)
        advice = tuple(f"{hint}." for hint in doubts.hints(replay.reached is not None))
    drift_proof = _drift_proof(log, values, choice, declared, question, least, looks)
    return Analysis(
        source=log.name,
        delta=declared.delta,
        question=question,
        arms=_arms(log, found, replay),
        choice=choice,
        standing=_standing(replay),
        drift_proof=drift_proof,
        sample_ratio=ratio,
        drift=check_drift(log.arms, log.rewards, len(log.labels)),
        doubts=doubts.listed(log.labels),
        hints=(*advice, *hints_for(log, choice, drift_proof)),
        notes=log.notes,
        times=None if log.times is None else log.times[np.array(looks) - 1],
        clock=log.clock,
        when=_when(log, replay, ratio, drift_proof),
    )


def _of_totals(totals: Totals, found: Moments, choice: Choice, declared: Declared) -> Analysis:
    if declared.floor is not None:
        raise ValueError(f"floor is for logs with probabilities, got {declared.floor!r} beside totals")
    question = _question(declared, totals.labels, found)
    replay = _replay(totals, choice, declared, question)
    sums = choice.family.check_sums(totals.trials, totals.sums)
    squares = None
    if isinstance(choice.family, Bounded | Gaussian) and totals.squares is not None:
        squares = choice.family.check_squares(totals.trials, sums, totals.squares)
    replay.count_totals(totals.trials, sums, squares)
    shares = declared_shares(declared.shares, totals.labels)
    ratio = check_ratio(totals, shares, None, "assumed" if declared.shares is None else "declared", HALF, ())
    return Analysis(
        source=totals.name,
        delta=declared.delta,
        question=question,
        arms=_arms(totals, found, replay),
        choice=choice,
        standing=_standing(replay),
        drift_proof=None,
        sample_ratio=ratio,
        drift=None,
        doubts=(),
        hints=hints_for(totals, choice, None),
        notes=totals.notes,
    )


def _question(declared: Declared, labels: tuple[Any, ...], found: Moments) -> Question:
    """What is asked; a tolerance in percent of means that are negative is refused."""
    question = question_of(*declared.asked, labels)
    arm = int(np.argmin(found.means))
    if question.percent is not None and found.means[arm] < 0.0:
        raise ValueError(
            f"a tolerance in percent needs means that are positive, got {found.means[arm]:g} for {labels[arm]!r}: give "
            f"it in the unit of the rewards"
        )
    return question


def _replay(log: Log | Totals, choice: Choice, declared: Declared, question: Question) -> Replay:
    arms = len(log.labels)
    rules = rules_for(declared.planned, declared.delta, arms)
    if not rules[0].proved(choice.family):
        covered = ", ".join(kind.kind for kind in Mixture.proof.families)
        raise ValueError(f"family must be one of {covered}, for which evidence is proved, got {choice.family.kind}")
    return Replay(arms, choice.family, rules, declared.delta, question)


def _standing(replay: Replay) -> Standing:
    return Standing(
        rules=replay.rules,
        level=replay.level,
        looks=tuple(replay.looks),
        reached=replay.reached,
        named=replay.named,
        confidence=replay.confidence,
        candidates=replay.candidates(),
    )


def _arms(log: Log | Totals, found: Moments, replay: Replay) -> Arms:
    means = np.where(found.counts > 0.0, found.means, math.nan)
    return Arms(log.labels, found.counts, means, found.variances, replay.intervals())


def _looks(log: Log) -> list[int]:
    """After which trials to look: evenly spaced in time if there are times, else evenly on a logarithmic scale."""
    rows, count = len(log.arms), LOOKS if len(log.labels) <= MANY_ARMS else FEW_LOOKS
    if log.times is None:
        marks = np.geomspace(min(rows, len(log.labels)), rows, count).round().astype(int)
    else:
        grid = np.linspace(log.times[0], log.times[-1], count + 1)[1:]
        marks = np.searchsorted(log.times, grid, side="right")
    return sorted({int(mark) for mark in marks if mark > 0} | {rows})


def _statistics(log: Log, family: Family) -> Array:
    """What every reward adds to the sum of its arm; an error says where there is one that the family cannot have."""
    different, where = np.unique(log.rewards, return_inverse=True)
    values, wrong = np.empty(different.size), {}
    for place, reward in enumerate(different.tolist()):
        try:
            values[place] = family.statistic(reward)
        except ValueError as error:
            wrong[place] = error
    if wrong:
        trial = int(np.argmax(np.isin(where, list(wrong))))
        raise ValueError(f"{log.place(trial)}: {wrong[int(where[trial])]}")
    found: Array = values[where]
    return found


def _drift_proof(
    log: Log,
    values: Array,
    choice: Choice,
    declared: Declared,
    question: Question,
    least: Array | None,
    looks: list[int],
) -> DriftProof | None:
    if least is None or log.probabilities is None or not DesignBased().proved(choice.family):
        return None
    arms = len(log.labels)
    plan = declared.planned
    stopping = DesignBased() if plan is None else DesignBased.for_trials(plan, declared.delta, arms)
    experiment = Experiment(arms, choice.family, question=question)
    columns = (log.arms, experiment.family.turned(values), log.probabilities)
    known = (least, declared.floor is not None)
    return replay_draws(experiment, stopping.for_arms(arms), declared.delta, known, columns, looks)


def _when(log: Log, replay: Replay, ratio: RatioCheck | None, drift_proof: DriftProof | None) -> dict[int, float]:
    """The times of the trials that the report refers to."""
    if log.times is None:
        return {}
    proof = None if drift_proof is None else drift_proof.reached
    trials = {1, len(log.arms)} | {one.trial for one in (replay.reached, proof) if one is not None}
    if ratio is not None and ratio.found is not None:
        trials.add(ratio.found)
    return {trial: float(log.times[trial - 1]) for trial in trials}
