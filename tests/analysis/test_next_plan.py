"""Plans from a log: a range of trials that widens with what the log does not know."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy.special import logit

import fairbai as fb
from fairbai.analysis.plausible import plausible_means


def totals(trials: int, rates: list[float], **options: Any) -> fb.Analysis:
    form = {
        "arm": list("abcdefgh")[: len(rates)],
        "n": [trials] * len(rates),
        "s": [round(trials * rate) for rate in rates],
    }
    return fb.analyze(form, trials="n", sum="s", family="bernoulli", **options)


def test_two_arms_are_drawn_around_their_estimates() -> None:
    """Nothing is shrunk: on the scale of log odds, means and errors are those of the estimates."""
    means = plausible_means(totals(2000, [0.1, 0.12]), 20_000, np.random.default_rng(0))
    assert means.mean(axis=0).tolist() == pytest.approx([0.1, 0.12], abs=6e-4)
    error = np.sqrt(1 / 200.5 + 1 / 1800.5)
    assert logit(means[:, 0]).std() == pytest.approx(error, rel=0.02)


def test_several_arms_are_shrunk_towards_each_other() -> None:
    """Estimates that differ no more than by chance are drawn together; clear ones stay where they are."""
    noisy = plausible_means(totals(500, [0.12, 0.1, 0.1, 0.1, 0.1]), 5000, np.random.default_rng(0))
    leader = noisy.mean(axis=0)[0]
    assert 0.105 < leader < 0.116
    clear = plausible_means(totals(100_000, [0.2, 0.1, 0.05, 0.15]), 5000, np.random.default_rng(0))
    assert clear.mean(axis=0).tolist() == pytest.approx([0.2, 0.1, 0.05, 0.15], rel=0.005)


@pytest.mark.slow_without_jit
def test_shrinking_makes_the_draws_right_on_average() -> None:
    """Many logs whose true means are normal: the mean of the draws is closer to the truth than the estimates are."""
    rng = np.random.default_rng(1)
    plain = shrunk = 0.0
    for _ in range(60):
        truth = rng.normal(0.0, 1.0, 6)
        rewards = rng.normal(truth[:, None], 10.0, (6, 60))
        log = {"arm": np.repeat(np.arange(6), 60), "reward": rewards.ravel()}
        found = fb.analyze(log, family=fb.Gaussian(100.0))
        drawn = plausible_means(found, 400, rng).mean(axis=0)
        plain += ((found.arms.means - truth) ** 2).sum()
        shrunk += ((drawn - truth) ** 2).sum()
    assert shrunk < 0.9 * plain


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(
    "options",
    [
        {"family": fb.Bernoulli()},
        pytest.param({"family": fb.Poisson()}, marks=pytest.mark.long),
        pytest.param({"family": fb.Exponential()}, marks=pytest.mark.long),
        pytest.param({"family": fb.Gaussian(4.0)}, marks=pytest.mark.long),
        pytest.param({"low": 0.0, "high": 20.0}, marks=pytest.mark.long),
    ],
    ids=["bernoulli", "poisson", "exponential", "gaussian", "bounded"],
)
def test_every_family_can_be_planned(options: dict[str, Any]) -> None:
    rng, family = np.random.default_rng(0), options.get("family", fb.Gaussian(1.0))
    means = np.array([0.3, 0.5, 0.4]) if isinstance(family, fb.Bernoulli) else np.array([3.0, 5.0, 4.0])
    arms = rng.integers(0, 3, 900)
    rewards = family.sample(means, rng, 900)[np.arange(900), arms]
    found = fb.analyze({"arm": arms, "reward": np.clip(rewards, 0, 20) if "low" in options else rewards}, **options)
    planned = found.plan(rates=0.1)
    low, middle, high = planned.range
    assert 3 <= low < middle < high < math.inf
    assert planned.at_estimates is not None
    assert low < planned.at_estimates.expected < high
    assert planned.leader == 1
    assert planned.best[1] > 0.9


@pytest.mark.slow_without_jit
def test_a_longer_log_makes_the_range_narrower() -> None:
    short, long = (totals(trials, [0.1, 0.12]).plan() for trials in (1000, 100_000))
    ratio = [one.range[2] / one.range[0] for one in (short, long)]
    assert ratio[0] > 2 * ratio[1]


def test_arms_that_are_too_close() -> None:
    planned = totals(1000, [0.1, 0.1005, 0.1], shares="any").plan(limit=50_000, per_day=1000)
    assert 0.3 < planned.beyond <= 1.0
    assert "it takes more than 50,000 trials: the arms are too close to be worth it." in repr(planned)
    assert "shrunk towards each other" in repr(planned)
    assert "days)" in repr(planned)


def test_a_tie_in_the_log() -> None:
    planned = totals(1000, [0.1, 0.1]).plan()
    assert planned.at_estimates is None
    assert "Two arms tie for the best in the log" in repr(planned)
    assert planned.to_dict()["at_estimates"] is None


@pytest.mark.slow_without_jit
def test_an_arm_without_a_click() -> None:
    planned = totals(1000, [0.0, 0.02]).plan()
    assert planned.at_estimates is not None
    assert planned.at_estimates.instance.means[0] > 0.0


def test_caution_if_the_log_is_doubted() -> None:
    form = {"arm": ["a", "b"], "n": [4500, 5500], "s": [450, 660]}
    planned = fb.analyze(form, trials="n", sum="s", family="bernoulli").plan()
    assert planned.caution == "arms were not assigned as they should have been"
    assert "CAUTION: do not rely on this log" in repr(planned)


@pytest.mark.slow_without_jit
def test_to_dict() -> None:
    planned = totals(2000, [0.1, 0.12]).plan(rates={"a": 0.3}, per_day=500, delta=0.1)
    form = planned.to_dict()
    assert json.loads(json.dumps(form, allow_nan=False)) == form
    assert form["trials"]["p10"] < form["trials"]["p50"] < form["trials"]["p90"]
    assert form["days"]["p50"] == form["trials"]["p50"] / 500
    assert sum(one["share_of_draws"] for one in form["best"]) == pytest.approx(1.0)
    assert form["at_estimates"]["arms"][0]["floor"] == 0.3
    assert form["delta"] == 0.1
    assert planned.draws.tolist() == totals(2000, [0.1, 0.12]).plan(rates={"a": 0.3}, delta=0.1).draws.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rates": 0.6}, "2 floors of 60 % add up to 120 %"),
        ({"draws": 5}, "draws must be a whole number from 10 to 100000, got 5"),
        ({"limit": 0}, "limit must be at least 1, got 0"),
        ({"per_day": 0}, "per_day must be positive, got 0"),
        ({"delta": 0.9}, r"delta must be in \(0, 1/2\), got 0.9"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_wrong_input(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        totals(1000, [0.1, 0.2]).plan(**options)


def test_every_arm_needs_trials() -> None:
    found = fb.analyze(
        {"arm": ["a", "b", "c"], "n": [10, 10, 0], "s": [1, 2, 0]}, trials="n", sum="s", family="bernoulli"
    )
    with pytest.raises(ValueError, match="every arm must have trials in the log to plan from it, got none for 'c'"):
        found.plan()
