"""The ask/tell interface: what an engineer sees of an experiment."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from tests.identifier.site import ANSWERING, FAMILIES, RULES, Site, name

LATE = [(0, 0.0), (7, 0.0), (3, 0.3)]  # most rewards that wait, and the part that never comes


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("family", FAMILIES, ids=name)
@pytest.mark.parametrize("rule", RULES, ids=name)
@pytest.mark.parametrize(("late", "lost"), LATE)
def test_the_best_arm_is_found(family: fb.Gaussian, rule: Any, late: int, lost: float) -> None:
    ident = fb.Identifier(["x", "y", "z"], delta=0.01, family=family, rates=fb.rates.Constant(0.1), sampling=rule)
    site = Site(ident, seed=1, late=late, lost=lost).run()
    status = ident.status()
    assert ident.recommendation == "x"
    assert status.assigned.sum() == len(site.arms)
    assert (status.observed <= status.assigned).all()
    assert (status.assigned >= status.floors * status.assigned.sum()).all()


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(
    "rates",
    [
        fb.rates.Constant([0.5, 0.0, 0.3]),
        fb.rates.Proportional(0.6),
        fb.rates.Softmax(0.6),
        fb.rates.InverseGap(0.9),
        fb.rates.Gap(0.9),
        fb.rates.Custom(lambda means: 0.8 * np.sort(means) / means.sum() if (means > 0).all() else 0.1),
    ],
    ids=name,
)
@pytest.mark.parametrize("rule", ANSWERING, ids=name)
def test_every_rate(rates: fb.rates.Constant, rule: Any) -> None:
    ident = fb.Identifier(3, delta=0.01, family=fb.Bernoulli(), rates=rates, sampling=rule)
    Site(ident, seed=2).run()
    status = ident.status()
    assert ident.recommendation == 0
    assert (status.assigned >= status.floors * status.assigned.sum()).all()


def test_numbers_as_arms() -> None:
    ident = fb.Identifier(3, delta=0.1, family=fb.Gaussian())
    assert ident.arms == (0, 1, 2)
    assert sorted(ident.ask(3)) == [0, 1, 2]
    ident.tell(np.int64(2), 1.0)
    ident.tell(np.array([0, 1]), np.array([0.5, 0.0]))
    assert ident.recommendation == 2


def test_labels() -> None:
    ident = fb.Identifier(("red", 7, "blue"), delta=0.1, family=fb.Gaussian())
    assert sorted(ident.ask(3), key=ident.arms.index) == ["red", 7, "blue"]
    ident.tell(["blue", "red", 7], [1.0, 3.0, 2.0])
    assert ident.status().means.tolist() == [3.0, 2.0, 1.0]
    assert ident.recommendation == "red"
    assert ident.status().arms == ("red", 7, "blue")


def test_defaults_are_those_of_a_careful_practitioner() -> None:
    ident = fb.Identifier(2, delta=0.1, family=fb.Gaussian())
    assert ident.family == fb.Gaussian()
    assert ident.rates == fb.rates.Constant(0.0)
    assert ident.sampling == fb.sampling.FairTopTwo()
    assert ident.stopping == fb.stopping.Mixture()
    assert ident.settle


def test_before_the_first_trial() -> None:
    ident = fb.Identifier(["a", "b"], delta=0.1, family=fb.Gaussian(), rates=fb.rates.Constant(0.2))
    status = ident.status()
    assert status.assigned.tolist() == status.observed.tolist() == [0, 0]
    assert status.shares.tolist() == [0.0, 0.0]
    assert status.floors.tolist() == [0.2, 0.2]
    assert np.isnan(status.means).all()
    assert status.glr == 0.0 < status.threshold < math.inf
    assert (status.decided, status.stopped, status.recommendation) == (False, False, None)
    assert status.expected_remaining == math.inf
    assert status.proved


def test_assigned_and_observed_are_counted_apart() -> None:
    ident = fb.Identifier(["a", "b"], delta=0.1, family=fb.Gaussian())
    assert ident.ask(4) == ["a", "b", "a", "b"]
    ident.tell("b", 2.0)
    status = ident.status()
    assert status.assigned.tolist() == [2, 2]
    assert status.observed.tolist() == [0, 1]
    assert math.isnan(status.means[0])
    assert status.means[1] == 2.0
    assert ident.recommendation is None  # arm a has no reward yet
    ident.tell(["a", "a"], [0.0, 1.0])
    assert ident.status().observed.tolist() == [2, 1]
    assert ident.status().means.tolist() == [0.5, 2.0]
    assert ident.recommendation == "b"


def test_rewards_may_come_in_any_order() -> None:
    trials = [(0, 0.25), (1, 0.5), (2, 0.75), (0, 1.0), (1, 0.125)]  # sums of these are exact in any order
    one, other = (fb.Identifier(3, delta=0.1, family=fb.Gaussian()) for _ in range(2))
    for ident, order in ((one, trials), (other, trials[::-1])):
        ident.ask(6)
        for arm, reward in order:
            ident.tell(arm, reward)
    assert one.to_dict()["state"] == other.to_dict()["state"]
    assert one.ask(5) == other.ask(5)


def test_a_batch_is_as_good_as_its_parts() -> None:
    single, batch = (
        fb.Identifier(4, delta=1e-9, family=fb.Gaussian(), rates=fb.rates.Constant(0.1), seed=3) for _ in range(2)
    )
    rng = np.random.default_rng(5)
    for size in (4, 1, 7, 2, 30):
        arms = batch.ask(size)
        assert [single.ask() for _ in range(size)] == arms
        rewards = rng.normal([1.0, 0.5, 0.5, 0.0])[arms]
        batch.tell(arms, rewards)
        for arm, reward in zip(arms, rewards, strict=True):
            single.tell(arm, reward)
    assert single.to_dict()["state"]["sums"] == batch.to_dict()["state"]["sums"]
    assert single.ask(9) == batch.ask(9)


def test_the_rule_of_a_batch_sees_what_was_assigned_before() -> None:
    """Asking for many arms at once gives every arm its floor, though no reward comes."""
    ident = fb.Identifier(4, delta=0.1, family=fb.Gaussian(), rates=fb.rates.Constant([0.4, 0.3, 0.2, 0.1]))
    counts = np.bincount(ident.ask(100), minlength=4)
    assert counts.tolist() == [40, 30, 20, 10]


def test_status_agrees_with_itself() -> None:
    ident = fb.Identifier(3, delta=0.05, family=fb.Gaussian(), rates=fb.rates.InverseGap(0.6))
    site = Site(ident, seed=3, late=5)
    while not ident.stopped:
        site.visit()
        status = ident.status()
        assert status.assigned.tolist() == [site.arms.count(arm) for arm in range(3)]
        assert status.assigned.sum() - status.observed.sum() == len(site.pending)
        assert status.shares == pytest.approx(status.assigned / status.assigned.sum())
        assert (status.decided, status.stopped) == (ident.decided, ident.stopped)
        assert status.recommendation == ident.recommendation
        if not status.decided:
            assert status.glr < status.threshold or ident.procedure.waits_for > 0
            if status.observed.min() > 0:
                assert status.floors == pytest.approx(ident.rates.floors(status.means))
                assert status.recommendation == int(np.argmax(status.means))
    assert status.decided
    assert status.expected_remaining == 0.0


def test_status_is_a_frozen_copy() -> None:
    ident = fb.Identifier(3, delta=0.05, family=fb.Gaussian())
    ident.ask(3)
    ident.tell([0, 1, 2], [1.0, 0.0, 0.5])
    status = ident.status()
    status.means[:] = 9.0
    status.assigned[:] = 9
    assert ident.status().means.tolist() == [1.0, 0.0, 0.5]
    assert ident.status().assigned.tolist() == [1, 1, 1]
    with pytest.raises(dataclasses.FrozenInstanceError):
        status.glr = 3.0  # type: ignore[misc]


@pytest.mark.parametrize("settle", [True, False])
@pytest.mark.parametrize("stopping", [fb.stopping.Heuristic(), fb.stopping.Mixture()], ids=name)
def test_expected_remaining_falls_to_zero(settle: bool, stopping: fb.stopping.Heuristic) -> None:
    """With rewards that do not vary: a fair estimate after a tenth of the trials, and then downhill."""
    ident = fb.Identifier(
        3, delta=0.01, family=fb.Gaussian(), rates=fb.rates.Constant([0.1, 0.1, 0.4]), settle=settle, stopping=stopping
    )
    left = []
    while not ident.stopped:
        arm = ident.ask()
        ident.tell(arm, [1.0, 0.5, 0.0][arm])
        left.append(ident.status().expected_remaining)
    assert left[0] == math.inf
    assert left[-1] == 0.0
    later = np.array(left[len(left) // 10 :])
    assert np.diff(later).max() <= 3.0
    assert later == pytest.approx(np.arange(len(later))[::-1], rel=0.25, abs=5.0)


def test_expected_remaining_counts_the_trials_of_settling_exactly() -> None:
    ident = fb.Identifier(
        2, delta=0.1, family=fb.Gaussian(), rates=fb.rates.Constant([0.05, 0.9]), sampling=fb.sampling.TrackAndStop()
    )
    while not ident.decided:
        arm = ident.ask()
        ident.tell(arm, [2.0, 0.0][arm])
    more = int(ident.status().expected_remaining)
    assert more > 0
    for left in range(more - 1, -1, -1):
        assert not ident.stopped
        ident.ask()
        assert ident.status().expected_remaining == left
    assert ident.stopped


def test_tie_has_no_end_in_sight() -> None:
    ident = fb.Identifier(3, delta=0.1, family=fb.Gaussian())
    ident.ask(3)
    ident.tell([0, 1, 2], [1.0, 1.0, 0.0])
    assert ident.status().glr == 0.0
    assert ident.status().expected_remaining == math.inf
    assert ident.recommendation == 0


@pytest.mark.parametrize("family", [fb.Bernoulli(), fb.Poisson()], ids=name)
@pytest.mark.parametrize("rule", RULES, ids=name)
def test_estimates_at_the_edge_of_the_domain(family: fb.Bernoulli, rule: Any) -> None:
    """All failures, or all successes, are what the first rewards look like."""
    for pattern in ([1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]):
        ident = fb.Identifier(3, delta=0.01, family=family, rates=fb.rates.Constant(0.1), sampling=rule)
        for _ in range(30):
            if ident.stopped:
                break
            arm = ident.ask()
            ident.tell(arm, pattern[arm])
            assert not math.isnan(ident.status().expected_remaining)
        assert np.isfinite(ident.status().glr)


@pytest.mark.parametrize("size", [1e-160, 1e-100, 1e100, 9e149])
def test_rewards_of_any_size_keep_status_and_snapshot_sound(size: float) -> None:
    ident = fb.Identifier(2, delta=0.1, family=fb.Gaussian(), sampling=fb.sampling.FairTrackAndStop())
    for reward in (size, 0.0, 0.5 * size, 0.0):
        ident.tell(ident.ask(), reward)
        status = ident.status()
        assert not math.isnan(status.expected_remaining)
        assert (
            fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict(), allow_nan=False)), same_draws=True).decided
            == ident.decided
        )
        if ident.stopped:
            assert status.glr >= status.threshold
            break
