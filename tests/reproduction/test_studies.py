"""The studies behind the report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.reproduction import scenarios, studies
from fairbai.reproduction.studies import (
    ALGORITHMS,
    DELTAS,
    HEURISTIC,
    OURS,
    PROVED,
    UNDER_PROOF,
    ratio_of_means,
    run_studies,
)
from fairbai.simulation import Study
from tests.reproduction.made import made_results


def test_the_rules_are_those_of_the_paper_and_ours() -> None:
    assert [rule.to_dict() for rule in ALGORITHMS.values()] == [
        fb.sampling.FairTrackAndStop(tracking="sampled", start="each-arm").to_dict(),
        fb.sampling.TrackAndStop(tracking="direct").to_dict(),
        fb.sampling.UniformFair().to_dict(),
    ]
    assert list(ALGORITHMS) == ["F-TaS", "TaS", "Uniform Fair"]
    assert list(OURS) == ["F-TaS tracked", "FairTopTwo"]
    assert OURS["F-TaS tracked"].to_dict() == {
        "kind": "fair_track_and_stop",
        "tracking": "cumulative",
        "start": "policy",
    }


def test_thresholds_are_proved_where_they_say_so() -> None:
    assert all(threshold.proved(fb.Gaussian()) for threshold in PROVED.values())
    assert not any(threshold.proved(fb.Gaussian()) for threshold in HEURISTIC.values())


@pytest.mark.parametrize("runs", [0, 1, -5, 2.5, True, "10"])
def test_runs_must_be_two_or_more(runs: Any) -> None:
    with pytest.raises(ValueError, match="runs must be a whole number of at least 2, got"):
        run_studies(runs)


def test_three_sweeps_over_all_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[dict[str, Any]] = []

    def noted(instances: Any, sampling: Any, stopping: Any, **more: Any) -> Study:
        calls.append({"instances": instances, "sampling": sampling, "stopping": stopping, **more})
        return Study({})

    monkeypatch.setattr(studies, "sweep", noted)
    run_studies(7, seed=3, output=str(tmp_path), progress=True)
    assert [len(call["instances"]) for call in calls] == [10, 10, 8]
    assert [call["sampling"] for call in calls] == [ALGORITHMS, OURS, UNDER_PROOF]
    assert [call["stopping"] for call in calls] == [HEURISTIC, HEURISTIC, PROVED]
    assert [call.get("settle", False) for call in calls] == [False, [False, True], False]
    assert [call.get("histogram", False) for call in calls] == [True, True, False]
    assert [call["output"] for call in calls] == [tmp_path / "runs" / name for name in ("paper", "ours", "proved")]
    for call in calls:
        assert (call["runs"], call["seed"], call["progress"], call["deltas"]) == (7, 3, True, DELTAS)
    run_studies(7)
    assert [call["output"] for call in calls[3:]] == [None, None, None]


@pytest.mark.slow_without_jit
def test_more_runs_continue_from_those_that_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    few = scenarios.select("equal gaps")
    monkeypatch.setattr(scenarios, "select", lambda: few)
    monkeypatch.setattr(scenarios, "table_scenarios", lambda: few)
    monkeypatch.setattr(studies, "PROVED", {"mixture": PROVED["mixture"]})
    run_studies(2, output=tmp_path)
    run_studies(4, output=tmp_path)
    kept, fresh = run_studies(4, output=tmp_path), run_studies(4)
    for one, other in zip(vars(kept).values(), vars(fresh).values(), strict=True):
        assert list(one.results) == list(other.results)
        for cell, runs in one.results.items():
            np.testing.assert_array_equal(runs.pulls, other.results[cell].pulls)
            np.testing.assert_array_equal(runs.histogram, other.results[cell].histogram)
            assert not runs.censored.any()
            if cell.settle:
                assert not runs.violation.any()


def test_ratios_pair_the_runs() -> None:
    runs = made_results(200).paper.runs("scheduling-prespecified-agonistic", "F-TaS", "heuristic")
    twice = replace(runs, stopping_time=2 * runs.stopping_time)
    assert ratio_of_means(twice, runs, "stopping_time", 0.01) == pytest.approx((2.0, 0.0))
    fewer = replace(twice, number=runs.number + 150)  # 50 numbers in common
    value, width = ratio_of_means(fewer, runs, "stopping_time", 0.1)
    assert value == pytest.approx(2 * runs.stopping_time[:50, 0].mean() / runs.stopping_time[150:, 0].mean())
    assert width > 0.0


def test_the_interval_of_a_ratio_holds_as_often_as_it_should() -> None:
    runs = made_results().paper.runs("scheduling-prespecified-agonistic", "F-TaS", "heuristic")
    generator, holds = np.random.default_rng(2), 0
    for _ in range(400):
        one, other = generator.gamma(4.0, [[1.5]], (100, 1)), generator.gamma(4.0, 1.0, (100, 1))
        parts = [replace(runs, deltas=(0.1,), number=np.arange(100), violation=values) for values in (one, other)]
        value, width = ratio_of_means(*parts, "violation", 0.1)
        holds += abs(value - 1.5) <= width
    assert 0.92 <= holds / 400 <= 0.98
