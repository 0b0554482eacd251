"""Trials that others assign: the policy that they are to follow, and the sufficient statistics that they report."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairbai.experiment.decision import Decision
from fairbai.experiment.design import SHORT
from fairbai.experiment.drawn_trials import DrawnTrials
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.procedure import Procedure
from fairbai.experiment.settling import settled_shares, settling_choice, settling_round
from fairbai.identifier.sentences import counted
from fairbai.kernels import state as rows
from fairbai.kernels.families import GAUSSIAN_UNKNOWN
from fairbai.kernels.loop import edges as kernels
from fairbai.kernels.stopping import design
from fairbai.problems.checks import Array, array, refuse, whole
from fairbai.problems.families import Bernoulli, Bounded, Gaussian

if TYPE_CHECKING:
    from fairbai.identifier.identifier import Identifier

MAX_TRIALS = 2**53  # counts are exact up to here
MAX_CHOICES = 10_000  # that a policy after the decision is made of


class Counts(NamedTuple):
    """A batch as the kernels count it: the trials of every arm, and the sums of their rewards and of the squares."""

    pulls: Array
    sums: Array
    squares: Array

    def plus(self, other: "Counts") -> "Counts":
        """Both as one batch; rounding must not make its rewards larger than the largest that there is."""
        pulls, sums, squares = (one + more for one, more in zip(self, other, strict=True))
        return Counts(pulls, np.minimum(sums, pulls), np.minimum(squares, pulls))


def policy(procedure: Procedure, trials: int, pending: Array) -> Array:
    """The share of every arm in the next ``trials`` trials, of which ``pending`` are on their way."""
    one = procedure.experiment.copied()
    if procedure.decision is not None:
        return _settling_shares(one, procedure.decision, trials, pending)
    if procedure.remaining is not None:
        part = procedure.remaining.load().copied()
        return procedure.remaining.spread(kernels.publish(*part.all_arrays, pending[procedure.remaining.kept], trials))
    if one.python_rule:
        return _shares_in_python(one, min(trials, kernels.MAX_STEPS), pending)
    shares: Array = kernels.publish(*one.all_arrays, pending, trials)
    return shares


def checked_question(trials: Any, pending: Any, arms: int) -> tuple[int, Array]:
    """How many trials a policy is for, and those of every arm that are on their way."""
    trials = whole("trials", trials, 1, MAX_TRIALS, "a whole number from 1 to 2**53")
    expected = np.zeros(arms) if pending is None else np.array(array("pending", pending, arms))
    refuse("pending", "not be negative", expected, expected < 0.0)
    return trials, expected


def trials_left(procedure: Procedure, trials: int, pending: Array) -> int:
    """How many of the next ``trials`` trials may still be made; a RuntimeError if none."""
    if procedure.max_trials is None:
        return trials
    left = procedure.max_trials - procedure.experiment.round - round(float(pending.sum()))
    if left < 1:
        raise RuntimeError(f"all {counted(procedure.max_trials, 'trial')} of max_trials are made or on their way")
    return min(trials, left)


def _add_pending(one: Experiment, pending: Array) -> None:
    one.state[rows.ASSIGNED] += pending
    one.scalars[rows.ROUND] += pending.sum()


def _shares_in_python(one: Experiment, steps: int, pending: Array) -> Array:
    """The shares of the next choices of a rule that is written in Python."""
    shares = np.zeros(pending.size)
    _add_pending(one, pending)
    for _ in range(steps):
        shares[one.assign()] += 1.0
    return shares / steps


def _settling_shares(one: Experiment, decision: Decision, trials: int, pending: Array) -> Array:
    """First what the limits lack; for the trials after that the floors, with all that they leave for the answer."""
    _add_pending(one, pending)
    before, end = one.state[rows.ASSIGNED].copy(), settling_round(one, decision.floors)
    debt = end - one.round
    steps = min(debt, trials, MAX_CHOICES)
    for _ in range(steps):
        one.count_assigned(settling_choice(one, decision.floors, end))
    lacking: Array = (one.state[rows.ASSIGNED] - before) * (min(debt, trials) / max(1, steps))
    if debt >= trials:
        return lacking / trials
    shares = settled_shares(one, decision.floors, decision.recommendation)
    return (lacking + (trials - debt) * shares) / trials


def checked(identifier: "Identifier", pulls: Any, sums: Any) -> tuple[Array, Array]:
    """The pulls and sums of a batch, as the kernels count them; a ValueError says what is wrong with one."""
    return _checked_batch(identifier.procedure.experiment, pulls, sums)


def _checked_batch(experiment: Experiment, pulls: Any, sums: Any) -> tuple[Array, Array]:
    trials = array("pulls", pulls, experiment.policy.size)
    refuse("pulls", "be whole numbers from 0", trials, (trials < 0.0) | (trials != np.floor(trials)))
    total = trials.sum()
    if not 1.0 <= total <= MAX_TRIALS - experiment.round:
        raise ValueError(f"pulls must have from 1 to 2**53 trials in all, with those before, got {total:g}")
    return trials, experiment.family.turned(experiment.family.check_sums(trials, sums), trials)


def count(procedure: Procedure, pulls: Any, sums: Any, squares: Any = None, probabilities: Any = None) -> None:
    """Count a batch, all or nothing, and decide if its evidence is enough."""
    told = _checked(procedure.experiment, pulls, sums, squares)
    chances = _checked_probabilities(procedure, probabilities)
    with procedure.all_or_nothing():
        _count(procedure, told, chances, squares is not None)
    if isinstance(procedure.open_trials, DrawnTrials):
        procedure.open_trials.skip(int(told.pulls.sum()))
    procedure.settle_again()


def expect(procedure: Procedure, pulls: Any, sums: Any, squares: Any, probabilities: Any) -> Counts:
    """Check a batch and count its trials as assigned; returns what ``count_expected`` is to count of it later."""
    told = _checked(procedure.experiment, pulls, sums, squares)
    _checked_probabilities(procedure, probabilities)
    assert isinstance(procedure.open_trials, DrawnTrials)
    procedure.open_trials.skip(int(told.pulls.sum()))
    _assign(procedure.experiment, told.pulls)
    return told


def count_expected(procedure: Procedure, told: Counts, probabilities: Any) -> None:
    """Count one or more batches that were drawn with the same probabilities, and whose trials are assigned."""
    with procedure.all_or_nothing():
        _assign(procedure.experiment, -told.pulls)
        _count(procedure, told, np.array(probabilities))
    procedure.settle_again()


def _assign(one: Experiment, pulls: Array) -> None:
    one.state[rows.ASSIGNED] += pulls
    one.recount()


def _checked(one: Experiment, pulls: Any, sums: Any, squares: Any) -> Counts:
    trials, values = (np.array(given) for given in _checked_batch(one, pulls, sums))
    return Counts(trials, values, checked_squares(one, trials, values, squares))


def _count(procedure: Procedure, told: Counts, chances: Array | None, squared: bool = False) -> None:
    """Count a batch, and decide if its evidence is enough; ``chances`` are those with which its arms were drawn.

    Where its squares were told (``squared``), they are a part of the test of the family.
    """
    one = procedure.experiment
    if chances is not None and procedure.decision is None:
        procedure.doubts.draw_batch(told.pulls, chances, one.round + int(told.pulls.sum()))
        design.count_bets(one.state, one.scalars, *told, chances, isinstance(one.family, Bernoulli))
    kernels.count_batch(*one.all_arrays, *told)
    if squared:
        procedure.doubts.observe_batch(*told, one.round, procedure.decision is not None)
    procedure.test_fit()
    procedure.reconsider()


def checked_squares(one: Experiment, pulls: Array, sums: Array, squares: Any) -> Array:
    """The sums of the squared rewards; where they need not be given, the largest that these sums allow."""
    if squares is None:
        if one.guarantees is not None and isinstance(one.family, Bounded):
            raise ValueError("squares must be given for bounded rewards with design_based: it learns their variance")
        if one.family.code == GAUSSIAN_UNKNOWN:
            raise ValueError("squares must be given for unknown variances: these are estimated from them")
        return sums.copy()
    if isinstance(one.family, (Bounded, Gaussian)):
        told = one.family.turned(sums, pulls)
        return np.array(one.family.turned_squares(one.family.check_squares(pulls, told, squares), told, pulls))
    checked = array("squares", squares, pulls.size)
    if isinstance(one.family, Bernoulli):
        told = one.family.turned(sums, pulls)
        refuse("squares", "be the sums for bernoulli arms", checked, checked != told)
        return sums.copy()
    return np.array(checked)


def _checked_probabilities(procedure: Procedure, probabilities: Any) -> Array | None:
    """The probabilities of the arms, at least what the rule guarantees; None for a stop that does not need them."""
    one, opened = procedure.experiment, procedure.open_trials
    if one.guarantees is None or not isinstance(opened, DrawnTrials):
        if probabilities is not None:
            raise ValueError(f"probabilities are for the stopping rule design_based, got them for {one.stopping.kind}")
        return None
    if probabilities is None:
        raise ValueError("probabilities must be given with design_based: those with which the arms were drawn")
    if opened.open > 0:
        raise ValueError(
            f"a batch can be told only when all trials before it have their rewards: {opened.open} are open"
        )
    chances = array("probabilities", probabilities, one.policy.size)
    refuse("probabilities", "be at least what the rule guarantees", chances, chances < one.guarantees * SHORT)
    if abs(float(chances.sum()) - 1.0) > 1e-6:
        raise ValueError(f"probabilities must sum to 1, got {float(chances.sum()):g}")
    return np.array(chances)
