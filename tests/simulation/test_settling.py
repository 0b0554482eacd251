"""Settling with a margin in simulations: what it costs and leaves, in studies, and in their files."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import fairbai as fb
from fairbai.simulation.sweep import read_study

INSTANCE = fb.Instance([2.0, 1.2, 0.6, 0.0], rates=fb.rates.InverseGap(0.7))
WAYS = [False, True, fb.Settling(0.25), fb.Settling(1.0)]


@pytest.mark.slow_without_jit
def test_more_trials_and_less_violation() -> None:
    """The means of 2,000 runs fall by more than two standard errors from way to way, and the trials grow."""
    found = [
        fb.simulate(INSTANCE, 0.1, stopping=fb.stopping.Heuristic(), settle=settle, runs=2000, seed=5)
        for settle in WAYS
    ]
    for one, other in itertools.pairwise(found):
        np.testing.assert_array_equal(one.decision_time, other.decision_time)
        less = one.violation[:, 0] - other.violation[:, 0]
        assert less.mean() > 2.0 * less.std() / np.sqrt(less.size)
        assert other.stopping_time.mean() > one.stopping_time.mean()


@pytest.mark.slow_without_jit
def test_learning_leaves_less_than_the_floors_of_the_decision() -> None:
    frozen, learning = (
        fb.simulate(INSTANCE, 0.1, stopping=fb.stopping.Heuristic(), settle=fb.Settling(1.0, learn), runs=2000, seed=6)
        for learn in (False, True)
    )
    less = frozen.violation[:, 0] - learning.violation[:, 0]
    assert less.mean() > 2.0 * less.std() / np.sqrt(less.size)


def test_known_floors_settle_as_they_did() -> None:
    instance = fb.Instance([2.0, 1.0, 0.0], rates=fb.rates.Constant([0.0, 0.2, 0.6]))
    plain, margin = (fb.simulate(instance, 0.2, settle=settle, runs=5) for settle in (True, fb.Settling(2.0)))
    np.testing.assert_array_equal(plain.pulls, margin.pulls)
    assert margin.violation.max() == 0.0


def test_study_keeps_its_settling(tmp_path: Path) -> None:
    study = fb.sweep(
        {"a": INSTANCE},
        [fb.sampling.FairTopTwo()],
        [fb.stopping.Heuristic()],
        0.2,
        settle=WAYS,
        runs=3,
        output=tmp_path,
    )
    again = fb.Study.open(tmp_path)
    for settle in WAYS:
        one, other = (found.runs("a", "fair_top_two", "heuristic", settle) for found in (study, again))
        np.testing.assert_array_equal(one.pulls, other.pulls)
    assert "margin 0.25" in str(study)
    assert [row["settle"] for row in study.to_dicts()] == [False, True, *(one.to_dict() for one in WAYS[2:])]
    json.dumps(study.to_dicts())


def test_study_file(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text("""
settle = [true, { margin = 0.5 }]
deltas = 0.2
runs = 2
[instances.a]
means = [2.0, 1.0, 0.0]
rates = { kind = "gap", p0 = 0.6 }
[sampling]
ours = "fair_top_two"
""")
    study = fb.sweep(**read_study(path))
    assert [cell.settle for cell in study.results] == [True, fb.Settling(0.5)]


def test_twice_the_same_settling_is_refused() -> None:
    twice = [fb.Settling(0.5), fb.Settling(0.5)]
    with pytest.raises(ValueError, match="settle must be true, false, a Settling, or different ones of them"):
        fb.sweep({"a": INSTANCE}, [fb.sampling.FairTopTwo()], [fb.stopping.Heuristic()], settle=twice)
