"""Floors on groups of arms that overlap: refused exactly if a linear program finds no shares, and explained."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import fairbai as fb
from fairbai.problems.rates import Constant, Group, Overlapping, Rate
from fairbai.problems.rates.overlapping import joint_floors


def anything(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Floors that may or may not be met: multiples of 1/64, so that sums are exact."""
    arms, groups = int(rng.integers(2, 8)), int(rng.integers(1, 5))
    floors = rng.multinomial(int(rng.integers(0, 48)), np.ones(arms + 1) / (arms + 1))[:arms] / 64
    members = rng.random((groups, arms)) < 0.3
    members[np.arange(groups), rng.integers(0, arms, groups)] = True
    return floors, members.astype(float), rng.integers(8, 64, groups) / 64


def test_floors_are_refused_exactly_if_they_cannot_be_met() -> None:
    rng, seen = np.random.default_rng(1), {True: 0, False: 0}
    for _ in range(80):
        floors, members, least = anything(rng)
        rates = Overlapping(floors, [Group(np.flatnonzero(row), g) for row, g in zip(members, least, strict=True)])
        limits = [(floor, 1.0) for floor in floors]
        found = linprog(np.zeros(floors.size), -members, -least, np.ones((1, floors.size)), [1.0], bounds=limits)
        seen[possible := found.status == 0] += 1
        if not possible:
            with pytest.raises(ValueError, match=r"^limits must not contradict each other: .* of the trials$"):
                rates.polytope(floors.size)
            continue
        polytope = rates.polytope(floors.size)
        centre = polytope.centre
        assert centre.sum() == pytest.approx(1.0, abs=1e-12)
        assert (centre >= floors - 1e-12).all()
        assert (members @ centre >= least - 1e-12).all()
        assert np.sum((centre - 1 / floors.size) ** 2) <= np.sum((found.x - 1 / floors.size) ** 2) + 1e-12
        np.testing.assert_array_equal(polytope.members, members)
    assert min(seen.values()) > 20


def test_a_contradiction_names_the_floors_that_prove_it() -> None:
    rates = Overlapping([0.0, 0.5, 0.3, 0.0], [Group(["a", "d"], floor=0.6), Group(["a", "b"], floor=0.1)])
    with pytest.raises(ValueError, match="the group 'a', 'd' at least 60 %, 'b' at least 50 % and 'c' at least 30 % "):
        rates.numbered(list("abcd"))


def test_json_and_labels() -> None:
    rates = Overlapping(0.05, [Group(["a", "b"], floor=0.3), {"arms": ["b", "c"], "floor": 0.2}])
    assert Rate.from_dict(rates.to_dict()) == rates
    numbered = rates.numbered(["a", "b", "c"])
    assert numbered.groups[1].arms == (1, 2)
    np.testing.assert_array_equal(numbered.floors([0.0] * 3), [0.05] * 3)
    assert hash(numbered) == hash(Rate.from_dict(numbered.to_dict()))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("ab", "groups must be a list of groups"),
        ([Group([0, 1, 2], ceiling=0.5)], "groups must leave all trials to somebody, got a ceiling of 50 %"),
        ([Group([0, 7], floor=0.5)], "groups must hold arms below 3, got arm 7"),
    ],
)
def test_wrong_groups(groups: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Overlapping(0.0, groups).polytope(3)  # type: ignore[arg-type]


def test_groups_are_guaranteed_their_floor_or_those_of_their_arms() -> None:
    groups = [Group([1, 0], floor=0.2), Group([0, 1], floor=0.5), Group([0, 1], floor=0.1)]
    rates = Overlapping([0.1, 0.0, 0.1, 0.2], groups)
    assert rates.group_floors == {(0, 1): 0.5}
    floors = rates.floors(np.zeros(4))
    assert joint_floors(rates, floors, [(1, 0), (2, 3), (0, 2)]) == pytest.approx([0.5, 0.3, 0.2])
    assert joint_floors(Constant(0.1), Constant(0.1).floors(np.zeros(4)), [(0, 1, 3)]) == pytest.approx([0.3])


def test_the_public_name() -> None:
    assert fb.rates.Overlapping is Overlapping


def with_ceilings(rng: np.random.Generator) -> tuple[np.ndarray, list[Group]]:
    """Floors and limits of groups that may or may not contradict each other."""
    floors, members, least = anything(rng)
    groups = []
    for row, low in zip(members, least, strict=True):
        high = float(rng.integers(1, 64)) / 64
        arms = np.flatnonzero(row).tolist()
        if len(arms) == floors.size or rng.random() < 0.3:
            groups.append(Group(arms, floor=low / 2))
        else:
            groups.append(Group(arms, floor=None if rng.random() < 0.5 else min(low / 2, high), ceiling=high))
    return floors, groups


def test_ceilings_are_refused_exactly_if_they_cannot_be_kept() -> None:
    rng, seen = np.random.default_rng(2), {True: 0, False: 0}
    for _ in range(80):
        floors, groups = with_ceilings(rng)
        rows = np.zeros((len(groups), floors.size))
        for row, group in zip(rows, groups, strict=True):
            row[group.numbers] = 1.0
        ends = np.array([[group.ceiling, -group.floor] for group in groups])
        matrix, most = np.vstack([rows, -rows]), np.concatenate([ends[:, 0], ends[:, 1]])
        limits = [(floor, 1.0) for floor in floors]
        found = linprog(np.zeros(floors.size), matrix, most, np.ones((1, floors.size)), [1.0], bounds=limits)
        seen[possible := found.status == 0] += 1
        rates = Overlapping(floors, groups)
        if not possible:
            with pytest.raises(ValueError, match=r"^limits must not contradict each other: "):
                rates.polytope(floors.size)
            continue
        centre = rates.polytope(floors.size).centre
        assert centre.sum() == pytest.approx(1.0, abs=1e-12)
        assert (matrix @ centre <= most + 1e-9).all()
        assert np.sum((centre - 1 / floors.size) ** 2) <= np.sum((found.x - 1 / floors.size) ** 2) + 1e-9
    assert min(seen.values()) > 15


def test_a_contradiction_names_ceilings() -> None:
    rates = Overlapping(0.0, [Group(["a", "b"], ceiling=0.3), Group(["c"], ceiling=0.4), Group(["d"], ceiling=0.2)])
    with pytest.raises(
        ValueError, match="'c' at most 40 %, the group 'a', 'b' at most 30 % and 'd' at most 20 % cannot"
    ):
        rates.numbered(list("abcd"))


def test_linear_arms_take_bounded_rates() -> None:
    bounded = fb.rates.Bounded(0.05, [0.5, 1.0, 0.6], [Group([1, 2], floor=0.4, ceiling=0.7)])
    rates = fb.Instance([1.0, 0.5, 0.0], fb.Linear(np.eye(3)), bounded).rates
    assert isinstance(rates, Overlapping)
    assert rates.groups == (Group([1, 2], 0.4, 0.7), Group([0], ceiling=0.5), Group([2], ceiling=0.6))
    assert rates.ceilings(3).tolist() == [0.5, 1.0, 0.6]
    assert Rate.from_dict(rates.to_dict()) == rates


def test_scaled_floors_stay_below_the_ceilings() -> None:
    rates = Overlapping(0.1, [Group([0, 1], floor=0.3, ceiling=0.5)]).scaled(2.0)
    assert rates.groups == (Group([0, 1], floor=0.5, ceiling=0.5),)
