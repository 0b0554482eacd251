"""``fairbai analyze`` and ``plan --from``: the library's numbers from a file, and one sentence for wrong input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import fairbai as fb
from examples.mismatched_log import write
from tests.cli.commands import Capture, complaint, help_of, report, run

COLUMNS = ("--arm", "variant", "--reward", "bought")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A fair log without drift."""
    file = tmp_path_factory.mktemp("logs") / "log.csv"
    write(file, visitors=4000, share=0.5, rise=0.0)
    return str(file)


@pytest.fixture(scope="module")
def totals(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("logs") / "totals.csv"
    file.write_text("variant,visitors,revenue,squares\nA,1000,5000,60000\nB,1010,5600,65000\n", encoding="utf-8")
    return str(file)


@pytest.mark.slow_without_jit
def test_same_as_the_library(capsys: Capture, log: str) -> None:
    options = {"arm": "variant", "reward": "bought", "time": "time", "probability": "probability"}
    flags = [part for name, column in options.items() for part in (f"--{name}", column)]
    expected = fb.analyze(log, **options, delta=0.1, shares={"A": 0.5, "B": 0.5}, floor=0.4, planned=4000)  # type: ignore[arg-type]
    more = ("--delta", "0.1", "--shares", "A=0.5,B=0.5", "--floor", "0.4", "--planned", "4000")
    found = report(capsys, "analyze", log, *flags, *more)
    assert found == json.loads(json.dumps(expected.to_dict()))
    assert run(capsys, "analyze", log, *flags, *more) == f"{expected}\n"


def test_trials_without_a_reward_count_as_silence_declares(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "late.csv"
    file.write_text("variant,bought\nA,1\nB,\nA,\nB,1\n", encoding="utf-8")
    found = report(capsys, "analyze", str(file), *COLUMNS, "--silence", "0")
    assert [arm["mean"] for arm in found["arms"]] == [0.5, 0.5]
    assert "2 of 4 trials have no reward, and count as silence declares." in found["notes"]
    assert "silence" in complaint(capsys, "analyze", str(file), *COLUMNS)


def test_floors_and_shares_by_label(capsys: Capture, log: str) -> None:
    flags = (*COLUMNS, "--probability", "probability", "--floor", "A=0.4,B=0.5", "--shares", "0.5,0.5")
    found = report(capsys, "analyze", log, *flags)
    assert found["drift_proof"]["floors"] == [0.4, 0.5]
    assert report(capsys, "analyze", log, *COLUMNS, "--shares", "any")["sample_ratio"] is None


def test_families(capsys: Capture, log: str) -> None:
    for flags, kind in (
        (["--family", "bernoulli"], "bernoulli"),
        (["--variance", "0.25"], "gaussian"),
        (["--variance", "unknown"], "gaussian"),
        (["--low", "0", "--high", "2"], "bounded"),
    ):
        family = report(capsys, "analyze", log, *COLUMNS, *flags)["family"]
        assert (family["kind"], family["guessed"]) == (kind, False)


def test_totals(capsys: Capture, totals: str) -> None:
    flags = ("--arm", "variant", "--trials", "visitors", "--sum", "revenue", "--squares", "squares")
    found = report(capsys, "analyze", totals, *flags)
    assert found["guarantee"] == "observed"
    assert [arm["mean"] for arm in found["arms"]] == pytest.approx([5.0, 5600 / 1010])


def test_files_are_written(capsys: Capture, log: str, tmp_path: Path) -> None:
    picture, page = tmp_path / "log.png", tmp_path / "log.html"
    said = run(capsys, "analyze", log, *COLUMNS, "--figure", str(picture), "--html", str(page))
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert said.endswith(f"\n\nThe figure is in {picture}\n\nThe page is in {page}\n")


@pytest.mark.slow_without_jit
def test_plan_from_a_log(capsys: Capture, log: str) -> None:
    expected = fb.analyze(log, "variant", "bought", delta=0.1).plan(rates={"A": 0.3}, per_day=500, limit=1e5)
    flags = (*COLUMNS, "--floors", "A=0.3", "--per-day", "500", "--limit", "1e5", "--delta", "0.1")
    found = report(capsys, "plan", "--from", log, *flags)
    assert found == json.loads(json.dumps(expected.to_dict()))
    assert run(capsys, "plan", "--from", log, *flags) == f"{expected}\n"


def test_plan_from_totals(capsys: Capture, totals: str) -> None:
    flags = ("--arm", "variant", "--trials", "visitors", "--sum", "revenue", "--variance", "35")
    assert report(capsys, "plan", "--from", totals, *flags)["draws"] == 200


def test_learned_floors(capsys: Capture, log: str) -> None:
    flags = (*COLUMNS, "--rates", "inverse_gap", "--p0", "0.5")
    assert report(capsys, "plan", "--from", log, *flags)["at_estimates"]["floors"]["kind"] == "inverse_gap"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("analyze {log} --reward bought", "{log} has no column 'arm' for arm: its columns are 'time', 'variant', "),
        ("analyze nowhere.csv", "nowhere.csv does not exist"),
        ("analyze {log} --arm variant --reward time", "{log}, line 2: 'time' must be a number (say with silence what"),
        ("analyze {log} --arm variant --reward bought --family weibull", "family must be one of bernoulli, "),
        (
            "analyze {log} --arm variant --reward bought --shares A=half",
            "shares must be numbers, or all by label such as",
        ),
        ("analyze {log} --arm variant --reward bought --shares A=0.5,B=0.6", "shares must add up to 1, got 1.1"),
        (
            "analyze {log} --arm variant --reward bought --floor 0.1,0.2",
            "floor must be one number, or by label such as",
        ),
        ("analyze {log} --arm variant --reward bought --low 0", "low and high must be given together"),
        ("analyze {log} --arm variant --reward bought --delta 2", "delta must be in (0, 1/2), got 2.0"),
        (
            "analyze {log} --arm variant --reward bought --family poisson --variance 2",
            "variance is for Gaussian rewards, got --family poisson beside it",
        ),
        ("analyze {log} --figure log.bmp", "figure must end in .png, .svg or .pdf, got 'log.bmp'"),
        (
            "analyze {log} --html nowhere/page.html",
            "html must be a file in a folder that exists, got 'nowhere/page.html'",
        ),
        ("analyze {log} --figure /", "figure must end in .png, .svg or .pdf, got '/'"),
        ("plan --from {log} --means 1 0", "--means and --from cannot be given together: the log has the arms"),
        ("plan --from {log} --arm variant --reward bought --per-day -1", "per-day must be positive, got -1.0"),
        ("plan --from {log} --arm variant --reward bought --limit 0", "limit must be at least 1, got 0.0"),
        ("plan --from {log} --arm variant --reward bought --floors 0.6", "2 floors of 60 % add up to 120 %"),
        ("plan --means 0.1 0.2 --family bernoulli --reward bought", "--reward belongs to a log, which is missing"),
    ],
)
def test_wrong_input(capsys: Capture, log: str, flags: str, message: str) -> None:
    assert complaint(capsys, *flags.format(log=log).split()).startswith(message.format(log=log))


def test_help(capsys: Capture) -> None:
    text = help_of(capsys, "analyze")
    assert "fairbai analyze log.csv --arm variant --reward bought" in text
    assert "planning from a log" in help_of(capsys, "plan")


@pytest.mark.slow_without_jit
def test_the_example_has_a_mismatch_and_a_drift(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    write(file)
    found = fb.analyze(file, "variant", "bought", time="time", probability="probability", floor=0.5)
    assert found.trials == 30_000
    assert found.mismatched
    assert found.drifted
    assert found.guarantee == "doubted"
    assert np.isclose(found.arms.trials[0] / 30_000, 0.45, atol=0.01)
