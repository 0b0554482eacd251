"""Live experiments with unknown variances: batches, snapshots, doubts, intervals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.stopping.intervals import intervals
from tests.simulation.cases import RULES

FAMILY = fb.Gaussian(None)
ARMS = ("a", "b", "c")
MEANS = np.array([2.0, 1.0, 0.0])


def told(trials: int, **settings: Any) -> fb.Identifier:
    """An experiment in which every arm had these many rewards, by turns, and which never decides."""
    ident = fb.Identifier(ARMS, 1e-300, FAMILY, stopping=fb.stopping.Heuristic(), sampling="uniform_fair", **settings)
    rng = np.random.default_rng(4)
    for _ in range(trials):
        arm = ident.ask()
        ident.tell(arm, rng.normal(MEANS[ARMS.index(arm)], 2.0))
    return ident


def totals(rewards: np.ndarray) -> tuple[list[float], list[float], list[float]]:
    """Pulls, sums and squares of a batch with one row per arm."""
    return [float(rewards.shape[1])] * 3, rewards.sum(axis=1).tolist(), (rewards**2).sum(axis=1).tolist()


def test_batches_are_like_single_rewards() -> None:
    rewards = np.random.default_rng(1).normal(MEANS[:, None], [[1.0], [2.0], [3.0]], size=(3, 60))
    one, whole, parts = (fb.Identifier(ARMS, 1e-300, FAMILY, sampling="uniform_fair") for _ in range(3))
    for number in range(60):
        for arm, label in enumerate(ARMS):
            one.procedure.experiment.count_assigned(arm)
            one.tell(label, rewards[arm, number])
    whole.tell_batch(*totals(rewards))
    for start in range(0, 60, 7):
        parts.tell_batch(*totals(rewards[:, start : start + 7]))
    for ident in (one, whole, parts):
        assert ident.variances == pytest.approx(rewards.var(axis=1), rel=1e-9)
        assert ident.status().glr == pytest.approx(one.status().glr, rel=1e-9)
        assert ident.status().threshold == pytest.approx(one.status().threshold, rel=1e-6)


@pytest.mark.parametrize(
    ("squares", "message"),
    [
        (None, "squares must be given for unknown variances: these are estimated from them"),
        ([1.0, 4.0, 0.0], "squares must be possible for these pulls and sums, got 1.0 for arm 0"),
        ([8.0, 8.0, 1.0], "squares must be possible for these pulls and sums, got 1.0 for arm 2"),
        ([8.0, 8.0], "squares must "),
    ],
)
def test_batches_need_squares(squares: Any, message: str) -> None:
    ident = fb.Identifier(3, 0.1, FAMILY)
    with pytest.raises(ValueError, match=f"^{message}"):
        ident.tell_batch([2, 2, 0], [4.0, 4.0, 0.0], squares)
    assert ident.trials == 0


def test_a_batch_has_at_least_the_variance_that_rounding_may_hide() -> None:
    ident = fb.Identifier(2, 0.1, FAMILY)
    ident.tell_batch([100, 100], [10.0, 30.0], [1.0, 9.0])  # 0.1 and 0.3 a hundred times each, up to rounding
    np.testing.assert_allclose(ident.variances, [1e-14, 9e-14], rtol=1e-12)


def test_equal_rewards_have_no_variance_and_decide_nothing() -> None:
    ident = fb.Identifier(2, 0.1, FAMILY)
    for _ in range(200):
        ident.tell(arm := ident.ask(), [0.1, 0.3][arm])
    assert ident.variances.max() < 1e-30
    assert not ident.decided


@pytest.mark.parametrize("rule", [name for name in RULES if name != "in Python"])
def test_snapshots_go_on_with_the_same_arms_and_evidence(rule: str) -> None:
    plain, kept = (fb.Identifier(ARMS, 0.05, FAMILY, 0.1, RULES[rule], seed=7) for _ in range(2))
    rng, trials = np.random.default_rng(2), 0
    while not plain.stopped and trials < 200:
        arm, other = plain.ask(), kept.ask()
        assert arm == other
        value = rng.normal(3.0 * MEANS[ARMS.index(arm)], 2.0)
        for ident in (plain, kept):
            ident.tell(arm, value)
        trials += 1
        if trials % 17 == 0:
            kept = fb.Identifier.from_dict(json.loads(json.dumps(kept.to_dict())), same_draws=True)
    assert plain.to_dict() == kept.to_dict()
    assert plain.recommendation == "a"


def test_snapshot_with_negative_squares_is_damaged() -> None:
    form = told(30).to_dict()
    form["state"]["squares"][1] = -1.0
    with pytest.raises(ValueError, match=r"^snapshot is damaged: squares must not be negative$"):
        fb.Identifier.from_dict(form)


def test_learned_floors_wait_for_the_variances() -> None:
    ident = fb.Identifier(ARMS, 1e-9, FAMILY, fb.rates.Proportional(0.6))
    rng = np.random.default_rng(3)
    for number in range(60):
        arm = ident.ask()
        ident.tell(arm, rng.normal(2.0 + MEANS[ARMS.index(arm)], 0.5))
        floors = ident.status().floors
        assert (floors > 0.0).all() == (number >= 23)  # eight rewards of every arm
    assert ident.recommendation == "a"


# --- doubts ---------------------------------------------------------------------------------------------------------


def revenue(rng: np.random.Generator) -> float:
    return float(rng.lognormal(3.0, 0.5)) if rng.random() < 0.3 else 0.0


def test_zeros_are_a_doubt() -> None:
    ident, rng = fb.Identifier(ARMS, 1e-9, FAMILY), np.random.default_rng(5)
    for number in range(30):
        arm = ident.ask()
        ident.tell(arm, revenue(rng) if arm == "b" else rng.normal())
        assert ident.status().proved == (ident.status().observed[1] < 10), number
    (doubt,) = ident.status().doubts
    assert (doubt.kind, doubt.arm) == ("family", "b")
    assert doubt.reason == (
        "Rewards of 'b' are exactly 0 in 50 % of the trials, but Gaussian rewards never repeat: the answer is "
        "approximate; with bounds that no reward can leave, Bounded(low, high) is proved"
    )
    assert fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True).status().doubts == (doubt,)


def test_a_few_zeros_are_none() -> None:
    """One of 30 rewards may be a fault of the measurement."""
    ident = fb.Identifier(ARMS, 1e-9, FAMILY, sampling="uniform_fair")
    rng, given = np.random.default_rng(6), dict.fromkeys(ARMS, 0)
    for _ in range(200):
        arm = ident.ask()
        given[arm] += 1
        ident.tell(arm, 0.0 if given[arm] == 30 else rng.normal())
    assert ident.status().doubts == ()


def test_zeros_and_ones_get_a_hint() -> None:
    ident, rng = fb.Identifier(ARMS, 1e-9, FAMILY), np.random.default_rng(7)
    for _ in range(20):
        ident.tell(ident.ask(), float(rng.random() < 0.5))
    assert "All 20 rewards so far are 0 or 1: family='bernoulli' is made for such rewards" in ident.status().hints


# --- intervals ------------------------------------------------------------------------------------------------------


def test_intervals_are_wider_than_with_known_variances_and_approach_them() -> None:
    means, ratios = np.zeros(2), []
    for count in (10.0, 30.0, 100.0, 1e4, 1e6):
        known = intervals(fb.Gaussian(4.0), np.full(2, count), means, 0.1)
        unknown = intervals(FAMILY, np.full(2, count), means, 0.1, variances=np.full(2, 4.0))
        ratios.append(float(unknown[0, 1] / known[0, 1]))
    assert ratios[0] > ratios[1] > ratios[2] > 1.1
    assert 1.0 < max(ratios[3:]) < 1.03


def test_intervals_before_there_is_a_variance() -> None:
    everything = [[-np.inf, np.inf]] * 2
    for variances in (None, np.zeros(2)):
        assert intervals(FAMILY, np.full(2, 50.0), np.zeros(2), 0.1, variances=variances).tolist() == everything
    assert intervals(FAMILY, np.array([0.0, 1.0]), np.zeros(2), 0.1, variances=np.ones(2)).tolist() == everything


def test_intervals_hold_at_all_times_often_enough() -> None:
    """400 paths of 300 rewards of either of two arms: at most 20 % may ever miss a mean, and some do."""
    runs, length, rng = 400, 300, np.random.default_rng(8)
    missed = np.zeros(runs, dtype=bool)
    rewards = rng.normal(0.0, [[[1.0]], [[3.0]]], size=(2, runs, length))
    for n in [*range(8, 40), *range(40, length, 10)]:
        part = rewards[:, :, :n]
        means, variances = part.mean(axis=2), part.var(axis=2)
        reach = intervals(FAMILY, np.full(2, float(n)), np.zeros(2), 0.2, variances=np.ones(2))[0, 1]
        missed |= (np.abs(means) > reach * np.sqrt(variances)).any(axis=0)
    assert 0.0 < missed.mean() <= 0.2


def test_status_has_them() -> None:
    ident = told(120)
    ends = intervals(FAMILY, np.full(3, 40.0), ident.status().means, 0.1, variances=ident.variances)
    assert (np.diff(ends) > 0.5).all()
    assert np.isfinite(ends).all()
