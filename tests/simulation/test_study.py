"""A study and its folder: files that are whole or not there, and folders that are somebody else's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fairbai as fb
from fairbai.simulation.scenario import Scenario, make_scenario
from fairbai.simulation.study import DESCRIPTION, Cell, ChunkFolder, Study, claim, describe, read_description
from tests.simulation.cases import RULES, assert_same, by_rank

EASY = fb.Instance([3.0, 0.0], rates=fb.rates.Constant(0.2))
CELL = Cell("easy", "top-two", "mixture", False)


def scenario(instance: fb.Instance = EASY, **changes: Any) -> Scenario:
    given: dict[str, Any] = {"deltas": [0.3, 0.1], "sampling": None, "stopping": None, "settle": False, "seed": 0}
    return make_scenario(instance, **{**given, "maximum_rounds": 50, **changes})


# Chunks


def test_chunk_files_are_named_by_their_runs(tmp_path: Path) -> None:
    folder = ChunkFolder(tmp_path, 2)
    assert folder.files() == {}
    assert folder.load() is None
    folder.save(scenario().simulate(4, 3))
    folder.save(scenario().simulate(0, 2))
    assert [path.name for path in folder.files().values()] == [
        "runs-000000000-000000001.parquet",
        "runs-000000004-000000006.parquet",
    ]
    assert all(path.parent == tmp_path / "cell-002" for path in folder.files().values())
    loaded = folder.load()
    assert loaded is not None
    assert loaded.number.tolist() == [0, 1, 4, 5, 6]


@pytest.mark.parametrize(
    ("there", "runs", "missing"),
    [
        ([], 5, [(0, 5)]),
        ([(0, 4)], 5, []),
        ([(0, 4)], 3, []),
        ([(0, 4)], 8, [(5, 3)]),
        ([(2, 4)], 8, [(0, 2), (5, 3)]),
        ([(2, 4), (6, 6)], 10, [(0, 2), (5, 1), (7, 3)]),
        ([(2, 4), (6, 6)], 6, [(0, 2), (5, 1)]),
        ([(2, 4), (9, 12)], 7, [(0, 2), (5, 2)]),
        ([(8, 9)], 4, [(0, 4)]),
    ],
)
def test_gaps(tmp_path: Path, there: list[tuple[int, int]], runs: int, missing: list[tuple[int, int]]) -> None:
    folder = ChunkFolder(tmp_path, 0)
    folder.path.mkdir()
    for first, last in there:
        (folder.path / f"runs-{first:09d}-{last:09d}.parquet").touch()
    assert folder.missing(runs) == missing


def test_a_limit_leaves_out_the_files_beyond_it(tmp_path: Path) -> None:
    folder = ChunkFolder(tmp_path, 0)
    for first in (0, 3, 6):
        folder.save(scenario().simulate(first, 3))
    limited = folder.load(4)
    assert limited is not None
    assert limited.number.tolist() == [0, 1, 2, 3, 4, 5]


def test_runs_that_are_there_twice_are_refused(tmp_path: Path) -> None:
    """As two commands on one folder at the same time could leave them."""
    folder = ChunkFolder(tmp_path, 0)
    folder.save(scenario().simulate(0, 4))
    folder.save(scenario().simulate(2, 4))
    with pytest.raises(ValueError, match="has run 2 in two files"):
        folder.load()


def test_runs_of_other_kernels_are_not_mixed(tmp_path: Path) -> None:
    description = describe({CELL: scenario()})
    claim(tmp_path, description)
    with pytest.raises(ValueError, match="another version of fairbai"):
        claim(tmp_path, {**description, "kernels": "others"})


def test_what_is_half_written_does_not_count(tmp_path: Path) -> None:
    folder = ChunkFolder(tmp_path, 0)
    folder.save(scenario().simulate(0, 2))
    for name in ("runs-000000002-000000003.parquet.part", "runs-x-y.parquet", "notes.txt"):
        (folder.path / name).write_text("half")
    assert list(folder.files()) == [(0, 1)]
    assert folder.missing(4) == [(2, 2)]
    loaded = folder.load()
    assert loaded is not None
    assert len(loaded) == 2


# Description


def test_description_is_json_and_tells_studies_apart() -> None:
    """Whatever the runs depend on; not how many they are."""
    plain = describe({CELL: scenario()})
    assert json.loads(json.dumps(plain)) == plain
    others = [
        describe({Cell("hard", "top-two", "mixture", False): scenario()}),
        describe({Cell("easy", "top-two", "mixture", True): scenario(settle=True)}),
        describe({CELL: scenario(fb.Instance([2.0, 0.0], rates=EASY.rates))}),
        describe({CELL: scenario(fb.Instance(EASY.means, fb.Gaussian(2.0), EASY.rates))}),
        describe({CELL: scenario(fb.Instance(EASY.means, rates=fb.rates.Constant(0.1)))}),
        describe({CELL: scenario(deltas=[0.3])}),
        describe({CELL: scenario(sampling=fb.sampling.TopTwo())}),
        describe({CELL: scenario(stopping=fb.stopping.Mixture(kappa=1.0))}),
        describe({CELL: scenario(seed=1)}),
        describe({CELL: scenario(maximum_rounds=51)}),
        describe({CELL: scenario(histogram=True)}),
    ]
    assert len({json.dumps(other) for other in [plain, *others]}) == len(others) + 1


def test_python_code_is_described_by_its_name() -> None:
    instance = fb.Instance([3.0, 0.0], rates=fb.rates.Custom(by_rank))
    form = describe({CELL: scenario(instance, sampling=RULES["in Python"])})["settings"][0]
    assert form["rates"] == {"kind": "custom", "function": "by_rank"}
    assert form["sampling"] == {"kind": "drifting"}


def test_claim(tmp_path: Path) -> None:
    mine, other = describe({CELL: scenario()}), describe({CELL: scenario(seed=1)})
    folder = tmp_path / "a" / "b"
    assert read_description(folder) is None
    claim(folder, mine)
    claim(folder, mine)
    assert read_description(folder) == mine
    with pytest.raises(ValueError, match=r"output .*b holds another study, or one of another version of fairbai: give"):
        claim(folder, other)
    assert read_description(folder) == mine


# Opening


def test_open_an_unfinished_study(tmp_path: Path) -> None:
    """What is there counts; a cell without runs is left out."""
    second = Cell("easy", "top-two", "heuristic", False)
    settings = {CELL: scenario(), second: scenario(stopping=fb.stopping.Heuristic())}
    claim(tmp_path, describe(settings))
    with pytest.raises(ValueError, match="holds a study that has no runs yet"):
        Study.open(tmp_path)
    ChunkFolder(tmp_path, 1).save(settings[second].simulate(1, 2))
    study = Study.open(str(tmp_path))
    assert list(study.results) == [second]
    assert_same(study.runs("easy", "top-two", "heuristic"), settings[second].simulate(1, 2))


@pytest.mark.parametrize("made", [False, True])
def test_folder_without_a_study(tmp_path: Path, made: bool) -> None:
    folder = tmp_path / "nothing"
    if made:
        folder.mkdir()
    with pytest.raises(ValueError, match=f"nothing does not hold a study: there is no {DESCRIPTION} in it"):
        Study.open(folder)


@pytest.mark.parametrize("text", ['{"name": "somebody else\'s"}', "[1, 2]", '{"version": 1, "cel'])
def test_folder_of_something_else(tmp_path: Path, text: str) -> None:
    (tmp_path / DESCRIPTION).write_text(text)
    with pytest.raises(ValueError, match=r"study\.json|does not hold a study"):
        Study.open(tmp_path)


# Looking


@pytest.fixture(scope="module")
def study() -> Study:
    heuristic = fb.stopping.Heuristic()
    cells = {CELL: scenario(), Cell("easy", "top-two", "h", True): scenario(stopping=heuristic, settle=True)}
    return Study({cell: one.simulate(0, 3) for cell, one in cells.items()})


def test_runs_of_a_cell(study: Study) -> None:
    assert study.runs("easy", "top-two", "mixture") is study.results[CELL]
    assert len(study.runs("easy", "top-two", "h", settle=True)) == 3
    with pytest.raises(ValueError, match=r"the study has no Cell\(instance='hard', .*it has Cell\(instance='easy', "):
        study.runs("hard", "top-two", "mixture")
    with pytest.raises(ValueError, match="the study has no Cell"):
        study.runs("easy", "top-two", "h", settle=False)


def test_settling_is_asked_for_only_where_a_study_has_both(study: Study) -> None:
    """And then runs that did not settle are meant, unless somebody asks for the others."""
    (_, plain), (settled, more) = study.results.items()
    assert study.runs("easy", "top-two", "h") is more
    both = Study({settled: more, Cell("easy", "top-two", "h", False): plain})
    assert both.runs("easy", "top-two", "h") is plain
    assert both.runs("easy", "top-two", "h", settle=True) is more


def test_frame(study: Study) -> None:
    frame = study.to_pandas()
    assert list(frame.columns[:6]) == ["instance", "sampling", "stopping", "settled", "run", "delta"]
    assert len(frame) == 2 * 3 * 2
    settled = frame[frame["settled"] == "yes"].drop(columns=["instance", "sampling", "stopping", "settled"])
    expected = study.runs("easy", "top-two", "h").to_pandas()
    assert settled.reset_index(drop=True).equals(expected)


def test_frame_of_instances_with_different_numbers_of_arms(study: Study) -> None:
    three = scenario(fb.Instance([1.0, 0.5, 0.0])).simulate(0, 2)
    frame = Study({**study.results, Cell("three", "top-two", "mixture", False): three}).to_pandas()
    assert frame["pulls_2"].isna().sum() == 12
    assert frame["pulls_2"].notna().sum() == 4


def test_table(study: Study) -> None:
    lines = str(study).splitlines()
    assert lines[0].split()[:5] == ["instance", "rule", "threshold", "settled", "delta"]
    assert len(lines) == 2 + 4
    assert [line.split()[:5] + line.split()[6:7] for line in lines[2:]] == [
        ["easy", "top-two", "mixture", "no", "0.3", "proved"],
        ["easy", "top-two", "mixture", "no", "0.1", "proved"],
        ["easy", "top-two", "h", "yes", "0.3", "heuristic"],
        ["easy", "top-two", "h", "yes", "0.1", "heuristic"],
    ]


def test_dictionaries(study: Study) -> None:
    found = study.to_dicts()
    assert len(found) == 4
    expected = study.results[CELL].summary().to_dicts()[1]
    assert found[1] == {**vars(CELL), **expected}
    assert json.loads(json.dumps(found)) == found
