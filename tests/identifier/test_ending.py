"""Experiments that end without a decision: by max_trials, or because somebody ends them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import fairbai as fb


def identifier(max_trials: int | None = 20, **settings: Any) -> fb.Identifier:
    """Two arms that nobody could tell apart within so few trials."""
    return fb.Identifier(
        ["a", "b"], **{"delta": 1e-9, "family": fb.Gaussian(1.0), "max_trials": max_trials, **settings}
    )


def again(ident: fb.Identifier) -> fb.Identifier:
    """The same through JSON."""
    restored = fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True)
    assert restored.to_dict() == ident.to_dict()
    return restored


def test_no_more_than_max_trials_are_assigned() -> None:
    ident = identifier()
    while not ident.stopped:
        assert ident.can_ask
        assert ident.ended_by is None
        arm = ident.ask()
        ident.tell(arm, {"a": 1.0, "b": 0.9}[arm])
    for one in (ident, again(ident)):
        assert one.trials == 20
        assert (one.decided, one.decision, one.ended_by, one.recommendation) == (False, None, "max_trials", "a")
        status = one.status()
        assert (status.stopped, status.decided, status.ended_by, status.recommendation) == (
            True,
            False,
            "max_trials",
            "a",
        )
        for call in (one.ask, one.ask_trial, lambda one=one: one.ask(3), lambda one=one: one.policy(5)):
            with pytest.raises(RuntimeError, match="all 20 trials of max_trials are assigned: 'a' looks best so far"):
                call()


def test_a_list_is_shorter_where_fewer_are_left() -> None:
    ident = identifier(max_trials=7)
    assert len(ident.ask(5)) == 5
    assert len(ident.ask(5)) == 2


def test_rewards_that_are_out_may_still_decide() -> None:
    ident = identifier(max_trials=40, delta=0.05, settle=False)
    arms = ident.ask(40)
    assert not ident.can_ask
    assert (ident.stopped, ident.ended_by) == (False, "max_trials")
    assert "rewards are still out" in ident.status().sentence()
    for arm in arms[:-1]:
        ident.tell(arm, {"a": 5.0, "b": 0.0}[arm])
    assert (ident.decided, ident.stopped, ident.ended_by) == (True, True, "decision")
    assert ident.status().confidence >= 0.95
    with pytest.raises(RuntimeError, match="the experiment has stopped: 'a' is the answer"):
        ident.ask()


def test_the_last_reward_may_decide() -> None:
    """All rewards at once, and one by one: with the last of them none is out any more."""
    told = {"a": 3.0, "b": 0.0}
    for whole in (True, False):
        ident = identifier(max_trials=36, delta=0.05)
        arms = ident.ask(36)
        if whole:
            ident.tell(arms, [told[arm] for arm in arms])
        else:
            for arm in arms:
                ident.tell(arm, told[arm])
        assert (ident.decided, ident.stopped) == (True, True)


def test_a_trial_that_was_given_up_counts_if_its_reward_comes_after_all() -> None:
    ident = identifier(max_trials=36, delta=0.05)
    arms = ident.ask(36)
    ident.tell(arms[:2], [{"a": 3.0, "b": 0.0}[arm] for arm in arms[:2]])
    ident.close_trials()
    assert (ident.stopped, ident.decided, ident.ended_by) == (True, False, "max_trials")
    ident = again(ident)
    for arm in arms[2:]:
        ident.tell(arm, {"a": 3.0, "b": 0.0}[arm])
    assert (ident.stopped, ident.decided, ident.ended_by, ident.recommendation) == (True, True, "decision", "a")


def test_settling_ends_with_the_budget() -> None:
    """A rule that ignores the floors decides after 9 trials, and lacks 5 for them; two are left."""
    rule = fb.sampling.TopTwo()
    ident = fb.Identifier(2, 0.05, "bernoulli", rates=[0.1, 0.7], sampling=rule, max_trials=11)
    while not ident.decided:
        arm = ident.ask()
        ident.tell(arm, [1, 0][arm])
    assert ident.trials == 9
    assert ident.status().expected_remaining == 2.0
    assert (ident.stopped, ident.ended_by) == (False, None)
    assert ident.ask(10) == [1, 1]
    assert (ident.stopped, ident.ended_by, ident.status().expected_remaining) == (True, "decision", 0.0)


def test_a_plain_experiment_is_as_before() -> None:
    ident = identifier(max_trials=None, delta=0.05)
    while not ident.stopped:
        arm = ident.ask()
        ident.tell(arm, {"a": 2.0, "b": 0.0}[arm])
    assert ident.ended_by == "decision"
    assert "max_trials" not in ident.to_dict()
    assert "ended" not in ident.to_dict()


# By somebody


def test_end() -> None:
    ident = identifier(max_trials=None)
    arms = ident.ask(6)
    ident.tell(arms[:4], [1.0, 0.5, 0.9, 0.6])
    ident.end("deadline")
    for one in (ident, again(ident)):
        assert (one.can_ask, one.stopped, one.ended_by) == (False, False, "deadline")
        with pytest.raises(RuntimeError, match=r"was ended after 6 trials \(deadline\): 'a' looks best so far"):
            one.ask()
        one.end("something else")  # too late
        one.tell(arms[4:], [1.0, 0.5])
        assert (one.stopped, one.decided, one.ended_by, one.decision) == (True, False, "deadline", None)
        assert one.status().sentence().startswith("Stopped after 6 trials without a decision")


def test_end_before_the_first_trial() -> None:
    ident = identifier(max_trials=None)
    ident.end()
    assert (ident.stopped, ident.ended_by, ident.recommendation) == (True, "ended", None)
    with pytest.raises(RuntimeError, match=r"ended after 0 trials \(ended\): no arm can be named"):
        ident.ask()


def test_end_while_settling() -> None:
    ident = fb.Identifier(2, 0.05, fb.Gaussian(1.0), rates=[0.1, 0.7], sampling=fb.sampling.TopTwo())
    while not ident.decided:
        arm = ident.ask()
        ident.tell(arm, [2.0, 0.0][arm])
    assert not ident.stopped
    ident.end("deadline")
    assert (ident.stopped, ident.ended_by) == (True, "decision")


def test_end_changes_nothing_after_the_stop() -> None:
    ident = identifier(delta=0.05)
    while not ident.stopped:
        arm = ident.ask()
        ident.tell(arm, {"a": 2.0, "b": 0.0}[arm])
    before = ident.to_dict()
    ident.end("deadline")
    assert ident.to_dict() == before


@pytest.mark.parametrize("reason", ["", None, 3, "decision", "max_trials"])
def test_reasons_that_are_refused(reason: Any) -> None:
    with pytest.raises(ValueError, match="reason must be a text other than 'decision' and 'max_trials'"):
        identifier().end(reason)


@pytest.mark.parametrize("max_trials", [0, 1, -5, 2.5, "many", True, 2**60])
def test_max_trials_that_are_refused(max_trials: Any) -> None:
    with pytest.raises(ValueError, match=r"max_trials must be a whole number from 2, the number of arms, to 2\*\*53"):
        identifier(max_trials=max_trials)


def test_an_edited_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="its configuration was edited"):
        fb.Identifier.from_dict({**identifier().to_dict(), "max_trials": 30})


# Rewards that are held


def test_windows_close_though_no_further_trial_is_assigned() -> None:
    ident = identifier(max_trials=30, report_after=10, silence=0.0)
    trials = []
    while ident.can_ask:
        trials.append(ident.ask_trial())
    for trial in trials[-10:]:
        if trial.arm == "a":
            ident.tell(trial, 0.5)
    assert (ident.open_trials, ident.stopped, ident.ended_by) == (10, False, "max_trials")
    before = ident.status().observed.sum()
    ident = again(ident)
    ident.close_trials()
    assert (ident.open_trials, ident.stopped) == (0, True)
    status = again(ident).status()
    assert (before, status.observed.sum(), status.late) == (20, 30, 0)
    recent = [trial.arm for trial in trials[-10:]].count("a")
    assert status.means[0] == pytest.approx(0.5 * recent / status.observed[0])
    ident.tell(trials[-1], 1.0)  # comes too late
    assert ident.status().late == 1


def test_windows_that_close_may_decide() -> None:
    ident = identifier(max_trials=40, delta=0.05, report_after=39, silence=0.0)
    trials = ident.ask_trial(39)
    for trial in trials:
        ident.tell(trial, {"a": 3.0, "b": 0.0}[trial.arm])
    ident.end("deadline")
    assert not ident.decided
    ident.close_trials()
    assert (ident.decided, ident.stopped, ident.ended_by) == (True, True, "decision")


def test_silent_trials_without_silence_are_lost() -> None:
    ident = identifier(max_trials=12, report_after=5)
    while ident.can_ask:
        ident.ask()
    ident.close_trials()
    assert (ident.stopped, ident.status().observed.sum(), ident.open_trials) == (True, 0, 0)


def test_trials_close_only_after_the_end() -> None:
    with pytest.raises(RuntimeError, match=r"trials are still assigned: they can be closed after end\(\)"):
        identifier().close_trials()


def drawn(**settings: Any) -> fb.Identifier:
    return identifier(**{"family": "bernoulli", "rates": 0.2, "stopping": "design_based", **settings})


def test_drawn_trials_that_are_silent() -> None:
    ident = drawn(max_trials=40, report_after=10, silence=0)
    trials = []
    while ident.can_ask:
        trials.append(ident.ask_trial())
        if trials[-1].number % 2:
            ident.tell(trials[-1], 1)
    assert not ident.stopped
    ident = again(ident)
    ident.close_trials()
    assert (ident.open_trials, ident.stopped, ident.averages().trials) == (0, True, 40)
    again(ident)


def test_drawn_trials_without_a_window_stay_uncounted() -> None:
    ident = drawn(max_trials=40)
    trials = []
    while ident.can_ask:
        trials.append(ident.ask_trial())
        if trials[-1].number != 30:
            ident.tell(trials[-1], 1)
    assert (ident.open_trials, ident.stopped) == (10, False)
    ident.close_trials()
    ident = again(ident)
    assert (ident.open_trials, ident.stopped, ident.averages().trials) == (10, True, 30)
    ident.tell(trials[30], 0)  # it still counts
    assert (ident.open_trials, ident.stopped, ident.averages().trials) == (0, True, 40)


def test_drawn_trials_that_the_caller_keeps() -> None:
    ident = drawn(max_trials=6, hold_trials=False)
    trials = ident.ask_trial(6)
    ident.tell(trials[:4], [1, 0, 1, 0])
    assert not ident.stopped
    ident.close_trials()
    ident = again(ident)
    assert (ident.stopped, ident.open_trials) == (True, 2)
    ident.tell(trials[4:], [1, 1])
    assert ident.open_trials == 0


# Batches, and looks


def test_policies_are_for_the_trials_that_are_left() -> None:
    rates = [0.5, 0.3]
    limited, free = identifier(max_trials=10, rates=rates), identifier(max_trials=None, rates=rates)
    np.testing.assert_array_equal(limited.policy(1000), free.policy(10))
    np.testing.assert_array_equal(limited.policy(1000, pending=[3.6, 3.4]), free.policy(3, pending=[3.6, 3.4]))
    with pytest.raises(RuntimeError, match="all 10 trials of max_trials are made or on their way"):
        limited.policy(5, pending=[6.0, 4.0])


def test_a_batch_may_go_past_the_end_and_decide_after_it() -> None:
    ident = identifier(max_trials=10, delta=0.05)
    ident.tell_batch([6, 6], [1.0, 0.5])
    assert (ident.trials, ident.stopped, ident.ended_by) == (12, True, "max_trials")
    again(ident).tell_batch([100, 100], [200.0, 0.0])
    ident.tell_batch([100, 100], [200.0, 0.0])
    assert (ident.decided, ident.stopped, ident.ended_by, ident.recommendation) == (True, True, "decision", "a")


def test_looks_are_still_at_multiples() -> None:
    ident = identifier(max_trials=45, delta=0.05, look_every=20, settle=False)
    ident.tell_batch([15, 15], [15.0, 0.0])
    arms = ident.ask(15)
    ident.tell(arms[:14], [{"a": 2.0, "b": 0.0}[arm] for arm in arms[:14]])
    assert ident.decided  # on the way, at 40
    ident = identifier(max_trials=39, delta=0.05, look_every=20)
    ident.tell(arms := ident.ask(39), [{"a": 3.0, "b": 0.0}[arm] for arm in arms])
    assert (ident.stopped, ident.decided, ident.ended_by) == (True, False, "max_trials")
    assert ident.status().confidence > 0.95
    assert ident.status().candidates == ("a",)
    assert ident.look()
    assert (ident.ended_by, ident.status().confidence > 0.95) == ("decision", True)
