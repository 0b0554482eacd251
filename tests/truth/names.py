"""Findings about names, numbers and messages in Python, on the command line and over HTTP."""

import contextlib
import io
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fairbai as fb
from fairbai.cli import main
from fairbai.problems.short_forms import named_floors, rates_of
from fairbai.service.http import forms
from tests.processes import run_python
from tests.truth.finding import Figure, Finding

INDEX = Path(__file__).parents[2] / "docs" / "index.md"
FORM = {"name": "test", "arms": ["a", "b"], "delta": 0.05, "family": "bernoulli"}
HELP = """
import sys
sys.modules["mobile_env"] = sys.modules["gymnasium"] = None
import pydoc, fairbai
text = pydoc.plain(pydoc.render_doc(fairbai))
print("Find the best of K options" in text and "class Identifier" in text and not hasattr(fairbai, "environments"))
"""


def _refused(work: Callable[[], Any]) -> bool:
    try:
        work()
    except ValueError:
        return True
    return False


def _printed(*arguments: str) -> str:
    """What a command prints, errors too."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), contextlib.suppress(SystemExit):
        main(arguments)
    return printed.getvalue()


def help_of_the_package() -> Figure:
    """``help(fb)`` where the extra of the wireless cell is missing."""
    shown = run_python("-c", HELP).strip() == "True"
    return Figure("the help of the package" if shown else "something else", shown)


def variances_that_nobody_gave() -> Figure:
    """Where "gaussian" without a variance is taken for variance 1."""
    means: list[float] = [1.0, 0.0]
    ways = {
        "Identifier": lambda: fb.Identifier(2, 0.05, "gaussian"),
        "Identifier, JSON form": lambda: fb.Identifier(2, 0.05, {"kind": "gaussian"}),
        "plan": lambda: fb.plan(means, "gaussian"),
        "Instance": lambda: fb.Instance(means, "gaussian"),
        "solve_batch": lambda: fb.solve_batch([means], family="gaussian"),
    }
    taken = [name for name, work in ways.items() if not _refused(work)]
    logged = fb.analyze({"arm": [0, 1] * 20, "reward": [0.5, 1.5, 1.0, 0.2] * 10}, family={"kind": "gaussian"})
    taken += [] if logged.choice.family == fb.Gaussian(variance=None) else ["analyze"]
    return Figure(", ".join(taken) or "nowhere", not taken)


def names_of_known_shares() -> Figure:
    """Whether the shares are called floors, with rates as the other name, and never both."""
    design = fb.Instance([0.5, 0.3], "bernoulli", floors=0.1)
    toml = named_floors(tomllib.loads("rates = { kind = 'gap', p0 = 0.5 }"))
    answers = [
        fb.Identifier(2, 0.05, "bernoulli", floors=0.1).rates == fb.Identifier(2, 0.05, "bernoulli", rates=0.1).rates,
        fb.plan(design.means, "bernoulli", floors=0.1).to_dict()["floors"] == design.rates.to_dict(),
        rates_of(toml["floors"]) == fb.rates.Gap(0.5),
        forms.Experiment(**FORM, floors=0.1).floors == forms.Experiment(**FORM, rates=0.1).floors == 0.1,
        _refused(lambda: fb.Instance([0.5, 0.3], "bernoulli", floors=0.1, rates=0.1)),
        _refused(lambda: forms.Experiment(**FORM, floors=0.1, rates=0.1)),
        "rates" not in _printed("solve", "--means", "1", "0", "--floors", "60%"),
    ]
    return Figure(f"{sum(answers)} of {len(answers)}", all(answers))


def percents_and_durations() -> Figure:
    """In how many places a percentage or a duration is read."""
    form = forms.Experiment(**{**FORM, "delta": "5%"}, floors={"a": "50 %"}, report_after="1d", cycle=604_800)
    planned = forms.Plan(arms=["a", "b"], means=["12%", 0.1], delta=0.05, family="bernoulli")
    found = fb.Instance(["12%", 0.1], "bernoulli", floors=["50%", 0.1])
    answers = [
        (form.delta, form.floors, form.report_after, form.cycle) == (0.05, {"a": 0.5}, 86_400.0, "1w"),
        planned.means == [0.12, 0.1],
        found.means.tolist() == [0.12, 0.1] and found.floors.tolist() == [0.5, 0.1],
        _printed("solve", "--means", "12%", "10 %", "--family", "bernoulli", "--floors", "20%")
        == _printed("solve", "--means", "0.12", "0.10", "--family", "bernoulli", "--floors", "0.2"),
        fb.Identifier(2, "5%", "bernoulli", rates={"kind": "gap", "p0": "50%"}).rates == fb.rates.Gap(0.5),
    ]
    try:
        fb.Identifier(2, 0.05, "bernoulli", report_after="1d")
    except ValueError as error:
        answers.append("number of trials" in str(error))
    return Figure(f"{sum(answers)} of 6", sum(answers) == 6)


def missing_file() -> Figure:
    """What the command says of a file that does not exist."""
    text = _printed("solve", "--file", "nowhere.toml").strip()
    return Figure(text, text == "fairbai: nowhere.toml does not exist")


def pages_in_the_index() -> Figure:
    """How often a page is in the index of the documentation."""
    titles = re.findall(r"^- \[([^]]*)\]", INDEX.read_text(encoding="utf-8"), re.MULTILINE)
    twice = sorted({title for title in titles if titles.count(title) > 1})
    return Figure(", ".join(twice) or "none", not twice)


FINDINGS: list[Finding] = [
    Finding("trial 10", "help(fb) shows the package", "only that mobile-env is missing", help_of_the_package),
    Finding("trial 11", "a variance is never guessed", "Identifier, plan, HTTP take 1", variances_that_nobody_gave),
    Finding(
        "trial 15 (names)", "known shares are floors everywhere", "rates in Python and HTTP", names_of_known_shares
    ),
    Finding(
        "trial 15 (numbers)", "percents and durations are read alike", "1d, 12%, 50% refused", percents_and_durations
    ),
    Finding("trial 21 (file)", "a missing file is named in a sentence", "[Errno 2] No such file or ...", missing_file),
    Finding("trial 21 (index)", "pages that are twice in the index", "Delays", pages_in_the_index),
]
