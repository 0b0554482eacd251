"""Uniform Fair: floors, and what they leave in equal parts."""

from __future__ import annotations

import numpy as np
import pytest

import fairbai as fb
from fairbai.sampling import UniformFair
from tests.sampling.hand_made import drawn, experiment, identifier, policy, uniform

MEANS = [1.0, 0.7, 0.2]


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        (fb.rates.Constant(0.0), [1 / 3, 1 / 3, 1 / 3]),
        (fb.rates.Constant([0.0, 0.1, 0.6]), [0.1, 0.2, 0.7]),
        (fb.rates.Constant([0.2, 0.3, 0.5]), [0.2, 0.3, 0.5]),
        (fb.rates.Proportional(0.4), None),
        (fb.rates.Custom(lambda means: 0.3 * np.sort(means) / means.sum()), None),
    ],
    ids=["none", "zeros", "full", "learned", "custom"],
)
def test_probabilities(rates: fb.rates.Constant, expected: list[float] | None) -> None:
    floors = rates.floors(MEANS)
    found = policy(experiment([7, 5, 5], MEANS, UniformFair(), rates=rates))
    assert found == pytest.approx(floors + (1.0 - floors.sum()) / 3, abs=1e-12)
    if expected is not None:
        assert found == pytest.approx(expected)


def test_arms_are_drawn() -> None:
    for seed in range(50):
        ident = experiment([7, 5, 5], MEANS, UniformFair(), rates=fb.rates.Constant([0.0, 0.1, 0.6]), seed=seed)
        assert drawn(np.array([0.1, 0.2, 0.7]), uniform(ident)) == ident.ask()


def test_begins_with_each_arm() -> None:
    assert identifier(3, UniformFair()).ask(3) == [0, 1, 2]


def test_learned_floors_are_zero_before_every_arm_has_a_reward() -> None:
    ident = experiment([7, 5, 5], MEANS, UniformFair(), rates=fb.rates.Gap(0.9), observed=[7, 5, 0])
    assert policy(ident) == pytest.approx([1 / 3] * 3)


def test_promises() -> None:
    assert UniformFair().fairness == "on average"
    assert UniformFair().converges_to == "none"
