"""Top-two: the leader, its challenger, and the choice between them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fairbai as fb
from fairbai.sampling import TopTwo
from tests.cases import families
from tests.sampling.hand_made import experiment, identifier, uniform

MEANS = [0.8, 0.6, 0.5, 0.3]


def pair(family: fb.Gaussian, best: float, n: int, other: float, m: int) -> tuple[float, float]:
    """The evidence of a pair of arms, and the leader's part in it."""
    middle = (n * best + m * other) / (n + m)
    leader, challenger = n * family.divergence(best, middle), m * family.divergence(other, middle)
    return leader + challenger, leader / (leader + challenger)


@pytest.mark.parametrize("family", families(0.5), ids=lambda family: family.kind)
@pytest.mark.parametrize("assigned", [[30, 25, 14, 6], [30, 60, 9, 2], [9, 60, 50, 9], [100, 3, 2, 1]])
def test_choice(family: fb.Gaussian, assigned: list[int]) -> None:
    """The challenger has the least evidence + log N; the leader is pulled with its part in that evidence."""
    pairs = [pair(family, MEANS[0], assigned[0], MEANS[a], assigned[a]) for a in (1, 2, 3)]
    challenger = 1 + int(np.argmin([cost + math.log(assigned[a + 1]) for a, (cost, _) in enumerate(pairs)]))
    part = pairs[challenger - 1][1]
    for seed in range(40):
        ident = experiment(assigned, MEANS, TopTwo(), family=family, seed=seed)
        expected = 0 if uniform(ident) < part else challenger
        assert ident.ask() == expected


def test_log_counts_bring_back_an_arm_that_was_given_up() -> None:
    """Without log N the challenger would be arm 1 (evidence 0.009 against 0.18)."""
    ident = experiment([50, 2000, 1], [0.5, 0.48, 0.0], TopTwo(), seed=1)
    assert pair(fb.Gaussian(), 0.5, 50, 0.48, 2000)[0] < pair(fb.Gaussian(), 0.5, 50, 0.0, 1)[0]
    assert uniform(ident) > pair(fb.Gaussian(), 0.5, 50, 0.0, 1)[1]
    assert ident.ask() == 2


def test_begins_with_each_arm_and_waits_for_their_rewards() -> None:
    arms = identifier(3, TopTwo()).ask(6)
    assert arms[:3] == [0, 1, 2]
    assert sorted(arms[3:]) == [0, 1, 2]  # in a random order, so that two experiments do not choose in step


def test_promises() -> None:
    assert TopTwo().fairness == "none"
    assert TopTwo().converges_to == "unconstrained"
