"""Simulated drift: which answers are right, whole cycles, and error rates where other stops fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from tests.simulation.cases import assert_same

CROSSING = fb.drifts.Custom(np.repeat([[0.9, 0.1], [0.1, 0.9]], [30, 200], axis=0))
"""The first arm is the better one on average until trial 60."""


def test_an_answer_is_right_if_it_was_the_best_on_average_until_the_decision() -> None:
    instance = fb.Instance([0.5, 0.5], "bernoulli", rates=0.4)
    runs = fb.simulate(instance, [0.2, 1e-6], drift=CROSSING, runs=20, seed=3, maximum_rounds=3000)
    assert runs.averages is not None
    assert runs.averages.shape == (20, 2, 2)
    for row in range(20):
        for column in range(2):
            trials = int(runs.decision_time[row, column])
            first = (0.9 * min(trials, 30) + 0.1 * max(trials - 30, 0)) / trials
            np.testing.assert_allclose(runs.averages[row, column], [first, 1.0 - first], atol=1e-12)
            best = 0 if first > 0.5 else 1
            answer = runs.recommendation[row, column]
            assert runs.correct[row, column] == (answer == best)
    assert {0, 1} >= set(runs.recommendation.ravel().tolist())
    assert runs.summary().rows[0].error_rate == pytest.approx((~runs.correct[:, 0]).mean())


def test_ties_on_average_are_right_and_censored_runs_are_not() -> None:
    instance = fb.Instance([0.5, 0.5], "bernoulli", rates=0.5)
    drift = fb.drifts.Seasonal(0.2, 10)
    settings: dict[str, Any] = {"drift": drift, "runs": 10, "maximum_rounds": 200}
    runs = fb.simulate(instance, 0.4, stopping=fb.stopping.ChanceToWin(0.6, minimum=5), **settings)
    assert (runs.correct == ~runs.censored).all()
    assert not runs.censored.all()


def test_decisions_after_whole_cycles() -> None:
    instance = fb.Instance([0.7, 0.4], "bernoulli", rates=0.4)
    for stopping in (fb.stopping.Mixture(), fb.stopping.DesignBased(0.2)):
        settings: dict[str, Any] = {"stopping": stopping, "runs": 10, "seed": 2}
        often, seldom = (fb.simulate(instance, 0.1, look_every=every, **settings) for every in (1, 28))
        assert (seldom.decision_time % 28 == 0).all()
        assert (seldom.decision_time >= often.decision_time).all()
    with pytest.raises(ValueError, match="look_every must be a whole number from 1, got 0"):
        fb.simulate(instance, look_every=0)


def test_runs_are_kept_with_their_averages(tmp_path: Path) -> None:
    instance = fb.Instance([0.7, 0.4], "bernoulli", rates=0.4)
    runs = fb.simulate(instance, [0.1, 0.2], drift={"kind": "ramp", "change": 0.1, "trials": 50}, runs=6)
    runs.save(tmp_path / "runs.parquet")
    again = fb.Runs.load(tmp_path / "runs.parquet")
    assert runs.averages is not None
    assert again.averages is not None
    assert again.averages.tolist() == runs.averages.tolist()
    assert again.correct.tolist() == runs.correct.tolist()
    parts = fb.Runs.join([runs, again])
    assert parts.averages is not None
    assert len(parts.averages) == 12


def test_no_drift_is_the_same_as_a_drift_that_goes_nowhere() -> None:
    instance = fb.Instance([0.7, 0.4], fb.Bounded(0.0, 1.0, variance=0.05), rates=0.4)
    one, other = (fb.simulate(instance, 0.1, runs=4, drift=drift) for drift in (None, fb.drifts.Ramp(0.0, 5)))
    assert_same(one, replace(other, proved=True, confidence=one.confidence))
    assert one.proved
    assert not other.proved
    assert np.isnan(other.confidence).all()


RAMP = fb.drifts.Ramp(0.7, 3000)


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_the_ramp_on_which_stationary_stops_fail() -> None:
    """Five arms, one better by 0.02 at every moment, on a common ramp.

    400 runs at delta = 0.05: 31 or more wrong answers would happen with probability 0.01 at most if the error rate were
    delta. Half the answers of the stationary stop are wrong.
    """
    instance = fb.Instance([0.07, 0.05, 0.05, 0.05, 0.05], "bernoulli", rates=0.1)
    every: dict[str, Any] = {"drift": RAMP, "seed": 1, "maximum_rounds": 100_000}
    stationary = fb.simulate(instance, 0.05, stopping=fb.stopping.Mixture(), runs=100, **every)
    assert (~stationary.correct & ~stationary.censored).mean() > 0.3
    ours = fb.simulate(instance, 0.05, stopping=fb.stopping.DesignBased.for_instance(instance), runs=400, **every)
    assert (~ours.correct & ~ours.censored).sum() <= 30


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(
    "drift",
    [
        fb.drifts.Ramp(-0.25, 1500),
        fb.drifts.Seasonal(0.2, 100),
        fb.drifts.Seasonal([0.2, -0.2, 0.0], 1000, phase=0.5),
        fb.drifts.Steps([100, 200, 400, 800, 1600], [-0.2, 0.3, -0.2, 0.3, 0.0]),
        fb.drifts.Novelty([0.0, 0.3, 0.2], 200),
    ],
    ids=lambda drift: drift.kind,
)
def test_errors_are_rare_whatever_the_drift(drift: fb.drifts.Drift) -> None:
    """300 runs at delta = 0.1: 45 or more wrong answers would happen with probability 0.004 at most."""
    instance = fb.Instance([0.4, 0.38, 0.36], "bernoulli", rates=0.2)
    runs = fb.simulate(
        instance, 0.1, stopping=fb.stopping.DesignBased(0.05), drift=drift, runs=300, seed=2, maximum_rounds=20_000
    )
    assert (~runs.correct & ~runs.censored).sum() <= 44
