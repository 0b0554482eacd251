"""Identifiers that play environments."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import fairbai as fb
from fairbai.environments import Rayleigh, WirelessCell, WirelessCellEnv, play
from tests.environments.bandits import Bandit, Continuous


def identifier(arms: Any = 3, floor: float = 0.25, **settings: Any) -> fb.Identifier:
    return fb.Identifier(arms, delta=0.05, family=fb.Gaussian(), rates=fb.rates.Constant(floor), seed=1, **settings)


def test_any_environment_with_discrete_actions() -> None:
    env, ident = Bandit(), identifier()
    status = play(env, ident, seed=4)
    assert status.stopped
    assert ident.stopped
    assert status.recommendation == 1
    assert (status.assigned >= 0.25 * status.assigned.sum()).all()
    assert (np.bincount(env.actions) == status.assigned).all()
    assert env.seeds == [4]


@pytest.mark.parametrize("rule", [fb.sampling.FairTrackAndStop(), fb.sampling.UniformFair()])
def test_any_rule(rule: fb.sampling.SamplingRule) -> None:
    status = play(Bandit(), identifier(sampling=rule), seed=4)
    assert status.recommendation == 1
    assert (status.shares >= status.floors).all()


def test_labels_and_actions_that_do_not_start_at_0() -> None:
    env = Bandit(start=5)
    status = play(env, identifier(["a", "b", "c"]), seed=4)
    assert status.recommendation == "b"
    assert set(env.actions) == {5, 6, 7}


def test_labels_that_are_other_whole_numbers() -> None:
    assert play(Bandit(), identifier([2, 1, 0]), seed=4).recommendation == 1
    assert play(Bandit(), identifier([0, 7, 1]), seed=4).recommendation == 7


@pytest.mark.parametrize("truncates", [False, True])
def test_episodes_that_end_are_followed_by_others(truncates: bool) -> None:
    env = Bandit(length=7, truncates=truncates)
    status = play(env, identifier(), seed=4)
    episodes = -(-status.assigned.sum() // 7)
    assert env.seeds == [4] + [None] * (episodes - 1)
    assert status.recommendation == 1


def test_time_limit_of_gymnasium() -> None:
    env = gymnasium.make("fairbai/WirelessCell-v0", max_episode_steps=10)
    assert play(env, identifier(10, 0.05), seed=4).recommendation == 6


def test_most_steps_and_going_on() -> None:
    env, ident = Bandit(), identifier()
    status = play(env, ident, seed=4, max_steps=9)
    assert not status.stopped
    assert status.assigned.sum() == 9
    assert play(env, ident).stopped
    assert env.seeds == [4, None]


def test_nothing_happens_after_the_stop() -> None:
    env, ident = Bandit(), identifier()
    before = play(env, ident, seed=4)
    steps = len(env.actions)
    assert play(env, ident).recommendation == before.recommendation
    assert len(env.actions) == steps
    assert env.seeds == [4]


def test_same_seeds_same_run() -> None:
    one, other, another = Bandit(), Bandit(), Bandit()
    play(one, identifier(), seed=4)
    play(other, identifier(), seed=4)
    play(another, identifier(), seed=5)
    assert one.actions == other.actions != another.actions


def test_cell_with_rates_that_are_learned() -> None:
    ident = fb.Identifier(10, delta=0.1, family=fb.Gaussian(), rates=fb.rates.InverseGap(0.9), seed=2)
    status = play(gymnasium.make("fairbai/WirelessCell-v0"), ident, seed=2)
    assert status.recommendation == 6
    assert (status.assigned >= status.floors * status.assigned.sum() - 1e-9).all()


def test_fading_cell_with_the_family_that_is_close() -> None:
    env = WirelessCellEnv(WirelessCell.paper(fading=Rayleigh()))
    ident = fb.Identifier(10, delta=0.1, family=fb.Exponential(), rates=fb.rates.Constant(0.08), seed=2)
    status = play(env, ident, seed=2)
    assert status.recommendation == 6
    assert (status.shares >= 0.08).all()


@pytest.mark.slow_without_jit
def test_answers_are_right_as_often_as_promised() -> None:
    """Wrong answers of 300 experiments at delta = 0.1; more than 47 have a probability below 0.001."""
    env = WirelessCellEnv()
    wrong = 0
    for seed in range(300):
        ident = fb.Identifier(10, delta=0.1, family=fb.Gaussian(), rates=fb.rates.Constant(0.05), seed=seed)
        wrong += play(env, ident, seed=seed).recommendation != 6
    assert wrong <= 47


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"env": 3}, "env must be a gymnasium environment, got 3"),
        ({"identifier": "me"}, "identifier must be an Identifier, got 'me'"),
        ({"env": Continuous()}, r"env must have a Discrete action space, got Box\(0.0, 1.0, \(1,\), float32\)"),
        ({"identifier": identifier(4)}, r"identifier must have one arm per action of env \(3\), got 4 arms"),
        ({"max_steps": 0}, "max_steps must be a whole number from 1, got 0"),
        ({"max_steps": 2.5}, "max_steps must be a whole number from 1, got 2.5"),
        ({"max_steps": True}, "max_steps must be a whole number from 1, got True"),
    ],
)
def test_bad_input(arguments: dict[str, Any], message: str) -> None:
    env = Bandit()
    with pytest.raises(ValueError, match=message):
        play(**{"env": env, "identifier": identifier()} | arguments)
    assert not env.seeds
