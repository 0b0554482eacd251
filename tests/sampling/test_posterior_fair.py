"""Posterior fair: its policy against a second writing of it, what it guarantees, and how it moves."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import fairbai as fb
from fairbai.kernels.stopping.design import SPREAD
from fairbai.sampling import PosteriorFair

FLOORS = np.array([0.1, 0.2, 0.15])
LEAST = 0.05


def naive_shares(ident: fb.Identifier, x: np.ndarray, due: int) -> np.ndarray:
    """Two steps from the shares ``x``, as docs/sampling.md describes them, with NumPy."""
    status = ident.status()
    counts, sums = status.observed.astype(float), status.observed * status.means
    half = (sums + 0.5) / (counts + 1.0)
    noise = np.maximum(half * (1 - half), 1e-3)
    means = (sums + 5.0 * sums.sum() / counts.sum()) / (counts + 5.0)
    errors = np.sqrt(noise / (counts + 1.0))
    if ident.stopping.drift_proof:
        means = ident.averages().estimates
        squares = ident.procedure.experiment.state[SPREAD]  # of the residuals
        errors = np.sqrt(squares / counts.sum() ** 2 + noise / (counts + 1.0) ** 2)
    arms, spare = x.size, 1.0 - FLOORS.sum()
    ratio = 2.0
    for _ in range(20):
        ratio = (1 + ratio) ** (1 / (arms + 1))
    alphas = ratio ** -np.arange(1.0, arms + 1.0)
    for _ in range(2):
        policy, slope = FLOORS + spare * (LEAST / arms + (1.0 - LEAST) * x), np.zeros(arms)
        for j in range(1, 17):
            uniforms = (0.5 + (due * 16 + j) * alphas) % 1.0
            drawn = means + 1.5 * errors * norm.ppf(uniforms)
            best = int(drawn.argmax())
            both = noise / policy + noise[best] / policy[best]
            times = np.where(np.arange(arms) == best, -1.0, both / ((drawn[best] - drawn) ** 2 + 1e-12))
            rival = int(times.argmax())
            for arm in (best, rival):
                slope[arm] += noise[arm] / policy[arm] ** 2 / both[rival]
        x = x * (slope / 16 + 1e-3) ** 0.25
        x = 1e-3 + (1.0 - 1e-3 * arms) * x / x.sum()
    return x


@pytest.mark.parametrize("stopping", [fb.stopping.DesignBased(0.05), fb.stopping.Mixture()])
def test_policy_is_as_described(stopping: Any) -> None:
    rng = np.random.default_rng(2)
    ident = fb.Identifier(3, 1e-9, "bernoulli", rates=FLOORS, sampling=PosteriorFair(LEAST), stopping=stopping)
    spare = 1.0 - FLOORS.sum()
    x, due = np.full(3, 1 / 3), 10
    for number in range(1, 121):
        trial = ident.ask_trial()
        policy = FLOORS + spare * (LEAST / 3 + (1.0 - LEAST) * x)
        assert trial.probability == pytest.approx(policy[trial.arm], rel=1e-9)
        np.testing.assert_allclose(ident.policy(5), policy, rtol=1e-9)
        ident.tell(trial, float(rng.random() < [0.6, 0.5, 0.3][trial.arm]))
        if number >= due:
            x = naive_shares(ident, x, due)
            due += max(10, math.floor(0.02 * due))


def test_guarantees() -> None:
    rule = PosteriorFair()
    np.testing.assert_allclose(rule.guarantees(fb.rates.Constant(0.2), 3), 0.2)  # type: ignore[arg-type]
    np.testing.assert_allclose(rule.guarantees(fb.rates.Constant(0.01), 5), 0.05)  # type: ignore[arg-type]
    tuned = PosteriorFair.for_bet(0.1, fb.rates.Constant(0.02), 2)
    np.testing.assert_allclose(tuned.guarantees(fb.rates.Constant(0.02), 2), 0.17, rtol=1e-2)  # type: ignore[arg-type]
    assert PosteriorFair.for_bet(0.1, fb.rates.Constant(0.2), 2) == PosteriorFair(0.0)
    assert PosteriorFair.for_bet(0.9, fb.rates.Constant(0.2), 2) == PosteriorFair(1.0)
    with pytest.raises(ValueError, match=r"least must be in \[0, 1\], got 2"):
        PosteriorFair(2)
    full = fb.rates.Constant([0.5, 0.5])
    assert rule.guarantees(full, 2).tolist() == [0.5, 0.5]  # type: ignore[union-attr]
    ident = fb.Identifier(2, 0.1, "bernoulli", rates=full, sampling=rule)
    for _ in range(50):
        trial = ident.ask_trial()
        assert trial.probability == 0.5
        ident.tell(trial, 1)
    assert fb.sampling.FairTopTwo().guarantees(full, 2) is None
    assert fb.sampling.UniformFair().guarantees(full, 2) is None
    equal = fb.sampling.UniformFair(start="policy").guarantees(fb.rates.Constant([0.1, 0.3]), 2)
    np.testing.assert_allclose(equal, [0.4, 0.6])  # type: ignore[arg-type]


def test_shares_come_near_the_optimum_and_stay_above_the_guarantee() -> None:
    means = [0.6, 0.5, 0.4]
    instance = fb.Instance(means, "bernoulli", rates=0.1)
    ident = fb.Identifier(3, 1e-300, "bernoulli", rates=0.1, sampling=PosteriorFair(), stopping="design_based")
    for _ in range(120):
        policy = ident.policy(1000)
        assert policy.min() >= 0.1 - 1e-12
        pulls = np.round(1000 * policy)
        ident.tell_batch(pulls, np.round(pulls * means), probabilities=policy)
    assert np.abs(ident.policy(1) - fb.solve(instance).weights).max() < 0.03


def test_batches_catch_up_with_all_updates_that_are_due() -> None:
    one = fb.Identifier(3, 1e-300, "bernoulli", rates=0.1, sampling=PosteriorFair())
    one.tell_batch([400, 400, 400], [240, 200, 40])
    moved = one.policy(1)
    assert moved[0] > moved[2] < moved[1]
    assert moved[2] < 0.15
    again = fb.Identifier.from_dict(json.loads(json.dumps(one.to_dict())), same_draws=True)
    assert again.policy(1).tolist() == moved.tolist()
    assert again.to_dict()["start"] > 1200


def test_limits_fix_the_policy() -> None:
    rates = fb.rates.Bounded(0.1, [0.4, 1.0, 1.0])
    ident = fb.Identifier(3, 1e-300, "bernoulli", rates=rates, sampling=PosteriorFair())
    first = ident.policy(1)
    for _ in range(40):
        arm = ident.ask()
        ident.tell(arm, float(arm == 0))
    assert ident.policy(1).tolist() == first.tolist()
    assert first[0] <= 0.4
