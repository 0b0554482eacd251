"""F-TaS: its policy with each of the three pi_c, how it begins, and how it tracks."""

from __future__ import annotations

import numpy as np
import pytest

import fairbai as fb
from fairbai.sampling import FairTrackAndStop
from tests.sampling.hand_made import drawn, experiment, identifier, owed, play, policy, uniform

MEANS = [1.0, 0.7, 0.2, 0.1]
ASSIGNED = [12, 9, 4, 6]
POSITIVE = fb.rates.Constant([0.1, 0.2, 0.05, 0.3])
WITH_ZEROS = fb.rates.Constant([0.0, 0.2, 0.0, 0.3])
FULL = fb.rates.Constant([0.1, 0.2, 0.3, 0.4])
NONE = fb.rates.Constant(0.0)
LEARNED = fb.rates.InverseGap(0.6)
CUSTOM = fb.rates.Custom(lambda means: 0.1)

EXPLORE = [  # rates, and the policy pi_c by hand
    (POSITIVE, [0.1 + 0.35 / 4, 0.2 + 0.35 / 4, 0.05 + 0.35 / 4, 0.3 + 0.35 / 4]),
    (WITH_ZEROS, [0.25, 0.2, 0.25, 0.3]),
    (FULL, [0.1, 0.2, 0.3, 0.4]),
    (NONE, [0.25] * 4),
    (LEARNED, [0.25] * 4),
    (CUSTOM, [0.25] * 4),
]
explorations = pytest.mark.parametrize(
    ("rates", "explore"), EXPLORE, ids=["positive", "with zeros", "full", "none", "learned", "custom"]
)
trackings = pytest.mark.parametrize("tracking", ["sampled", "cumulative"])
starts = pytest.mark.parametrize("start", ["each-arm", "policy"])


@explorations
@trackings
def test_policy_mixes_the_optimal_shares_and_pi_c(
    rates: fb.rates.Constant, explore: list[float], tracking: str
) -> None:
    """(1 - ε) w*_p + ε π_c with ε = 1 / (2 √t), t = pulls + 1."""
    optimal = fb.solve(fb.Instance(MEANS, rates=rates)).weights
    epsilon = 0.5 / np.sqrt(sum(ASSIGNED) + 1)
    found = policy(experiment(ASSIGNED, MEANS, FairTrackAndStop(tracking), rates=rates))
    assert found == pytest.approx((1.0 - epsilon) * optimal + epsilon * np.array(explore), abs=1e-7)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found >= rates.floors(MEANS) - 1e-12).all() or rates in (LEARNED, CUSTOM)


@explorations
@trackings
def test_policy_is_pi_c_before_every_arm_has_a_reward(
    rates: fb.rates.Constant, explore: list[float], tracking: str
) -> None:
    ident = experiment(ASSIGNED, MEANS, FairTrackAndStop(tracking), rates=rates, observed=[12, 9, 4, 0])
    assert policy(ident) == pytest.approx(explore)
    assert policy(identifier(4, FairTrackAndStop(tracking, "policy"), rates=rates)) == pytest.approx(explore)


def test_arms_are_drawn_from_the_policy() -> None:
    for seed in range(50):
        ident = experiment(ASSIGNED, MEANS, FairTrackAndStop(), rates=POSITIVE, seed=seed)
        number = uniform(ident)
        arm = ident.ask()
        assert arm == drawn(ident._experiment.policy, number)


def test_frequencies_of_the_drawn_arms() -> None:
    """4,000 seeds; within 4 standard errors."""
    probabilities = policy(experiment(ASSIGNED, MEANS, FairTrackAndStop(), rates=POSITIVE))
    ident = experiment(ASSIGNED, MEANS, FairTrackAndStop(), rates=POSITIVE)
    arms = np.array(ident.ask(4000))  # no reward comes in between: only ε changes, from 0.09 to 0.008
    shares = np.bincount(arms, minlength=4) / 4000
    last = policy(ident)
    middle = 0.5 * (probabilities + last)
    error = np.sqrt(middle * (1.0 - middle) / 4000)
    assert (np.abs(shares - middle) < 4.0 * error + 0.5 * np.abs(probabilities - last)).all()


@trackings
def test_each_arm_once_comes_first(tracking: str) -> None:
    ident = identifier(4, FairTrackAndStop(tracking), rates=POSITIVE)
    assert ident.ask(4) == [0, 1, 2, 3]
    ident.tell([0, 1, 2, 3], MEANS)
    epsilon = 0.5 / np.sqrt(5.0)  # t = pulls + 1
    optimal = fb.solve(fb.Instance(MEANS, rates=POSITIVE)).weights
    expected = (1.0 - epsilon) * optimal + epsilon * np.array(EXPLORE[0][1])
    assert policy(ident) == pytest.approx(expected, abs=1e-7)


def test_from_the_policy_the_floor_decides_the_first_arms() -> None:
    """The sums of π_c are t p: of 400 first arms 12, 58 and 30 % are expected, with standard errors below 2.5 %."""
    rule, rates = FairTrackAndStop("cumulative", "policy"), fb.rates.Constant([0.12, 0.58, 0.3])
    first = [identifier(3, rule, rates=rates, seed=seed).ask() for seed in range(400)]
    assert np.bincount(first, minlength=3) / 400 == pytest.approx([0.12, 0.58, 0.3], abs=0.1)
    assert all(identifier(3, rule, rates=rates, seed=seed).ask(100).count(1) in (57, 58, 59) for seed in range(5))


@starts
def test_cumulative_tracking_draws_an_arm_below_its_target(start: str) -> None:
    """In proportion to how far it is below; the furthest, if that is more than a trial."""
    ident = identifier(4, FairTrackAndStop("cumulative", start), rates=POSITIVE)
    rewards = np.random.default_rng(1).normal(MEANS, 1.0, (200, 4))
    target, counts, numbers = np.zeros(4), np.zeros(4), []
    for number in range(200):
        numbers.append(uniform(ident))
        arm = ident.ask()
        target += ident._experiment.policy
        if start == "policy" or number >= 4:
            expected, _ = owed(counts, target / (number + 1.0), numbers[number])
            assert arm == expected
        counts[arm] += 1
        ident.tell(arm, rewards[number, arm])
    assert (counts == ident.status().assigned).all()


@pytest.mark.parametrize("rates", [POSITIVE, WITH_ZEROS, FULL, NONE], ids=["positive", "with zeros", "full", "none"])
@pytest.mark.parametrize("seed", range(3))
def test_cumulative_from_the_policy_is_fair_on_every_path(rates: fb.rates.Constant, seed: int) -> None:
    """N_a(t) >= p_a t - H_(K-1) at all times; here also while rewards are late by up to thirty trials."""
    rng = np.random.default_rng(seed)
    ident = identifier(4, FairTrackAndStop("cumulative", "policy"), rates=rates, seed=seed)
    slack = 1 + 1 / 2 + 1 / 3
    pending: list[int] = []
    for number in range(1, 301):
        pending.append(ident.ask())
        status = ident.status()
        assert (status.assigned >= status.floors * number - slack - 1e-9).all()
        if len(pending) > 30 or rng.random() < 0.5:
            arm = pending.pop(int(rng.integers(len(pending))))
            ident.tell(arm, rng.normal(MEANS[arm]))


@pytest.mark.slow_without_jit
def test_sampled_from_the_policy_is_fair_on_average() -> None:
    """E[N_a(t)] >= p_a t for all t, up to 4 standard errors over 200 runs of 60 trials."""
    floors = np.array([0.1, 0.2, 0.05, 0.3])
    counts = np.zeros((200, 60, 4))
    for run in range(200):
        arms = play(identifier(4, FairTrackAndStop("sampled", "policy"), rates=POSITIVE, seed=run), MEANS, 60, run)
        counts[run] = np.cumsum(np.eye(4)[arms], axis=0)
    error = counts.std(axis=0) / np.sqrt(200)
    assert (counts.mean(axis=0) >= floors * np.arange(1, 61)[:, None] - 4.0 * error - 1e-9).all()


def test_one_pull_of_each_arm_spoils_a_large_floor() -> None:
    """The errata: with floors (0.9, 0.09) the first arm has one pull after round 2, and its floor asks for 1.8."""
    rates = fb.rates.Constant([0.9, 0.09])
    ident = identifier(2, FairTrackAndStop("cumulative", "each-arm"), rates=rates)
    assert ident.ask(2) == [0, 1]
    assert identifier(2, FairTrackAndStop("cumulative", "policy"), rates=rates, seed=1).ask(2) == [0, 0]


def test_one_pull_of_each_arm_makes_arms_wait_that_have_enough() -> None:
    """While the last arm, which π_c gives 89 % and the start one pull, catches up, the first falls behind its floor.

    By more than 4 trials, where H_(K-1) = 2.83 is the bound from the policy (and of an older claim, with p for π_c).
    """
    floors, variances = np.array([0.1, *[0.001] * 8, 0.0]), np.array([*[1.0] * 9, 1e4])
    rates, rule = fb.rates.Constant(floors), FairTrackAndStop("cumulative")
    ident = identifier(10, rule, family=fb.Gaussian(variances), rates=rates, seed=3)
    rng, lag = np.random.default_rng(3), 0.0
    for number in range(1, 101):
        arm = ident.ask()
        ident.tell(arm, rng.normal(float(arm == 0), np.sqrt(variances[arm])))
        lag = max(lag, (floors * number - ident.status().assigned).max())
    assert lag > 4.0
    promised = rule.bounds(rates, 10)
    assert promised is not None
    harmonic = np.sum(1 / np.arange(1, 10))
    assert promised.behind == pytest.approx([harmonic + 10 * 0.892 - 1] * 10)
    assert FairTrackAndStop("cumulative", "policy").bounds(rates, 10).behind == pytest.approx([harmonic] * 10)  # type: ignore[union-attr]


def test_promises() -> None:
    assert FairTrackAndStop().fairness == "on average"
    assert FairTrackAndStop("cumulative", "policy").fairness == "every path"
    assert FairTrackAndStop().converges_to == "fair"
    assert FairTrackAndStop() == FairTrackAndStop(tracking="sampled", start="each-arm")


def test_bad_parameters() -> None:
    with pytest.raises(ValueError, match="tracking must be 'sampled' or 'cumulative', got 'direct'"):
        FairTrackAndStop(tracking="direct")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="start must be 'each-arm' or 'policy', got 'now'"):
        FairTrackAndStop(start="now")  # type: ignore[arg-type]
