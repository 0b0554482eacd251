"""What limits imply: against linear programs, and in words."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from fairbai.problems.rates import Bounded, Group
from tests.oracle.limits import EDGES, KINDS, Bounds, random_bounds

LABELS = ["control", "a", "b", "c"]
OTHERS = ["a", "b", "c"]


def extremes(bounds: Bounds, direction: NDArray[np.float64]) -> tuple[float, float]:
    """The least and the largest sum of these shares within the limits."""
    size = bounds.floors.size
    rows, most = bounds.rows()
    limits = list(zip(bounds.floors, bounds.ceilings, strict=True))
    found = [
        linprog(sign * direction, rows, most, np.ones((1, size)), [1.0], bounds=limits).fun * sign
        for sign in (1.0, -1.0)
    ]
    return found[0], found[1]


@pytest.mark.parametrize("kind", KINDS + EDGES)
def test_the_real_limits_are_those_of_linear_programs(kind: str) -> None:
    rng = np.random.default_rng([1, *map(ord, kind)])
    for _ in range(4):
        bounds = random_bounds(kind, rng.normal(size=int(rng.integers(2, 7))), rng)
        arms = bounds.floors.size
        real = Bounded(bounds.floors, bounds.ceilings, [Group(*group) for group in bounds.groups]).tightened(arms)
        for arm in range(arms):
            expected = extremes(bounds, np.eye(arms)[arm])
            assert (real.floors[arm], real.ceilings[arm]) == pytest.approx(expected, abs=1e-9), bounds
        for number, (members, _, _) in enumerate(bounds.groups):
            expected = extremes(bounds, np.isin(np.arange(arms), members).astype(float))
            found = real.group_floors[number], real.group_ceilings[number]
            assert found == pytest.approx(expected, abs=1e-9), bounds


@pytest.mark.parametrize(
    ("rates", "sentences"),
    [
        (
            Bounded([0.3, 0.0, 0.0, 0.0], groups=[Group(OTHERS, ceiling=0.5)]),
            ["'control' has a floor of 30 %, but as all others together may have at most 50 %, it gets at least 50 %"],
        ),
        (
            Bounded(groups=[Group(OTHERS, ceiling=0.5)]),
            ["'control' has no floor, but as all others together may have at most 50 %, it gets at least 50 %"],
        ),
        (
            Bounded(0.0, [0.6, 1.0, 1.0, 1.0], [Group(OTHERS, 0.1)]),
            [
                "all arms but 'control' together have a floor of 10 %, but as 'control' may have at most 60 %, "
                "they get at least 40 %"
            ],
        ),
        (
            Bounded([0.7, 0.0, 0.0, 0.0], 1.0, [Group(OTHERS, 0.1, 0.5)]),
            [
                "all arms but 'control' together have a ceiling of 50 %, but as 'control' has at least 70 %, "
                "they get at most 30 %"
            ],
        ),
        (
            Bounded([0.0, 0.2, 0.1, 0.0], 1.0, [Group(["a", "b"], 0.1, 0.4)]),
            [
                "the group 'a', 'b' has a floor of 10 %, but as the floors of these arms add up to 30 %, "
                "it gets at least 30 %"
            ],
        ),
        (
            Bounded(0.0, [1.0, 0.2, 0.1, 1.0], [Group(["a", "b"], 0.1, 0.4)]),
            [
                "the group 'a', 'b' has a ceiling of 40 %, but as the ceilings of these arms add up to 30 %, "
                "it gets at most 30 %"
            ],
        ),
        (
            Bounded(0.0, [1.0, 1.0, 0.2, 1.0], [Group(["a", "b"], 0.5)]),
            [
                "'a' has no floor, but as the group 'a', 'b' has at least 50 % and 'b' may have at most 20 %, "
                "it gets at least 30 %"
            ],
        ),
        (
            Bounded([0.0, 0.0, 0.1, 0.15], [1.0, 0.5, 1.0, 1.0], [Group(OTHERS, ceiling=0.6)]),
            [
                "'control' has no floor, but as all others together may have at most 60 %, it gets at least 40 %",
                "'a' has a ceiling of 50 %, but as the group 'a', 'b', 'c' may have at most 60 % and its other arms "
                "together have at least 25 %, it gets at most 35 %",
            ],
        ),
        (
            Bounded(0.0, [1.0, 0.5, 0.5, 1.0], [Group(["a", "b"], ceiling=0.3)]),
            [
                "'a' has a ceiling of 50 %, but as the group 'a', 'b' may have at most 30 %, it gets at most 30 %",
                "'b' has a ceiling of 50 %, but as the group 'a', 'b' may have at most 30 %, it gets at most 30 %",
            ],
        ),
        (
            Bounded([0.4, 0.3, 0.1, 0.0], [0.9, 0.5, 1.0, 1.0]),
            ["'control' has a ceiling of 90 %, but as all others together have at least 40 %, it gets at most 60 %"],
        ),
        (Bounded(0.2), []),  # no arm can have more than 40 %, but nobody said that it could
        (Bounded(0.1, 0.4, [Group(["a", "b"], 0.3, 0.5)]), []),
        (Bounded(groups=[Group(LABELS, 0.5)]), []),
        (Bounded(groups=[Group(["control"], 0.1, 0.4)]), []),
    ],
)
def test_in_words(rates: Bounded, sentences: list[str]) -> None:
    assert rates.implied(LABELS) == sentences


def test_labels_may_hold_anything_and_arms_may_have_numbers() -> None:
    rates = Bounded([0.3, 0.0, 0.0], groups=[Group([1, 2], ceiling=0.5)])
    assert rates.implied(["{0}", "%s", "{}"])[0].startswith("'{0}' has a floor of 30 %, but as all others together")
    assert rates.implied(3)[0].startswith("arm 0 has a floor of 30 %")
