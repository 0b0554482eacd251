"""Trials that others assign: the policy that they are to follow, and the sufficient statistics that they report."""

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbai.experiment.decision import Decision
from fairbai.experiment.settling import settling_choice, settling_round
from fairbai.kernels import state as rows
from fairbai.kernels.loop import edges as kernels
from fairbai.problems.checks import Array, array, refuse, whole

if TYPE_CHECKING:
    from fairbai.identifier.identifier import Identifier

MOST_TRIALS = 2**53  # counts are exact up to here
MOST_CHOICES = 10_000  # that a policy after the decision is made of


def policy(identifier: "Identifier", trials: Any, pending: Any) -> Array:
    """The share of every arm in the next ``trials`` trials."""
    trials = whole("trials", trials, 1, MOST_TRIALS, "a whole number from 1 to 2**53")
    arms = len(identifier.arms)
    expected = np.zeros(arms) if pending is None else np.array(array("pending", pending, arms))
    refuse("pending", "not be negative", expected, expected < 0.0)
    if identifier.stopped:
        raise RuntimeError(f"the experiment has stopped: {identifier.recommendation!r} is the answer")
    if identifier._decision is not None:
        return _settling_shares(identifier, trials, expected)
    experiment = identifier._experiment
    if experiment.python_rule:
        return _shares_in_python(identifier, min(trials, kernels.MOST_STEPS), expected)
    shares = np.empty(arms)
    kernels.publish(
        experiment.codes,
        experiment.reals,
        experiment.state.copy(),
        experiment.numbers.copy(),
        experiment.policy,
        expected,
        trials,
        shares,
    )
    return shares


def _shares_in_python(identifier: "Identifier", steps: int, pending: Array) -> Array:
    """The shares of the next choices of a rule that is written in Python, which are then undone."""
    experiment = identifier._experiment
    before = experiment.state.copy(), experiment.numbers.copy()
    shares = np.zeros(pending.size)
    try:
        experiment.state[rows.ASSIGNED] += pending
        experiment.numbers[rows.ROUND] += pending.sum()
        for _ in range(steps):
            shares[experiment.assign()] += 1.0
    finally:
        experiment.state[:], experiment.numbers[:] = before
    return shares / steps


def _settling_shares(identifier: "Identifier", trials: int, pending: Array) -> Array:
    """First what the limits lack; for the trials after that the floors, with all that they leave for the answer."""
    decision, one = identifier._decision, copy.copy(identifier._experiment)
    assert decision is not None
    one.state, one.numbers = one.state.copy(), one.numbers.copy()
    one.state[rows.ASSIGNED] += pending
    one.numbers[rows.ROUND] += pending.sum()
    before, end = one.state[rows.ASSIGNED].copy(), settling_round(one, decision.floors)
    debt = end - one.round
    steps = min(debt, trials, MOST_CHOICES)
    for _ in range(steps):
        one.count_assigned(settling_choice(one, decision.floors, end))
    lacking: Array = (one.state[rows.ASSIGNED] - before) * (min(debt, trials) / max(1, steps))
    if debt >= trials:
        return lacking / trials
    shares = one.state[rows.CENTRE].copy() if one.limited else decision.floors.copy()
    shares[decision.recommendation] += 1.0 - shares.sum()
    return (lacking + (trials - debt) * shares) / trials


def checked(identifier: "Identifier", pulls: Any, sums: Any) -> tuple[Array, Array]:
    """The pulls and sums of a batch that can be counted; a ValueError says what is wrong with one that cannot."""
    trials = array("pulls", pulls, len(identifier.arms))
    refuse("pulls", "be whole numbers from 0", trials, (trials < 0.0) | (trials != np.floor(trials)))
    total = trials.sum()
    if not 1.0 <= total <= MOST_TRIALS - identifier.trials:
        raise ValueError(f"pulls must have from 1 to 2**53 trials in all, with those before, got {total:g}")
    return trials, identifier.family.check_sums(trials, sums)


def count(identifier: "Identifier", pulls: Any, sums: Any) -> None:
    """Count a batch, all or nothing, and decide if its evidence is enough."""
    experiment = identifier._experiment
    trials, values = checked(identifier, pulls, sums)
    with identifier._all_or_nothing():
        kernels.count_batch(
            experiment.codes,
            experiment.reals,
            experiment.state,
            experiment.numbers,
            experiment.policy,
            np.array(trials),
            np.array(values),
        )
        if identifier._decision is None:
            identifier._consider()
        else:
            identifier._learn(identifier._decision)
    if identifier._decision is not None:
        _settle_again(identifier, identifier._decision)


def _settle_again(identifier: "Identifier", decision: Decision) -> None:
    """The last round, now that there are trials which the decision did not know of."""
    experiment = identifier._experiment
    end = settling_round(experiment, decision.floors) if identifier.settle else experiment.round
    identifier._decision = replace(decision, final_round=end)
