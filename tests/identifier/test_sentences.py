"""What a status means, in one sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.identifier.sentences import percent
from fairbai.problems.question import Question


def status(**changes: Any) -> fb.Status:
    """Of an experiment in which B leads, with some fields changed."""
    ident = fb.Identifier(["A", "B", "C"], 0.05, "bernoulli")
    ident.tell_batch([40, 40, 40], [10, 20, 1])
    return replace(ident.status(), **changes)


def test_an_experiment_that_goes_on() -> None:
    found = status(confidence=0.8799, candidates=("A", "B"))
    assert found.sentence() == "If you stop now: 'B', 87 % sure; 'A' and 'B' are still in the race."
    assert "“A” and “B” are" in found.sentence(quote="“{}”".format)


@pytest.mark.parametrize(
    ("candidates", "arms", "expected"),
    [
        (("B",), 3, "only 'B' is still in the race."),
        (("A", "B", "C"), 3, "'A', 'B' and 'C' are still in the race."),
        (tuple(range(5)), 5, "all 5 arms are still in the race."),
        (tuple(range(1200)), 2000, "1,200 of 2,000 arms are still in the race."),
    ],
)
def test_the_race(candidates: tuple[Any, ...], arms: int, expected: str) -> None:
    found = status(confidence=0.5, candidates=candidates, arms=tuple(range(arms)))
    assert found.sentence().endswith(expected)


def test_a_decision() -> None:
    found = status(decided=True, stopped=True, ended_by="decision", confidence=0.95, candidates=("B",))
    assert found.sentence() == "Decided: 'B', with 95 % confidence, proved if every arm keeps its mean."
    unproved = replace(found, proved=False, confidence=None, candidates=None)
    assert unproved.sentence() == "Decided: 'B', but this is not proved, because the stopping rule is not proved."
    doubt = fb.Doubt("family", "A", "Rewards of 'A' have 3.0 times the variance of Gaussian rewards", 7, False)
    assert "because rewards of 'A' have 3.0 times" in replace(unproved, doubts=(doubt,)).sentence()
    later = replace(found, doubts=(replace(doubt, after_decision=True),))
    assert later.sentence().endswith(
        "proved if every arm keeps its mean; later rewards contradict the declared family."
    )


def test_a_decision_under_a_linear_model() -> None:
    """What the proof needs besides is named, and that it was contradicted later; without structure nothing is."""
    ident = fb.Identifier(3, 0.05, fb.Linear([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]))
    ident.tell_batch([99, 99, 99], [0.0, 99.0, 198.0])
    assert ident.status().sentence().endswith("and the means are linear in the features.")
    ident.tell_batch([99, 0, 0], [400.0, 0.0, 0.0])
    assert ident.status().sentence().endswith("linear in the features; later rewards contradict that.")
    assert fb.Linear(np.eye(3)).condition == ""
    assert fb.factorial({"a": [1, 2], "b": [1, 2]}).condition == "the effects in the model add up"


def test_an_experiment_that_ended() -> None:
    ended = {"ended_by": "max_trials", "confidence": 0.8799, "candidates": ("A", "B")}
    found = status(stopped=True, **ended)
    expected = (
        "Stopped after 120 trials without a decision: 'B' looks best, 87 % sure; 'A' and 'B' are still in the race."
    )
    assert found.sentence() == expected
    expected = (
        "No trials after 120, but rewards are still out: 'B' looks best, 87 % sure; 'A' and 'B' are still in the race."
    )
    assert status(**ended).sentence() == expected


def test_nothing_is_known() -> None:
    assert status(confidence=0.0099).sentence().startswith("If you stop now: 'B', but that is no more than a guess;")
    nothing = status(recommendation=None, observed=np.array([3, 0, 0]))
    assert nothing.sentence() == "If you stop now: no arm can be named, because 2 arms have no reward."
    one = replace(nothing, observed=np.array([3, 1, 0]), stopped=True, ended_by="deadline")
    expected = "Stopped after 120 trials without a decision: no arm can be named, because 1 arm has no reward."
    assert one.sentence() == expected


def test_linear_arms_need_parameters_not_arms() -> None:
    """Four arms with three parameters: three of them are enough."""
    ident = fb.Identifier(4, 0.05, fb.factorial({"a": [1, 2], "b": [1, 2]}))
    ident.tell_batch([1, 1, 0, 0], [1.0, 0.0, 0.0, 0.0])
    expected = (
        "If you stop now: no arm can be named, because the arms that have rewards do not determine all parameters of "
        "the model."
    )
    assert ident.status().sentence() == expected
    ident.tell_batch([0, 0, 1, 0], [0.0, 0.0, 1.0, 0.0])
    assert ident.status().recommendation is not None


def test_no_figure_without_a_proof() -> None:
    ident = fb.Identifier(["A", "B"], 0.05, fb.Gaussian(1.0), stopping="heuristic")
    ident.tell(ident.ask(2), [1.0, 0.5])
    expected = "If you stop now: 'A'; how sure that is cannot be said, because the stopping rule is not proved."
    assert ident.status().sentence() == expected


@pytest.mark.parametrize(
    ("confidence", "expected"),
    [
        (0.0, "0 %"),
        (0.019999, "1 %"),
        (0.57, "57 %"),
        (0.87999, "87 %"),
        (0.98999, "98 %"),
        (0.99, "99 %"),
        (0.99499, "99.4 %"),
        (0.999, "99.9 %"),
        (0.999999, "99.9 %"),
        (1.0, "99.9 %"),
    ],
)
def test_percent_is_rounded_down(confidence: float, expected: str) -> None:
    assert percent(confidence) == expected


def test_percent_never_overstates() -> None:
    for confidence in np.random.default_rng(1).random(2000):
        assert float(percent(confidence).split()[0]) <= 100.0 * confidence + 1e-7
    for delta in (0.4, 0.1, 0.05, 0.01, 0.001):
        assert float(percent(1.0 - delta).split()[0]) == pytest.approx(100.0 * (1.0 - delta))


@pytest.mark.parametrize(
    ("question", "named", "sure", "decided"),
    [
        (
            Question(tolerance="20%"),
            "B",
            "'B', 87 % sure that it is within 20 % of the best;",
            "Decided: 'B' is within 20 % of the best, with",
        ),
        (
            Question(tolerance=0.05, control=0),
            "B",
            "'B', 87 % sure that it is better than 'A' and within 0.05 of the best;",
            "Decided: 'B' is better than 'A' and within 0.05 of the best, with",
        ),
        (
            Question(tolerance=0.05, control=0),
            "A",
            "'A', 87 % sure that no arm is better by more than 0.05;",
            "Decided: no arm is better than 'A' by more than 0.05, with",
        ),
    ],
)
def test_of_what_it_is_sure(question: Question, named: str, sure: str, decided: str) -> None:
    found = status(question=question, recommendation=named, confidence=0.8799, candidates=("A", "B"))
    assert found.sentence() == f"If you stop now: {sure} 'A' and 'B' are still in the race."
    assert replace(found, decided=True).sentence() == f"{decided} 87 % confidence, proved if every arm keeps its mean."


def test_the_control_is_a_guess_though_another_arm_looks_better() -> None:
    ident = fb.Identifier(["A", "B"], 0.05, "bernoulli", tolerance=0.5, control="A", max_trials=20)
    ident.tell_batch([10, 10], [4, 5])
    assert ident.status().means[1] > ident.status().means[0]
    assert "'A' is the best guess, " in ident.status().sentence()
    with pytest.raises(RuntimeError, match="'A' is the best guess so far"):
        ident.ask()
