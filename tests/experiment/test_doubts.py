"""Doubts: what an experiment says when its rewards contradict the declared family."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.experiment.doubts import LEVEL, Doubts, Finding
from fairbai.identifier.snapshot import with_digests
from fairbai.problems import Family

Draw = Callable[[int, np.random.Generator], float]


def play(ident: fb.Identifier, draw: Draw, trials: int, seed: int = 0) -> fb.Identifier:
    """Ask and tell until the decision, or for so many trials."""
    rng = np.random.default_rng(seed)
    while not ident.decided and ident.trials < trials:
        arm = ident.ask()
        ident.tell(arm, draw(ident.arms.index(arm), rng))
    return ident


def spread(factor: float) -> Draw:
    return lambda arm, rng: float(rng.normal(0.0, factor**0.5))


def new(family: Family | None = None, arms: Any = ("a", "b"), delta: float = 1e-6, **options: Any) -> fb.Identifier:
    return fb.Identifier(list(arms), delta, family or fb.Gaussian(), **options)


def test_no_doubt_while_the_family_is_right() -> None:
    status = play(new(), spread(1.0), 60).status()
    assert status.proved
    assert status.doubts == status.hints == ()


def test_a_doubt_ends_the_proof_and_says_why() -> None:
    ident = new()
    draw: Draw = lambda arm, rng: float(rng.normal(0.0, 10.0 if arm else 1.0))  # noqa: E731
    status = play(ident, draw, 40).status()
    assert not status.proved
    doubt = next(doubt for doubt in status.doubts if doubt.arm == "b")
    assert doubt.kind == "family"
    assert doubt.reason.startswith("Rewards of 'b' have ")
    assert doubt.reason.endswith(" times the variance of Gaussian rewards of variance 1")
    assert 2 < doubt.trial < 40
    assert not doubt.after_decision
    assert all(doubt.arm != "a" for doubt in status.doubts)
    with pytest.raises(AttributeError):
        doubt.trial = 0  # type: ignore[misc]


def test_a_rule_that_is_not_proved_stays_so() -> None:
    status = play(new(stopping=fb.stopping.Heuristic()), spread(1.0), 20).status()
    assert not status.proved
    assert status.doubts == ()


@pytest.mark.parametrize(
    ("family", "draw", "law"),
    [
        (fb.Gaussian([4.0, 1.0]), lambda arm, rng: float(rng.normal(0.0, 9.0)), "Gaussian rewards of variance 4"),
        (fb.Poisson(), lambda arm, rng: 20.0 * float(rng.poisson(0.5)), "Poisson rewards with their mean"),
        (fb.Exponential(), lambda arm, rng: float(rng.gamma(0.1)) + 1e-9, "exponential rewards with their mean"),
    ],
    ids=["gaussian", "poisson", "exponential"],
)
def test_every_family_has_its_reason(family: Family, draw: Draw, law: str) -> None:
    status = play(new(family, delta=1e-300), draw, 120).status()
    reasons = [doubt.reason for doubt in status.doubts if doubt.arm == "a"]
    assert len(reasons) == 1
    assert reasons[0].endswith(f"times the variance of {law}")


def test_all_arms_together_are_noticed_sooner() -> None:
    """Ten arms of twice the declared variance: no arm alone has enough rewards to tell."""
    ident = new(arms=range(10), rates=fb.rates.Constant(0.1), delta=1e-300)
    rng = np.random.default_rng(5)
    while not (doubts := ident.status().doubts):
        ident.tell(ident.ask(), float(rng.normal(0.0, 2.0**0.5)))
    assert doubts[0].arm is None
    assert "all arms together" in doubts[0].reason
    assert ident.trials < 250


def test_rewards_of_about_the_right_variance_have_heavy_tails() -> None:
    doubts = Doubts(fb.Exponential(), 2)
    doubts.found[1] = Finding(1, 80, 1.02, after_decision=False)
    assert doubts.listed(["a", "b"])[0].reason == "Rewards of 'b' have heavier tails than exponential rewards"


def test_bernoulli_rewards_cannot_be_contradicted() -> None:
    status = play(new(fb.Bernoulli()), lambda arm, rng: float(rng.random() < 0.5), 30).status()
    assert status.proved
    assert status.doubts == status.hints == ()


# --- hints --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variance", "better"), [(1.0, "would need fewer trials"), (0.2, "is made for such rewards")], ids=str
)
def test_zeros_and_ones_get_a_hint(variance: float, better: str) -> None:
    ident = new(fb.Gaussian(variance))
    play(ident, lambda arm, rng: 0.0, 30)
    assert ident.status().hints == ()  # it may be revenue
    ident.tell(ident.ask(), 1)
    status = ident.status()
    assert status.proved
    assert status.hints == (f"All 31 rewards so far are 0 or 1: family='bernoulli' {better}",)
    ident.tell(ident.ask(), 0.5)
    assert ident.status().hints == ()


def test_what_could_not_be_tested_is_said() -> None:
    ident = new(fb.Poisson(), arms=["a", "b", "c"], delta=0.1)
    for value in (100, 0, 0):
        ident.tell(ident.ask(), value)
    assert ident.decided
    status = ident.status()
    assert status.proved
    assert status.hints == (
        "The declared family could not be tested on 3 arms with fewer than 6 rewards told one by one",
    )


def test_batches_without_squares_are_not_tested() -> None:
    ident = new(delta=1e-3)
    ident.tell_batch([20, 20], [4000.0, -3000.0])
    status = ident.status()
    assert status.decided
    assert status.doubts == ()
    assert "2 arms" in status.hints[0]


@pytest.mark.parametrize("goal", ["max", "min"])
def test_batches_with_squares_are_tested_as_their_rewards(goal: Any) -> None:
    rewards = np.random.default_rng(3).normal(5.0, 1.8, (2, 40))
    batched = new(delta=1e-300, goal=goal)
    for part in (rewards[:, :13], rewards[:, 13:]):
        batched.tell_batch([part.shape[1]] * 2, part.sum(axis=1), (part**2).sum(axis=1))
    told = Doubts(fb.Gaussian(), 2)
    for arm, reward in np.ndindex(2, 40):
        told.observe(arm, float(rewards[arm, reward]), 1, decided=False)
    np.testing.assert_allclose(batched.procedure.doubts.tests, told.tests, rtol=1e-9)
    assert {doubt.arm for doubt in batched.status().doubts} == {"a", "b", None}
    assert not batched.status().proved


# --- the decision, the log, and snapshots -------------------------------------------------------------------------


def test_proved_is_frozen_at_the_decision() -> None:
    ident = new(delta=0.1)
    late, rng = ident.ask(2), np.random.default_rng(0)
    while not ident.decided:
        arm = ident.ask()
        ident.tell(arm, float(rng.normal(3.0 * (arm == "a"))))
    assert ident.status().proved
    ident.tell(late, [1e6, 1e6])
    for one in (ident, through_json(ident)):
        status = one.status()
        assert [doubt.after_decision for doubt in status.doubts] == [True] * len(status.doubts) != []
        assert status.proved


def test_one_warning_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    ident = new(delta=1e-300)
    with caplog.at_level(logging.WARNING, "fairbai"):
        play(ident, spread(400.0), 40)
        assert len(ident.status().doubts) == 3
        play(through_json(ident), spread(400.0), 50)
    assert [record.name for record in caplog.records] == ["fairbai"]
    first = ident.status().doubts[0]
    assert caplog.records[0].getMessage() == (
        f"Doubt after {first.trial} trials: {first.reason}. The answer is not proved."
    )


def through_json(ident: fb.Identifier) -> fb.Identifier:
    return fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict(), allow_nan=False)), same_draws=True)


@pytest.mark.parametrize("family", [fb.Gaussian(), fb.Poisson(), fb.Exponential()], ids=lambda family: family.kind)
def test_a_resumed_experiment_has_the_same_doubts(family: Family) -> None:
    rewards = np.random.default_rng(7).negative_binomial(1.0, 0.05, 40) + 1.0
    whole, parts = new(family, delta=1e-300), new(family, delta=1e-300)
    for reward in rewards.tolist():
        for ident in (whole, parts):
            ident.tell(ident.ask(), reward)
        parts = through_json(parts)
    assert whole.status().doubts == parts.status().doubts
    assert whole.to_dict() == parts.to_dict()


def test_a_snapshot_without_doubts_starts_them_afresh() -> None:
    ident = play(new(delta=1e-300), spread(400.0), 20)
    form = ident.to_dict()
    assert not ident.status().proved
    del form["doubts"]
    with pytest.raises(ValueError, match="counts, sums or decision are not those that were written"):
        fb.Identifier.from_dict(form)
    again = fb.Identifier.from_dict(with_digests(form))
    assert again.status().proved
    assert again.status().doubts == ()
    assert not play(again, spread(400.0), 40, seed=1).status().proved


@pytest.mark.parametrize(
    "change",
    [
        {"tests": []},
        {"tests": [[0.0] * 2] * 4},
        {"tests": [[None] * 3] * 4},
        {"found": [{}]},
        {"found": [{"arm": 2, "trial": 1, "ratio": 2.0, "after_decision": False}]},
        {"found": [{"arm": None, "trial": 1, "ratio": 2.0, "after_decision": 0}]},
        {"found": [{"arm": 1, "trial": -1, "ratio": 2.0, "after_decision": True}]},
    ],
    ids=str,
)
def test_damaged_doubts(change: dict[str, Any]) -> None:
    form = new().to_dict()
    form["doubts"] = {**form["doubts"], **change}
    with pytest.raises(ValueError, match="snapshot is damaged"):
        fb.Identifier.from_dict(form)


def test_a_failure_on_the_way_takes_doubts_back() -> None:
    def floors(means: Any) -> float:
        if means.max() > 1e5:
            raise ArithmeticError("too much")
        return 0.1

    ident = play(new(rates=fb.rates.Custom(floors), delta=1e-300), spread(1.0), 10)
    before = ident.to_dict()
    arms = ident.ask(2)
    with pytest.raises(ArithmeticError):
        ident.tell(arms, [1e6, -1e6])
    after = ident.to_dict()
    assert after["doubts"] == before["doubts"]
    assert ident.status().doubts == ()


# --- how often ----------------------------------------------------------------------------------------------------


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("family", [fb.Gaussian(), fb.Poisson(), fb.Exponential()], ids=lambda family: family.kind)
def test_experiments_whose_family_is_right(family: Family) -> None:
    """At the level of an experiment, over all its arms: 3,000 experiments of 3 arms expect at most 3 doubts."""
    rng, doubted = np.random.default_rng(11), 0
    for _ in range(3000):
        doubts = Doubts(family, 3)
        rewards = family.sample([0.5, 2.0, 4.0], rng, size=60)
        for row in rewards.tolist():
            for arm, reward in enumerate(row):
                doubts.observe(arm, reward, 1, decided=False)
        doubted += bool(doubts.found)
    assert doubted <= 3000 * LEVEL + 3.0 * (3000 * LEVEL) ** 0.5


def revenue(arm: int, rng: np.random.Generator) -> float:
    """3 % of the visitors buy, for about 130: a mean of about 4 and a standard deviation of 23."""
    return float(rng.lognormal(4.82, 0.3)) if rng.random() < (0.03, 0.03, 0.033)[arm] else 0.0


@pytest.mark.slow_without_jit
def test_revenue_under_a_variance_of_1_is_doubted() -> None:
    """Where every arm has two rewards at the decision, always; one reward of an arm says nothing about its variance."""
    untested = doubted = 0
    for seed in range(60):
        ident = play(new(arms=range(3), delta=0.05, rates=fb.rates.Constant(0.2), seed=seed), revenue, 2000, seed)
        status = ident.status()
        assert status.decided
        doubted += not status.proved
        untested += status.proved and any("could not be tested" in hint for hint in status.hints)
    assert doubted + untested == 60
    assert doubted >= 50


@pytest.mark.parametrize("family", [fb.Gaussian(), fb.Poisson(), fb.Exponential(), fb.Bernoulli()])
def test_many_rewards_at_once(family: Family) -> None:
    """The same tests fire after the same trials as if rewards were told one by one."""
    rng = np.random.default_rng(0)
    arms = rng.integers(0, 3, 600)
    rewards = np.where(arms == 1, 5.0, 1.0) * rng.exponential(1.0, 600)
    if family.kind == "gaussian":
        rewards = rewards * rng.choice([-1.0, 1.0], 600)
    elif family.kind != "exponential":
        rewards = np.floor(rewards) if family.kind == "poisson" else (rewards > 1.0).astype(float)
    at_once, single = Doubts(family, 3), Doubts(family, 3)
    at_once.observe_rows(arms, rewards, decided_at=100)
    for trial, (arm, reward) in enumerate(zip(arms, rewards, strict=True), 1):
        single.observe(int(arm), float(reward), trial, trial > 100)
    assert at_once.to_dict() == single.to_dict()
    assert bool(at_once.found) == (family.kind in ("gaussian", "poisson"))


def test_a_smaller_level_takes_longer() -> None:
    found = []
    for level in (1e-3, 1e-9):
        doubts = Doubts(fb.Gaussian(), 2, level)
        doubts.observe_rows(np.tile([0, 1], 200), np.tile([3.0, 3.0, -3.0, -3.0], 100))
        found.append(min(one.trial for one in doubts.found.values()))
    assert found[0] < found[1]
