"""Experiments with a tolerance, a goal or a control, on live data."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from tests.simulation.cases import follow

MIRRORS: list[tuple[Any, Any, list[float], list[float]]] = [
    ("bernoulli", lambda x: 1.0 - x, [0.3, 0.5, 0.4], [0.7, 0.5, 0.6]),
    (fb.Gaussian(4.0), lambda x: -x, [1.0, 2.0, 1.5], [-1.0, -2.0, -1.5]),
    (fb.Bounded(0.0, 5.0), lambda x: 5.0 - x, [1.0, 2.0, 1.5], [4.0, 3.0, 3.5]),
]


@pytest.mark.parametrize(("family", "mirror", "means", "others"), MIRRORS, ids=["bernoulli", "gaussian", "bounded"])
@pytest.mark.parametrize("stopping", [None, "heuristic", "design_based"])
def test_less_is_better_is_more_of_the_mirrored_rewards(
    family: Any, mirror: Any, means: list[float], others: list[float], stopping: Any
) -> None:
    """The same arms, decisions and evidence, as if the rewards had been mirrored by hand."""
    if stopping == "design_based" and isinstance(family, fb.Gaussian):
        return
    settings: dict[str, Any] = {"family": family, "rates": 0.1, "stopping": stopping, "seed": 3}
    down = fb.Identifier(3, 0.1, goal="min", **settings)
    up = fb.Identifier(3, 0.1, **settings)
    rng, known = np.random.default_rng(5), down.family
    for _ in range(300):
        if down.stopped:
            break
        arm = down.ask()
        assert arm == up.ask()
        reward = float(known.sample(means, rng)[arm])
        down.tell(arm, reward)
        up.tell(arm, mirror(reward))
    one, other = down.status(), up.status()
    assert (one.glr, one.threshold, one.decided) == pytest.approx((other.glr, other.threshold, other.decided))
    assert one.recommendation == other.recommendation
    np.testing.assert_allclose(one.means, [mirror(mean) for mean in other.means], rtol=1e-9)


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "exponential", fb.Gaussian(1.0)], ids=str)
@pytest.mark.parametrize(
    "asked",
    [
        {"goal": "min"},
        {"tolerance": 0.2},
        {"tolerance": "30%", "goal": "min"},
        {"tolerance": "30%", "control": 1},
        {"tolerance": 0.2, "control": 0, "goal": "min"},
    ],
    ids=str,
)
def test_an_identifier_goes_as_the_simulation(family: Any, asked: dict[str, Any]) -> None:
    instance = fb.Instance([0.5, 0.6, 0.3], family, fb.rates.Constant(0.15), **asked)
    settings: dict[str, Any] = {"settle": True}
    runs = fb.simulate(instance, 0.1, runs=2, seed=9, maximum_rounds=2000, **settings)
    path = follow(instance, 2000, 9, 1, delta=0.1, **settings, **asked)
    decided = -1 if runs.censored[1, 0] else int(runs.decision_time[1, 0])
    assert path.decided == decided
    if decided > 0:
        assert path.ident.recommendation == runs.recommendation[1, 0]
        assert path.ident.status().assigned.tolist() == runs.pulls[1, 0].tolist()


def test_a_snapshot_goes_on() -> None:
    ident = fb.Identifier(["a", "b"], 0.1, "poisson", 0.2, tolerance="10%", goal="min", control="b", report_after=3)
    rng = np.random.default_rng(2)
    for _ in range(40):
        trial = ident.ask_trial()
        ident.tell(trial, float(rng.poisson({"a": 2.5, "b": 3.0}[trial.arm])))
    again = fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True)
    assert again.question == ident.question
    assert again.to_dict() == ident.to_dict()
    assert again.ask(2) == ident.ask(2)


def test_a_plain_snapshot_is_as_before() -> None:
    form = fb.Identifier(2, 0.1, "bernoulli").to_dict()
    assert not {"tolerance", "goal", "control"} & form.keys()


def test_held_rewards_and_silence_are_in_the_unit_of_the_rewards() -> None:
    """In a snapshot, too: it was refused for rewards in another interval than [0, 1]."""
    ident = fb.Identifier(2, 0.1, fb.Bounded(1.0, 5.0), goal="min", report_after=2, silence=5.0)
    for reward in (1.0, 2.0, None, 4.0, 5.0):
        trial = ident.ask_trial()
        if reward is not None:
            ident.tell(trial, reward)
    again = fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True)
    for one in (ident, again):
        one.ask_trial(2)
    assert again.to_dict() == ident.to_dict()
    np.testing.assert_array_equal(again.status().means, ident.status().means)
    assert np.nanmin(ident.status().means) >= 1.0


def test_batches_where_less_is_better() -> None:
    ident = fb.Identifier(2, 0.05, "bernoulli", 0.2, goal="min")
    ident.tell_batch([100, 100], [10, 60])
    assert ident.recommendation == 0
    assert ident.status().means == pytest.approx([0.1, 0.6])
    drawn = fb.Identifier(2, 0.05, fb.Bounded(0.0, 2.0), 0.3, stopping="design_based", goal="min")
    drawn.tell_batch([500, 500], [200.0, 900.0], squares=[100.0, 1700.0], probabilities=[0.5, 0.5])
    averages = drawn.averages()
    assert averages.leader == 0
    assert averages.estimates[0] < averages.estimates[1]
    assert np.all(averages.intervals[:, 0] <= averages.estimates)
    assert np.all(averages.intervals[:, 1] >= averages.estimates)


@pytest.mark.parametrize("goal", ["max", "min"])
def test_averages_with_a_tolerance_in_percent(goal: Any) -> None:
    ident = fb.Identifier(3, 0.05, "bernoulli", 0.2, stopping="design_based", tolerance="20%", goal=goal, seed=1)
    rng = np.random.default_rng(1)
    while not ident.decided:
        trial = ident.ask_trial()
        ident.tell(trial, float(rng.random() < (0.3, 0.5, 0.4)[trial.arm]))
    found = ident.averages()
    assert ident.recommendation == (1 if goal == "max" else 0)
    assert np.all(found.intervals[:, 0] <= found.intervals[:, 1])
    assert np.all(np.abs(found.differences[:, 0]) <= 1.0)
    leader = found.intervals[found.leader]
    for arm in {0, 1, 2} - {found.leader}:  # so that they have no share in the events of the answer
        assert found.differences[arm].tolist() == (leader - found.intervals[arm, ::-1]).tolist()
    assert found.together == pytest.approx(1.0 - 2.0 * 0.05)
    plain = fb.Identifier(3, 0.05, "bernoulli", 0.2, stopping="design_based", tolerance=0.1, goal=goal)
    assert plain.averages().together == 1.0 - 0.05


def test_equal_arms_end_with_a_tolerance() -> None:
    rng = np.random.default_rng(4)
    for stopping in (None, "design_based"):
        ident = fb.Identifier(2, 0.1, "bernoulli", 0.2, stopping=stopping, tolerance=0.2)
        while not ident.stopped:
            trial = ident.ask_trial()
            ident.tell(trial, float(rng.random() < 0.4))
            assert ident.trials < 5000
        assert ident.decided


def test_the_control_is_named_if_nothing_beats_it() -> None:
    rng = np.random.default_rng(6)
    answers = []
    for best in (0.3, 0.6):
        ident = fb.Identifier(["new", "newer", "old"], 0.1, "bernoulli", 0.1, tolerance=0.15, control="old")
        while not ident.stopped:
            arm = ident.ask()
            ident.tell(arm, float(rng.random() < {"new": 0.2, "newer": best, "old": 0.3}[arm]))
        answers.append(ident.recommendation)
    assert answers == ["old", "newer"]


@pytest.mark.parametrize("goal", ["max", "min"])
@pytest.mark.parametrize(
    ("family", "tolerance", "reward"), [("bernoulli", 0.05, 0.0), ("bernoulli", 0.05, 1.0), ("poisson", 0.5, 0.0)]
)
def test_arms_that_only_failed_or_only_succeeded_end_too(
    goal: Any, family: str, tolerance: float, reward: float
) -> None:
    """Both estimates are at an end of the domain, and the ties elsewhere."""
    ident = fb.Identifier(2, 0.05, family, 0.2, tolerance=tolerance, goal=goal)
    while not ident.decided:
        arm = ident.ask()
        ident.tell(arm, reward)
        assert ident.trials < 2000
    assert ident.status().confidence >= 0.95


def test_waiting_times_close_to_the_end_of_the_ties() -> None:
    """Where less is better and the tolerance is large, the rival would need a mean below 0: that is no nan."""
    rng = np.random.default_rng(8)
    for _ in range(60):
        ident = fb.Identifier(3, 0.05, "exponential", 0.1, tolerance=float(rng.uniform(0.5, 2.0)), goal="min")
        pulls = rng.integers(50, 2000, 3).astype(float)
        ident.tell_batch(pulls, pulls * rng.uniform(0.1, 1.0, 3))
        status = ident.status()
        assert math.isfinite(status.threshold)
        assert status.decided == (status.confidence >= 0.95)


def test_rounding_is_no_evidence() -> None:
    """The squares of a batch of large and close rewards have lost what they say about the variance."""
    ident, rng = fb.Identifier(2, 0.05, fb.Gaussian(None), 0.2), np.random.default_rng(0)
    for _ in range(3):
        rewards = rng.normal(1e6, 0.5, (2, 1000))
        ident.tell_batch([1000, 1000], rewards.sum(axis=1), (rewards**2).sum(axis=1))
    assert not ident.decided


@pytest.mark.parametrize("control", [True, 1.0, 2, "1"])
def test_the_control_is_a_label(control: Any) -> None:
    with pytest.raises(ValueError, match="control must be one of 0, 1, got"):
        fb.Identifier(2, 0.05, "bernoulli", tolerance=0.1, control=control)
