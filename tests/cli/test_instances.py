"""``fairbai solve`` and ``plan``: the library's numbers, from flags and files, and one sentence for wrong input."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fairbai as fb
from examples.mismatched_log import write
from fairbai.cli.questions import KEYS
from fairbai.planning.expected import Forecast
from fairbai.problems.short_forms import FAMILY_MISSING
from tests.cli.commands import Capture, complaint, help_of, report, run


@pytest.fixture
def toml(tmp_path: Path) -> Callable[[str], str]:
    """Write a file and return its name."""

    def write(text: str) -> str:
        path = tmp_path / "question.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def agrees(found: dict[str, Any], instance: fb.Instance, delta: float) -> None:
    best, price = fb.solve(instance), fb.price_of_fairness(instance)
    assert found["family"] == instance.family.to_dict()
    assert found["floors"] == instance.rates.to_dict()
    assert found["delta"] == delta
    assert found["best_arm"] == best.best_arm
    assert found["characteristic_time"] == best.characteristic_time == price.fair
    assert found["unconstrained_time"] == price.unconstrained
    assert found["price_of_fairness"] == price.ratio
    assert found["price_upper_bound"] == price.upper_bound
    assert found["duality_gap"] == best.duality_gap
    assert found["lower_bound"] == fb.lower_bound(instance, delta)
    arms = found["arms"]
    assert [arm["arm"] for arm in arms] == list(range(instance.means.size))
    assert [arm["mean"] for arm in arms] == instance.means.tolist()
    assert [arm["floor"] for arm in arms] == instance.floors.tolist()
    assert [arm["weight"] for arm in arms] == best.weights.tolist()
    assert [arm["at_floor"] for arm in arms] == best.at_floor.tolist()
    assert [arm["ceiling"] for arm in arms] == best.ceilings.tolist()
    assert [arm["at_ceiling"] for arm in arms] == best.at_ceiling.tolist()
    free = fb.solve(fb.Instance(instance.means, instance.family))
    assert [arm["weight_without_floors"] for arm in arms] == free.weights.tolist()


def family_for(command: str, flags: str) -> list[str]:
    """What ``plan`` needs beside these flags, which do not name a family."""
    return ["--variance", "1"] if command == "plan" and not ("--family" in flags or "--variance" in flags) else []


FLAGS = [
    ("--means 1 0.5 0", fb.Instance([1.0, 0.5, 0.0]), 0.05),
    ("--means 1 -0.5 -1e-3", fb.Instance([1.0, -0.5, -0.001]), 0.05),
    ("--means 1 0.5 0 --floors 0.1", fb.Instance([1.0, 0.5, 0.0], rates=fb.rates.Constant(0.1)), 0.05),
    ("--means 1 0.5 --floors 0.7 0.2", fb.Instance([1.0, 0.5], rates=fb.rates.Constant([0.7, 0.2])), 0.05),
    ("--means 1 0.5 --variance 2 --delta 0.01", fb.Instance([1.0, 0.5], fb.Gaussian(2.0)), 0.01),
    ("--means 1 0 --variance unknown --guess 4", fb.Instance([1.0, 0.0], fb.Gaussian(None, guess=4.0)), 0.05),
    ("--means 1 0 --variance unknown --guess 4 1", fb.Instance([1.0, 0.0], fb.Gaussian(None, guess=[4.0, 1.0])), 0.05),
    ("--means 1 0.5 --variance 2 3 --family gaussian", fb.Instance([1.0, 0.5], fb.Gaussian([2.0, 3.0])), 0.05),
    ("--means 0.3 0.2 --family bernoulli", fb.Instance([0.3, 0.2], fb.Bernoulli()), 0.05),
    ("--means 0.3 0.2 --family poisson", fb.Instance([0.3, 0.2], fb.Poisson()), 0.05),
    ("--means 0.3 0.2 --family exponential", fb.Instance([0.3, 0.2], fb.Exponential()), 0.05),
    ("--means 3 1 2 --rates inverse_gap --p0 0.7", fb.Instance([3.0, 1.0, 2.0], rates=fb.rates.InverseGap(0.7)), 0.05),
    ("--means 3 1 2 --rates gap --p0 0.7", fb.Instance([3.0, 1.0, 2.0], rates=fb.rates.Gap(0.7)), 0.05),
    ("--means 3 1 --rates proportional --p0 1", fb.Instance([3.0, 1.0], rates=fb.rates.Proportional(1.0)), 0.05),
    (
        "--means 3 1 --rates softmax --p0 0.7 --temperature 2",
        fb.Instance([3.0, 1.0], rates=fb.rates.Softmax(0.7, 2.0)),
        0.05,
    ),
    ("--means 3 1 2 --ceilings 0.4", fb.Instance([3.0, 1.0, 2.0], rates=fb.rates.Bounded(ceiling=0.4)), 0.05),
    (
        "--means 3 1 2 --floors 0.1 0 0 --ceilings 0.5 0.9 0.9 --group 0,1:0.6 --group 2:0.3",
        fb.Instance(
            [3.0, 1.0, 2.0],
            rates=fb.rates.Bounded(
                [0.1, 0.0, 0.0], [0.5, 0.9, 0.9], [fb.rates.Group([0, 1], 0.6), fb.rates.Group([2], 0.3)]
            ),
        ),
        0.05,
    ),
]


@pytest.mark.parametrize("command", ["solve", "plan"])
@pytest.mark.parametrize(("flags", "instance", "delta"), FLAGS, ids=[flags for flags, *_ in FLAGS])
def test_json_has_the_numbers_of_the_library(
    capsys: Capture, command: str, flags: str, instance: fb.Instance, delta: float
) -> None:
    found = report(capsys, command, *flags.split(), *family_for(command, flags))
    agrees(found, instance, delta)
    if command == "solve":
        forecast = Forecast(instance, fb.stopping.Heuristic(), delta)
        assert found["expected_trials"] == forecast.trials(found["characteristic_time"])
        assert found["expected_trials_without_floors"] == forecast.trials(found["unconstrained_time"])
    else:
        assert found == fb.plan(instance, delta=delta).to_dict()


FILE = """
means = [0.5, 0.3, 0.1]
family = { kind = "gaussian", variance = [1.0, 2.0, 3.0] }
rates = { kind = "softmax", p0 = 0.6, temperature = 0.5 }
delta = 0.1
"""


def test_question_from_a_file(capsys: Capture, toml: Callable[[str], str]) -> None:
    instance = fb.Instance([0.5, 0.3, 0.1], fb.Gaussian([1.0, 2.0, 3.0]), fb.rates.Softmax(0.6, 0.5))
    agrees(report(capsys, "solve", "--file", toml(FILE)), instance, 0.1)


def test_a_factorial_design_from_a_file(capsys: Capture, toml: Callable[[str], str]) -> None:
    family = 'family = { kind = "factorial", variance = 1.0, factors = { h = ["a", "b"], b = ["x", "y"] } }'
    name = toml(f"means = [1.3, 1.1, 0.9, 0.7]\nrates = {{ h = 0.3 }}\n{family}")
    design = fb.factorial({"h": ["a", "b"], "b": ["x", "y"]})
    found = report(capsys, "solve", "--file", name)
    assert found["floors"] == design.rates({"h": 0.3}).to_dict()
    assert [arm["arm"] for arm in found["arms"]] == list(design.arms)


def test_file_may_name_a_family_and_leave_out_the_rest(capsys: Capture, toml: Callable[[str], str]) -> None:
    name = toml('means = [0.5, 0.3]\nfamily = "bernoulli"')
    agrees(report(capsys, "solve", "--file", name), fb.Instance([0.5, 0.3], fb.Bernoulli()), 0.05)


@pytest.mark.parametrize(
    ("flags", "change"),
    [
        ("--means 0.9 0.5 0.1", {"means": [0.9, 0.5, 0.1]}),
        ("--family bernoulli", {"family": fb.Bernoulli()}),
        ("--variance 4", {"family": fb.Gaussian(4.0)}),
        ("--floors 0.2", {"rates": fb.rates.Constant(0.2)}),
        ("--floors 0.2 0.1 0", {"rates": fb.rates.Constant([0.2, 0.1, 0.0])}),
        ("--rates gap --p0 0.5", {"rates": fb.rates.Gap(0.5)}),
        ("--delta 0.3", {}),
    ],
)
def test_flags_go_before_the_file(
    capsys: Capture, toml: Callable[[str], str], flags: str, change: dict[str, Any]
) -> None:
    parts = {
        "means": [0.5, 0.3, 0.1],
        "family": fb.Gaussian([1.0, 2.0, 3.0]),
        "rates": fb.rates.Softmax(0.6, 0.5),
        **change,
    }
    found = report(capsys, "solve", "--file", toml(FILE), *flags.split())
    agrees(found, fb.Instance(**parts), 0.3 if "delta" in flags else 0.1)


def test_solve_prints_a_readable_table(capsys: Capture) -> None:
    lines = run(capsys, "solve", "--means", "1", "0", "0", "--floors", "0", "0", "0.3").splitlines()
    assert lines[0] == "best arm 0 of 3 gaussian arms"
    rows = [line.split() for line in lines]
    assert ["0", "1", "0.0000", "0.4142", "0.4000"] in rows
    assert ["2", "0", "0.3000", "0.2929", "0.3000", "at", "its", "floor"] in rows
    assert any(row[:2] == ["T*", "11.6569"] for row in rows)
    assert any(row[:2] == ["T*_p", "11.6667"] for row in rows)
    assert any(line.startswith("price of fairness") and "1.0008" in line for line in lines)
    assert any(line.startswith("duality gap") for line in lines)


def test_solve_prints_ceilings_and_groups(capsys: Capture) -> None:
    flags = "--means 1 0.8 0.5 0 --ceilings 0.3 --group 2,3:0.5"
    lines = run(capsys, "solve", *flags.split()).splitlines()
    rows = [line.split() for line in lines]
    assert rows[2] == ["arm", "mean", "floor", "p", "ceiling", "w*", "w*_p"]
    assert any(row[:4] == ["0", "1", "0.0000", "0.3000"] for row in rows)
    assert "arms 2, 3 together: 0.5000, floor 0.5000" in lines
    lines = run(capsys, "solve", *["--means", "1", "0.8", "0.5", "0", "--group", "0,1:0.2..0.4"]).splitlines()
    assert "arms 0, 1 together: 0.4000, floor 0.2000, ceiling 0.4000" in lines


def test_plan_says_what_limits_imply(capsys: Capture) -> None:
    flags = "--means 0.1 0.12 0.11 --family bernoulli --arms control a b --floors control=0.3 --group a,b:..0.5"
    text = run(capsys, "plan", *flags.split())
    assert "\nThese limits imply more than they say:\n- 'control' has a floor of 30 %, but as " in text


def test_plan_tells_trials_and_days(capsys: Capture) -> None:
    arguments = ["plan", "--means", "0.12", "0.10", "--family", "bernoulli", "--floors", "0.7", "0.1"]
    found = report(capsys, *arguments, "--per-day", "500")
    trials, days = found["trials"], found["days"]
    assert days == {name: value / 500 for name, value in trials.items()}
    text = run(capsys, *arguments, "--per-day", "500")
    about = f"About {math.ceil(trials['expected']):,} trials ({days['expected']:.1f} days)"
    assert trials["expected"] == min(trials["proved"], trials["drift_proof"])
    assert f"{about} find the best arm with 95 % confidence,\nwhich is proved" in text
    first, other = ("Mixture", "DesignBased") if found["stop"] == "proved" else ("DesignBased", "Mixture")
    assert f"stopping rule fb.stopping.{first}(" in text
    assert re.search(rf"^{other}, proved [a-z ]+, would take about [\d,]+ \([\d.]+ days\)\.$", text, re.MULTILINE)
    assert f"not proved, would take about {math.ceil(trials['heuristic']):,}" in text
    assert f"Without floors it would be {math.ceil(trials['without_floors']):,}" in text
    assert "70.00%" in text
    assert "days" not in run(capsys, *arguments)


def test_plan_takes_labels_and_prints_what_python_prints(capsys: Capture) -> None:
    arguments = ["plan", "--means", "0.12", "0.10", "--family", "bernoulli", "--arms", "new", "old"]
    found = fb.plan([0.12, 0.10], "bernoulli", arms=["new", "old"])
    assert run(capsys, *arguments) == f"{found}\n"
    assert [arm["arm"] for arm in report(capsys, *arguments)["arms"]] == ["new", "old"]
    wrong = complaint(capsys, "plan", "--means", "1", "0", "--variance", "1", "--arms", "new", "old", "other")
    assert wrong == "arms must be as many as means (2), got 3"


def test_infinite_times_are_told_and_are_null_in_json(capsys: Capture) -> None:
    arguments = ["--means", "1", "0", "--floors", "1", "0"]
    printed = run(capsys, "solve", *arguments, "--json")
    found = json.loads(printed, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert found["characteristic_time"] is None
    assert found["expected_trials"] is None
    assert found["unconstrained_time"] == pytest.approx(8.0)
    assert "infinitely many" in run(capsys, "solve", *arguments)


def test_plan_needs_a_share_for_every_arm(capsys: Capture) -> None:
    wrong = complaint(capsys, "plan", "--means", "1", "0", "--variance", "1", "--floors", "1", "0")
    assert "floors must leave a share for every arm: nothing is left for 1" in wrong


@pytest.mark.parametrize("command", ["solve", "plan"])
def test_examples_in_the_help_run(
    capsys: Capture, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("log.csv"), visitors=500)
    text = help_of(capsys, command)
    examples = [line.split(" >")[0].strip() for line in text.splitlines() if line.startswith("  fairbai ")]
    assert len(examples) >= 2
    for example in examples:
        name, *arguments = shlex.split(example)
        assert (name, arguments[0]) == ("fairbai", command)
        assert run(capsys, *arguments)


@pytest.mark.parametrize("command", ["solve", "plan"])
def test_file_in_the_help_runs(capsys: Capture, toml: Callable[[str], str], command: str) -> None:
    text = help_of(capsys, command)
    named = set()
    for part in text.split("\na file for ")[1:]:
        keys = [line.strip() for line in part.splitlines() if line.startswith("  ") and " = " in line]
        named |= {key.split(" = ")[0] for key in keys}
        assert run(capsys, command, "--file", toml("\n".join(keys)))
    assert named | {"rates"} == set(KEYS)  # the other name of floors


# Short forms


SHORT = [
    ("--floors a=0.2 c=0.1", "floors = { a = 0.2, c = 0.1 }", fb.rates.Constant([0.2, 0.0, 0.1])),
    ("--floors 0.1", "floors = 0.1", fb.rates.Constant(0.1)),
    ("--floors 10%", "floors = '10 %'", fb.rates.Constant(0.1)),
    ("--floors a=20% c=10%", "floors = { a = '20%', c = 0.1 }", fb.rates.Constant([0.2, 0.0, 0.1])),
    (
        "--floors 10% --ceilings c=50%",
        "rates = { kind = 'bounded', floor = '10%', ceiling.c = '50%' }",
        fb.rates.Bounded(0.1, [1.0, 1.0, 0.5]),
    ),
    ("--floors 0.1 0.2 0.3", "floors = [0.1, 0.2, 0.3]", fb.rates.Constant([0.1, 0.2, 0.3])),
    ("--rates gap --p0 0.5", "rates = { kind = 'gap', p0 = 0.5 }", fb.rates.Gap(0.5)),
    (
        "--floors a=0.2 --ceilings c=0.4 --group b,c:0.5",
        "rates = { kind = 'bounded', floor.a = 0.2, ceiling.c = 0.4, groups = [{ arms = ['b', 'c'], floor = 0.5 }] }",
        fb.rates.Bounded([0.2, 0.0, 0.0], [1.0, 1.0, 0.4], [fb.rates.Group([1, 2], 0.5)]),
    ),
    (
        "--group a,2:0.5",
        "rates = { kind = 'bounded', groups = [{ arms = ['a', 2], floor = 0.5 }] }",
        fb.rates.Bounded(groups=[fb.rates.Group([0, 2], 0.5)]),
    ),
    (
        "--group a:0.1..0.4 --group b,2:..0.7",
        "rates = { kind = 'bounded', groups = [{ arms = [0], floor = 0.1, ceiling = 0.4 }, "
        "{ arms = ['b', 'c'], ceiling = 0.7 }] }",
        fb.rates.Bounded(groups=[fb.rates.Group([0], 0.1, 0.4), fb.rates.Group([1, 2], ceiling=0.7)]),
    ),
]


@pytest.mark.parametrize("command", ["solve", "plan"])
@pytest.mark.parametrize(("flags", "line", "rates"), SHORT, ids=[flags for flags, *_ in SHORT])
def test_shares_by_label_are_the_rates_that_they_stand_for(
    capsys: Capture, toml: Callable[[str], str], command: str, flags: str, line: str, rates: fb.rates.Rate
) -> None:
    question = "--means 0.3 0.2 0.1 --family bernoulli --arms a b c"
    assert report(capsys, command, *question.split(), *flags.split())["floors"] == rates.to_dict()
    name = toml(f"means = [0.3, 0.2, 0.1]\narms = ['a', 'b', 'c']\nfamily = 'bernoulli'\n{line}")
    found = report(capsys, command, "--file", name)
    assert found["floors"] == rates.to_dict()
    assert [arm["arm"] for arm in found["arms"]] == ["a", "b", "c"]


def test_solve_prints_labels(capsys: Capture) -> None:
    text = run(capsys, "solve", *["--means", "1", "0.8", "0.5", "--arms", "x", "y", "z", "--group", "y,z:0.9"])
    assert text.startswith("best arm x of 3 gaussian arms")
    assert "arms y, z together: 0.9000, floor 0.9000" in text


# Wrong input


def test_plan_needs_a_family(capsys: Capture) -> None:
    assert complaint(capsys, "plan", "--means", "1", "0") == FAMILY_MISSING
    assert run(capsys, "solve", "--means", "1", "0")  # the paper's problem


@pytest.mark.parametrize("command", ["solve", "plan"])
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("", "means are missing: give --means or a file with means"),
        ("--means 1", "means must hold at least two arms, got 1"),
        ("--means 1 nan", "means must be finite, got nan for arm 1"),
        ("--means 1 1 0", "means must have a single best arm"),
        ("--means 1 2 --family bernoulli", "means must be in (0, 1) for bernoulli arms, got 1.0 for arm 0"),
        (
            "--means 1 2 --family cauchy",
            "family must be one of bernoulli, bounded, exponential, factorial, gaussian, linear, poisson, got 'cauchy'",
        ),
        ("--means 1 2 --family poisson --variance 2", "poisson takes no parameters, got 'variance'"),
        ("--means 1 2 --family gaussian", "--family gaussian needs --variance: a number, one per arm, or unknown with"),
        ("--means 1 2 --variance unknown", "guess must be given to plan, solve or simulate with unknown variances"),
        ("--means 1 2 --variance 1 unknown", "variance must be one number, one per arm, or unknown, got '1 unknown'"),
        ("--means 1 2 --variance 1 --guess 1", "guess is for unknown variances (variance=None), got variance 1.0"),
        ("--means 1 2 --family bernoulli --guess 1", "--guess is for unknown variances: give --variance unknown"),
        ("--means 1 2 --variance 0", "variance must be positive, got 0.0 for arm 0"),
        ("--means 1 2 --variance 1 2 3", "variance must have one entry per arm (2), got 3"),
        (
            "--means 1 2 --floors 0.6",
            "2 floors of 60 % add up to 120 %; at most 50 % each is possible",
        ),
        ("--means 1 2 --floors -0.1 0.2", "floors must not be negative, got -0.1 for arm 0"),
        ("--means 1 2 --floors 0.1 0.1 0.1", "floors must have one entry per arm (2), got 3"),
        (
            "--means 1 2 --floors 0.1 --rates gap --p0 0.5",
            "give --rates, or --floors, --ceilings and --group, not both",
        ),
        ("--means 1 2 --ceilings 0.9 --rates gap --p0 0.5", "give --rates, or --floors, --ceilings and --group"),
        ("--means 1 2 --ceilings 0.4", "2 ceilings of 40 % add up to 80 %: that leaves 20 % of the trials for nobody"),
        ("--means 1 2 --group 0,1", "group must be arms and a share such as 2,3:0.5 or 2,3:0.5..0.6, got '0,1'"),
        ("--means 1 2 --group 0:..", "group must be arms and a share such as 2,3:0.5 or 2,3:0.5..0.6, got '0:..'"),
        ("--means 1 2 --group 0:0.5..0.4", "the group 0 has a floor of 50 % but a ceiling of 40 %"),
        (
            "--means 1 2 3 --arms old a b --ceilings old=0.3 --group a,b:..0.5",
            "all arms but 'old' may have at most 50 % together and 'old' at most 30 %: "
            "that leaves 20 % of the trials for nobody",
        ),
        ("--means 1 2 --group 0,2:0.5", "groups must hold arms below 2, got arm 2"),
        ("--means 1 2 --arms a b --group a,c:0.5", "a group must hold arms of 'a', 'b', got 'c'"),
        ("--means 1 2 --arms a b --floors c=0.5", "a floor must be for an arm of 'a', 'b', got 'c'"),
        ("--means 1 2 --arms a b --floors a=0.5 0.2", "floors must be numbers, or all by label such as new=0.3, got"),
        ("--means 1 2 --rates gap", "gap needs p0, got none"),
        ("--means 1 2 --rates gap --p0 2", "p0 must be in [0, 1], got 2.0"),
        ("--means 1 2 --rates gap --p0 0.5 --temperature 2", "gap takes p0, got 'temperature'"),
        ("--means 1 2 --rates linear --p0 0.5", "floors must be one of bounded, constant, "),
        ("--means 3 4 --low 0 --high 9 --family poisson", "--low and --high are for bounded rewards, got the family"),
        ("--means 3 4 --low 0 --high 9 --variance unknown", "--low and --high need no unknown variance"),
        ("--means 3 14 --low 0 --high 9", "means must be "),
        ("--means 1 2 --p0 0.5", "--p0 and --temperature belong to --rates, which is missing"),
        ("--means 1 2 --floors 0.1 --p0 0.5", "--p0 and --temperature belong to --rates"),
        ("--means 1 2 --delta 0.5", "delta must be in (0, 1/2), got 0.5"),
        ("--means 1 2 --delta 0", "delta must be in (0, 1/2), got 0.0"),
        ("--file nowhere.toml", "nowhere.toml"),
    ],
)
def test_wrong_flags(capsys: Capture, command: str, flags: str, message: str) -> None:
    assert message in complaint(capsys, command, *flags.split(), *family_for(command, flags))


@pytest.mark.parametrize("rate", ["0", "-5", "nan", "inf"])
def test_trials_a_day_must_be_positive(capsys: Capture, rate: str) -> None:
    assert "per-day must be positive, got " in complaint(capsys, "plan", "--means", "1", "0", "--per-day", rate)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("means = [1.0, 0.0", "question.toml"),
        (
            "floor = 3",
            "question.toml may have the keys arms, means, family, floors, rates, delta, tolerance, goal, control, "
            "factors, interactions, effects, baseline, got 'floor'",
        ),
        ("means = [1, 0]\narms = 3", "arms must be as many as means (2), got 3"),
        ("means = [1, 0]\narms = ['a', 'b']\nrates = { c = 0.1 }", "must be for an arm of 'a', 'b', got 'c'"),
        ("delta = 0.1", "means are missing: give --means or a file with means"),
        ("means = 'many'", "means must be numbers, got 'many'"),
        ("means = [1, 0]\ndelta = 'small'", "delta must be in (0, 1/2), got 'small'"),
        ("means = [1, 0]\nrates = { kind = 'linear' }", "must be one of "),
        ("means = [1, 0]\nrates = 0.6", "2 floors of 60 % add up to 120 %"),
        ("means = [1, 0]\nrates = [0.1, 0.2, 0.1]", "floors must have one entry per arm (2), got 3"),
        ("means = [1, 0]\nrates = { a = 0.1 }", "must be for an arm of 0, 1, got 'a'"),
        ("means = [1, 0]\nfamily = 3", "3"),
        ("means = [1, 0]\nfamily = { variance = 3 }", "must be one of "),
    ],
)
def test_wrong_files(capsys: Capture, toml: Callable[[str], str], text: str, message: str) -> None:
    assert message in complaint(capsys, "solve", "--file", toml(text))


def test_file_that_is_no_text(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "picture.toml").write_bytes(b"\xff\xfe\x00")
    assert complaint(capsys, "solve", "--file", str(tmp_path / "picture.toml"))


def test_variance_flag_does_not_change_the_family_of_the_file(capsys: Capture, toml: Callable[[str], str]) -> None:
    name = toml('means = [0.5, 0.3]\nfamily = "bernoulli"')
    assert "bernoulli takes no parameters" in complaint(capsys, "solve", "--file", name, "--variance", "2")
