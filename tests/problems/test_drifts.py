"""How means change with the trials: tables, averages and bad input."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.problems.drifts import Drift

MEANS = np.array([0.3, 0.5])
DRIFTS: list[Drift] = [
    fb.drifts.Ramp(0.2, 10),
    fb.drifts.Ramp([0.2, -0.2], 7),
    fb.drifts.Seasonal(0.1, 8),
    fb.drifts.Seasonal([0.1, 0.0], 5, phase=0.25),
    fb.drifts.Steps([3, 9], [0.1, [0.2, -0.1]]),
    fb.drifts.Novelty([0.2, 0.0], 3),
    fb.drifts.Custom([[0.1, 0.2], [0.3, 0.4], [0.9, 0.8]]),
    fb.drifts.Custom([[0.1, 0.2], [0.3, 0.4]], repeat=True),
]


def naive(drift: Drift, trial: int, arm: int) -> float:
    """The mean of an arm in a trial, from the description of the drift."""
    mean, per_arm = float(MEANS[arm]), lambda value: float(np.broadcast_to(value, 2)[arm])
    if isinstance(drift, fb.drifts.Ramp):
        return mean + per_arm(drift.change) * min(1.0, (trial + 1) / drift.trials)
    if isinstance(drift, fb.drifts.Seasonal):
        angle = (trial % drift.period + 0.5) / drift.period + drift.phase
        return mean + per_arm(drift.amplitude) * math.sin(2 * math.pi * angle)
    if isinstance(drift, fb.drifts.Steps):
        return mean + (0.0 if trial < 3 else 0.1 if trial < 9 else [0.2, -0.1][arm])
    if isinstance(drift, fb.drifts.Novelty):
        return mean + (per_arm(drift.effect) * 0.5 ** (trial / drift.half_life) if trial < 59 else 0.0)
    assert isinstance(drift, fb.drifts.Custom)
    row = trial % 2 if drift.repeat else min(trial, 2)
    return float(drift.means[row, arm])


@pytest.mark.parametrize("drift", DRIFTS, ids=repr)
def test_averages(drift: Drift) -> None:
    for trials in (1, 2, 5, 17, 100):
        expected = [np.mean([naive(drift, trial, arm) for trial in range(trials)]) for arm in range(2)]
        np.testing.assert_allclose(drift.averages(MEANS, trials), expected, rtol=1e-12)
    both = drift.averages(MEANS, np.array([[5], [17]]))
    assert both.shape == (2, 1, 2)
    np.testing.assert_allclose(both[1, 0], drift.averages(MEANS, 17))


@pytest.mark.parametrize("drift", DRIFTS, ids=repr)
def test_rewards_have_the_means_of_the_table(drift: Drift) -> None:
    """20,000 runs of two arms; five standard errors of the number of successes in each of the first trials."""
    table, runs = np.array([[naive(drift, trial, arm) for arm in range(2)] for trial in range(12)]), 400
    from tests.simulation.cases import rewards_of

    instance = fb.Instance(MEANS, "bernoulli")
    found = np.zeros((12, 2))
    for run in range(runs):
        reward = rewards_of(instance, 5, run, drift)
        found += [[reward(trial, arm) for arm in range(2)] for trial in range(12)]
    error = np.sqrt(table * (1 - table) / runs)
    assert np.all(np.abs(found / runs - table) <= 5 * error)


@pytest.mark.parametrize("drift", DRIFTS, ids=repr)
def test_json_form(drift: Drift) -> None:
    assert Drift.from_dict(json.loads(json.dumps(drift.to_dict()))) == drift


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: fb.drifts.Ramp(0.1, 0), "trials must be a whole number from 1"),
        (lambda: fb.drifts.Ramp("x", 5), "change must be numbers, got"),
        (lambda: fb.drifts.Seasonal(0.1, 1), "period must be a whole number from 2"),
        (lambda: fb.drifts.Steps([5, 3], [0.1, 0.2]), r"at must be one or more rising trials, got \[5, 3\]"),
        (lambda: fb.drifts.Steps([], []), "at must be one or more rising trials"),
        (lambda: fb.drifts.Steps([5], [0.1, 0.2]), r"changes must be as many as jumps \(1\), got 2"),
        (lambda: fb.drifts.Novelty(0.1, 0), "half_life must be a whole number from 1"),
        (lambda: fb.drifts.Custom([0.1, 0.2]), r"means must be a matrix, got shape \(2,\)"),
        (lambda: fb.drifts.Ramp([0.1, 0.2, 0.3], 5).table(MEANS), r"change must have one entry per arm \(2\), got 3"),
        (lambda: fb.drifts.Custom([[0.1, 0.2, 0.3]]).table(MEANS), r"means must have one entry per arm \(2\), got 3"),
        (
            lambda: fb.simulate(fb.Instance(MEANS, "bernoulli"), drift=fb.drifts.Ramp(0.6, 100)),
            r"drift must leave means inside the domain of the family, got 1\.0\d* for arm 1 in trial 8\d",
        ),
        (
            lambda: fb.simulate(fb.Instance(MEANS, "poisson"), drift=fb.drifts.Ramp(0.6, 100)),
            "drift can be simulated for gaussian, bernoulli, exponential and bounded arms, got poisson",
        ),
        (
            lambda: fb.simulate(fb.Instance(MEANS, "bernoulli"), drift="slope"),
            "drift must be one of custom, novelty, ramp, seasonal, steps, got 'slope'",
        ),
    ],
)
def test_bad_input(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        build()
