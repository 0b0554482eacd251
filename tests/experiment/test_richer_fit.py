"""A decision waits while the interactions that the model lacks would change it, and not for ever."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.experiment.doubts import Doubts
from fairbai.experiment.richer_fit import fitted_with, preferred

DESIGN = fb.factorial({"a": ["x", "y", "z"], "b": ["p", "q"]})


def test_the_fit_is_that_of_all_interactions() -> None:
    """With all interactions every combination has a mean of its own, and the ridge is one reward."""
    more = np.hstack(DESIGN.missing(100))
    counts, sums = np.array([50.0, 40, 30, 20, 10, 5]), np.random.default_rng(0).standard_normal(6) * 10.0
    found = fitted_with(DESIGN.coordinates.T, more, counts, sums)
    np.testing.assert_allclose(found, sums / counts, atol=0.25)
    again = fitted_with(DESIGN.coordinates.T, more, 1e9 * counts, 1e9 * sums)
    np.testing.assert_allclose(again, sums / counts, atol=1e-6)


def test_combinations_without_rewards_are_fitted_too() -> None:
    counts = np.array([50.0, 40, 30, 20, 10, 0])
    effects = np.array([1.0, 0.2, -0.4, 0.3])
    sums = counts * (DESIGN.coordinates.T @ effects)
    more = np.hstack(DESIGN.missing(100))
    np.testing.assert_allclose(fitted_with(DESIGN.coordinates.T, more, counts, sums), DESIGN.coordinates.T @ effects)


COUNTS = np.array([112, 299, 223, 113, 52, 397])
MEANS = np.array([0.67, -0.38, -0.35, -0.88, 0.56, 0.13])
"""The effects add up to more for z / p than for all others, but x / p earns more."""


def experiment(times: float = 1.0, **settings: Any) -> fb.Identifier:
    """An experiment whose rewards so far have exactly these means."""
    ident = fb.Identifier(DESIGN.arms, 0.05, settings.pop("family", DESIGN), settle=False, **settings)
    sign = -1.0 if settings.get("goal") == "min" else 1.0
    counts = (times * COUNTS).astype(int)
    ident.tell_batch(counts, sign * counts * MEANS)
    return ident


@pytest.mark.parametrize("goal", ["max", "min"])
def test_a_decision_waits_for_the_interactions(goal: str) -> None:
    status = experiment(goal=goal).status()
    assert (status.recommendation, status.decided) == ("z / p", False)
    assert status.glr > status.threshold
    assert "'x / p' looks better: the decision waits for more rewards" in status.hints[-1]


def test_it_does_not_wait_where_the_model_has_the_interaction() -> None:
    whole = fb.factorial(DESIGN.factors, [("a", "b")])
    ident = fb.Identifier(whole.arms, 0.05, whole, settle=False)
    means = [0.9, 0.0, -0.3, -0.9, 0.1, -0.1]
    ident.tell_batch(4 * COUNTS, 4 * COUNTS * means)
    assert (ident.status().recommendation, ident.status().decided) == ("x / p", True)


def test_it_waits_for_no_arm_that_is_within_the_tolerance() -> None:
    assert experiment(tolerance=0.5).status().decided


def test_linear_arms_of_other_features_do_not_wait() -> None:
    assert experiment(family=fb.Linear(DESIGN.features)).status().decided


@pytest.mark.filterwarnings("ignore:Doubt after")
def test_it_does_not_wait_for_an_answer_that_is_doubted_anyway() -> None:
    status = experiment(3.0).status()
    assert [doubt.kind for doubt in status.doubts] == ["fit"]
    assert status.decided
    assert not status.proved


def test_it_does_not_wait_for_ever() -> None:
    """Not where a quarter of the evidence would be enough; tested without the doubts, which end it before."""
    waits = []
    for times in (1, 2, 8):
        ident = fb.Identifier(DESIGN.arms, 1e-9, DESIGN)
        ident.tell_batch(times * COUNTS, times * COUNTS * MEANS)
        waits.append(preferred(ident.procedure.experiment, -math.log(0.05)))
    assert waits == [0, 0, None]


def test_the_test_of_fit_is_not_repeated_at_every_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs far more than to fit the means once more."""
    ident, looks = experiment(), []
    monkeypatch.setattr(Doubts, "observe_fit", lambda *given: looks.append(given))
    for number in range(20):  # less than 2 % of the rewards so far
        ident.tell(ident.ask(), 0.0)
        assert not ident.status().decided, number
    assert len(looks) <= 1


def test_a_snapshot_waits_too() -> None:
    one = experiment()
    two = fb.Identifier.from_dict(one.to_dict())
    assert two.status().hints == one.status().hints
    assert not two.status().decided
