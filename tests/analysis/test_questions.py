"""Logs with a goal, a tolerance or a control: the same answers as those of a live experiment with the same question."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from tests.analysis.test_analyze import clicks


@pytest.mark.parametrize("family", [fb.Bernoulli(), fb.Bounded()])
def test_less_is_better_is_a_mirror(family: Any) -> None:
    data = clicks(1200, [0.3, 0.24, 0.2])
    up = fb.analyze({**data, "p": np.full(1200, 1 / 3)}, family=family, probability="p", floor=0.33)
    turned = {**data, "reward": 1.0 - data["reward"], "p": np.full(1200, 1 / 3)}
    down = fb.analyze(turned, family=family, goal="min", probability="p", floor=0.33)
    assert [look.score for look in down.standing.looks] == pytest.approx([look.score for look in up.standing.looks])
    assert down.candidates == up.candidates
    assert down.arms.means.tolist() == pytest.approx((1.0 - up.arms.means).tolist())
    np.testing.assert_allclose(down.arms.intervals, 1.0 - up.arms.intervals[:, ::-1], atol=1e-9)
    assert up.drift_proof is not None
    assert down.drift_proof is not None
    np.testing.assert_allclose(down.drift_proof.last.estimates, 1.0 - up.drift_proof.last.estimates)
    np.testing.assert_allclose(down.drift_proof.last.intervals, 1.0 - up.drift_proof.last.intervals[:, ::-1])
    assert down.best_on_average == up.best_on_average == "a"


@pytest.mark.parametrize("family", [fb.Gaussian(4.0), fb.Poisson(), fb.Exponential()], ids=lambda family: family.kind)
def test_the_least_mean_of_every_family(family: Any) -> None:
    rng = np.random.default_rng(0)
    arms = rng.integers(0, 3, 1500)
    rewards = family.sample(np.array([3.0, 2.0, 4.0]), rng, 1500)[np.arange(1500), arms]
    found = fb.analyze({"arm": arms, "reward": rewards}, family=family, goal="min")
    assert found.leader == 1
    assert found.decided
    assert found.candidates == (1,)
    assert found.doubts == ()
    assert (found.arms.intervals[:, 0] < found.arms.means).all()
    assert (found.arms.means < found.arms.intervals[:, 1]).all()
    assert "1 is the arm with the least mean, " in repr(found)
    planned = found.plan()
    assert planned.best[1] > 0.9
    assert "to find the arm with the least mean with 95 % confidence" in " ".join(repr(planned).split())


def play(question: dict[str, Any], rates: dict[str, float], seed: int) -> tuple[fb.Identifier, dict[str, list[Any]]]:
    """An experiment with this question until it decides, and its log."""
    rng, rule = np.random.default_rng(seed), fb.stopping.Mixture.for_trials(500, 0.05, len(rates))
    ident = fb.Identifier(list(rates), 0.05, fb.Bernoulli(), rates=0.1, stopping=rule, settle=False, **question)
    log: dict[str, list[Any]] = {"arm": [], "reward": []}
    while not ident.decided:
        arm = ident.ask()
        log["arm"].append(arm)
        log["reward"].append(float(rng.random() < rates[arm]))
        ident.tell(arm, log["reward"][-1])
    return ident, log


@pytest.mark.parametrize(
    "question",
    [
        {"goal": "min"},
        {"tolerance": 0.15},
        {"tolerance": "40%", "goal": "min"},
        {"tolerance": 0.2, "control": "z"},
        {"tolerance": 0.4, "control": "y"},
    ],
)
def test_like_a_live_experiment(question: dict[str, Any]) -> None:
    ident, log = play(question, {"x": 0.5, "y": 0.4, "z": 0.15}, seed=2)
    found = fb.analyze(log, family="bernoulli", shares="any", planned=500, **question)
    reached = found.standing.reached
    assert reached is not None
    assert reached.trial == len(log["arm"]) == ident.trials
    assert found.leader == ident.recommendation
    assert found.decided


def test_a_tie_ends_with_a_tolerance() -> None:
    data = clicks(8000, [0.2, 0.2])
    assert not fb.analyze(data).decided
    found = fb.analyze(data, tolerance=0.05)
    assert found.decided
    assert found.candidates == ("a", "b")  # either may be the best, and either is right
    assert f"{found.leader} is the best arm, or within 0.05 of it, " in repr(found)
    assert "Still in the race for the best: a and b." in " ".join(repr(found).split())


@pytest.mark.slow_without_jit
def test_a_control() -> None:
    data = clicks(8000, [0.2, 0.2, 0.1])
    same = fb.analyze(data, tolerance=0.05, control="a")
    assert (same.leader, same.decided) == ("a", True)
    assert "No arm is better than a by more than 0.05, " in repr(same)
    better = fb.analyze(data, tolerance="30%", control="c")
    assert better.decided
    assert f"{better.leader} is better than c, and within 30 % of the best arm, " in repr(better)
    assert "answer so far" in repr(better)
    early = fb.analyze({name: column[:300] for name, column in data.items()}, tolerance=0.01, control="a")
    assert " is the best guess, " in repr(early)


@pytest.mark.slow_without_jit
def test_json_and_plans() -> None:
    data = clicks(3000, [0.2, 0.19, 0.1])
    found = fb.analyze(data, tolerance="10%", control="b")
    assert found.to_dict()["question"] == {"goal": "max", "tolerance": "10%", "control": "b"}
    planned = found.plan(rates=0.1)
    assert json.loads(json.dumps(planned.to_dict(), allow_nan=False))["question"]["control"] == "b"
    assert math.isfinite(planned.range[2])
    assert planned.at_estimates is not None
    assert planned.at_estimates.instance.question == found.question
    plain = fb.analyze(clicks(3000, [0.2, 0.2])).plan()
    tolerant = fb.analyze(clicks(3000, [0.2, 0.2]), tolerance="20%").plan()
    assert tolerant.range[2] < plain.range[2]


def test_a_tolerance_in_percent_of_means_that_may_be_negative() -> None:
    rng = np.random.default_rng(0)
    log = {"arm": rng.integers(0, 2, 200), "reward": rng.normal(0.3, 2.0, 200)}
    planned = fb.analyze(log, family=fb.Gaussian(4.0), tolerance="10%").plan()
    assert (planned.means <= 0.0).any()
    assert planned.range[0] > 0.0


@pytest.mark.parametrize("columns", [{}, {"trials": "n", "sum": "s", "squares": "q"}])
def test_a_tolerance_in_percent_of_negative_means(columns: dict[str, str]) -> None:
    log = {"arm": ["a", "b"] * 50, "reward": np.random.default_rng(1).normal(-5.0, 1.0, 100)}
    totals = {"arm": ["a", "b"], "n": [50, 50], "s": [-250.0, 250.0], "q": [1300.0, 1300.0]}
    with pytest.raises(ValueError, match=r"in percent needs means that are positive, got -[45]\S* for '(a|b)'"):
        fb.analyze(totals if columns else log, tolerance="10%", **columns)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"goal": "most"}, "goal must be 'max' or 'min', got 'most'"),
        ({"tolerance": -1}, "tolerance must be a positive number"),
        ({"control": "a"}, "control needs a tolerance"),
        ({"control": "z", "tolerance": 0.1}, "control must be one of 'a', 'b', got 'z'"),
    ],
)
def test_wrong_questions(question: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fb.analyze(clicks(50, [0.2, 0.3]), **question)
