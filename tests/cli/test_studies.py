"""``fairbai simulate`` and ``compare``: studies that are kept, interrupted and resumed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import fairbai as fb
from fairbai.cli import main
from tests.cli.commands import Capture, complaint, help_of, run
from tests.processes import run_and_interrupt

STUDY = """
deltas = [0.3, 0.2]
settle = [false, true]
runs = 5
seed = 3
maximum_rounds = 30

[instances.easy]
means = [3.0, 0.0]
rates = { kind = "constant", floor = [0.1, 0.6] }

[sampling]
top-two = "fair_top_two"

[stopping]
paper = "heuristic"
"""
EASY = fb.Instance([3.0, 0.0], rates=fb.rates.Constant([0.1, 0.6]))


def simulated(runs: int = 5, settle: bool = False) -> fb.Runs:
    """What the study holds."""
    stopping = fb.stopping.Heuristic()
    return fb.simulate(EASY, [0.3, 0.2], stopping=stopping, settle=settle, runs=runs, seed=3, maximum_rounds=30)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study file in the folder where the command runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def test_simulate_prints_the_table_and_keeps_the_runs(capsys: Capture, study: Path) -> None:
    text = run(capsys, "simulate", "study.toml", "--quiet")
    kept = fb.Study.open(study / "study-results")
    assert text == f"{kept}\n\nruns are in study-results\n"
    rows = [line.split() for line in text.splitlines()]
    assert rows[0][:5] == ["instance", "rule", "threshold", "settled", "delta"]
    assert [row[:7] for row in rows[2:6]] == [
        ["easy", "top-two", "paper", settled, delta, "5", "heuristic"]
        for settled in ("no", "yes")
        for delta in ("0.3", "0.2")
    ]
    for settle in (False, True):
        found = kept.runs("easy", "top-two", "paper", settle)
        assert found.pulls.tolist() == simulated(settle=settle).pulls.tolist()


def test_simulate_as_json(capsys: Capture, study: Path) -> None:
    found = json.loads(run(capsys, "simulate", "study.toml", "--quiet", "--json"))
    expected = simulated().summary().to_dicts() + simulated(settle=True).summary().to_dicts()
    assert [row["settle"] for row in found] == [False, False, True, True]
    names = ("instance", "sampling", "stopping", "settle")
    assert [{key: row[key] for key in row if key not in names} for row in found] == expected
    assert {tuple(row[name] for name in names[:3]) for row in found} == {("easy", "top-two", "paper")}


def test_simulate_again_adds_runs(capsys: Capture, study: Path) -> None:
    arguments = ["simulate", "study.toml", "--quiet", "--json", "--output", "kept"]
    run(capsys, *arguments, "--runs", "2")
    assert not (study / "study-results").exists()
    files = set((study / "kept").rglob("*.parquet"))
    found = json.loads(run(capsys, *arguments))
    assert [row["runs"] for row in found] == [5, 5, 5, 5]
    assert files < set((study / "kept").rglob("*.parquet"))
    assert found[0]["stopping_time"] == simulated().summary().rows[0].stopping_time


def test_simulate_draws_figures(capsys: Capture, study: Path) -> None:
    text = run(capsys, "simulate", "study.toml", "--quiet", "--figures", "drawn")
    assert text.endswith("figures are in drawn\n")
    names = {path.name for path in (study / "drawn").glob("*.png")}
    assert names == {"easy-stopping-times.png", "easy-shares.png", "easy-violations.png"}


def test_simulate_tries_a_plan_out(capsys: Capture, study: Path) -> None:
    question = ["--means", "1", "0", "--variance", "1", "--floors", "0.2", "--delta", "0.1"]
    printed = run(capsys, "plan", *question, "--json")
    (study / "plan.json").write_text(printed, encoding="utf-8")
    found = json.loads(run(capsys, "simulate", "plan.json", "--quiet", "--json", "--runs", "20"))
    planned = fb.plan([1.0, 0.0], fb.Gaussian(1.0), rates=0.2, delta=0.1)
    runs = fb.simulate(planned.instance, 0.1, stopping=planned.stopping, settle=True, runs=20)
    names = {"instance": "plan", "sampling": "fair_top_two", "stopping": "proved", "settle": True}
    assert found == [names | runs.summary().to_dicts()[0]]


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"arms": [1], "delta": 0.1}', '{"arms": [], "delta": 0.1}'])
def test_a_file_that_is_no_plan(capsys: Capture, study: Path, text: str) -> None:
    (study / "plan.json").write_text(text, encoding="utf-8")
    assert "plan.json is not a plan: give the output of fairbai plan --json" in complaint(
        capsys, "simulate", "plan.json", "--quiet"
    )


def test_simulate_shows_a_progress_bar(capsys: Capture, study: Path) -> None:
    assert main(["simulate", "study.toml"]) == 0
    printed = capsys.readouterr()
    assert "10/10" in printed.err
    assert "10/10" not in printed.out


def test_seed_instead_of_the_one_in_the_file(capsys: Capture, study: Path) -> None:
    found = json.loads(run(capsys, "simulate", "study.toml", "--quiet", "--json", "--seed", "4"))
    assert found[0]["stopping_time"] != simulated().summary().rows[0].stopping_time
    (study / "four.toml").write_text(STUDY.replace("seed = 3", "seed = 4"), encoding="utf-8")
    assert json.loads(run(capsys, "simulate", "four.toml", "--quiet", "--json")) == found


def test_compare_prints_the_table_of_a_folder(capsys: Capture, study: Path) -> None:
    table = run(capsys, "simulate", "study.toml", "--quiet", "--output", "kept").split("\n\n")[0]
    assert run(capsys, "compare", "kept") == f"{table}\n"
    rows = json.loads(run(capsys, "compare", "kept", "--json"))
    assert rows == json.loads(run(capsys, "simulate", "study.toml", "--quiet", "--output", "kept", "--json"))


def test_infinite_bounds_of_a_study_are_null_in_json(capsys: Capture, study: Path) -> None:
    """Tied arms: no bound, no answers, no share of wrong ones."""
    tied = STUDY.replace("[3.0, 0.0]", "[1.0, 1.0]").replace("[0.3, 0.2]", "[1e-8, 1e-9]")
    (study / "tied.toml").write_text(tied, encoding="utf-8")
    printed = run(capsys, "simulate", "tied.toml", "--quiet", "--json")
    found = json.loads(printed, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert {row["censored"] for row in found} == {5}
    assert {(row["lower_bound"], row["efficiency"], row["error_rate"]) for row in found} == {(None, None, None)}
    assert run(capsys, "compare", "tied-results").count("> 30.0 ") == 4


def test_ctrl_c(capsys: Capture, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["fairbai.simulation.sweep"], "run_chunks", interrupt)
    assert main(["simulate", "study.toml", "--quiet"]) == 130
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "fairbai: what is done is in study-results; the same command goes on from there",
        "fairbai: interrupted",
    ]


LONG = """
deltas = 1e-9
runs = 160
maximum_rounds = 30000

[instances.hard]
means = [0.02, 0.0]

[sampling]
f-tas = "fair_track_and_stop"
"""


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_real_ctrl_c_and_on(capsys: Capture, study: Path) -> None:
    """Some of the 160 runs of some 15 ms are done when the signal comes; the rest are done by the same command."""
    (study / "long.toml").write_text(LONG, encoding="utf-8")
    arguments = ["simulate", "long.toml", "--quiet"]
    script = Path(sys.executable).with_name("fairbai")
    for _ in range(5):
        code, out, err = run_and_interrupt([script, *arguments], lambda: len(list(study.rglob("*.parquet"))) >= 2)
        if code != 0:
            break
        shutil.rmtree(study / "long-results")  # on a busy machine the signal came too late: once more
    assert code == 130, err
    assert out == ""
    assert err.splitlines() == [
        "fairbai: what is done is in long-results; the same command goes on from there",
        "fairbai: interrupted",
    ]
    done = sum(len(runs) for runs in fb.Study.open(study / "long-results").results.values())
    assert 0 < done < 160
    run(capsys, *arguments)
    found = fb.Study.open(study / "long-results").runs("hard", "f-tas", "mixture")
    rule = fb.sampling.FairTrackAndStop()
    expected = fb.simulate(fb.Instance([0.02, 0.0]), 1e-9, rule, runs=160, maximum_rounds=30_000)
    assert found.number.tolist() == list(range(160))
    assert found.pulls.tolist() == expected.pulls.tolist()
    assert found.recommendation.tolist() == expected.recommendation.tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runs = 3", "study.toml must have a table [instances] with at least one entry"),
        ("runs = ", "study.toml is not a TOML file"),
        (STUDY.replace("runs = 5", "runs = 0"), "runs must be a whole number from 1 to 9007199254740992, got 0"),
        (STUDY.replace("seed = 3", "seed = -3"), "seed must be a whole number from 0 to 2**63 - 1, got -3"),
        (STUDY.replace("[0.3, 0.2]", "[0.3, 0.3]"), "deltas must be one or more different numbers, got [0.3, 0.3]"),
        (STUDY.replace("fair_top_two", "two_top"), "must be one of "),
        (STUDY.replace("floor = ", "flour = "), "constant takes floor, got 'flour'"),
        (STUDY.replace("[false, true]", "3"), "settle must be "),
    ],
)
def test_wrong_studies(capsys: Capture, study: Path, text: str, message: str) -> None:
    """One sentence, and no folder."""
    (study / "study.toml").write_text(text, encoding="utf-8")
    assert message in complaint(capsys, "simulate", "study.toml", "--quiet")
    assert not (study / "study-results").exists()


def test_study_that_is_not_there(capsys: Capture, study: Path) -> None:
    assert "missing.toml" in complaint(capsys, "simulate", "missing.toml")
    assert "missing does not hold a study" in complaint(capsys, "compare", "missing")
    assert "runs must be a whole number" in complaint(capsys, "simulate", "study.toml", "--runs", "0")


def test_folder_of_another_study(capsys: Capture, study: Path) -> None:
    run(capsys, "simulate", "study.toml", "--quiet", "--output", "kept")
    (study / "other.toml").write_text(STUDY.replace("seed = 3", "seed = 4"), encoding="utf-8")
    said = complaint(capsys, "simulate", "other.toml", "--quiet", "--output", "kept")
    assert said.startswith("output kept holds another study, or one of another version of fairbai: give another folder")


def test_study_in_the_help_runs(capsys: Capture, study: Path) -> None:
    """The file that ``fairbai simulate --help`` shows."""
    text = help_of(capsys, "simulate")
    lines = text[text.index("a study file:") :].splitlines()[1:]
    (study / "help.toml").write_text("\n".join(line.strip() for line in lines), encoding="utf-8")
    found = json.loads(run(capsys, "simulate", "help.toml", "--quiet", "--json", "--runs", "1"))
    assert {(row["instance"], row["sampling"], row["stopping"]) for row in found} == {
        ("linear", rule, threshold) for rule in ("f-tas", "top-two") for threshold in ("proved", "paper")
    }


# Rules side by side


RULES = ("compare", "--rules", "fair_top_two", "uniform_fair", "--means", "3", "0", "--variance", "1")


def test_compare_runs_rules_on_an_instance(capsys: Capture, tmp_path: Path) -> None:
    arguments = (*RULES, "--floors", "0.2", "--runs", "5", "--horizon", "300", "--seed", "2", "--quiet")
    text = run(capsys, *arguments, "--figures", str(tmp_path / "figures"))
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["fair_top_two", "uniform_fair"]
    assert lines[-1] == f"figures are in {tmp_path / 'figures'}"
    assert (tmp_path / "figures" / "frontier.png").exists()
    form = json.loads(run(capsys, *arguments, "--json"))
    assert (form["horizon"], form["refused"]) == (300, {})
    planned = fb.plan([3.0, 0.0], fb.Gaussian(1.0), 0.2)
    runs = fb.simulate(
        planned.instance, 0.05, fb.sampling.FairTopTwo(), planned.stopping, runs=5, seed=2, maximum_rounds=300
    )
    assert form["rules"][0]["regret"] == pytest.approx(runs.regret().mean[0])


def test_compare_takes_a_folder_or_rules(capsys: Capture, tmp_path: Path) -> None:
    assert "give the folder of a study, or --rules and an instance" in complaint(capsys, "compare")
    both = complaint(capsys, "compare", "folder", "--rules", "all")
    assert "give the folder of a study, or --rules and an instance" in both
    assert "--horizon belongs to --rules" in complaint(capsys, "compare", str(tmp_path), "--horizon", "5")
    for flags in (["--effects", "a=x:1"], ["--baseline", "0"], ["--interactions", "a,b"], ["--factors", "a=x,y"]):
        assert f"{flags[0]} belongs to --rules" in complaint(capsys, "compare", str(tmp_path), *flags)
    assert "means are missing" in complaint(capsys, "compare", "--rules", "all")
    assert "sampling must be one of" in complaint(capsys, "compare", "--rules", "best", *RULES[4:])
    assert "rules must be all, or kinds" in complaint(capsys, "compare", "--rules", "all", "lucb", *RULES[4:])
    assert "horizon must be a whole number from 1" in complaint(capsys, *RULES, "--horizon", "-3")
