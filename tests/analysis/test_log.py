"""Reading logs: every format gives the same rows, and every mistake is named with its file, line and column."""

from __future__ import annotations

import math
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fairbai as fb
from fairbai.analysis import tables
from fairbai.analysis.columns import MAX_ARMS
from fairbai.analysis.log import Log, Names, Totals, read

TEXT = """time,variant,p,bought,who
2026-05-01T00:00:10,B,0.5,1,x
2026-05-01T00:00:20,A,0.25,0,"y, z"
2026-05-01T00:00:30,B,0.5,0,w
"""
ALL = Names("variant", "bought", "time", "p")


def written(path: Path, content: str | bytes, name: str = "log.csv") -> Path:
    file = path / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def log_of(data: Any, names: Names = ALL) -> Log:
    found = read(data, names)
    assert isinstance(found, Log)
    return found


def same(found: Log, times: list[float] | None = None) -> None:
    assert found.labels == ("A", "B")
    assert found.arms.tolist() == [1, 0, 1]
    assert found.rewards.tolist() == [1.0, 0.0, 0.0]
    assert found.probabilities is not None
    assert found.probabilities.tolist() == [0.5, 0.25, 0.5]
    start = datetime(2026, 5, 1, tzinfo=UTC).timestamp()
    assert found.times is not None
    assert found.times.tolist() == (times or [start + 10, start + 20, start + 30])


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "time": pd.to_datetime(["2026-05-01T00:00:10", "2026-05-01T00:00:20", "2026-05-01T00:00:30"]),
            "variant": ["B", "A", "B"],
            "p": [0.5, 0.25, 0.5],
            "bought": [True, False, False],
        }
    )


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        "\ufeff" + TEXT,
        TEXT.replace("\n", "\r\n"),
        "\n" + TEXT.replace("w\n", "w\n\n"),
        TEXT.replace(",", ", "),
        TEXT.replace('"y, z"', '"y\nz"'),
        TEXT.replace("T", " ").replace(":30,", ":30+00:00,"),
        TEXT.encode("utf-16"),
    ],
)
def test_csv(tmp_path: Path, content: str | bytes) -> None:
    same(log_of(written(tmp_path, content)))


@pytest.mark.parametrize(("separator", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_other_separators_are_found_and_said(tmp_path: Path, separator: str, name: str) -> None:
    found = log_of(written(tmp_path, TEXT.replace('"y, z"', "y").replace(",", separator)))
    same(found)
    assert f"Columns of log.csv are separated by {name}." in found.notes


def test_decimal_commas_between_semicolons(tmp_path: Path) -> None:
    text = TEXT.replace('"y, z"', "y").replace(",", ";").replace("0.25", "0,25").replace("0.5", "0,5")
    same(log_of(written(tmp_path, text)))


def test_chunks_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "CHUNK", 2)
    same(log_of(written(tmp_path, TEXT)))


def test_data_frames_and_columns() -> None:
    data = frame()
    same(log_of(data))
    same(log_of({name: data[name].to_numpy() for name in data}))
    same(log_of({name: data[name].tolist() for name in data}))
    data["variant"] = data["variant"].astype("category")
    data["time"] = data["time"].dt.tz_localize("UTC").dt.tz_convert("Europe/Stockholm")
    same(log_of(data))


@pytest.mark.parametrize("name", ["log.parquet", "log.PQ"])
def test_parquet(tmp_path: Path, name: str) -> None:
    data = frame()
    data["variant"] = data["variant"].astype("category")
    data.to_parquet(tmp_path / name)
    same(log_of(str(tmp_path / name)))


def test_csv_needs_no_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pandas", "pyarrow", "pyarrow.parquet", "matplotlib"):
        monkeypatch.setitem(sys.modules, module, None)
    same(log_of(written(tmp_path, TEXT)))
    (tmp_path / "log.parquet").touch()
    with pytest.raises(ImportError, match=r"this needs pyarrow: pip install '.\[report\]'"):
        read(tmp_path / "log.parquet", ALL)


def test_numbers_as_labels_and_times() -> None:
    found = log_of({"variant": [10, 9, 10], "bought": [1, 0, 0], "time": [1, 2, 2.5], "p": [1, 1, 1]})
    assert found.labels == (9, 10)
    assert found.arms.tolist() == [1, 0, 1]
    assert (found.clock, found.time(2)) == ("number", 2.5)
    text = log_of({"variant": ["10", "9", "10"], "bought": ["1", "0", "0"], "time": ["1", "2", "2.5"], "p": [1, 1, 1]})
    assert text.labels == ("9", "10")
    assert text.times is not None
    assert text.times.tolist() == [1.0, 2.0, 2.5]
    whole = log_of({"variant": [1.0, 2.0], "bought": [1, 0]}, Names("variant", "bought"))
    assert whole.labels == (1, 2)
    flags = log_of({"variant": [True, False], "bought": ["true", "False"]}, Names("variant", "bought"))
    assert flags.labels == ("False", "True")
    assert flags.rewards.tolist() == [1.0, 0.0]


def test_rows_are_sorted_by_time_and_that_is_said() -> None:
    names = Names("arm", "reward", "time", "p")
    data = {"arm": list("abab"), "reward": [1, 2, 3, 4], "time": [3, 1, 2, 1], "p": [0.1, 0.2, 0.3, 0.4]}
    found = log_of(data, names)
    assert found.rewards.tolist() == [2.0, 4.0, 3.0, 1.0]  # rows with the same time keep their order
    assert found.probabilities is not None
    assert found.probabilities.tolist() == [0.2, 0.4, 0.3, 0.1]
    assert found.notes == ("The rows were not in the order of time (2 of them go back): they were sorted.",)
    assert found.place(0) == "the dictionary, row 1"
    unordered = log_of(data, Names("arm", "reward"))
    assert unordered.notes == ("There is no time: the rows are taken in their order.",)
    assert unordered.time(0) is None


def test_duplicate_rows_count() -> None:
    assert log_of({"arm": ["a", "a", "b"], "reward": [1, 1, 0]}, Names("arm", "reward")).arms.size == 3


def test_totals() -> None:
    found = read({"arm": ["b", "a"], "n": [10, 20], "s": [1.5, 2.5]}, Names("arm", trials="n", sum="s"))
    assert isinstance(found, Totals)
    assert found.labels == ("a", "b")
    assert (found.trials.tolist(), found.sums.tolist(), found.squares) == ([20.0, 10.0], [2.5, 1.5], None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "{path} is empty: its first line must name the columns"),
        ("\n \n", "{path} is empty: its first line must name the columns"),
        ("time,variant,p,bought\n", "{path} has no rows: there is nothing to analyze"),
        (
            TEXT.replace("variant", "Variant"),
            "{path} has no column 'variant' for arm: its columns are 'time', 'Variant', 'p', 'bought', 'who'",
        ),
        (TEXT.replace(",B,", ",A,"), "{path} must have at least two arms in 'variant', got only 'A'"),
        (TEXT.replace("0,w", "none,w"), "{path}, line 4: 'bought' must be a number (say with silence"),
        (TEXT.replace("0,w", ",w"), "{path}, line 4: 'bought' must be a number (say with silence"),
        (TEXT.replace("0,w", "nan,w"), "{path}, line 4: 'bought' must be a number (say with silence"),
        (
            TEXT.replace(",0,w", ",inf,w").replace('"y, z"', '"y\n\nz"'),
            "{path}, line 6: 'bought' must be a number (say with silence",
        ),
        (TEXT.replace("A,0.25", ",0.25"), "{path}, line 3: 'variant' must be the label of an arm, got nothing"),
        (TEXT.replace("0.25", "0"), "{path}, line 3: 'p' must be a probability in (0, 1], got '0'"),
        (TEXT.replace("0.25", "1.5"), "{path}, line 3: 'p' must be a probability in (0, 1], got '1.5'"),
        (
            TEXT.replace("2026-05-01T00:00:20", "yesterday"),
            "{path}, line 3: 'time' must be a time in ISO 8601, such as 2026-05-01T12:30:00, or a number, got 'yes",
        ),
        (
            TEXT.replace("2026-05-01T00:00:10", "7"),
            "{path}, line 3: 'time' must be a time in ISO 8601, such as 2026-05-01T12:30:00, or a number, got '2026",
        ),
        (TEXT.replace("who", "bought", 1), "{path} has 2 columns 'bought' for reward: rename them"),
        (TEXT.replace(",x\n", "\n"), "{path}, line 2 must have 5 fields, got 4"),
        (TEXT.replace("x\n", "x,\n"), "{path}, line 2 must have 5 fields, got 6"),
        (TEXT.encode().replace(b"w", b"\xfc"), "{path} must be text in UTF-8, got the byte 0xfc in it"),
        (b"\xff\xfd,a\n", "{path} must be text in UTF-8, got the byte 0xff in it"),
    ],
)
def test_mistakes_in_a_file(tmp_path: Path, content: str | bytes, message: str) -> None:
    file = written(tmp_path, content)
    with pytest.raises(ValueError, match=r"^.") as error:
        read(file, ALL)
    assert str(error.value).startswith(message.format(path=file))


@pytest.mark.parametrize(
    "rewards",
    [[1.0, None, 0.0, math.nan], ["1", "", "0", " "], ["1", "nan", "0", "NaN"], np.array([1.0, np.nan, 0.0, np.nan])],
    ids=["none", "text", "nan", "array"],
)
def test_a_trial_without_a_reward_counts_as_silence_declares(rewards: Any) -> None:
    data = {"arm": list("abab"), "reward": rewards}
    with pytest.raises(ValueError, match=r"row 1: 'reward' must be a number .*, got nothing"):
        read(data, Names())
    log = read(data, Names(), silence=0.5)
    assert isinstance(log, Log)
    assert log.rewards.tolist() == [1.0, 0.5, 0.0, 0.5]
    assert log.notes[0] == "2 of 4 trials have no reward, and count as silence declares."
    with pytest.raises(ValueError, match=r"row 1: 'reward' must be a number .*, got inf"):
        read({"arm": ["a", "b"], "reward": [1.0, math.inf]}, Names(), silence=0.0)
    with pytest.raises(ValueError, match="silence must be a finite number, got nan"):
        read(data, Names(), silence=math.nan)
    with pytest.raises(ValueError, match="silence is for single trials, got 0 beside totals"):
        read({"arm": ["a", "b"], "n": [1, 2], "s": [1, 2]}, Names(trials="n", sum="s"), silence=0)


@pytest.mark.parametrize(
    ("data", "names", "message"),
    [
        (
            {"arm": ["a"], "reward": [1, 2]},
            {},
            "the dictionary must have as many rows in every column, got 1 in 'arm', 2 in",
        ),
        ({"arm": [], "reward": []}, {}, "the dictionary has no rows"),
        (
            {"arm": ["a", None], "reward": [1, 2]},
            {},
            "the dictionary, row 1: 'arm' must be the label of an arm, got nothing",
        ),
        ({"arm": ["a", np.nan], "reward": [1, 2]}, {}, "the dictionary, row 1: 'arm' must be the label of an arm"),
        (
            {"arm": ["a", "b"], "reward": [1, None]},
            {},
            "the dictionary, row 1: 'reward' must be a number (say with silence",
        ),
        (
            {"arm": ["a", "b"], "reward": [1, np.nan]},
            {},
            "the dictionary, row 1: 'reward' must be a number (say with silence",
        ),
        ({"arm": ["a", "b"]}, {}, "the dictionary has no column 'reward' for reward: its columns are 'arm'"),
        (
            {"arm": ["a", "b"], "reward": [1, 2], "t": [np.datetime64("2026-05-01"), np.datetime64("NaT")]},
            {"time": "t"},
            "the dictionary, row 1: 't' must be a time in ISO 8601",
        ),
        (
            {"arm": list(range(MAX_ARMS + 1)), "reward": [1] * (MAX_ARMS + 1)},
            {},
            "the dictionary: the column 'arm' has more than 1,000 different values: are they arms?",
        ),
        ({"arm": ["a", "b"], "reward": [1, 2]}, {"time": "arm"}, "arm and time must be different columns, got 'arm'"),
        ({"arm": ["a", "b"], "reward": [1, 2]}, {"time": 3}, "time must be the name of a column, got 3"),
        (
            {"arm": ["a", "b"], "n": [1, 2]},
            {"trials": "n"},
            "sum is missing: totals need the columns arm, trials and sum",
        ),
        ({"arm": ["a", "b"], "n": [1, 2]}, {"sum": "n"}, "trials is missing: totals need the columns"),
        (
            {"arm": ["a", "b"], "n": [1, 2], "s": [1, 2]},
            {"trials": "n", "sum": "s", "time": "t"},
            "time is a column of single trials, got 't' beside totals",
        ),
        (
            {"arm": ["a", "b", "a"], "n": [1, 2, 3], "s": [1, 2, 3]},
            {"trials": "n", "sum": "s"},
            "the dictionary must have one row per arm if it has totals, got several for 'a'",
        ),
        (
            {"arm": ["a", "b"], "n": [1, 2.5], "s": [1, 2]},
            {"trials": "n", "sum": "s"},
            "the dictionary, row 1: 'n' must be a whole number from 0, got 2.5",
        ),
        ({"arm": ["a", "b"], "n": [0, 0], "s": [0, 0]}, {"trials": "n", "sum": "s"}, "the dictionary has no trials"),
        (7, {}, "data must be the path of a CSV or Parquet file, a data frame, or a dictionary of columns, got"),
    ],
)
def test_mistakes_in_memory(data: Any, names: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"^.") as error:
        fb.analyze(data, **names)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("name", ["no.csv", "no.parquet"])
def test_a_file_that_does_not_exist(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError, match=f"{name} does not exist"):
        read(tmp_path / name, ALL)


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r" is a folder: give a CSV or Parquet file"):
        read(tmp_path, ALL)


def test_a_file_that_is_no_parquet(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"log.parquet is not a Parquet file"):
        read(written(tmp_path, TEXT, "log.parquet"), ALL)
    pq.write_table(pa.table({"variant": ["A", None], "bought": [1, 0]}), tmp_path / "gap.parquet")
    with pytest.raises(ValueError, match=r"gap.parquet, row 2: 'variant' must be the label of an arm, got nothing"):
        read(tmp_path / "gap.parquet", Names("variant", "bought"))
