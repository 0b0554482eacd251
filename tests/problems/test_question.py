"""What the answer must be: which arms are right, what is refused, and in which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.problems.question import Question, question_of

ACCEPTABLE: list[tuple[list[float], dict[str, Any], tuple[int, ...]]] = [
    ([0.3, 0.3, 0.2], {}, (0, 1)),
    ([0.2, 0.3, 0.3], {"goal": "min"}, (0,)),
    ([0.30, 0.28, 0.26], {"tolerance": 0.03}, (0, 1)),
    ([0.30, 0.28, 0.26], {"tolerance": "10%"}, (0, 1)),
    ([0.26, 0.28, 0.30], {"tolerance": "10%", "goal": "min"}, (0, 1)),
    ([0.26, 0.28, 0.30], {"tolerance": 0.03, "goal": "min"}, (0, 1)),
    # the control is not better than itself: it is right only if no arm is better by more than the tolerance
    ([0.30, 0.28, 0.26], {"tolerance": 0.03, "control": 0}, (0,)),
    ([0.30, 0.28, 0.26], {"tolerance": 0.03, "control": 1}, (0, 1)),
    ([0.30, 0.28, 0.26], {"tolerance": 0.03, "control": 2}, (0, 1)),
    ([0.30, 0.30, 0.26], {"tolerance": 0.03, "control": 1}, (1,)),
    ([0.26, 0.28, 0.30], {"tolerance": 0.03, "control": 2, "goal": "min"}, (0, 1)),
]


@pytest.mark.parametrize(("means", "asked", "expected"), ACCEPTABLE, ids=str)
def test_right_answers(means: list[float], asked: dict[str, Any], expected: tuple[int, ...]) -> None:
    instance = fb.Instance(means, "bernoulli", **asked)
    assert instance.acceptable == expected
    right = instance.question.right(np.tile(instance.means, (3, 1)), np.arange(3))
    assert sorted(np.flatnonzero(right).tolist()) == sorted(expected)
    assert instance.best_arm == expected[0] or instance.means[instance.best_arm] == instance.means[expected[0]]


def test_ties_are_in_the_unit_of_the_kernels() -> None:
    stars = fb.Bounded(1.0, 5.0)
    assert Question(tolerance=0.4).ties(stars, 2).tolist() == [[1.0, 1.0], [0.1, 0.1]]
    stretch, shift = Question(tolerance="20%").ties(stars, 1)[:, 0]
    for mean in (2.0, 3.5):  # at the tie, the rival's mean is 1.25 times that of the named arm
        inside = stars.out_of_units(np.array([mean, 1.25 * mean]))
        assert stretch * inside[0] + shift == pytest.approx(inside[1])
    lower = stars.for_goal("min")
    stretch, shift = Question("min", "20%").ties(stars, 1)[:, 0]
    for mean in (2.4, 3.6):
        inside = lower.out_of_units(np.array([mean, mean / 1.2]))
        assert stretch * inside[0] + shift == pytest.approx(inside[1])
    assert Question(tolerance=0.1, control=1).ties(fb.Gaussian(), 3).tolist() == [[1.0] * 3, [0.1, 0.0, 0.1]]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"goal": "least"}, "goal must be 'max' or 'min', got 'least'"),
        ({"tolerance": 0.0}, "tolerance must be a positive number in the unit of the rewards, or percent of the best"),
        ({"tolerance": "0%"}, "got '0%'"),
        ({"tolerance": "100%"}, "with less than 100 %, got '100%'"),
        ({"tolerance": "0.1"}, "such as '10%', with less than 100 %, got '0.1'"),
        ({"tolerance": True}, "or percent of the best such as '10%', got True"),
        ({"tolerance": 0.1, "control": 5}, "control must be an arm from 0 to 1, got 5"),
        ({"control": 0}, "control needs a tolerance"),
        ({"tolerance": 1.5}, "tolerance must be less than the range of the means \\(1\\), got 1.5"),
    ],
    ids=str,
)
def test_what_is_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fb.Instance([0.5, 0.4], "bernoulli", **asked)


def test_percent_needs_positive_means() -> None:
    with pytest.raises(ValueError, match="means must be positive for a tolerance in percent, got -1"):
        fb.Instance([1.0, -1.0], tolerance="10%")
    with pytest.raises(ValueError, match="a tolerance in percent needs means that are positive"):
        fb.Identifier(2, 0.05, fb.Bounded(-1.0, 1.0), tolerance="10%")


def test_rates_that_would_favour_the_worst_are_refused() -> None:
    with pytest.raises(ValueError, match="favour the largest, which is the worst for goal='min'"):
        fb.Identifier(2, 0.05, "poisson", fb.rates.Proportional(0.5), goal="min")
    with pytest.raises(ValueError, match="favour the largest"):
        fb.Instance([1.0, 2.0], "poisson", fb.rates.Proportional(0.5), goal="min")


def test_floors_follow_the_gaps_to_the_least() -> None:
    """In mirrored means the gaps are the same; a function of the user sees the means as they are."""
    down = fb.Instance([1.0, 1.5, 3.0], "poisson", fb.rates.InverseGap(0.9), goal="min")
    up = fb.Instance([3.0, 2.5, 1.0], "poisson", fb.rates.InverseGap(0.9))
    assert down.floors == pytest.approx(up.floors)
    seen: list[list[float]] = []
    fb.Instance([1.0, 1.5], "poisson", fb.rates.Custom(lambda means: seen.append(means.tolist()) or 0.1), goal="min")
    assert seen == [[1.0, 1.5]]


def test_in_words() -> None:
    labels = ["new", "old"]
    assert Question().asked(labels) == "the best arm"
    assert Question(tolerance="10%").asked(labels) == "an arm within 10 % of the best arm"
    assert Question("min", 5.0).asked(labels) == "an arm within 5 of the least mean"
    found = question_of("max", "5%", "old", labels).asked(labels)
    assert found == "an arm that is better than 'old' (or show that none is by more than 5 %)"
    with pytest.raises(ValueError, match="control must be one of 'new', 'old', got 'older'"):
        question_of("max", "5%", "older", labels)
