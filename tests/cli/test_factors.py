"""Multivariate tests on the command line: factors, effects, interactions, and floors for levels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fairbai as fb
from fairbai.problems.factor_forms import NOISE
from tests.cli.commands import Capture, complaint, report, run

FACTORS = "--factors headline=old,new,bold --factors button=buy,try"
EFFECTS = "--effects headline=old:-0.1,new:0.25 button=try:0.2 --baseline 0.4"
TEST = f"{FACTORS} {EFFECTS} --variance 0.25"
DESIGN = fb.factorial({"headline": ["old", "new", "bold"], "button": ["buy", "try"]}, variance=0.25)
MEANS = DESIGN.means({"headline": {"old": -0.1, "new": 0.25}, "button": {"try": 0.2}}, 0.4)
WIDE = fb.factorial(DESIGN.factors, [("headline", "button")], 0.25)

SAME = [
    ("", DESIGN, {}),
    ("--floors headline=0.2", DESIGN, {"headline": 0.2}),
    ("--floors headline=0.2 --floors button=try:0.6", DESIGN, {"headline": 0.2, "button": {"try": 0.6}}),
    ("--floors button=try:0.4,buy:0.5", DESIGN, {"button": {"try": 0.4, "buy": 0.5}}),
    ("--floors button=try:0.4 button=buy:0.5", DESIGN, {"button": {"try": 0.4, "buy": 0.5}}),
    ("--floors 0.05", DESIGN, 0.05),
    ("--floors 0.1 --floors 0.05", DESIGN, 0.05),
    ("--floors headline=0.2 --floors 0.05", DESIGN, 0.05),
    ("--interactions headline,button", WIDE, {}),
    ("--ceilings button=0.6", DESIGN, {"kind": "bounded", "ceiling": {"button": 0.6}}),
    (
        "--floors headline=0.2 --ceilings headline=new:0.3 button=0.6",
        *(
            DESIGN,
            {"kind": "bounded", "floor": {"headline": 0.2}, "ceiling": {"headline": {"new": 0.3}, "button": 0.6}},
        ),
    ),
    ("--floors 0.05 --ceilings 0.3", DESIGN, fb.rates.Bounded(0.05, 0.3)),
]


@pytest.mark.parametrize("command", ["solve", "plan"])
@pytest.mark.parametrize(("flags", "design", "rates"), SAME, ids=[flags for flags, *_ in SAME])
def test_flags_are_the_design_that_they_stand_for(
    capsys: Capture, command: str, flags: str, design: fb.Factorial, rates: Any
) -> None:
    found = report(capsys, command, *TEST.split(), *flags.split())
    expected = fb.plan(MEANS, design, rates or None).to_dict()
    same = ("family", "floors", "arms", "levels", "best_arm", "lower_bound")
    if command == "plan":
        assert found == expected
    else:
        assert [{**arm, "expected_trials": 0.0} for arm in found["arms"]] == [
            {**arm, "expected_trials": 0.0} for arm in expected["arms"]
        ]
        assert {name: found[name] for name in same if name != "arms"} == {
            name: expected[name] for name in same if name != "arms"
        }


def test_floors_by_combination_and_means_instead_of_effects(capsys: Capture) -> None:
    means = [str(mean) for mean in MEANS.tolist()]
    flags = [*FACTORS.split(), "--variance", "0.25", "--means", *means, "--floors", "old / buy=0.3"]
    found = report(capsys, "plan", *flags)
    assert [arm["floor"] for arm in found["arms"]] == [0.3, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert [arm["mean"] for arm in found["arms"]] == MEANS.tolist()


def test_effects_of_an_interaction(capsys: Capture) -> None:
    more = ["--interactions", "headline,button", "--effects", "headline × button=new / try:-0.5"]
    found = report(capsys, "plan", *TEST.split(), *more)
    means = {arm["arm"]: arm["mean"] for arm in found["arms"]}
    assert means["new / try"] == pytest.approx(0.35)
    assert means["new / buy"] == pytest.approx(0.65)


def test_levels_are_shown_with_their_floors_and_shares(capsys: Capture) -> None:
    rows = [line.split() for line in run(capsys, "plan", *TEST.split(), "--floors", "button=try:0.6").splitlines()]
    assert ["factor", "level", "floor", "share", "trials"] in rows
    assert [row[:4] for row in rows if row[:2] == ["button", "try"]] == [["button", "try", "60.00%", "60.00%"]]
    rows = [line.split() for line in run(capsys, "solve", *TEST.split(), "--floors", "button=try:0.6").splitlines()]
    assert ["button", "try", "0.6000", "0.6000"] in rows


def test_floors_of_combinations_are_floors_of_their_levels(capsys: Capture) -> None:
    found = report(capsys, "plan", *TEST.split(), "--floors", "0.1")
    assert [one["floor"] for one in found["levels"]] == pytest.approx([0.2, 0.2, 0.2, 0.3, 0.3])


def test_groups_that_are_no_levels_are_printed_after_the_levels(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "page.toml"
    file.write_text(
        'rates = { kind = "overlapping", groups = [{ arms = [1, 0], floor = 0.3 }, { arms = [0, 5], floor = 0.4 }] }\n'
    )
    found = run(capsys, "solve", *TEST.split(), "--file", str(file))
    assert ["headline", "old", "0.3000"] in [line.split()[:3] for line in found.splitlines()]
    assert "arms old / buy, bold / try together: 0." in found
    assert found.count(" together: ") == 1


def test_a_file_with_factors_and_flags_that_go_before_it(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "page.toml"
    file.write_text(
        'factors = { headline = ["old", "new", "bold"], button = ["buy", "try"] }\n'
        "effects = { headline = { old = -0.1, new = 0.25 }, button = { try = 0.2 } }\nbaseline = 0.4\n"
        'family = { kind = "gaussian", variance = 0.25 }\nrates = { headline = 0.2 }\n'
    )
    assert report(capsys, "plan", "--file", str(file)) == fb.plan(MEANS, DESIGN, {"headline": 0.2}).to_dict()
    changed = report(capsys, "plan", "--file", str(file), "--floors", "button=0.3", "--variance", "1")
    design = fb.factorial(DESIGN.factors)
    assert changed == fb.plan(MEANS, design, {"button": 0.3}).to_dict()


def test_a_planned_test_can_be_simulated_and_compared(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ["--effects", "headline=new:2", "button=try:2", "--variance", "0.25", "--floors", "headline=0.3"]
    Path("plan.json").write_text(run(capsys, "plan", *FACTORS.split(), *flags, "--json"))
    cells = json.loads(run(capsys, "simulate", "plan.json", "--runs", "4", "--json", "--quiet"))
    assert [cell["sampling"] for cell in cells] == ["fair_track_and_stop"]
    assert cells[0]["runs"] == 4
    rules = ["--rules", "uniform_fair", "--runs", "4", "--horizon", "100"]
    found = json.loads(run(capsys, "compare", *rules, *FACTORS.split(), *flags, "--json", "--quiet"))
    assert [rule["rule"] for rule in found["rules"]] == ["uniform_fair"]


def test_a_study_with_factors(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(
        'runs = 2\n[instances.page]\nfactors = { headline = ["old", "new"], button = ["buy", "try"] }\n'
        "effects = { headline = { new = 3.0 }, button = { try = 3.0 } }\n"
        '[sampling]\nuniform = "uniform_fair"\n[stopping]\nproved = "linear_mixture"\n'
    )
    assert json.loads(run(capsys, "simulate", "study.toml", "--json", "--quiet"))[0]["runs"] == 2


WRONG = [
    (f"{FACTORS} --variance 1", "means are missing: give --means"),
    (f"{FACTORS} {EFFECTS} --family bernoulli", NOISE),
    (f"{TEST} --arms a b", "arms follow from factors: give one of them"),
    (f"{TEST} --means 1 2 3 4 5 6", "means follow from effects: give one of them"),
    (
        "--factors headline --effects headline=a:1 --variance 1",
        "factors must be such as headline=old,new, got 'headline'",
    ),
    ("--factors a=x,y --factors a=z,u --effects a=x:1 --variance 1", "every factor and level once, got 'a=z,u' again"),
    ("--factors a=x --effects a=x:1 --variance 1", "factor 'a' must have a list of at least two levels, got ['x']"),
    ("--factors a=x,x --effects a=x:1 --variance 1", "levels of factor 'a' must be different, got ['x', 'x']"),
    (f"{FACTORS} --effects headline=0.1 --variance 1", "effects must be such as headline=old:0,new:0.05, got"),
    (f"{FACTORS} --effects headline=old:much --variance 1", "got 'headline=old:much'"),
    (f"{FACTORS} --effects headline=old:nan --variance 1", "effect of headline 'old' must be a finite number, got nan"),
    (f"{FACTORS} --effects footer=old:1 --variance 1", "effects must be of 'headline' and 'button', got 'footer'"),
    (f"{FACTORS} --effects button=go:1 --variance 1", "effects of button must be of 'buy' and 'try', got 'go'"),
    (
        f"{TEST} --floors footer=0.1",
        "floors must be by factor ('headline' and 'button'), or all by combination such as",
    ),
    (f"{TEST} --floors button=go:0.1", "level of button must be one of 'buy' and 'try', got 'go'"),
    (f"{TEST} --floors button=0.2 0.1", "floors must be such as headline=0.2 or button=try:0.4, got '0.1'"),
    (f"{TEST} --floors headline=0.2 footer=0.1", "or all by combination such as 'old / buy', got 'footer'"),
    (
        f"{TEST} --ceilings headline=0.3",
        "headline 'old' at most 30 %, headline 'new' at most 30 % and headline 'bold' at most 30 % cannot all be kept",
    ),
    (f"{TEST} --group 0,1:0.5", "a multivariate test has --floors and --ceilings, such as 0.02, headline=0.2"),
    (f"{TEST} --rates softmax --p0 0.5", "not --rates"),
    (
        f"{FACTORS} --means 1 2 3 7 4 5 --variance 1",
        ": add an interaction, such as that of 'headline' and 'button'",
    ),
    (f"{FACTORS} --effects headline=old:1e308 --baseline 1e308 --variance 1", "means must"),
    (f"{TEST} --floors headline=0.4", "headline 'bold' at least 40 % would take 120 % of the trials"),
    (
        f"{TEST} --interactions headline,footer",
        "interactions must be pairs of the factors 'headline' and 'button', got",
    ),
    ("--means 1 0 --effects a=x:1 --variance 1", "means follow from effects"),
    ("--effects a=x:1 --variance 1", "effects need factors, whose levels they are of"),
    ("--means 1 0 --baseline 1 --variance 1", "baseline belongs to effects, which are missing"),
    ("--means 1 0 --interactions a,b --variance 1", "interactions need factors"),
]


@pytest.mark.parametrize("command", ["solve", "plan"])
@pytest.mark.parametrize(("flags", "message"), WRONG, ids=[flags for flags, _ in WRONG])
def test_wrong_factors(capsys: Capture, command: str, flags: str, message: str) -> None:
    assert message in complaint(capsys, command, *flags.split())


def test_wrong_floors_of_combinations(capsys: Capture) -> None:
    wrong = complaint(capsys, "plan", *TEST.split(), "--floors", "old / buy=a:0.1")
    assert wrong == "floor of 'old / buy' must be a number, got {'a': 0.1}"
    wrong = complaint(capsys, "plan", *TEST.split(), "--floors", "headline=0.2", "old / buy=0.1")
    assert wrong.endswith("or all by combination such as 'old / buy', not both, got 'headline' and 'old / buy'")


WRONG_FILES = [
    ("effects = { a = { x = 1.0 } }", "effects need factors, whose levels they are of"),
    (
        'factors = { a = ["x", "y"] }\nfamily = { kind = "gaussian", variance = 1.0, guess = 2.0 }',
        "with factors, family takes kind and variance, got 'guess'",
    ),
    (
        'factors = { a = ["x", "y"] }\nfamily = { kind = "factorial", variance = 1.0, factors = { b = [1, 2] } }',
        "factors must be given once: beside the family, or in a factorial family",
    ),
    (
        'factors = { a = ["x", "y"] }\nfamily = { kind = "factorial", variance = 1.0, interactions = [] }',
        "interactions must be given once: beside the family, or in a factorial family",
    ),
    ('factors = { a = ["x", "y"] }\nfamily = { kind = "gaussian", variance = true }', NOISE),
    (
        'factors = { a = ["x", "y"] }\nfamily = { kind = "gaussian", variance = 1.0 }\nrates = { a = {} }',
        "floors of a must name a level, got {}",
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG_FILES, ids=[message for _, message in WRONG_FILES])
def test_wrong_files(capsys: Capture, tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "page.toml"
    file.write_text(text if text.startswith("effects") else f"means = [1.0, 0.0]\n{text}\n")
    assert complaint(capsys, "plan", "--file", str(file)) == message


def test_a_plan_needs_the_variance_of_a_reward(capsys: Capture) -> None:
    assert complaint(capsys, "plan", *FACTORS.split(), *EFFECTS.split()) == NOISE
    wrong = complaint(capsys, "plan", "--from", "log.csv", *FACTORS.split())
    assert wrong == "--factors and --from cannot be given together: the log has the arms and their means"
