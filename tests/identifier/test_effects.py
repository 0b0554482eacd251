"""Effects of levels in the status of an experiment, and the doubt about a missing interaction."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb

DESIGN = fb.factorial({"headline": ["old", "new"], "button": ["buy", "try", "go"]})
THETA = np.array([1.0, -0.3, 0.2, 0.1])


def told(interaction: float = 0.0, **options: Any) -> fb.Identifier:
    """An experiment with 100 rewards of every combination, all of which are their means."""
    means = DESIGN.features @ THETA + interaction * np.array([1.0, -1, 0, -1, 1, 0])
    rates = DESIGN.rates({"headline": 0.3})
    ident = fb.Identifier(DESIGN.arms, 1e-6, family=DESIGN, rates=rates, **options)
    ident.tell_batch(np.full(6, 100), 100 * means)
    return ident


@pytest.mark.parametrize("goal", ["max", "min"])
def test_effects_are_in_the_units_of_the_rewards(goal: Any) -> None:
    status = told(goal=goal).status()
    assert [(one.factor, one.level) for one in status.effects] == [(one.factor, one.level) for one in DESIGN.effects]
    for one, effect in zip(status.effects, DESIGN.effects, strict=True):
        assert one.effect == pytest.approx(float(effect.contrast @ THETA))
        assert one.low < one.effect < one.high
        assert one.assigned == 100 * len(effect.arms)
        assert one.floor == (0.3 if one.factor == "headline" else 0.0)
    assert status.proved
    assert status.doubts == ()


def test_floors_of_combinations_are_floors_of_their_levels() -> None:
    effects = fb.Identifier(DESIGN.arms, 0.05, family=DESIGN, rates=0.1).status().effects
    assert [one.floor for one in effects] == pytest.approx([0.3, 0.3, 0.2, 0.2, 0.2])


def test_nothing_is_known_before_the_first_reward() -> None:
    effects = fb.Identifier(DESIGN.arms, 0.05, family=DESIGN).status().effects
    assert all(math.isnan(one.effect) and one.low == -math.inf and one.high == math.inf for one in effects)
    assert fb.Identifier(2, 0.05, family=fb.Gaussian(1.0)).status().effects == ()


@pytest.mark.parametrize("goal", ["max", "min"])
def test_a_missing_interaction_ends_the_proof(goal: Any) -> None:
    ident = told(interaction=0.8, goal=goal)
    status = ident.status()
    assert not status.proved
    (doubt,) = status.doubts
    assert doubt.kind == "fit"
    expected = "more" if doubt.arm in ("old / buy", "new / try") else "less"
    assert doubt.reason.startswith(f"'{doubt.arm}' earns 0.8 {expected} than the effects of its levels add up to")
    assert all(one.low == -math.inf for one in status.effects)
    again = fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True)
    assert again.status().doubts == status.doubts


def test_a_model_with_the_interaction_has_no_doubt() -> None:
    richer = fb.factorial(DESIGN.factors, [("headline", "button")])
    ident = fb.Identifier(richer.arms, 1e-6, family=richer)
    ident.tell_batch(np.full(6, 100), 100 * np.array([1.0, -1, 0, -1, 1, 0]))
    assert ident.status().doubts == ()


def test_other_linear_arms_are_doubted_in_words_of_their_own() -> None:
    ident = fb.Identifier(3, 0.05, family=fb.Linear([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]))
    ident.tell_batch([200, 200, 200], [0.0, 200.0, 0.0])
    (doubt,) = ident.status().doubts
    assert doubt.reason.endswith("than its features say: the means are not linear in the features")


@pytest.mark.parametrize(
    ("variance", "hint"), [(1.0, "is enough for such rewards"), (0.25, None), (0.1, "is the least for which the proof")]
)
def test_rewards_of_0_and_1_have_a_hint_where_another_variance_suits(variance: float, hint: str | None) -> None:
    family = fb.Linear([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], variance)
    ident = fb.Identifier(3, 1e-9, family=family)
    arms = ident.ask(24)
    ident.tell(arms, [float(number % 3 == 0) for number in range(24)])
    found = [one for one in ident.status().hints if "0 or 1" in one]
    assert found == [] if hint is None else hint in found[0]
