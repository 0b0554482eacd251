"""Trials that were given up: fairness counts them, the evidence and the sampling rule do not."""

from __future__ import annotations

import numpy as np
import pytest

import fairbai as fb


def test_given_up_trials_stay_assigned() -> None:
    ident = fb.Identifier(["a", "b"], delta=0.1, family=fb.Gaussian())
    ident.tell(ident.ask(2), [1.0, 0.0])
    arms = ident.ask(4)
    ident.give_up(arms[0])
    status = ident.status()
    assert status.assigned.sum() == ident.trials == 6
    assert status.observed.sum() == 2


@pytest.mark.parametrize("n", [0, -1, 1.5, "one"])
def test_number_must_be_whole(n: object) -> None:
    ident = fb.Identifier(2, delta=0.1, family=fb.Gaussian())
    ident.ask(2)
    with pytest.raises(ValueError, match="n must be"):
        ident.give_up(0, n)  # type: ignore[arg-type]


def test_only_pending_trials_can_be_given_up() -> None:
    ident = fb.Identifier(["a", "b"], delta=0.1, family=fb.Gaussian())
    ident.ask(2)
    ident.tell("a", 1.0)
    with pytest.raises(ValueError, match="arm 'a' has no pending trials, got 1 to give up"):
        ident.give_up("a")
    ident.give_up("b")
    with pytest.raises(ValueError, match="arm 'b' has no pending trials, got 2 to give up"):
        ident.give_up("b", 2)
    with pytest.raises(ValueError, match="arm must be one of"):
        ident.give_up("c")


def test_a_reward_that_comes_after_all_counts() -> None:
    ident = fb.Identifier(["a", "b"], delta=0.1, family=fb.Gaussian())
    ident.ask(2)
    ident.give_up("b")
    ident.tell("b", 2.0)
    assert ident.status().observed.tolist() == [0, 1]
    assert ident.to_dict()["state"]["lost"] == [0.0, 0.0]
    with pytest.raises(ValueError, match="arm 'b' has no pending trials"):
        ident.tell("b", 2.0)


@pytest.mark.parametrize("rule", [fb.sampling.FairTopTwo(), fb.sampling.TopTwo(), fb.sampling.TrackAndStop()])
def test_an_arm_whose_first_trial_was_lost_is_tried_again(rule: fb.sampling.SamplingRule) -> None:
    ident = fb.Identifier(3, delta=0.1, family=fb.Gaussian(), sampling=rule)
    for arm in ident.ask(3):
        if arm == 1:
            ident.give_up(arm)
        else:
            ident.tell(arm, 0.0)
    assert ident.ask() == 1


def trials(give_up: bool, seed: int) -> int:
    """Until the decision, with means (1, .5, .5), of which arm 1 loses nine of ten rewards."""
    ident = fb.Identifier(3, delta=0.1, family=fb.Gaussian(), seed=seed)
    rng = np.random.default_rng(seed)
    while not ident.decided:
        arm = ident.ask()
        if arm == 1 and rng.random() < 0.9:
            if give_up:
                ident.give_up(arm)
        else:
            ident.tell(arm, [1.0, 0.5, 0.5][arm] + rng.normal())
    return ident.trials


@pytest.mark.slow_without_jit
def test_lost_rewards_do_not_mislead_the_sampling_rule() -> None:
    """About 1,550 trials if lost rewards are waited for, 930 if they are given up."""
    waiting = np.mean([trials(False, seed) for seed in range(20)])
    given_up = np.mean([trials(True, seed) for seed in range(20)])
    assert given_up < 0.75 * waiting, (given_up, waiting)
