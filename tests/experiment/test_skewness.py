"""Bets on the skewness of rewards of unknown variance: the formula of docs/doubts.md, written a second time."""

import json

import numpy as np
import pytest

import fairbai as fb
from fairbai.experiment.doubts import Doubts
from fairbai.kernels.doubts import lean
from fairbai.problems.checks import Array

FAMILY = fb.Gaussian(variance=None)
BOUND = 2000.0  # times the number of arms: what an e-value must reach


def e_values(rewards: Array) -> Array:
    """The e-values of every row after each of its rewards."""
    number = np.arange(1.0, rewards.shape[1] + 1.0)
    means = rewards.cumsum(axis=1) / number
    steps = np.zeros(rewards.shape)
    steps[:, 1:] = (rewards[:, 1:] - means[:, :-1]) * np.sqrt(number[:-1] / number[1:])
    spread = np.sqrt((steps**2).cumsum(axis=1)[:, 1:-1] / (number[2:] - 2.0))
    t, found = np.zeros(rewards.shape), np.zeros(rewards.shape)
    t[:, 2:] = steps[:, 2:] / spread
    for length in (0.5, 1.0, 1.7):
        x = t / length
        g = (x**3 - x) / (np.abs(x) ** 3 + 0.3)
        for stake in (0.9, 0.3, -0.3, -0.9):
            found += np.exp(np.log1p(stake * g).cumsum(axis=1)) / 12.0
    return found


def first_doubt(rewards: Array, arms: int = 2) -> int | None:
    """After how many rewards of its first arm an experiment has a doubt."""
    doubts = Doubts(FAMILY, arms)
    for number, reward in enumerate(rewards.tolist(), 1):
        doubts.observe(0, reward, number, decided=False)
        if doubts.found:
            return number
    return None


def test_the_kernel_is_the_formula() -> None:
    rng = np.random.default_rng(0)
    rewards = rng.lognormal(0.0, 0.7, (20, 400))
    for row, values in zip(rewards, e_values(rewards), strict=True):
        passed = np.flatnonzero(values >= 2.0 * BOUND)
        assert first_doubt(row) == (int(passed[0]) + 1 if passed.size else None)
        assert first_doubt(100.0 - 0.25 * row) == first_doubt(row)  # another unit, another origin, less is better


def test_a_bet_is_fair_and_never_loses_everything() -> None:
    distances = np.concatenate([np.linspace(0.0, 5.0, 5001), np.logspace(1.0, 50.0, 50)])
    won = np.array([lean(x) for x in distances.tolist()])
    np.testing.assert_array_equal(won, [-lean(-x) for x in distances.tolist()])
    assert np.abs(won).max() <= 1.0


def test_normal_rewards_rarely_cause_a_doubt() -> None:
    """Ville's inequality, at levels at which 20,000 arms of 300 rewards can tell; 4 standard errors."""
    found = e_values(np.random.default_rng(1).normal(7.0, 3.0, (20_000, 300))).max(axis=1)
    assert (found >= 10.0).mean() > 0.05  # a test that never moves would pass, too
    for level in (0.1, 0.02, 0.002):
        share = float((found >= 1.0 / level).mean())
        assert share <= level + 4.0 * (level / len(found)) ** 0.5


@pytest.mark.parametrize("sampling", ["fair_top_two", "top_two", "fair_track_and_stop"])
def test_normal_rewards_cause_none_whatever_the_rule(sampling: str) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        ident = fb.Identifier(3, 1e-9, FAMILY, sampling=sampling, seed=seed)
        for _ in range(300):
            arm = ident.ask()
            ident.tell(arm, rng.normal(0.3 * arm, 1.0 + arm))
        assert ident.status().proved


def test_skewed_rewards_are_a_doubt_that_says_what_would_be_proved() -> None:
    rng = np.random.default_rng(2)
    ident = fb.Identifier(["old", "new"], 1e-9, FAMILY)
    while not (status := ident.status()).doubts:
        ident.tell(ident.ask(), rng.lognormal(0.0, 1.0))
    assert status.assigned.sum() < 300
    assert not status.proved
    assert status.intervals is None
    (doubt,) = status.doubts
    assert doubt.kind == "family"
    assert doubt.reason == (
        f"Rewards of {doubt.arm!r} are skewed, unlike Gaussian ones: the answer is approximate; with bounds that no "
        "reward can leave, Bounded(low, high) is proved"
    )
    assert fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict()))).status().doubts == (doubt,)


@pytest.mark.parametrize("rewards", [[3.0] * 50, [3.0, 3.0, 1e100, 3.0, -1e100] * 3, [0.1] * 9 + [0.2] + [0.1] * 9])
def test_rewards_that_hardly_vary_do_no_harm(rewards: list[float]) -> None:
    doubts = Doubts(FAMILY, 2)
    for reward in rewards:
        doubts.observe(1, reward, 1, decided=False)
    assert np.isfinite(doubts.tests[5:]).all()
