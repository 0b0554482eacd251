"""Regret: trials times gaps until the stop, over a horizon, along the way, and beyond what fairness itself forgoes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import fairbai as fb
from fairbai.simulation.regret import regret_path
from tests.simulation.cases import arms_of

MEANS = [1.0, 0.4, 0.0]
RATES = fb.rates.Constant([0.1, 0.2, 0.1])


def some(**changes: Any) -> fb.Runs:
    given: dict[str, Any] = {"deltas": [0.3, 0.05], "runs": 20, "seed": 1, "stopping": fb.stopping.Heuristic()}
    instance = changes.pop("instance", fb.Instance(MEANS, rates=RATES))
    return fb.simulate(instance, **{**given, **changes}, progress=False)


def path_by_hand(runs: fb.Runs, row: int, gaps: list[float], trials: int) -> list[float]:
    """The regret of a run after every trial, arm by arm; ``runs`` traced every round, with one delta."""
    end, answer = int(runs.decision_time[row, 0]), int(runs.recommendation[row, 0])
    played = arms_of(runs, row)[:end] + [answer] * (trials - end)
    return np.cumsum([gaps[arm] for arm in played[:trials]]).tolist()


def test_until_the_stop_it_is_trials_times_gaps() -> None:
    runs = some()
    found = runs.regret()
    np.testing.assert_allclose(found.values, 0.6 * runs.pulls[:, :, 1] + 1.0 * runs.pulls[:, :, 2])
    floors = 0.2 * 0.6 + 0.1 * 1.0
    assert runs.fair_gap == pytest.approx(floors)
    np.testing.assert_allclose(found.fair, found.values - floors * runs.stopping_time)
    np.testing.assert_allclose(found.mean, found.values.mean(axis=0))
    np.testing.assert_allclose(found.ci95, 1.96 * found.values.std(axis=0, ddof=1) / np.sqrt(20), rtol=1e-4)
    row = runs.summary().rows[1]
    assert (row.regret, row.fair_regret) == pytest.approx((found.mean[1], found.fair[:, 1].mean()))
    assert found.to_dicts()[1]["regret_ci95"] == pytest.approx(row.regret_ci95)
    assert str(found).splitlines()[0] == "delta  regret until the stop  beyond the best fair policy"


def test_settling_is_counted() -> None:
    runs = some(settle=True, sampling=fb.sampling.TopTwo())
    assert (runs.stopping_time > runs.decision_time).any()
    np.testing.assert_allclose(runs.regret().values, runs.pulls @ np.array([0.0, 0.6, 1.0]))


def test_over_a_horizon_the_answer_is_served_and_learning_goes_on() -> None:
    """Compared with the arms of every trial."""
    marks = [1, 2, 3, 5, 10, 20, 60]
    runs = some(deltas=0.05, runs=6, trace=marks)
    assert 5 < runs.stopping_time.min() < 60 < runs.stopping_time.max()
    every = some(deltas=0.05, runs=6, trace=range(1, 500))
    expected = np.array([path_by_hand(every, row, [0.0, 0.6, 1.0], 60) for row in range(6)])
    for mark in marks:
        np.testing.assert_allclose(runs.regret(horizon=mark).values[:, 0], expected[:, mark - 1])
    path = runs.regret_path()
    assert path.rounds == tuple(marks)
    np.testing.assert_allclose(path.values[:, 0], expected[:, np.array(marks) - 1])
    np.testing.assert_allclose(path.mean[0], expected[:, np.array(marks) - 1].mean(axis=0))
    np.testing.assert_allclose(path.ci95[0, -1], runs.regret(horizon=60).ci95[0])


def test_a_wrong_answer_costs_its_gap_for_ever() -> None:
    runs = some(deltas=0.3, instance=fb.Instance([0.1, 0.0]), runs=60)
    wrong = ~runs.correct[:, 0]
    assert wrong.any()
    more = runs.regret(horizon=100_000).values - runs.regret(horizon=50_000).values
    np.testing.assert_allclose(more[:, 0], np.where(wrong, 5000.0, 0.0))


def test_less_is_better() -> None:
    runs = some(instance=fb.Instance([2.0, 1.0], rates=0.1, goal="min"))
    np.testing.assert_allclose(runs.regret().values, runs.pulls[:, :, 0])
    assert runs.fair_gap == pytest.approx(0.1)


def test_the_horizon_must_be_reached_or_traced() -> None:
    runs = some(maximum_rounds=30)
    assert runs.censored.any()
    with pytest.raises(ValueError, match=r"got 31: \d+ runs were given up before; simulate with maximum_rounds=31"):
        runs.regret(horizon=31)
    assert runs.regret(horizon=30).values.shape == (20, 2)
    with pytest.raises(ValueError, match=r"simulate with trace=\[9\], or with maximum_rounds=9"):
        runs.regret(horizon=9)
    with pytest.raises(ValueError, match="horizon must be a whole number from 1, got 0"):
        runs.regret(horizon=0)
    with pytest.raises(ValueError, match="the path of regret needs traced rounds"):
        runs.regret_path()


def test_a_run_that_settles_at_the_horizon_counts_in_proportion() -> None:
    runs = some(deltas=0.3, runs=4)
    late = replace(runs, decision_time=runs.stopping_time - 4)
    horizon = int(runs.stopping_time.max()) - 2
    first = int(runs.stopping_time.argmax())
    until = runs.regret().values[first, 0]
    found = late.regret(horizon).values[first, 0]
    assert found == pytest.approx(until * horizon / (horizon + 2))


def test_means_that_change_and_old_files_have_no_regret() -> None:
    drifting = some(drift=fb.drifts.Ramp(0.5, 50), runs=3)
    with pytest.raises(ValueError, match="regret needs means that do not change"):
        drifting.regret()
    assert np.isnan(drifting.summary().rows[0].regret)
    assert "  -  " in str(drifting.summary())
    with pytest.raises(ValueError, match="an earlier version, which kept no means"):
        replace(some(runs=2), means=()).regret()


def test_files_keep_what_regret_needs(tmp_path: Path) -> None:
    runs = some(histogram=True)
    runs.save(tmp_path / "runs.parquet")
    loaded = fb.Runs.load(tmp_path / "runs.parquet")
    assert (loaded.means, loaded.fair_gap) == (runs.means, runs.fair_gap)
    np.testing.assert_array_equal(loaded.regret().values, runs.regret().values)
    np.testing.assert_array_equal(loaded.behind, runs.behind)
    assert some(runs=2).behind is None


def test_a_trace_changes_nothing_but_what_is_kept() -> None:
    plain, traced = some(), some(trace=[3, 50, 51])
    for name in ("decision_time", "pulls", "recommendation", "confidence"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(traced, name))
    with pytest.raises(ValueError, match="traced rounds"):
        regret_path(plain)


def test_how_far_behind_an_arm_ever_was() -> None:
    """Against the shares of every round."""
    instance = fb.Instance([1.0, 0.0], rates=fb.rates.Constant([0.0, 0.5]))
    rule = fb.sampling.TopTwo()
    runs = some(instance=instance, deltas=0.05, runs=5, histogram=True, sampling=rule, trace=range(1, 200))
    assert runs.behind is not None
    for run in range(5):
        end = int(runs.decision_time[run, 0])
        rounds = np.arange(1, end + 1)
        lags = rounds * (0.5 - runs.shares[run, :end, 1])
        assert runs.behind[run, 0] == pytest.approx(max(0.0, lags.max()))


@pytest.mark.parametrize("seed", range(4))
def test_the_best_policy_within_limits(seed: int) -> None:
    """Against a linear program written another way: over shares of groups and of arms within them."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=5)
    groups = [fb.rates.Group([0, 1], floor=0.4, ceiling=0.6), fb.rates.Group([2, 3], ceiling=0.3)]
    rates = fb.rates.Bounded(floor=0.05, ceiling=0.5, groups=groups)
    instance = fb.Instance(means, rates=rates)
    rows = [[-1, -1, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 1, 0]]
    found = linprog(-means, rows, [-0.4, 0.6, 0.3], [[1] * 5], [1.0], [(0.05, 0.5)] * 5)
    assert instance.fair_gap == pytest.approx(means.max() + found.fun)
    plain = fb.Instance(means, rates=fb.rates.Bounded(0.1, 0.9))
    assert plain.fair_gap == pytest.approx(fb.Instance(means, rates=0.1).fair_gap)
