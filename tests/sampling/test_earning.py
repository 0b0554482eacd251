"""Rules that earn while they learn: each keeps its own promise, on several families, floors and rewards."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.kernels.sampling.rules import earns
from fairbai.problems import Family
from fairbai.sampling import (
    ConstrainedEpsilonGreedy,
    ConstrainedLP,
    ExposureFair,
    FairThompson,
    FairUCB,
    MeritocraticChain,
    ProportionalCatchUp,
    SamplingRule,
    StochasticQuota,
    StrictQuota,
    VirtualQueues,
)
from tests.cases import SAMPLING_RULES

UNKNOWN = fb.Gaussian(None, guess=0.2)
FAMILIES = [fb.Gaussian(0.2), UNKNOWN, fb.Bernoulli(), fb.Poisson(), fb.Exponential(), fb.Bounded()]
MEANS = np.array([0.75, 0.6, 0.45, 0.3])
FLOORS = ([0.0, 0.0, 0.0, 0.0], [0.1, 0.3, 0.0, 0.2], [0.25, 0.25, 0.25, 0.25], [0.02, 0.9, 0.03, 0.05])
LIMITS = fb.rates.Bounded([0.05, 0.1, 0.0, 0.0], [0.5, 0.4, 1.0, 0.5], [fb.rates.Group([0, 1], 0.3, 0.6)])
ON_EVERY_PATH = [FairUCB(), FairUCB(tolerance=2.5), StrictQuota(), VirtualQueues(), VirtualQueues(eta=0.5)]
AT_EVERY_DRAW = [FairThompson(), StochasticQuota(), ConstrainedEpsilonGreedy(), ConstrainedLP()]
WITHIN_LIMITS = [ConstrainedEpsilonGreedy(), ConstrainedEpsilonGreedy(exploration=0.0), ConstrainedLP()]
by_kind: dict[str, Any] = {"ids": lambda one: str(one.to_dict()) if hasattr(one, "to_dict") else None}
on_every_path = pytest.mark.parametrize("rule", ON_EVERY_PATH, **by_kind)
GAUSSIAN = fb.Gaussian(1.0)
at_every_draw = pytest.mark.parametrize("rule", AT_EVERY_DRAW, **by_kind)
families = pytest.mark.parametrize("family", FAMILIES, ids=lambda one: f"{one.kind} {one.code}")


def running(rule: SamplingRule, rates: Any, family: Family | str = GAUSSIAN, **settings: Any) -> fb.Identifier:
    """An experiment that never ends."""
    settings = {"stopping": fb.stopping.Heuristic(), "settle": False, **settings}
    return fb.Identifier(4, 1e-300, family, rates=rates, sampling=rule, **settings)


def played(ident: fb.Identifier, trials: int, seed: int = 0) -> Iterator[int]:
    """The arms of an experiment on simulated rewards."""
    rewards = ident.family.sample(MEANS, np.random.default_rng(seed), trials)
    for row in rewards:
        arm = ident.ask()
        yield arm
        ident.tell(arm, row[arm])


def losing(ident: fb.Identifier, trials: int) -> Iterator[int]:
    """The arms of an experiment in which the arm that is ahead always loses, which makes a rule turn all the time."""
    for _ in range(trials):
        arm = ident.ask()
        yield arm
        ident.tell(arm, -1.0 if arm == ident.recommendation else 1.0)


@on_every_path
@pytest.mark.parametrize("floors", FLOORS, ids=str)
@pytest.mark.parametrize("play", [played, losing], ids=lambda play: play.__name__)
def test_floors_on_every_path(rule: SamplingRule, floors: list[float], play: Callable[..., Iterator[int]]) -> None:
    """Within the bound that the rule states, at all times, whatever the rewards."""
    counts, behind = np.zeros(4), rule.bounds(fb.rates.Constant(floors), 4)
    assert behind is not None
    for number, arm in enumerate(play(running(rule, floors), 150), 1):
        counts[arm] += 1.0
        assert (np.array(floors) * number - counts <= np.array(behind.behind) + 1e-9).all()


def test_patils_bound() -> None:
    """Below 1/K, a floor lacks at most its tolerance in whole trials."""
    floors, counts = np.array([0.24, 0.1, 0.2, 0.15]), np.zeros(4)
    for number, arm in enumerate(losing(running(FairUCB(tolerance=1.0), floors), 200), 1):
        counts[arm] += 1.0
        assert (np.floor(floors * number) - counts <= 1.0).all()


@at_every_draw
@families
def test_floors_at_every_draw(rule: SamplingRule, family: Family) -> None:
    floors = [0.1, 0.3, 0.0, 0.2]
    ident = running(rule, floors, family)
    for _ in played(ident, 60):
        policy = ident.procedure.experiment.policy
        assert (policy >= np.array(floors) - 1e-12).all()
        assert policy.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("rule", WITHIN_LIMITS, **by_kind)
@families
def test_all_limits_at_every_draw(rule: SamplingRule, family: Family) -> None:
    ident, limits = running(rule, LIMITS, family), LIMITS.limits(4)
    for _ in played(ident, 60):
        policy = ident.procedure.experiment.policy
        assert ((policy >= limits.floors - 1e-12) & (policy <= limits.ceilings + 1e-12)).all()
        assert 0.3 - 1e-12 <= policy[:2].sum() <= 0.6 + 1e-12
        assert policy.sum() == pytest.approx(1.0, abs=1e-12)


def test_only_two_rules_take_limits() -> None:
    for rule in (FairThompson(), FairUCB(), StrictQuota(), StochasticQuota(), VirtualQueues()):
        with pytest.raises(ValueError, match=f"{rule.kind} keeps floors, but neither ceilings nor groups"):
            running(rule, LIMITS)


@pytest.mark.parametrize("rule", [*ON_EVERY_PATH, *AT_EVERY_DRAW], **by_kind)
@pytest.mark.parametrize("goal", ["max", "min"])
def test_most_trials_go_to_the_best_arm(rule: SamplingRule, goal: Any) -> None:
    ident = running(rule, 0.05, "bernoulli", goal=goal)
    ident.tell_batch([40] * 4, [38, 20, 20, 2])
    arms = []
    for _ in range(80):
        arms.append(ident.ask())
        ident.tell(arms[-1], [1.0, len(arms) % 2, len(arms) % 2, 0.0][arms[-1]])
    assert np.bincount(arms, minlength=4).argmax() == (0 if goal == "max" else 3)


@families
def test_a_chain_prefers_only_better_arms(family: Family) -> None:
    """In every run of a few, which each break the promise with probability 0.05 at most."""
    dropped = 0
    for seed in range(3):
        ident = running(MeritocraticChain(), 0.0, family)
        squares = [2500 * (MEANS**2 + 0.2)] if family is UNKNOWN else []
        ident.tell_batch([2500] * 4, 2500 * MEANS, *squares)
        for _ in played(ident, 40, seed):
            policy = ident.procedure.experiment.policy
            assert (np.diff(policy) <= 0.0).all()  # as those of the means
            dropped += int((policy == 0.0).any())
    assert dropped > 0 or family.kind in ("poisson", "exponential")


def test_a_chain_drops_arms_for_good() -> None:
    ident = running(MeritocraticChain(), 0.0, "bernoulli")
    ident.tell_batch([300] * 4, [290, 280, 20, 10])
    ident.ask()
    np.testing.assert_array_equal(ident.procedure.experiment.policy, [0.5, 0.5, 0.0, 0.0])
    ident.tell_batch([0, 0, 300, 0], [0, 0, 300, 0])
    again = fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True)
    for one in (ident, again):
        one.ask()
        np.testing.assert_array_equal(one.procedure.experiment.policy, [0.5, 0.5, 0.0, 0.0])


@families
def test_proportional_trials(family: Family) -> None:
    rewards = family.sample(MEANS, np.random.default_rng(3), 1000)
    ident = running(ProportionalCatchUp(), 0.0, family)
    for row in rewards:
        arm = ident.ask()
        ident.tell(arm, row[arm])
    status = ident.status()
    np.testing.assert_allclose(status.shares, status.means / status.means.sum(), atol=0.05)
    np.testing.assert_allclose(status.shares, MEANS / MEANS.sum(), atol=0.1)


def test_proportional_where_less_is_better() -> None:
    ident = running(ProportionalCatchUp(), 0.0, "poisson", goal="min")
    ident.tell_batch([10] * 4, [10, 20, 20, 40])
    arms = ident.ask(320)
    np.testing.assert_array_equal(np.bincount(arms), [150, 70, 70, 30])  # 360 trials in proportion to 1, 1/2, 1/2, 1/4


@pytest.mark.parametrize("steepness", [0.0, 4.0])
def test_exposure_tends_to_merit(steepness: float) -> None:
    ident = running(ExposureFair(steepness), 0.0, "bernoulli")
    ident.tell_batch([12_000] * 4, 12_000 * MEANS)
    ident.ask()
    merit = np.exp(steepness * MEANS)
    np.testing.assert_allclose(ident.procedure.experiment.policy, merit / merit.sum(), atol=0.06)


def test_exposure_is_the_most_optimistic() -> None:
    """Against all corners of the box of intervals."""
    ident = running(ExposureFair(6.0), 0.0, fb.Gaussian(1.0))
    ident.tell_batch([10, 30, 5, 20], [3.0, 12.0, -1.0, 16.0])
    ident.ask()
    found = ident.procedure.experiment.policy
    counts, means = np.array([10, 30, 5, 20]), np.array([0.3, 0.4, -0.2, 0.8])
    width = np.sqrt(2.0 * np.log1p(66 * np.log(66) ** 2) / counts)
    best, policy = -np.inf, found
    for corner in np.ndindex(2, 2, 2, 2):
        theta = means + (2.0 * np.array(corner) - 1.0) * width
        one = np.exp(6.0 * theta) / np.exp(6.0 * theta).sum()
        if one @ theta > best:
            best, policy = one @ theta, one
    np.testing.assert_allclose(found, policy, rtol=1e-9)


# --- arms that are not available --------------------------------------------------------------------------------------


def test_only_available_arms() -> None:
    ident = running(VirtualQueues(), 0.2)
    rng, counts, awake = np.random.default_rng(0), np.zeros(4), np.zeros(4)
    for number in range(1, 201):
        available = rng.permutation(4)[: rng.integers(1, 5)]
        arm = ident.ask(available=available.tolist())
        assert arm in available
        counts[arm] += 1.0
        awake[available] += 1.0
        assert (0.2 * awake - counts <= np.sqrt(2.0 * 11.0 * number)).all()
        ident.tell(arm, rng.normal(MEANS[arm]))
    trial = ident.ask_trial(available=[2])
    assert trial.arm == 2


def test_available_over_several_trials_and_without_an_arm() -> None:
    ident = running(VirtualQueues(), 0.2)
    assert set(ident.ask(10, available=[1, 3])) == {1, 3}
    ident.switch_off(3)
    assert set(ident.ask(5, available=[1, 3])) == {1}
    with pytest.raises(ValueError, match=r"available must have an arm that is not switched off, got \[3\]"):
        ident.ask(available=[3])
    with pytest.raises(ValueError, match="arm must be one of"):
        ident.ask(available=["x"])
    with pytest.raises(ValueError, match="available must be a list of arms, got '12'"):
        ident.ask(available="12")
    with pytest.raises(ValueError, match="fair_ucb cannot skip arms: use VirtualQueues"):
        running(FairUCB(), 0.2).ask(available=[1])


def test_settling_with_arms_that_are_not_available() -> None:
    ident = fb.Identifier(3, 0.1, "bernoulli", rates=0.25, sampling="virtual_queues")
    while not ident.decided:
        arm = ident.ask(available=[0, 1] if ident.trials > 8 else None)
        ident.tell(arm, float(arm == 0))
    while not ident.stopped:
        arm = ident.ask(available=[0, 1] if ident.trials % 3 else None)
        ident.tell(arm, float(arm == 0))
    status = ident.status()
    assert (status.assigned >= 0.25 * status.assigned.sum() - 1e-9).all()


def test_a_batch_serves_the_queues() -> None:
    ident = running(VirtualQueues(eta=0.0), 0.25)
    ident.tell_batch([7, 1, 0, 0], [0.0, 0.0, 0.0, 0.0])
    assert ident.ask(2) == [2, 3]


def test_thompson_with_a_stop_that_survives_drift() -> None:
    ident = fb.Identifier(3, 0.1, "bernoulli", rates=0.1, sampling="fair_thompson", stopping="design_based")
    while not ident.stopped:
        trial = ident.ask_trial()
        assert trial.probability is None or trial.probability >= 0.1
        ident.tell(trial, float(trial.arm == 0))
    assert ident.recommendation == 0


def test_thompson_goes_on_after_an_arm_is_switched_off() -> None:
    ident = running(FairThompson(), 0.1, "bernoulli")
    ident.tell_batch([50] * 4, [40, 25, 25, 10])
    ident.ask()
    ident.switch_off(0)
    arm = ident.ask()
    policy = ident.procedure.experiment.policy
    assert arm != 0
    np.testing.assert_allclose(policy, [0.0, 0.45, 0.45, 0.1], atol=0.02)


@pytest.mark.parametrize("rule", [rule for rule in SAMPLING_RULES if earns(rule.code)], **by_kind)
def test_on_edge_nodes(rule: SamplingRule) -> None:
    """Nodes follow the policy of a rule, and report batches."""
    instance = fb.Instance([0.9, 0.5, 0.4], "bernoulli", 0.1)
    runs = fb.simulation.simulate_edges(instance, 0.2, batch=5, nodes=2, sampling=rule, runs=2, maximum_rounds=60)
    assert (runs.pulls[:, 0].sum(axis=1) == runs.stopping_time[:, 0]).all()
    assert (runs.pulls[:, 0] > 0.0).all()
