"""Rewards that are counted at a fixed age: when, in which order, and what is refused."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairbai as fb


def identifier(report_after: int | None = 3, silence: float | None = None, **settings: Any) -> fb.Identifier:
    defaults = {"delta": 0.05, "family": fb.Gaussian(), "seed": 1}
    return fb.Identifier(["a", "b"], report_after=report_after, silence=silence, **{**defaults, **settings})


def seen(ident: fb.Identifier) -> tuple[list[int], list[float]]:
    """What is counted: observations, and the sums of the rewards."""
    state = ident.to_dict()["state"]
    return [int(count) for count in state["observed"]], state["sums"]


def test_reward_is_counted_when_so_many_further_trials_are_assigned() -> None:
    ident = identifier(report_after=3)
    first = ident.ask_trial()
    ident.tell(first, 0.5)
    for _ in range(2):
        ident.ask_trial()
        assert seen(ident)[0] == [0, 0]
    ident.ask_trial()
    assert seen(ident) == (([1, 0], [0.5, 0.0]) if first.arm == "a" else ([0, 1], [0.0, 0.5]))
    assert first.number == 0


def test_silent_trial_counts_as_silence() -> None:
    ident = identifier(report_after=1, silence=0.25)
    arms = ident.ask(1) + [ident.ask() for _ in range(4)]
    assert sum(seen(ident)[0]) == 4
    assert seen(ident)[1] == [0.25 * arms[:4].count("a"), 0.25 * arms[:4].count("b")]


def test_silent_trial_without_silence_is_never_observed() -> None:
    ident = identifier(report_after=1)
    for _ in range(5):
        ident.ask()
    assert seen(ident)[0] == [0, 0]
    assert ident.status().assigned.sum() == 5


def test_late_reward_is_accepted_and_not_counted() -> None:
    ident = identifier(report_after=1, silence=0.0)
    first = ident.ask_trial()
    ident.ask_trial()
    before = seen(ident)
    ident.tell(first, 5.0)
    assert seen(ident) == before
    assert ident.status().late == 1
    assert fb.Identifier.from_dict(ident.to_dict()).status().late == 1


def test_same_answer_as_telling_every_reward_at_that_age() -> None:
    """The arms, the counts and the decision are those of a user who holds the rewards himself."""
    rng = np.random.default_rng(4)
    held, plain = identifier(report_after=7, silence=0.0), identifier(report_after=None)
    rewards: list[tuple[fb.Trial, float]] = []
    while not held.decided:
        trial = held.ask_trial()
        assert plain.ask() == trial.arm
        rewards.append((trial, rng.normal() + (0.5 if trial.arm == "a" else 0.0)))
        held.tell(*rewards[-1])
        if len(rewards) > 7:
            plain.tell(*rewards[-8])
        assert plain.decided == held.decided
        assert seen(held) == seen(plain)
    assert held.recommendation == "a"
    assert len(rewards) > 20


@given(
    delays=st.lists(st.integers(0, 12), min_size=30, max_size=30),
    report_after=st.integers(1, 10),
    silence=st.sampled_from([None, -3.0]),
    restored=st.integers(0, 29),
)
def test_any_order_of_telling(delays: list[int], report_after: int, silence: float | None, restored: int) -> None:
    """What is counted follows from which rewards were in time, not from their order; a restored copy counts the same.

    The reward of trial i is 2**i, so that the sums say which trials were counted, and that none was counted twice.
    """
    ident = identifier(report_after, silence, family=fb.Gaussian(1e20), sampling=fb.sampling.UniformFair())
    trials: list[fb.Trial] = []
    for now in range(30):
        if now == restored:
            text = json.dumps(ident.to_dict())
            ident = fb.Identifier.from_dict(json.loads(text), same_draws=True)
            assert json.dumps(ident.to_dict()) == text
        trials.append(ident.ask_trial())
        ready = [trial for trial in trials if trial.number + delays[trial.number] == now]
        ident.tell(ready[::-1], [2.0**trial.number for trial in ready[::-1]])
        due = [trial for trial in trials if trial.number + report_after <= now]
        in_time = [delays[trial.number] < report_after for trial in due]
        sums = {"a": 0.0, "b": 0.0}
        for trial, known in zip(due, in_time, strict=True):
            sums[trial.arm] += 2.0**trial.number if known else silence or 0.0
        assert seen(ident)[1] == [sums["a"], sums["b"]]
        assert sum(seen(ident)[0]) == (len(due) if silence is not None else sum(in_time))
    assert [trial.number for trial in trials] == list(range(30))


def test_order_of_counting_is_that_of_assignment() -> None:
    """Even the last bits do not depend on the order of telling: floating-point sums are made in the order of trials."""
    rewards = [0.1, 0.7, 1e15, -1e15, 0.3, 0.2]
    states = []
    for order in (range(6), range(5, -1, -1), [3, 1, 5, 0, 2, 4]):
        ident = identifier(report_after=6, rates=fb.rates.Constant(0.5))
        trials = ident.ask_trial(6)
        for number in order:
            ident.tell(trials[number], rewards[number])
        ident.ask(6)
        states.append(ident.to_dict()["state"])
    assert states[0] == states[1] == states[2]


def test_arm_is_enough_if_only_one_of_its_trials_is_open() -> None:
    ident = identifier(report_after=3)
    assert sorted(ident.ask(2)) == ["a", "b"]
    ident.tell(["a", "b"], [1.0, 0.0])
    with pytest.raises(ValueError, match=r"arm 'a' has no open trials without a reward.*ask_trial"):
        ident.tell("a", 1.0)
    ident = identifier(report_after=10)
    ident.ask(4)
    with pytest.raises(ValueError, match="arm 'a' has 2 open trials"):
        ident.tell("a", 1.0)


def test_bad_tells_change_nothing() -> None:
    ident = identifier(report_after=4, silence=0, family=fb.Bernoulli())
    first, second = ident.ask_trial(2)
    ident.tell(first, 1)
    before = ident.to_dict()
    for told, rewards, error in (
        (first, 0, "trial 0 already has reward 1.0"),
        ([second, second], [1, 1], "trial 1 already has reward 1.0"),
        ([second, fb.Trial(2, first.arm)], [1, 1], "trial 2 has not been assigned: there are 2 trials so far"),
        (fb.Trial(1, first.arm), 1, f"trial 1 must be of arm {second.arm!r}, got {first.arm!r}"),
        (fb.Trial(1, "c"), 1, "arm must be one of 'a', 'b', got 'c'"),
        (second, 0.5, "must be 0 or 1, got 0.5"),
    ):
        with pytest.raises(ValueError, match=error):
            ident.tell(told, rewards)
        assert ident.to_dict() == before


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"report_after": 0}, "report_after must be a whole number from 1, got 0"),
        ({"report_after": 2.5}, "report_after must be a whole number from 1, got 2.5"),
        ({"report_after": None, "silence": 0}, "silence needs report_after"),
        ({"silence": 0.5, "family": fb.Bernoulli()}, "silence must be a reward that the family can produce: .* 0 or 1"),
        ({"silence": float("nan")}, "silence must be a reward that the family can produce"),
    ],
)
def test_bad_settings(settings: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        identifier(**settings)


def test_batches_are_refused() -> None:
    ident = identifier()
    with pytest.raises(ValueError, match="batches need report_after=None"):
        ident.tell_batch([1, 1], [0.0, 0.0])
    with pytest.raises(ValueError, match=r"n must be at most report_after \(3\).*, got 4"):
        ident.ask(4)
    assert ident.trials == 0


def test_damaged_snapshots_are_refused() -> None:
    ident = identifier(report_after=2)
    ident.tell(ident.ask_trial(2), [1.0, 2.0])
    ident.ask()
    form = ident.to_dict()
    for name, value in (("arms", [0]), ("arms", [0, 7]), ("rewards", [None]), ("rewards", ["1", None]), ("late", -1)):
        with pytest.raises(ValueError, match="snapshot is damaged"):
            fb.Identifier.from_dict({**form, "trials": {**form["trials"], name: value}})
    with pytest.raises(ValueError, match="must be some of those that are assigned and neither"):
        fb.Identifier.from_dict({**form, "trials": {**form["trials"], "arms": [1, 1]}})


def test_failure_of_the_users_own_rates_changes_nothing() -> None:
    """An ask counts the rewards that are due, and then asks the rates for floors: what fails there undoes the ask."""
    broken = False

    def floors(means: Any) -> Any:
        if broken:
            raise ZeroDivisionError
        return np.full(2, 0.1)

    rates = fb.rates.Custom(floors)
    ident = identifier(report_after=2, rates=rates)
    for _ in range(6):
        ident.tell(ident.ask_trial(), 0.5)
    before, broken = ident.to_dict(), True
    for n in (None, 2):
        with pytest.raises(ZeroDivisionError):
            ident.ask(n)
        assert ident.to_dict() == before


def test_trial_without_report_after_stands_for_its_arm() -> None:
    ident = identifier(report_after=None)
    trial = ident.ask_trial()
    ident.tell(trial, 1.0)
    assert seen(ident)[0] == [int(trial.arm == "a"), int(trial.arm == "b")]
    with pytest.raises(ValueError, match=f"arm {trial.arm!r} has no pending trials"):
        ident.tell(trial, 1.0)
    assert "report_after" not in ident.to_dict()


def test_probability_is_that_of_rules_that_draw() -> None:
    ident = identifier(None, sampling=fb.sampling.FairTrackAndStop(start="policy"), rates=fb.rates.Constant([0.1, 0.6]))
    expected = dict(zip(ident.arms, ident.policy(1), strict=True))
    trials = ident.ask_trial(20)
    assert {trial.arm for trial in trials} == {"a", "b"}
    assert all(trial.probability == pytest.approx(expected[trial.arm]) for trial in trials)
    drawn = identifier(None, sampling=fb.sampling.FairTrackAndStop()).ask_trial(3)
    assert [trial.probability for trial in drawn] == [None, None, 0.5]
    assert all(trial.probability is None for trial in identifier(None).ask_trial(5))


def test_threads() -> None:
    """Every trial that was told in time is counted once, whoever told it."""
    ident = identifier(report_after=1000, delta=1e-9)

    def serve() -> None:
        for _ in range(100):
            ident.tell(ident.ask_trial(), 1.0)

    threads = [threading.Thread(target=serve) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen(ident)[0] == [0, 0]
    ident.ask(600)
    ident.ask(400)
    assert sum(seen(ident)[0]) == sum(seen(ident)[1]) == 400
