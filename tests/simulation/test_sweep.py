"""A grid of simulations: in memory, in a folder that can be gone on with, and from a file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.simulation.study import Cell, ChunkFolder
from fairbai.simulation.sweep import read_study
from tests.simulation.cases import assert_same, by_rank

EASY = fb.Instance([3.0, 0.0], rates=fb.rates.Constant([0.1, 0.5]))
OTHER = fb.Instance([0.1, 0.9], fb.Bernoulli())
GRID: dict[str, Any] = {
    "instances": {"easy": EASY, "other": OTHER},
    "sampling": [fb.sampling.FairTopTwo(), fb.sampling.UniformFair()],
    "stopping": {"paper": fb.stopping.Heuristic()},
    "deltas": [0.3, 0.2],
    "maximum_rounds": 30,
    "runs": 6,
}
FIRST = Cell("easy", "fair_top_two", "paper", False)


def assert_same_study(one: fb.Study, other: fb.Study) -> None:
    assert list(one.results) == list(other.results)
    for cell, runs in one.results.items():
        assert_same(runs, other.results[cell])


# The grid


def test_every_cell_is_what_simulate_gives() -> None:
    study = fb.sweep(**GRID, settle=[False, True], seed=4, histogram=True)
    names = [
        (instance, rule, "paper", settle)
        for instance in ("easy", "other")
        for rule in ("fair_top_two", "uniform_fair")
        for settle in (False, True)
    ]
    assert list(study.results) == [Cell(*name) for name in names]
    rules = {"fair_top_two": fb.sampling.FairTopTwo(), "uniform_fair": fb.sampling.UniformFair()}
    for instance, rule, stopping, settle in names:
        expected = fb.simulate(
            GRID["instances"][instance],
            GRID["deltas"],
            rules[rule],
            fb.stopping.Heuristic(),
            settle,
            runs=6,
            seed=4,
            maximum_rounds=30,
            histogram=True,
        )
        assert_same(study.runs(instance, rule, stopping, settle), expected)


def test_rules_by_name() -> None:
    names = {"narrow": fb.sampling.FairTopTwo(0.0), "wide": fb.sampling.FairTopTwo(5.0)}
    study = fb.sweep({"easy": EASY}, names, [fb.stopping.Mixture(), fb.stopping.Heuristic()], 0.3, runs=2)
    assert [(cell.sampling, cell.stopping) for cell in study.results] == [
        ("narrow", "mixture"),
        ("narrow", "heuristic"),
        ("wide", "mixture"),
        ("wide", "heuristic"),
    ]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"instances": {}}, r"instances must be a dictionary of instances by name, got \{\}"),
    ({"instances": [EASY]}, r"instances must be a dictionary of instances by name, got \[Instance"),
    ({"instances": {"a": [1.0, 0.0]}}, r"instance must be a fairbai.Instance, got \[1.0, 0.0\]"),
    ({"sampling": []}, "sampling must be one or more rules of different kinds, or rules by name"),
    ({"sampling": {}}, "sampling must be one or more rules"),
    (
        {"sampling": [fb.sampling.FairTopTwo(), fb.sampling.FairTopTwo(2.0)]},
        "sampling must be one or more rules of diff",
    ),
    ({"stopping": []}, "stopping must be one or more rules"),
    ({"sampling": [fb.stopping.Mixture()]}, "sampling must be "),
    ({"sampling": ["top"]}, "sampling must be one of .*, got 'top'"),
    ({"sampling": "top_two"}, "sampling must be one or more rules"),
    ({"sampling": fb.sampling.TopTwo()}, "sampling must be "),
    (
        {"stopping": {"a": fb.sampling.TopTwo()}},
        "stopping must be a StoppingRule, its kind or .*, got TopTwo",
    ),
    ({"stopping": [fb.stopping.PairwiseGaussian()]}, "stopping rule pairwise_gaussian is proved for gaussian arms"),
    ({"deltas": [0.1, 0.1]}, "deltas must be one or more different numbers"),
    ({"settle": []}, "settle must be "),
    ({"settle": 3}, "settle must be "),
    ({"settle": "no"}, "settle must be "),
    ({"runs": 0}, "runs must be a whole number from 1 to "),
    ({"runs": 1.5}, "runs must be a whole number from 1 to "),
    ({"runs": True}, "runs must be a whole number from 1 to "),
    ({"seed": -3}, "seed must be a whole number"),
    ({"maximum_rounds": 0}, "maximum_rounds must be a whole number"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[str(change)[:50] for change, _ in BAD])
def test_wrong_arguments(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """Nothing is written either."""
    with pytest.raises(ValueError, match=f"^{message}"):
        fb.sweep(**{**GRID, **change}, output=tmp_path / "results")
    assert not (tmp_path / "results").exists()


# The folder


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[int, int]]]:
    """Run chunks one by one and note them; after ``most`` of them comes Ctrl-C."""

    def watch(most: int | None = None) -> list[tuple[int, int]]:
        done: list[tuple[int, int]] = []

        def run_chunks(tasks: list[Any]) -> Iterator[tuple[int, fb.Runs]]:
            for index, (scenario, first, count) in reversed(list(enumerate(tasks))):  # in an order of its own
                if len(done) == most:
                    raise KeyboardInterrupt
                done.append((first, count))
                yield index, scenario.simulate(first, count)

        module = import_module("fairbai.simulation.sweep")  # its function has the same name
        monkeypatch.setattr(module, "run_chunks", run_chunks)
        return done

    return watch


def test_folder_holds_what_memory_does(tmp_path: Path) -> None:
    """The same bits, also when it is opened again, and when the same call finds everything done."""
    there = fb.sweep(**GRID, output=tmp_path / "results")
    assert_same_study(there, fb.sweep(**GRID))
    assert_same_study(fb.Study.open(tmp_path / "results"), there)
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*.parquet")}
    assert len(files) == 4 * 6
    assert_same_study(fb.sweep(**GRID, output=str(tmp_path / "results")), there)
    assert files == {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*.parquet")}
    assert not list(tmp_path.rglob("*.part"))


def test_interrupted_study_goes_on_where_it_stopped(
    tmp_path: Path, watched: Callable[..., list[tuple[int, int]]]
) -> None:
    whole = fb.sweep(**GRID)
    done = watched(most=7)
    with pytest.raises(KeyboardInterrupt):
        fb.sweep(**GRID, output=tmp_path)
    assert len(done) == len(list(tmp_path.rglob("*.parquet"))) == 7
    unfinished = fb.Study.open(tmp_path)
    assert sum(len(runs) for runs in unfinished.results.values()) == 7
    rest = watched()
    assert_same_study(fb.sweep(**GRID, output=tmp_path), whole)
    assert sum(count for _, count in rest) == 4 * 6 - 7
    assert watched() == []
    assert_same_study(fb.sweep(**GRID, output=tmp_path), whole)


def test_file_that_is_lost_is_made_again(tmp_path: Path, watched: Callable[..., list[tuple[int, int]]]) -> None:
    whole = fb.sweep(**GRID, output=tmp_path)
    path = ChunkFolder(tmp_path, 1).files()[3, 3]
    path.rename(f"{path}.part")  # as if it had been half-written
    done = watched()
    assert_same_study(fb.sweep(**GRID, output=tmp_path), whole)
    assert done == [(3, 1)]


def test_more_runs_are_added(tmp_path: Path, watched: Callable[..., list[tuple[int, int]]]) -> None:
    fb.sweep(**{**GRID, "runs": 2}, output=tmp_path)
    done = watched()
    assert_same_study(fb.sweep(**GRID, output=tmp_path), fb.sweep(**GRID))
    assert sorted(done[: 4 * 4]) == sorted((first, 1) for first in range(2, 6) for _ in range(4))


def test_fewer_runs_take_away_none(tmp_path: Path) -> None:
    """They are read, and those beyond stay where they are."""
    fb.sweep(**GRID, output=tmp_path)
    before = sorted(tmp_path.rglob("*"))
    few = fb.sweep(**{**GRID, "runs": 2}, output=tmp_path)
    assert all(2 <= len(runs) < GRID["runs"] for runs in few.results.values())
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"deltas": [0.3]}, {"settle": True}, {"maximum_rounds": 40}, {"histogram": True}]
)
def test_folder_of_another_study_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    fb.sweep(**GRID, output=tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(
        ValueError, match="holds another study, or one of another version of fairbai: give another folder"
    ):
        fb.sweep(**{**GRID, **change}, output=tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_numbers_of_numpy_are_as_good(tmp_path: Path) -> None:
    numpy = {"seed": np.int64(0), "deltas": np.array([0.3, 0.2]), "runs": np.int64(6), "maximum_rounds": np.int64(30)}
    study = fb.sweep(**{**GRID, **numpy}, output=tmp_path)
    assert_same_study(study, fb.sweep(**GRID))
    assert_same_study(fb.sweep(**GRID, output=tmp_path), study)


def test_rates_in_python_in_a_folder(tmp_path: Path) -> None:
    grid = {**GRID, "instances": {"custom": fb.Instance([3.0, 0.0], rates=fb.rates.Custom(by_rank))}}
    assert_same_study(fb.sweep(**grid, output=tmp_path), fb.sweep(**grid))
    assert_same_study(fb.sweep(**grid, output=tmp_path), fb.sweep(**grid))


def test_progress_bar_counts_all_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], watched: Callable[..., list[tuple[int, int]]]
) -> None:
    fb.sweep(**GRID, progress=True)
    assert "24/24" in capsys.readouterr().err
    watched(most=7)
    with pytest.raises(KeyboardInterrupt):
        fb.sweep(**GRID, output=tmp_path, progress=True)
    capsys.readouterr()
    watched()
    fb.sweep(**GRID, output=tmp_path, progress=True)
    printed = capsys.readouterr().err
    assert " 7/24 " in printed  # it goes on where it stopped
    assert "24/24" in printed


def test_cells_do_not_share_files(tmp_path: Path) -> None:
    fb.sweep(**GRID, output=tmp_path)
    shutil.rmtree(tmp_path / "cell-000")
    study = fb.Study.open(tmp_path)
    assert FIRST not in study.results
    assert len(study.results) == 3


# Files

FILE = """
deltas = [0.1, 0.05]
settle = [false, true]
runs = 12
seed = 5
maximum_rounds = 1000
histogram = true

[instances.linear]
means = [1.0, 0.5, 0.0]
family = { kind = "gaussian", variance = 2.0 }
rates = { kind = "constant", floor = [0.1, 0.2, 0.3] }

[instances.clicks]
means = [0.5, 0.4]
family = "bernoulli"
rates = { kind = "softmax", p0 = 0.6, temperature = 0.5 }

[instances.bare]
means = [1, 0]

[sampling]
f-tas = "fair_track_and_stop"
tracked = { kind = "fair_track_and_stop", tracking = "cumulative", start = "policy" }

[stopping]
proved = { kind = "mixture", kappa = 2.0 }
paper = "heuristic"
"""
SMALL = "[instances.a]\nmeans = [1.0, 0.0]\n[sampling]\nrule = 'fair_top_two'\n"


def read(tmp_path: Path, text: str) -> dict[str, Any]:
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    return read_study(tmp_path / "study.toml")


def test_file_with_every_key(tmp_path: Path) -> None:
    form = read(tmp_path, FILE)
    plain = ("deltas", "settle", "runs", "seed", "maximum_rounds", "histogram")
    assert [form[key] for key in plain] == [[0.1, 0.05], [False, True], 12, 5, 1000, True]
    linear, clicks, bare = form["instances"].values()
    assert list(form["instances"]) == ["linear", "clicks", "bare"]
    assert (linear.means.tolist(), linear.family, linear.rates) == (
        [1.0, 0.5, 0.0],
        fb.Gaussian(2.0),
        fb.rates.Constant([0.1, 0.2, 0.3]),
    )
    assert (clicks.family, clicks.rates) == (fb.Bernoulli(), fb.rates.Softmax(0.6, 0.5))
    assert (bare.family, bare.rates) == (fb.Gaussian(), fb.rates.Constant())
    assert form["sampling"] == {
        "f-tas": fb.sampling.FairTrackAndStop(),
        "tracked": fb.sampling.FairTrackAndStop("cumulative", "policy"),
    }
    assert form["stopping"] == {"proved": fb.stopping.Mixture(2.0), "paper": fb.stopping.Heuristic()}


def test_file_with_the_least(tmp_path: Path) -> None:
    """The threshold is the proved one, all else as for ``sweep``; and ``sweep`` takes it as it is."""
    form = read(tmp_path, SMALL)
    assert set(form) == {"instances", "sampling", "stopping"}
    assert form["stopping"] == {"mixture": fb.stopping.Mixture()}
    study = fb.sweep(**{**form, "runs": 2, "maximum_rounds": 20})
    assert list(study.results) == [Cell("a", "rule", "mixture", False)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("deltas = [0.1", "study.toml is not a TOML file: "),
        ("colour = 3\n" + SMALL, "study.toml may have the keys instances, sampling, .*, got 'colour'"),
        ("", r"study.toml must have a table \[instances\] with at least one entry"),
        ("[instances]\n[sampling]\na = 'top_two'", r"must have a table \[instances\] with at least one entry"),
        ("instances = 3", r"must have a table \[instances\] with at least one entry"),
        ("[instances.a]\nmeans = [1, 0]", r"must have a table \[sampling\] with at least one entry"),
        ("[instances.a]\nmeans = [1, 0]\n[sampling]", r"must have a table \[sampling\] with at least one entry"),
        ("sampling = 'top_two'\n[instances.a]\nmeans = [1, 0]", r"must have a table \[sampling\]"),
        ("stopping = 'mixture'\n" + SMALL, r"must have a table \[stopping\]"),
        (SMALL + "[stopping]\na = 'never'", "stopping must be one of .*, got 'never'"),
        (SMALL + "other = 'dice'", "sampling must be one of .*, got 'dice'"),
        (SMALL + "other = { kind = 'top_two', margin = 1 }", "top_two takes no parameters, got 'margin'"),
        (
            SMALL + "[instances.b]\nmean = [1, 0]",
            "instance b must have means or effects and may have arms, family, floors, rates, tolerance, goal, ",
        ),
        (
            SMALL + "[instances.b]\nmeans = [1, 0]\nfloor = 3",
            "instance b must have means or effects and may have arms, family, floors, rates, tolerance, goal",
        ),
        (SMALL.replace("[1.0, 0.0]", "[1.0]"), "means must hold at least two arms, got 1"),
        (
            SMALL + "[instances.b]\nmeans = [1, 0]\nrates = { a = 0.1 }",
            "a floor must be for an arm of 0, 1, got 'a'",
        ),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text)


def test_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"study\.toml is not a TOML file"):
        read_study(tmp_path / "study.toml")
    with pytest.raises(FileNotFoundError):
        read_study(tmp_path / "missing.toml")
