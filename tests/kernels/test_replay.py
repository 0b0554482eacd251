"""Replaying a log in one call: the same state, evidence and decision as trial by trial, for every family."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.experiment.design import averages, prepared
from fairbai.experiment.experiment import Experiment
from fairbai.kernels.config import KAPPA, STOPPING
from fairbai.kernels.loop import replay
from fairbai.kernels.stopping import design
from fairbai.problems import Family
from tests.cases import easy_means, proved_families

KAPPAS = (10.0, 500.0)


def sampled(family: Family, rows: int, arms: int = 3, seed: int = 1) -> tuple[Any, Any]:
    """Arms in random order, and what their rewards add to the sums."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, arms, rows)
    rewards = family.sample(np.array(easy_means(family))[:arms], rng, rows)[np.arange(rows), codes]
    return codes, np.array([family.statistic(reward) for reward in rewards])


def experiments(family: Family, arms: int = 3) -> tuple[list[Experiment], Any]:
    found = [Experiment(arms, family, stopping=fb.stopping.Mixture(kappa)) for kappa in KAPPAS]
    return found, np.array([one.params for one in found])


def arrays(one: Experiment, rules: Any) -> tuple[Any, ...]:
    return one.codes, rules, one.state, one.scalars


def log_mean(scores: list[float]) -> float:
    return float(np.logaddexp.reduce(scores)) - math.log(len(scores))


def one_by_one(family: Family, codes: Any, rewards: Any, level: float) -> tuple[list[Experiment], int, int]:
    """The same with the steps of a live experiment, and exact evidence after every trial."""
    found, _ = experiments(family)
    first, named = -1, -1
    for row, (arm, reward) in enumerate(zip(codes, rewards, strict=True)):
        for one in found:
            one.count_assigned(int(arm))
            one.observe(int(arm), float(reward))
        if first < 0 and log_mean([one.exact_evidence()[0] for one in found]) >= level:
            first, named = row, found[0].best
    return found, first, named


@pytest.mark.parametrize("family", proved_families(), ids=lambda family: family.kind)
def test_same_as_trial_by_trial(family: Family) -> None:
    codes, rewards = sampled(family, 300)
    level = math.log(2 / 0.05)
    expected, first, named = one_by_one(family, codes, rewards, level)
    (one, _), rules = experiments(family)
    assert replay.replay_rewards(*arrays(one, rules), codes, rewards, level) == (first, named)
    assert first > 0
    np.testing.assert_array_equal(one.state[:3], expected[0].state[:3])
    np.testing.assert_array_equal(one.scalars, expected[0].scalars)


def test_parts_of_a_log_add_up() -> None:
    codes, rewards = sampled(fb.Bernoulli(), 200)
    (whole, _), rules = experiments(fb.Bernoulli())
    first = replay.replay_rewards(*arrays(whole, rules), codes, rewards, 3.0)[0]
    (part, _), rules = experiments(fb.Bernoulli())
    found = [
        start + row
        for start in range(0, 200, 50)
        if (
            row := replay.replay_rewards(
                *arrays(part, rules), codes[start : start + 50], rewards[start : start + 50], 3.0
            )[0]
        )
        >= 0
    ]
    assert found[0] == first
    np.testing.assert_array_equal(whole.state[:3], part.state[:3])


def test_an_infinite_level_is_never_reached() -> None:
    codes, rewards = sampled(fb.Bernoulli(), 100)
    (one, _), rules = experiments(fb.Bernoulli())
    assert replay.replay_rewards(*arrays(one, rules), codes, rewards, math.inf) == (-1, -1)


@pytest.mark.parametrize("family", proved_families(), ids=lambda family: family.kind)
def test_averages_of_pairs(family: Family) -> None:
    """The evidence of the leader, and who is excluded, from every pair on its own."""
    codes, rewards = sampled(family, 120)
    found, rules = experiments(family)
    one = found[0]
    replay.replay_rewards(*arrays(one, rules), codes, rewards, math.inf)
    scores = {pair: pair_score(family, codes, rewards, *pair) for pair in itertools.permutations(range(3), 2)}
    best = one.best
    expected = min(scores[best, arm] for arm in range(3) if arm != best)
    named, found_score = replay.averaged_evidence(*arrays(one, rules))
    assert (named, found_score) == (best, pytest.approx(expected, abs=3e-6))
    for level in (0.5, 2.0, 5.0):
        excluded = np.zeros(3)
        replay.exclude(*arrays(one, rules), level, excluded)
        outside = [any(scores[other, arm] >= level for other in range(3) if other != arm) for arm in range(3)]
        assert excluded.tolist() == [float(out) for out in outside]


def pair_score(family: Family, codes: Any, rewards: Any, better: int, arm: int) -> float:
    """That of an experiment with these two arms alone, but with the parameters of three."""
    means = [rewards[codes == one].mean() for one in (better, arm)]
    if means[0] <= means[1]:
        return -math.inf
    scores = []
    for kappa in KAPPAS:
        rule = fb.stopping.Mixture(kappa)
        alone = Experiment(2, family, stopping=rule)
        alone.params[KAPPA:] = rule.parameters(3)
        for place, one in enumerate((better, arm)):
            for reward in rewards[codes == one]:
                alone.count_assigned(place)
                alone.observe(place, float(reward))
        scores.append(float(alone.exact_evidence()[0]))
    return log_mean(scores)


def test_before_every_arm_has_a_reward_there_is_no_evidence() -> None:
    (one, _), rules = experiments(fb.Bernoulli())
    replay.replay_rewards(*arrays(one, rules), np.array([0, 1]), np.array([1.0, 0.0]), 0.0)
    assert replay.averaged_evidence(*arrays(one, rules)) == (0, -math.inf)
    excluded = np.ones(3)
    replay.exclude(*arrays(one, rules), -math.inf, excluded)
    assert excluded.tolist() == [0.0, 0.0, 0.0]


def test_draws_are_counted_like_those_of_a_live_experiment() -> None:
    family, stopping, least = fb.Bernoulli(), fb.stopping.DesignBased(bet=0.2), np.array([0.3, 0.2])
    rng = np.random.default_rng(3)
    chances = rng.uniform(0.3, 0.8, 400)
    codes = (rng.random(400) >= chances).astype(np.int64)
    drawn = np.where(codes == 0, chances, 1.0 - chances)
    rewards = (rng.random(400) < np.where(codes == 0, 0.7, 0.4)).astype(float)
    level = stopping.level(0.1, 2)
    one = Experiment(2, family)
    state, scalars = prepared(stopping, least, one.state, one.scalars)
    codes_of_stop = one.codes.copy()
    codes_of_stop[STOPPING] = stopping.code
    row, named = replay.replay_draws(codes_of_stop, one.params, state, scalars, codes, rewards, drawn, level)
    live = Experiment(2, family)
    told, counted = prepared(stopping, least, live.state, live.scalars)
    first = -1
    live.state, live.scalars = told, counted
    for trial, (arm, reward, chance) in enumerate(zip(codes, rewards, drawn, strict=True)):
        live.count_assigned(int(arm))
        live.observe(int(arm), reward)
        live.weigh(int(arm), reward, chance)
        if first < 0 and design.design_evidence(-1, told, counted, -math.inf)[0] >= level:
            first = trial
    assert (row, named) == (first, 0)
    assert first > 0
    np.testing.assert_array_equal(scalars, counted)
    assert (
        averages(state, scalars, family, 0.1).estimates.tolist()
        == averages(told, counted, family, 0.1).estimates.tolist()
    )


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("arms", [2, 4])
def test_ties_are_rarely_decided_however_often_one_looks(arms: int) -> None:
    """400 logs in which all arms are equal, looked at after each of 1,500 trials: at most a share delta is decided."""
    delta, level, decided = 0.2, math.log((arms - 1) / 0.2), 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        codes, rewards = rng.integers(0, arms, 1500), (rng.random(1500) < 0.3).astype(float)
        found, rules = experiments(fb.Bernoulli(), arms)
        decided += replay.replay_rewards(*arrays(found[0], rules), codes, rewards, level)[0] >= 0
    assert decided / 400 <= delta + 2.6 * math.sqrt(delta * (1 - delta) / 400)
    assert decided > 0
