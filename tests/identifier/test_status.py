"""Confidence, candidates and intervals in the status: what they are, when there are none, and what is frozen."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.identifier.snapshot import with_digests
from fairbai.identifier.standing import restore
from fairbai.stopping.intervals import intervals
from tests.cases import proved_families


@pytest.mark.parametrize("family", proved_families(2.0), ids=lambda family: family.kind)
def test_intervals_are_those_of_the_mixtures(family: Any) -> None:
    rule = fb.stopping.Mixture(kappa=7.0, prior_mean=0.5)
    ident = fb.Identifier(3, 0.1, family, stopping=rule)
    ident.tell_batch([30, 20, 0], [9.0, 10.0, 0.0])
    counts, means = np.array([30.0, 20.0, 0.0]), np.array([0.3, 0.5, 0.0])
    np.testing.assert_array_equal(ident.status().intervals, intervals(family, counts, means, 0.1, rule))


def test_intervals_in_the_unit_of_the_rewards() -> None:
    wide, unit = (fb.Identifier(2, 0.1, fb.Bounded(*ends)) for ends in ((-10.0, 30.0), (0.0, 1.0)))
    wide.tell_batch([10, 10], [0.0, 100.0])
    unit.tell_batch([10, 10], [2.5, 5.0])
    np.testing.assert_allclose(wide.status().intervals, 40.0 * unit.status().intervals - 10.0)


def test_intervals_of_the_design_based_stop_are_those_of_the_averages() -> None:
    ident = fb.Identifier(2, 1e-6, "bernoulli", rates=0.3, stopping="design_based", seed=1)
    for _ in range(60):
        trial = ident.ask_trial()
        ident.tell(trial, 1 - trial.arm)
    status, averages = ident.status(), ident.averages()
    np.testing.assert_array_equal(status.intervals, averages.intervals)
    assert status.confidence == averages.confidence > 0.0


def doubtful() -> fb.Identifier:
    """Rewards with far more variance than was declared, of arms that are equal: both get the same, in turn."""
    ident = fb.Identifier(["a", "b"], 1e-6, fb.Gaussian(1.0), sampling=fb.sampling.UniformFair())
    ident.tell(ident.ask(60), np.repeat([-9.0, 9.0], 2).tolist() * 15)
    return ident


def test_nothing_is_said_where_rewards_contradict_the_family() -> None:
    status = doubtful().status()
    assert status.doubts
    assert (status.confidence, status.candidates, status.intervals) == (None, None, None)
    assert "how sure that is cannot be said, because rewards of" in status.sentence()


def test_a_later_doubt_leaves_what_was_decided() -> None:
    ident = fb.Identifier(["a", "b"], 0.05, fb.Gaussian(1.0), rates=[0.0, 0.9], sampling=fb.sampling.TopTwo())
    while not ident.decided:
        arm = ident.ask()
        ident.tell(arm, {"a": 3.0, "b": 0.0}[arm])
    before = ident.status()
    late = ident.ask(15)
    ident.tell(late, np.random.default_rng(1).normal(0.0, 100.0, 15).tolist())
    after = ident.status()
    assert all(doubt.after_decision for doubt in after.doubts)
    assert after.doubts
    assert (after.confidence, after.candidates) == (before.confidence, before.candidates)
    assert (before.intervals is not None, after.intervals) == (True, None)


def decided() -> fb.Identifier:
    ident = fb.Identifier(["a", "b"], 0.05, fb.Gaussian(1.0))
    while not ident.decided:
        arm = ident.ask()
        ident.tell(arm, {"a": 1.0, "b": 0.0}[arm])
    return ident


def test_decisions_of_earlier_versions_have_the_confidence_that_was_asked_for() -> None:
    form = decided().to_dict()
    sure = form["decision"].pop("confidence")
    form["decision"].pop("candidates")
    assert 0.95 <= sure < 0.99
    status = fb.Identifier.from_dict(with_digests(form)).status()
    assert (status.confidence, status.candidates) == (0.95, ("a",))


def test_confidence_is_kept_with_the_decision() -> None:
    ident = decided()
    restored = fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True)
    assert restored.status().confidence == ident.status().confidence >= 0.95
    assert restored.status().candidates == ("a",)


@pytest.mark.parametrize(
    ("name", "value"),
    [("confidence", 1.5), ("confidence", "much"), ("candidates", [7]), ("candidates", 3)],
)
def test_damaged_decisions(name: str, value: Any) -> None:
    form = decided().to_dict()
    form["decision"][name] = value
    with pytest.raises(ValueError, match="snapshot is damaged"):
        fb.Identifier.from_dict(form)


def kept() -> fb.Identifier:
    ident = fb.Identifier(["a", "b"], 1e-9, fb.Gaussian(1.0))
    for _ in range(40):
        arm = ident.ask()
        ident.tell(arm, {"a": 1.0, "b": 0.0}[arm])
    return ident


@pytest.mark.parametrize(
    "change",
    [
        {"scores": [1.0]},
        {"scores": [float("nan"), 0.0]},
        {"next_look": "soon"},
        {"next_look": -1.0},
        {"saved": {"named": 5}},
        {"saved": {"named": 0, "glr": -1.0, "observed": [10.0, 10.0], "sums": [1.0, 2.0]}},
        {"saved": {"named": 0, "glr": 1.0, "observed": [0.0, 10.0], "sums": [1.0, 2.0]}},
        {"saved": {"named": 0, "glr": 1.0, "observed": [1e6, 10.0], "sums": [1.0, 2.0]}},
    ],
)
def test_damaged_scores(change: dict[str, Any]) -> None:
    form = kept().to_dict()
    assert form["standing"]["saved"] is not None
    with pytest.raises(ValueError, match="snapshot is damaged"):
        fb.Identifier.from_dict({**form, "standing": {**form["standing"], **change}})


def test_restored_scores_are_those_that_were_written() -> None:
    ident = kept()
    one = fb.Identifier.from_dict(ident.to_dict()).procedure.experiment
    np.testing.assert_array_equal(one.state, ident.procedure.experiment.state)
    np.testing.assert_array_equal(one.scalars, ident.procedure.experiment.scalars)
    restore(one, {"scores": [3.0, 4.0], "next_look": 77.0, "saved": None})
    assert one.scalars[one.scalars == 77.0].size == 1
