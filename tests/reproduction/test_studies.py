"""The studies behind the report; the other tests here take their hand-made results from this file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.reproduction import scenarios as settings
from fairbai.reproduction import studies
from fairbai.reproduction.scenarios import PaperSetting
from fairbai.reproduction.studies import ALGORITHMS, DELTAS, HEURISTIC, OURS, PROVED, UNDER_PROOF, Results, run_studies
from fairbai.simulation import Runs, Study
from fairbai.simulation.study import Cell


def made_runs(setting: PaperSetting, count: int, scale: float, seed: int) -> Runs:
    """Runs that nobody ran: pulls at random around the floors, and a histogram with a share at zero."""
    generator = np.random.default_rng(seed)
    instance, shape = setting.instance, (count, len(DELTAS))
    weights = fb.solve(instance).weights
    totals = np.maximum(20, generator.gamma(4.0, scale * np.array([50.0, 100.0, 150.0]), shape)).astype(np.int64)
    pulls = generator.multinomial(totals, weights).astype(np.int64)
    histogram = np.zeros((len(DELTAS), 1001), dtype=np.int64)
    histogram[:, 0] = 25
    histogram[:, 1 : 1 + int(1000 * instance.floors.max())] = 1
    return Runs(
        deltas=DELTAS,
        best_arms=(int(instance.means.argmax()),),
        lower_bounds=tuple(fb.lower_bound(instance, delta) for delta in DELTAS),
        proved=False,
        number=np.arange(count),
        decision_time=totals,
        stopping_time=totals,
        recommendation=np.full(shape, instance.means.argmax()),
        violation=np.maximum(0.0, instance.floors - pulls / totals[:, :, None]).max(axis=2),
        pulls=pulls,
        histogram=histogram,
        trace_rounds=(),
        shares=np.zeros((count, 0, instance.means.size)),
        glr=np.zeros((count, 0)),
    )


def made_results(count: int = 20) -> Results:
    every, tables = settings.select(), settings.table_settings()
    paper = [(one, rule, "heuristic", False) for one in every for rule in ALGORITHMS]
    ours = [(one, rule, "heuristic", settle) for one in every for rule in OURS for settle in (False, True)]
    proved = [(one, rule, threshold, False) for one in tables for rule in UNDER_PROOF for threshold in PROVED]
    made = []
    for part, cells in enumerate((paper, ours, proved)):
        runs = {
            Cell(one.name, rule, threshold, settle): made_runs(one, count, 1.0 + part, 1000 * part + index)
            for index, (one, rule, threshold, settle) in enumerate(cells)
        }
        made.append(Study(runs))
    return Results(*made)


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
def test_an_interrupted_command_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    few = settings.select("equal gaps")
    monkeypatch.setattr(settings, "select", lambda: few)
    monkeypatch.setattr(settings, "table_settings", lambda: few)
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
