"""The outcome of many runs: as a frame, in a file, and joined from parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbai as fb
from fairbai.simulation.scenario import make_scenario
from tests.simulation.cases import ARRAYS, assert_same

INSTANCE = fb.Instance([3.0, 1.0, 0.0], rates=fb.rates.Constant(0.2))


def some(first: int = 0, count: int = 4, **changes: Any) -> fb.Runs:
    given: dict[str, Any] = {"histogram": True, "maximum_rounds": 30, "trace": [2, 9], **changes}
    instance = given.pop("instance", INSTANCE)
    return make_scenario(instance, [0.3, 0.05], None, fb.stopping.Heuristic(), True, 1, **given).simulate(first, count)


def test_frame() -> None:
    """A row a run and delta, with the columns that are promised."""
    runs = some(first=5)
    frame = runs.to_pandas()
    names = ["run", "delta", "decision_time", "stopping_time", "recommendation", "correct", "violation", "censored"]
    names += ["guess", "confidence", "behind"]
    assert list(frame.columns) == [*names, "pulls_0", "pulls_1", "pulls_2"]
    assert frame["run"].tolist() == [5, 5, 6, 6, 7, 7, 8, 8]
    assert frame["delta"].tolist() == [0.3, 0.05] * 4
    for name in names[2:]:
        np.testing.assert_array_equal(frame[name], getattr(runs, name).ravel())
    for index, row in frame.iterrows():
        pulls = runs.pulls[index // 2, index % 2]
        assert row[["pulls_0", "pulls_1", "pulls_2"]].tolist() == pulls.tolist()
    assert frame["correct"].dtype == frame["censored"].dtype == bool
    assert frame["violation"].dtype == frame["confidence"].dtype == np.float64
    reals = ["delta", "violation", "correct", "censored", "confidence", "behind"]
    assert (frame.drop(columns=reals).dtypes == np.int64).all()


def test_length_and_text() -> None:
    runs = some()
    assert len(runs) == 4
    assert repr(runs) == "Runs(4 runs, deltas=[0.3, 0.05], arms=3)"


def test_answers_are_right_wrong_or_missing() -> None:
    runs = some(instance=fb.Instance([0.5, 0.5, 0.0]), maximum_rounds=12, count=6)
    np.testing.assert_array_equal(runs.correct, (runs.recommendation == 0) | (runs.recommendation == 1))
    np.testing.assert_array_equal(runs.censored, runs.recommendation == -1)
    assert not (runs.correct & runs.censored).any()


# Files


@pytest.mark.parametrize("histogram", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_file(tmp_path: Path, histogram: bool, tied: bool) -> None:
    """All but the trace comes back, to the last bit; the lower bound of a tie is infinite."""
    changes = {"instance": fb.Instance([0.5, 0.5, 0.0])} if tied else {}
    runs = some(histogram=histogram, trace=False, **changes)
    path = tmp_path / "runs.parquet"
    runs.save(path)
    assert_same(fb.Runs.load(path), runs)
    assert_same(fb.Runs.load(str(path)), runs)
    assert [file.name for file in tmp_path.iterdir()] == ["runs.parquet"]  # and nothing half-written


def test_file_has_no_trace(tmp_path: Path) -> None:
    some().save(tmp_path / "runs.parquet")
    loaded = fb.Runs.load(tmp_path / "runs.parquet")
    assert loaded.trace_rounds == ()
    assert loaded.shares.shape == (4, 0, 3)
    assert loaded.glr.shape == (4, 0)


def test_file_is_a_frame_for_everyone(tmp_path: Path) -> None:
    runs = some()
    runs.save(tmp_path / "runs.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "runs.parquet"), runs.to_pandas())


def test_file_is_written_over(tmp_path: Path) -> None:
    some(count=2).save(tmp_path / "runs.parquet")
    some(count=3).save(str(tmp_path / "runs.parquet"))
    assert len(fb.Runs.load(tmp_path / "runs.parquet")) == 3


def test_summary_of_a_file(tmp_path: Path) -> None:
    some().save(tmp_path / "runs.parquet")
    assert fb.Runs.load(tmp_path / "runs.parquet").summary() == some().summary()


def test_foreign_files(tmp_path: Path) -> None:
    pd.DataFrame({"run": [1, 2]}).to_parquet(tmp_path / "foreign.parquet")
    with pytest.raises(ValueError, match=r"foreign.parquet does not hold runs of fairbai"):
        fb.Runs.load(tmp_path / "foreign.parquet")
    (tmp_path / "text.parquet").write_text("no Parquet at all")
    with pytest.raises(ValueError, match="Parquet"):
        fb.Runs.load(tmp_path / "text.parquet")
    with pytest.raises(FileNotFoundError):
        fb.Runs.load(tmp_path / "missing.parquet")


def test_without_the_report_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    runs = some(count=1)
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match=r"this needs pandas: pip install '\.\[report\]'"):
        runs.to_pandas()
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"this needs pyarrow: pip install '\.\[report\]'"):
        runs.save(tmp_path / "runs.parquet")
    assert len(runs.summary().rows) == 2  # needs neither


def test_files_of_earlier_versions_have_no_guesses(tmp_path: Path) -> None:
    runs = replace(some(trace=False), guess=None, confidence=None)
    runs.save(tmp_path / "runs.parquet")
    assert "guess" not in pd.read_parquet(tmp_path / "runs.parquet")
    loaded = fb.Runs.load(tmp_path / "runs.parquet")
    assert loaded.guess is None
    assert loaded.confidence is None
    np.testing.assert_array_equal(loaded.correct, runs.correct)
    with pytest.raises(ValueError, match="earlier version, which kept no guess"):
        loaded.guess_correct  # noqa: B018
    with pytest.raises(ValueError, match="earlier version, which kept no confidence"):
        loaded.calibration()
    joined = fb.Runs.join([loaded, some(4, 2, trace=False)])
    assert (len(joined), joined.guess) == (6, None)


# Joined


def test_joined_parts_are_in_the_order_of_their_numbers() -> None:
    joined = fb.Runs.join([some(3, 2), some(0, 3), some(8, 1)])
    assert joined.number.tolist() == [0, 1, 2, 3, 4, 8]
    whole = some(0, 9)
    kept = [0, 1, 2, 3, 4, 8]
    for name in ARRAYS:
        if name != "histogram":
            np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name)[kept])
    parts = [some(3, 2), some(0, 3), some(8, 1)]
    assert joined.histogram.tolist() == sum(part.histogram for part in parts).tolist()
