"""Policies for others to follow, and the batches that they report."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from tests.simulation.cases import RULES

MEANS = np.array([1.0, 0.6, 0.2])
DRAWN = ("f-tas", "f-tas from the policy", "uniform", "uniform from the policy", "posterior fair")


def begun(rule: str = "fair top-two", trials: int = 40, **settings: Any) -> fb.Identifier:
    """An experiment that has had some trials, and never decides."""
    settings = {"family": fb.Gaussian(), "rates": fb.rates.Constant([0.05, 0.3, 0.1]), "delta": 1e-300, **settings}
    ident = fb.Identifier(3, sampling=RULES[rule], stopping=fb.stopping.Heuristic(), seed=4, **settings)
    rng = np.random.default_rng(4)
    for _ in range(trials):
        arm = ident.ask()
        ident.tell(arm, rng.normal(MEANS[arm]))
    return ident


def again(ident: fb.Identifier) -> fb.Identifier:
    form = json.loads(json.dumps(ident.to_dict()))
    return fb.Identifier.from_dict(form, sampling=ident.sampling if form["sampling"] is None else None, same_draws=True)


# Policies


@pytest.mark.parametrize("trials", [1, 7, 100])
@pytest.mark.parametrize("rule", [name for name in RULES if name not in DRAWN])
def test_a_policy_is_the_shares_of_the_next_choices(rule: str, trials: int) -> None:
    for ident in (begun(rule, 0), begun(rule)):
        before = ident.to_dict()
        shares = ident.policy(trials)
        assert ident.to_dict() == before
        counts = np.bincount(again(ident).ask(trials), minlength=3)
        np.testing.assert_allclose(shares, counts / trials, rtol=1e-15)


@pytest.mark.parametrize("rule", [name for name in RULES if name not in DRAWN])
def test_a_policy_for_many_trials_is_made_of_blocks(rule: str) -> None:
    ident = begun(rule)
    shares = ident.policy(5000)
    counts = np.bincount(again(ident).ask(5000), minlength=3)
    assert shares.sum() == pytest.approx(1.0)
    assert np.abs(shares - counts / 5000).max() < 0.03


@pytest.mark.parametrize("trials", [1, 1000])
def test_the_policy_of_a_rule_that_draws_is_its_own(trials: int) -> None:
    """F-TaS: (1 - e) w* + e (p + (1 - psum) / K), with the w* of ``solve``."""
    ident = begun("f-tas")
    status = ident.status()
    best = fb.solve(fb.Instance(status.means, rates=fb.rates.Constant(status.floors))).weights
    mix = 0.5 / math.sqrt(41.0)
    expected = (1.0 - mix) * best + mix * (status.floors + (1.0 - status.floors.sum()) / 3.0)
    np.testing.assert_allclose(ident.policy(trials), expected, atol=1e-9)


def test_the_start_of_f_tas_is_part_of_its_policy() -> None:
    """One trial of each arm that has none yet, and the rest as the policy of the start has it."""
    floors = np.array([0.05, 0.3, 0.1])
    start = floors + (1.0 - floors.sum()) / 3.0
    ident = begun("f-tas", 0)
    np.testing.assert_allclose(ident.policy(10), (np.ones(3) + 7.0 * start) / 10.0, rtol=1e-12)
    ident.ask(2)
    np.testing.assert_allclose(ident.policy(10), (np.array([0.0, 0.0, 1.0]) + 9.0 * start) / 10.0, rtol=1e-12)


@pytest.mark.parametrize("rule", ["fair top-two", "in Python", "f-tas cumulative"])
def test_trials_on_their_way_are_counted(rule: str) -> None:
    """An arm that is about to get more than its share is left out."""
    ident = begun(rule)
    assert ident.policy(10)[1] > 0.1
    assert ident.policy(10, pending=[0, 60, 0])[1] == 0.0
    whole = ident.policy(400)
    np.testing.assert_allclose(ident.policy(200, pending=200 * whole), whole, atol=0.05)


def test_a_policy_repays_what_a_floor_lacks() -> None:
    ident = fb.Identifier(2, delta=1e-9, family=fb.Gaussian(), rates=fb.rates.Constant([0.4, 0.4]))
    ident.tell_batch([20, 80], [20.0, 0.0])
    assert ident.policy(10)[0] == 1.0
    assert 110 * 0.4 <= 20 + 30 * ident.policy(30)[0] <= 60


# Batches


@pytest.mark.parametrize(
    ("family", "reward"), [(fb.Gaussian(), 0.5), (fb.Bernoulli(), 1.0), (fb.Poisson(), 3.0), (fb.Exponential(), 0.25)]
)
def test_a_batch_counts_as_its_trials_would(family: fb.problems.Family, reward: float) -> None:
    """Rewards whose sums are exact; for two batches, so that the second finds what the first left."""
    one, other = (fb.Identifier(3, 1e-6, family, fb.rates.InverseGap(0.6), settle=False) for _ in range(2))
    for _ in range(2):
        arms = one.ask(30)
        rewards = [reward if arm != 1 or family.kind == "bernoulli" else 2.0 * reward for arm in arms]
        one.tell(arms, rewards)
        other.tell_batch(np.bincount(arms, minlength=3), np.bincount(arms, weights=rewards, minlength=3))
        first, second = one.to_dict(), other.to_dict()
        for name in ("assigned", "observed", "sums", "floors"):
            assert first["state"][name] == second["state"][name]
        assert one.status().glr == other.status().glr
        assert one.status().threshold == other.status().threshold
        assert one.ask(5) == other.ask(5)


def test_a_batch_decides() -> None:
    ident = fb.Identifier(["a", "b"], delta=0.05, family=fb.Gaussian(), rates=fb.rates.Constant(0.3), settle=False)
    ident.tell_batch([10, 10], [10.0, 9.0])
    assert not ident.decided
    ident.tell_batch([100, 100], [200.0, 0.0])
    assert ident.decided
    assert ident.stopped
    assert ident.recommendation == "a"
    with pytest.raises(RuntimeError, match="the experiment has stopped: 'a' is the answer"):
        ident.policy(10)


def test_batches_that_come_after_the_decision_are_settled_too() -> None:
    ident = fb.Identifier(["a", "b", "c"], delta=0.05, family=fb.Gaussian(), rates=fb.rates.Constant(0.2))
    ident.tell_batch([60, 60, 30], [120.0, 0.0, 0.0])
    assert ident.stopped
    ident.tell_batch([100, 0, 10], [-1e6, 0.0, 0.0])  # on its way at the decision: 260 trials, of which b had 60, c 40
    assert ident.recommendation == "a"
    assert not ident.stopped
    assert ident.status().expected_remaining == 15  # 55 of 275
    np.testing.assert_allclose(ident.policy(10), [0.0, 0.0, 1.0])
    np.testing.assert_allclose(ident.policy(30), [0.3, 0.1, 0.6])  # a half as it is lacking, a half as floors have it
    np.testing.assert_allclose(ident.policy(100, pending=[0, 0, 15]), [0.6, 0.2, 0.2])  # enough is on its way
    ident.tell_batch([0, 0, 15], [0.0, 0.0, 0.0])
    assert ident.stopped
    assert (ident.status().shares >= 0.2).all()
    assert fb.Identifier.from_dict(ident.to_dict(), same_draws=True).to_dict() == ident.to_dict()


@pytest.mark.parametrize("rule", ["fair top-two", "f-tas cumulative", "f-tas"])
def test_a_snapshot_between_batches(rule: str) -> None:
    ident = begun(rule, 0)
    for pulls in ([5, 9, 4], [3, 2, 9]):
        ident.tell_batch(pulls, np.array(pulls) * MEANS)
        np.testing.assert_allclose(again(ident).policy(25), ident.policy(25), rtol=1e-12)


def test_rates_in_python_that_fail_undo_the_batch() -> None:
    def fails(means: np.ndarray) -> np.ndarray:
        return np.full(2, -1.0 if means[0] > 1.0 else 0.1)

    ident = fb.Identifier(2, delta=0.05, family=fb.Gaussian(), rates=fb.rates.Custom(fails))
    ident.tell_batch([5, 5], [1.0, 0.0])
    before = ident.to_dict()
    with pytest.raises(ValueError, match="not be negative"):
        ident.tell_batch([5, 5], [50.0, 0.0])
    assert ident.to_dict() == before


@pytest.mark.parametrize(
    ("family", "pulls", "sums", "message"),
    [
        (fb.Gaussian(), [1, 2], [1.0, 2.0], r"pulls must have one entry per arm \(3\), got 2"),
        (fb.Gaussian(), [1, 2, -1], [1.0, 2.0, 0.0], "pulls must be whole numbers from 0, got -1.0 for arm 2"),
        (fb.Gaussian(), [1, 2, 0.5], [1.0, 2.0, 0.0], "pulls must be whole numbers from 0, got 0.5 for arm 2"),
        (fb.Gaussian(), [0, 0, 0], [0.0, 0.0, 0.0], "pulls must have from 1 to .* trials in all, .* got 0"),
        (fb.Gaussian(), [1e16, 0, 0], [0.0, 0.0, 0.0], r"pulls must have from 1 to .*, got 1e\+16"),
        (fb.Gaussian(), [1, math.nan, 0], [0.0, 0.0, 0.0], "pulls must be finite, got nan for arm 1"),
        (fb.Gaussian(), [1, 1, 0], [0.0, math.inf, 0.0], "sums must be finite, got inf for arm 1"),
        (fb.Gaussian(), [1, 1, 0], [0.0, 1e150, 0.0], r"sums must be less than 1e\+150 in size, got 1e\+150 for arm 1"),
        (fb.Gaussian(), [1, 1, 0], [0.0, 1.0, 0.1], "sums must be 0 where pulls are 0, got 0.1 for arm 2"),
        (fb.Bernoulli(), [3, 3, 3], [0, 3, 4], "sums must be whole numbers from 0 to the pulls .*, got 4.0 for arm 2"),
        (
            fb.Bernoulli(),
            [3, 3, 3],
            [0, 3, 1.5],
            "sums must be whole numbers from 0 to the pulls .*, got 1.5 for arm 2",
        ),
        (
            fb.Bernoulli(),
            [3, 3, 3],
            [-1, 3, 1],
            "sums must be whole numbers from 0 to the pulls .*, got -1.0 for arm 0",
        ),
        (fb.Poisson(), [3, 3, 3], [9, 3, -1], "sums must be counts for poisson arms, got -1.0 for arm 2"),
        (fb.Poisson(), [3, 3, 3], [9, 3.5, 0], "sums must be counts for poisson arms, got 3.5 for arm 1"),
        (fb.Exponential(), [3, 3, 0], [9, 0, 0], "sums must be positive for exponential arms, got 0.0 for arm 1"),
    ],
    ids=str,
)
def test_bad_batches(family: fb.problems.Family, pulls: list[float], sums: list[float], message: str) -> None:
    ident = fb.Identifier(3, delta=0.1, family=family)
    before = ident.to_dict()
    with pytest.raises(ValueError, match=message):
        ident.tell_batch(pulls, sums)
    assert ident.to_dict() == before


@pytest.mark.parametrize(
    ("trials", "pending", "message"),
    [
        (0, None, r"trials must be a whole number from 1 to 2\*\*53, got 0"),
        (1.5, None, r"trials must be a whole number from 1 to 2\*\*53, got 1.5"),
        (True, None, r"trials must be a whole number from 1 to 2\*\*53, got True"),
        (10, [1.0], r"pending must have one entry per arm \(3\), got 1"),
        (10, [1.0, -1.0, 0.0], "pending must not be negative, got -1.0 for arm 1"),
    ],
)
def test_bad_policies(trials: Any, pending: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fb.Identifier(3, delta=0.1, family=fb.Gaussian()).policy(trials, pending)
