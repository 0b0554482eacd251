"""The table of stated confidences and right guesses, by hand and from runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.simulation.calibration import calibrate
from fairbai.simulation.summary import clopper_pearson

STATED = np.array([0.0, 0.1, 0.5, 0.7, 0.9, 0.95, 1.0, 0.9])
RIGHT = np.array([True, False, True, False, True, True, False, False])


def test_bins_by_hand() -> None:
    low, high = calibrate(STATED, RIGHT, [0.0, 0.9, 1.0]).rows
    assert (low.runs, low.right, low.wrong) == (4, 0.5, 4 / 8)
    assert low.stated == pytest.approx(1.3 / 4)
    assert (high.runs, high.right, high.wrong) == (4, 0.5, 2 / 8)
    assert (high.right_low, high.right_high) == clopper_pearson(2, 4)
    assert (high.wrong_low, high.wrong_high) == clopper_pearson(2, 8)
    assert not low.overconfident
    assert not high.overconfident  # two of eight are not enough to show it


def test_empty_bins_and_edges() -> None:
    rows = calibrate(STATED, RIGHT, 10).rows
    assert [row.runs for row in rows] == [1, 1, 0, 0, 0, 1, 0, 1, 0, 4]
    assert math.isnan(rows[2].right)
    assert math.isnan(rows[2].stated)
    text = str(calibrate(STATED, RIGHT, 10)).splitlines()
    assert text[0].split()[:3] == ["confidence", "runs", "stated"]
    assert len(text) == 12
    assert "20% to 30%      0       -" in text[4]


@pytest.mark.parametrize(("wrong", "over"), [(5, False), (14, False), (40, True)])
def test_overconfidence_is_what_the_runs_show(wrong: int, over: bool) -> None:
    """Of 100 runs that are 90 % sure ten may be wrong, and a few more by chance."""
    right = np.arange(100) >= wrong
    table = calibrate(np.full(100, 0.9), right, [0.0, 0.9, 1.0])
    assert table.overconfident == table.rows[1].overconfident == over
    assert table.rows[1].below_diagonal == over
    assert not table.rows[0].overconfident


def test_a_bin_below_the_diagonal_need_not_be_overconfident() -> None:
    """Of 1,000 runs 50 are sure, and half of these wrong: 2.5 % of all runs, where 10 % are allowed."""
    stated = np.where(np.arange(1000) < 50, 0.95, 0.0)
    row = calibrate(stated, np.arange(1000) % 2 == 0, [0.0, 0.9, 1.0]).rows[1]
    assert row.below_diagonal
    assert not row.overconfident


@pytest.mark.parametrize("bins", [0, 2.5, [0.0], [0.0, 0.5], [0.2, 1.0], [0.0, 0.5, 0.5, 1.0], "ten"])
def test_bins_that_are_refused(bins: Any) -> None:
    with pytest.raises(ValueError, match="bins must"):
        calibrate(STATED, RIGHT, bins)


def test_runs() -> None:
    """One row per bin of all runs, at the smallest delta unless another is named."""
    runs = fb.simulate(fb.Instance([1.0, 0.0]), [0.3, 1e-9], runs=50, seed=1, maximum_rounds=40)
    table = runs.calibration()
    assert sum(row.runs for row in table.rows) == 50
    assert len(table.to_dicts()) == 10
    assert table.rows == calibrate(runs.confidence[:, 1], runs.guess_correct[:, 1], 10).rows
    assert runs.calibration(delta=0.3).rows == calibrate(runs.confidence[:, 0], runs.guess_correct[:, 0], 10).rows
    answered = ~runs.censored[:, 0]
    assert answered.any()
    assert (runs.confidence[answered, 0] >= 0.7).all()
    np.testing.assert_array_equal(runs.guess[answered, 0], runs.recommendation[answered, 0])
    np.testing.assert_array_equal(runs.guess_correct[answered, 0], runs.correct[answered, 0])


def test_runs_that_end_before_every_arm_has_a_reward_have_no_guess() -> None:
    runs = fb.simulate(fb.Instance([1.0, 0.0, 0.5]), 0.1, runs=3, maximum_rounds=2)
    assert (runs.guess == -1).all()
    assert (runs.confidence == 0.0).all()
    assert not runs.guess_correct.any()


def test_unproved_runs_state_nothing() -> None:
    runs = fb.simulate(fb.Instance([1.0, 0.0]), 0.1, stopping="heuristic", runs=5, maximum_rounds=9)
    assert np.isnan(runs.confidence).all()
    assert (runs.guess >= 0).all()
    with pytest.raises(ValueError, match="calibration needs runs whose stopping rule is proved"):
        runs.calibration()
    drifting = fb.simulate(
        fb.Instance([0.6, 0.4], "bernoulli"), 0.1, runs=5, maximum_rounds=9, drift=fb.drifts.Ramp(0.1, 5)
    )
    assert np.isnan(drifting.confidence).all()


def test_edge_nodes_state_theirs_too() -> None:
    instance = fb.Instance([0.5, 0.0], rates=0.2)
    edges = fb.simulation.simulate_edges(instance, [0.1, 1e-9], batch=10, nodes=3, runs=20, seed=2, maximum_rounds=200)
    assert ((edges.confidence >= 0.0) & (edges.confidence <= 1.0)).all()
    assert (edges.confidence[~edges.censored[:, 0], 0] >= 0.9).all()
    assert (edges.guess >= 0).all()
