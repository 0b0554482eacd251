"""Limits that cannot all be met: found exactly when a linear program finds them, and explained."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import fairbai as fb
from fairbai.problems.rates import Bounded, Group
from tests.oracle.limits import EDGES, KINDS, Bounds, random_bounds

LABELS = ["control", "a", "b", "c"]
OTHERS = ["a", "b", "c"]


def rates_of(bounds: Bounds) -> Bounded:
    return Bounded(bounds.floors, bounds.ceilings, [Group(*group) for group in bounds.groups])


def possible(bounds: Bounds) -> bool:
    """Whether a linear program finds shares within the limits."""
    size = bounds.floors.size
    if np.any(bounds.floors > bounds.ceilings):
        return False
    rows, most = bounds.rows()
    limits = list(zip(bounds.floors, bounds.ceilings, strict=True))
    found = linprog(np.zeros(size), rows, most, np.ones((1, size)), [1.0], bounds=limits)
    assert found.status in (0, 2)
    return bool(found.status == 0)


def anything(rng: np.random.Generator) -> Bounds:
    """Limits that may or may not be met: multiples of 1/64, so that sums are exact."""
    arms = int(rng.integers(2, 7))
    floors = rng.multinomial(int(rng.integers(0, 60)), np.ones(arms + 1) / (arms + 1))[:arms] / 64
    ceilings = np.minimum(1.0, floors + rng.integers(-1, 30, arms) / 64 * rng.integers(0, 3, arms))
    ceilings = np.where((rng.random(arms) < 0.3) | (ceilings <= 0.0), 1.0, ceilings)
    parts = np.array_split(rng.permutation(arms), int(rng.integers(1, arms + 1)))
    groups = []
    for part in parts[: int(rng.integers(0, len(parts) + 1))]:
        floor, width = int(rng.integers(0, 33)) * int(rng.integers(0, 2)), int(rng.integers(0, 33))
        groups.append((tuple(part.tolist()), floor / 64, min(1.0, max(1, floor + width) / 64)))
    return Bounds(floors, ceilings, tuple(groups))


def test_limits_are_refused_exactly_if_they_cannot_be_met() -> None:
    rng = np.random.default_rng(1)
    seen = {True: 0, False: 0}
    for _ in range(600):
        bounds = anything(rng)
        expected = possible(bounds)
        seen[expected] += 1
        if expected:
            centre = rates_of(bounds).limits(bounds.floors.size).centre
            assert bounds.excess(centre.tolist()) <= 1e-13, bounds
        else:
            with pytest.raises(ValueError, match=r"^limits must not contradict each other: "):
                rates_of(bounds).limits(bounds.floors.size)
    assert min(seen.values()) > 100


@pytest.mark.parametrize("kind", KINDS + EDGES)
def test_a_little_too_tight_is_refused(kind: str) -> None:
    """Limits that can be met, with one floor or ceiling moved past what the others allow."""
    rng = np.random.default_rng([2, *map(ord, kind)])
    for _ in range(5):
        bounds = random_bounds(kind, rng.normal(size=int(rng.integers(3, 7))), rng)
        arms = bounds.floors.size
        real = rates_of(bounds).tightened(arms)
        arm = int(rng.integers(arms))
        floors, ceilings = bounds.floors.copy(), bounds.ceilings.copy()
        floors[arm], ceilings[arm] = real.ceilings[arm] + 1e-6, max(1e-12, real.floors[arm] - 1e-6)
        changes = [bounds._replace(floors=floors)] if floors.sum() <= 1.0 else []
        changes += [bounds._replace(ceilings=ceilings)] if real.floors[arm] > 1e-5 else []
        for changed in changes:
            assert not possible(changed)
            with pytest.raises(ValueError, match=r"^limits must not contradict each other: "):
                rates_of(changed).limits(arms)


CONTRADICTIONS = [
    (
        Bounded([0.3, 0.0, 0.0, 0.0], [0.25, 1.0, 1.0, 1.0]),
        "'control' has a floor of 30 % but a ceiling of 25 %",
    ),
    (
        Bounded(0.0, [0.3, 1.0, 1.0, 1.0], [Group(OTHERS, ceiling=0.5)]),
        "all arms but 'control' may have at most 50 % together and 'control' at most 30 %: "
        "that leaves 20 % of the trials for nobody",
    ),
    (
        Bounded([0.0, 0.2, 0.1, 0.0], groups=[Group(["a", "b"], ceiling=0.2)]),
        "the group 'a', 'b' has a ceiling of 20 % but its arms have floors of 30 % together",
    ),
    (
        Bounded(0.1, groups=[Group(OTHERS, ceiling=0.2)]),
        "all arms but 'control' together have a ceiling of 20 % but these arms have floors of 30 % together",
    ),
    (
        Bounded(0.0, [1.0, 0.2, 0.2, 1.0], [Group(["a", "b"], 0.5)]),
        "the group 'a', 'b' has a floor of 50 % but its arms have ceilings of 40 % together",
    ),
    (
        Bounded([0.5, 0.0, 0.0, 0.0], groups=[Group(["a", "b"], 0.6)]),
        "the group 'a', 'b' must have at least 60 % together and 'control' at least 50 %: that is 110 % of the trials",
    ),
    (
        Bounded(0.0, 1.0, [Group(["control", "a"], 0.6), Group(["b"], 0.5)]),
        "the group 'control', 'a' must have at least 60 % together and the group 'b' at least 50 %: "
        "that is 110 % of the trials",
    ),
    (Bounded(0.0, 0.2), "4 ceilings of 20 % add up to 80 %: that leaves 20 % of the trials for nobody"),
    (
        Bounded(0.0, [0.3, 0.2, 0.2, 0.2]),
        "the ceilings add up to 90 %: that leaves 10 % of the trials for nobody",
    ),
    (
        Bounded(groups=[Group(LABELS, ceiling=0.9)]),
        "the group 'control', 'a', 'b', 'c' may have at most 90 % together: that leaves 10 % of the trials for nobody",
    ),
    (
        Bounded(0.0, [0.2, 1.0, 1.0, 1 / 3], [Group(["a", "b"], ceiling=0.25)]),
        "'c' may have at most 33.33 %",
    ),
    (
        Bounded([0.3, 0.0, 0.0, 0.0], [0.2999999, 1.0, 1.0, 1.0]),
        "'control' has a floor of 30 % but a ceiling of 29.99999 %",
    ),
]


@pytest.mark.parametrize(("rates", "why"), CONTRADICTIONS[:-2], ids=[why for _, why in CONTRADICTIONS[:-2]])
def test_why(rates: Bounded, why: str) -> None:
    """In the labels of the arms wherever these are known."""
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        rates.numbered(LABELS)
    assert str(refused.value) == f"limits must not contradict each other: {why}"
    for ask in (
        lambda: fb.Identifier(LABELS, 0.1, fb.Gaussian(1.0), rates=rates),
        lambda: fb.plan([1.0, 0.5, 0.2, 0.0], fb.Gaussian(1.0), rates, arms=LABELS),
        lambda: rates.implied(LABELS),
        lambda: rates.tightened(LABELS),
        lambda: fb.Identifier(LABELS, 0.1, fb.Gaussian(1.0), rates=rates.to_dict()),
    ):
        with pytest.raises(ValueError) as again:  # noqa: PT011
            ask()
        assert str(again.value) == str(refused.value)


@pytest.mark.parametrize(("rates", "why"), CONTRADICTIONS[-2:], ids=[why for _, why in CONTRADICTIONS[-2:]])
def test_shares_have_the_digits_that_tell_them_apart(rates: Bounded, why: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        rates.numbered(LABELS)
    assert why in str(refused.value)


def test_arms_without_labels_have_numbers() -> None:
    rates = Bounded(0.0, [0.3, 1.0, 1.0], [Group([1, 2], ceiling=0.5)])
    message = "all arms but arm 0 may have at most 50 % together and arm 0 at most 30 %: that leaves 20 % of the trials"
    for ask in (
        lambda: fb.Instance([1.0, 0.5, 0.0], rates=rates),
        lambda: fb.Identifier(3, 0.1, fb.Gaussian(1.0), rates),
    ):
        with pytest.raises(ValueError, match=f": {message} for nobody$"):
            ask()


def test_many_parts_are_summed_up() -> None:
    groups = [Group([0, 1], 0.5, 0.5), Group([2, 3], ceiling=0.02)]
    with pytest.raises(ValueError, match=r"^limits must") as refused:
        Bounded(0.0, [1.0] * 4 + [0.1, 0.01, 0.02, 0.03], groups).limits(8)
    assert str(refused.value).endswith(
        ": the group 0, 1 may have at most 50 % together, arm 4 at most 10 %, arm 7 at most 3 % and "
        "the 3 others at most 5 % together: that leaves 32 % of the trials for nobody"
    )
    with pytest.raises(ValueError, match=r"the group 0, 1, 2, 3, 4, \.\.\. \(6 arms\) has a ceiling of 5 %"):
        Bounded(0.01, groups=[Group(range(6), ceiling=0.05)]).limits(8)
