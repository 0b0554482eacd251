"""Trials that others assign: the policy that they are to follow, and the sufficient statistics that they report."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbai.kernels import edge as kernels
from fairbai.kernels import state as rows
from fairbai.kernels.rates import spare_share
from fairbai.kernels.settling import settle, settling_trials
from fairbai.problems.checks import Array, array, refuse

if TYPE_CHECKING:
    from fairbai.identifier.identifier import Identifier

MOST_TRIALS = 2**53  # counts are exact up to here


def policy(identifier: "Identifier", trials: Any, pending: Any) -> Array:
    """The share of every arm in the next ``trials`` trials."""
    if isinstance(trials, bool) or not isinstance(trials, (int, np.integer)) or not 1 <= trials <= MOST_TRIALS:
        raise ValueError(f"trials must be a whole number from 1 to 2**53, got {trials!r}")
    arms = len(identifier.arms)
    expected = np.zeros(arms) if pending is None else np.array(array("pending", pending, arms))
    refuse("pending", "not be negative", expected, expected < 0.0)
    if identifier.stopped:
        raise RuntimeError(f"the experiment has stopped: {identifier.recommendation!r} is the answer")
    if identifier._decision is not None:
        return _settling_shares(identifier, expected)
    experiment = identifier._experiment
    if experiment.python_rule:
        return _shares_in_python(identifier, min(int(trials), kernels.MOST_STEPS), expected)
    shares = np.empty(arms)
    kernels.publish(
        experiment.codes,
        experiment.reals,
        experiment.state.copy(),
        experiment.numbers.copy(),
        experiment.policy,
        expected,
        int(trials),
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


def _settling_shares(identifier: "Identifier", pending: Array) -> Array:
    """What the floors lack, in shares; where they lack nothing, the floors, with all that they leave for the answer."""
    decision, experiment = identifier._decision, identifier._experiment
    assert decision is not None
    state, numbers = experiment.state.copy(), experiment.numbers.copy()
    state[rows.ASSIGNED] += pending
    numbers[rows.ROUND] += pending.sum()
    spare = float(spare_share(decision.floors))
    pulls: Array = np.empty(pending.size)
    settle(state, numbers, decision.floors.copy(), spare, pulls)
    lacking: Array = pulls - state[rows.ASSIGNED]
    if lacking.sum() > 0.0:
        shares: Array = lacking / lacking.sum()
        return shares
    shares = decision.floors.copy()
    shares[decision.recommendation] += spare
    return shares


def count(identifier: "Identifier", pulls: Any, sums: Any) -> None:
    """Count a batch, all or nothing, and decide if its evidence is enough."""
    arms, experiment = len(identifier.arms), identifier._experiment
    trials = array("pulls", pulls, arms)
    refuse("pulls", "be whole numbers from 0", trials, (trials < 0.0) | (trials != np.floor(trials)))
    total = trials.sum()
    if not 1.0 <= total <= MOST_TRIALS - experiment.round:
        raise ValueError(f"pulls must have from 1 to 2**53 trials in all, with those before, got {total:g}")
    values = identifier.family.check_sums(trials, sums)
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
    if identifier._decision is not None:
        _settle_again(identifier)


def _settle_again(identifier: "Identifier") -> None:
    """The last round, now that there are trials which the decision did not know of."""
    decision, experiment = identifier._decision, identifier._experiment
    assert decision is not None
    spare = float(spare_share(decision.floors))
    more = 0
    if identifier.settle:
        more = settling_trials(experiment.state, experiment.numbers, decision.floors.copy(), spare)
    identifier._decision = replace(decision, final_round=experiment.round + int(more))
