"""Ceilings and groups: what they mean, their JSON form, and nonsense."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.problems.rates import Bounded, Group, Limits, Rate
from tests.oracle.limits import EDGES, KINDS, random_bounds

RATES = Bounded(floor=[0.1, 0.0, 0.2, 0.0], ceiling=0.5, groups=[Group([0, 3], floor=0.4)])


# What they mean


def test_limits_as_the_kernels_take_them() -> None:
    limits = RATES.limits(4)
    assert limits.floors.tolist() == [0.1, 0.0, 0.2, 0.0]
    assert limits.ceilings.tolist() == [0.5] * 4
    assert limits.groups.tolist() == [0.0, -1.0, -1.0, 0.0]
    assert limits.group_floors.tolist() == [0.4, 0.0, 0.0, 0.0]
    assert limits.group_ceilings.tolist() == [1.0] * 4
    crowded = Bounded(groups=[Group([0], 0.1), Group([1, 3], ceiling=0.6)]).limits(4)
    assert crowded.group_floors.tolist() == [0.1, 0.0, 0.0, 0.0]
    assert crowded.group_ceilings.tolist() == [1.0, 0.6, 1.0, 1.0]


def test_centre_takes_an_equal_part_of_every_distance_to_the_ceiling() -> None:
    """The group first: a third of (0.4, 0.5) on top of (0.1, 0). Then 2/5 of (0.8 / 3 + 1 / 3 + 0.5 + 0.3) for all."""
    inside = np.array([0.1 + 0.4 / 3, 0.0, 0.2, 0.5 / 3])
    part = (1.0 - inside.sum()) / (0.5 - inside).sum()
    assert RATES.limits(4).centre == pytest.approx(inside + part * (0.5 - inside), rel=1e-14)


def test_a_group_ceiling_shrinks_the_distances_of_its_arms_alike() -> None:
    """Distances of 0.9, 0.7, 1, 1; the group leaves 0.4 of the first two, so that they count as 0.225 and 0.175."""
    rates = Bounded([0.1, 0.1, 0.0, 0.0], [1.0, 0.8, 1.0, 1.0], [Group([0, 1], ceiling=0.6)])
    part = 0.8 / 2.4
    expected = [0.1 + part * 0.225, 0.1 + part * 0.175, part, part]
    assert rates.limits(4).centre == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("kind", KINDS + EDGES)
def test_centre_is_within_the_limits(kind: str) -> None:
    rng = np.random.default_rng(4)
    for arms in (2, 3, 5, 9):
        bounds = random_bounds(kind, rng.normal(size=arms), rng)
        rates = Bounded(bounds.floors, bounds.ceilings, [Group(*group) for group in bounds.groups])
        assert bounds.excess(rates.limits(arms).centre) <= 1e-14, bounds


@pytest.mark.parametrize(
    ("rates", "slack"),
    [
        (Bounded(), 1.0),
        (Bounded(0.2), 0.2),
        (Bounded(0.0, 0.3), 0.2),
        (Bounded([0.2, 0.0, 0.0, 0.0], [0.25, 1.0, 1.0, 1.0]), 0.05),
        (Bounded(0.1, [0.2, 0.2, 1.0, 1.0], [Group([0, 1], 0.3)]), 0.1),
        (Bounded(0.0, 1.0, [Group([0, 1], 0.6), Group([2], 0.1)]), 0.3),
        (Bounded(0.0, 0.25), 0.0),
        (Bounded([0.5, 0.0, 0.0, 0.0], [0.5, 1.0, 1.0, 1.0]), 0.0),
        (Bounded(0.0, 1.0, [Group([0, 1], 0.5), Group([2, 3], 0.5)]), 0.0),
        (Bounded(0.0, [0.25, 0.25, 1.0, 1.0], [Group([0, 1], 0.5)]), 0.0),
        (Bounded(0.0, 1.0, [Group([0, 1], 0.3, 0.4)]), 0.1),
        (Bounded([0.1, 0.25, 0.0, 0.0], 1.0, [Group([0, 1], 0.3, 0.4)]), 0.05),
        (Bounded(0.0, 1.0, [Group([0, 1], ceiling=0.4), Group([2, 3], ceiling=0.7)]), 0.1),
        (Bounded(0.0, [1.0, 1.0, 0.5, 0.2], [Group([0, 1], ceiling=0.4)]), 0.1),
        (Bounded(0.0, 1.0, [Group([0, 1], ceiling=0.4), Group([2, 3], ceiling=0.6)]), 0.0),
        (Bounded(0.0, 1.0, [Group([0, 1], 0.4, 0.4)]), 0.0),
        (Bounded([0.2, 0.2, 0.0, 0.0], 1.0, [Group([0, 1], ceiling=0.4)]), 0.0),
    ],
)
def test_slack_is_the_least_play(rates: Bounded, slack: float) -> None:
    assert rates.limits(4).slack == pytest.approx(slack, abs=1e-15)


def test_one_number_stands_for_all_arms() -> None:
    one, each = Bounded(0.1, 0.4).limits(3), Bounded([0.1] * 3, [0.4] * 3).limits(3)
    for name in ("floors", "ceilings", "centre"):
        assert np.array_equal(getattr(one, name), getattr(each, name)), name


def test_arrays_cannot_be_changed() -> None:
    for value in RATES.limits(4)[:-1]:
        assert isinstance(value, np.ndarray)
        assert not value.flags.writeable


def test_an_instance_has_its_limits() -> None:
    limits = fb.Instance([0.4, 0.3, 0.2, 0.1], rates=RATES).limits
    assert isinstance(limits, Limits)
    assert limits.ceilings.tolist() == [0.5] * 4
    assert fb.Instance([0.4, 0.3], rates=fb.rates.Constant(0.1)).limits is None


def test_sums_that_are_one_but_for_rounding_are_taken_as_one() -> None:
    limits = Bounded([0.7, 0.1, 0.2 + 1e-12]).limits(3)
    assert limits.floors.sum() == pytest.approx(1.0, abs=1e-15)
    assert Bounded(0.0, [0.7, 0.1, 0.2 - 1e-12]).limits(3).slack == 0.0
    groups = [Group([0, 1], 0.6), Group([2], 0.4 + 1e-12)]
    assert Bounded(0.0, 1.0, groups).limits(3).group_floors.sum() == pytest.approx(1.0, abs=1e-15)
    full = Bounded(0.0, [0.3, 0.3, 1.0], [Group([0, 1], 0.6 + 1e-12)]).limits(3)
    assert full.group_floors[0] == 0.6
    assert full.slack == 0.0
    crowded = Bounded([0.3, 0.3, 0.0], groups=[Group([0, 1], ceiling=0.6 - 1e-12)]).limits(3)
    assert crowded.group_ceilings[0] == 0.6
    assert crowded.slack == 0.0


def test_many_arms_in_groups_are_quick() -> None:
    """One pass over the arms: looking every one up in all others would take minutes."""
    count = 100_000
    groups = [Group(range(start, start + 1000), 0.005, 0.02) for start in range(0, count, 1000)]
    limits = Bounded(0.0, 0.001, groups).limits(count)
    assert limits.centre.sum() == pytest.approx(1.0, abs=1e-12)


# Equality and JSON


@pytest.mark.parametrize("rates", [RATES, Bounded(), Bounded(0.1, [0.5, 0.6]), Bounded(groups=[Group([1], 0.2, 0.3)])])
def test_json_round_trip(rates: Bounded) -> None:
    form = json.loads(json.dumps(rates.to_dict()))
    assert form["kind"] == "bounded"
    for again in (Rate.from_dict(form), Bounded.from_dict(form)):
        assert again == rates
        assert hash(again) == hash(rates)
        assert again.to_dict() == rates.to_dict()


def test_json_form() -> None:
    assert Bounded(0.1, 0.5, [Group([2, 0], 0.3)]).to_dict() == {
        "kind": "bounded",
        "floor": 0.1,
        "ceiling": 0.5,
        "groups": [{"arms": [2, 0], "floor": 0.3}],
    }


def test_a_group_without_a_ceiling_has_the_form_that_it_always_had() -> None:
    """Stored configurations and their digests stay the same."""
    assert Group([0, 1], 0.3).to_dict() == Group([0, 1], 0.3, 1.0).to_dict() == {"arms": [0, 1], "floor": 0.3}
    assert Group([0, 1], ceiling=0.3).to_dict() == {"arms": [0, 1], "floor": 0.0, "ceiling": 0.3}
    assert Group([0, 1], 0.3) == Group([0, 1], 0.3, 1.0) != Group([0, 1], 0.3, 0.9)
    assert Group([0, 1], 0.0) == Group([0, 1], ceiling=1.0)


def test_groups_may_be_dictionaries() -> None:
    assert Bounded(groups=[{"arms": [0, 1], "floor": 0.5}]) == Bounded(groups=[Group((0, 1), 0.5)])
    assert Bounded(groups=[{"arms": [0, 1], "ceiling": 0.5}]) == Bounded(groups=[Group((0, 1), 0.0, 0.5)])


@pytest.mark.parametrize(
    "other",
    [
        Bounded([0.1, 0.0, 0.2, 0.0], 0.6, [Group([0, 3], 0.4)]),
        Bounded([0.1, 0.0, 0.2, 0.0], 0.5, [Group([0, 3], 0.3)]),
        Bounded([0.1, 0.0, 0.2, 0.0], 0.5, [Group([0, 2], 0.4)]),
        Bounded([0.1, 0.0, 0.2, 0.0], 0.5),
        Bounded(0.1, 0.5, [Group([0, 3], 0.4)]),
        fb.rates.Constant([0.1, 0.0, 0.2, 0.0]),
    ],
)
def test_other_limits_are_not_equal(other: Rate) -> None:
    assert other != RATES


def test_arms_of_a_group_may_be_an_array() -> None:
    group = Group(np.array([0, 2]), 0.5)
    assert group == Group([0, 2], 0.5)
    assert all(type(arm) is int for arm in group.arms)


# Nonsense


@pytest.mark.parametrize(
    ("arms", "floor", "message"),
    [
        ([], 0.5, r"arms of a group must be a list of arms, got \[\]"),
        ("01", 0.5, r"arms of a group must be a list of arms, got '01'"),
        (3, 0.5, r"arms of a group must be a list of arms, got 3"),
        ([0, 1.5], 0.5, r"arms of a group must be labels or whole numbers from 0, got 1.5"),
        ([0, True], 0.5, r"arms of a group must be labels or whole numbers from 0, got True"),
        ([0, -1], 0.5, r"arms of a group must be labels or whole numbers from 0, got -1"),
        ([0, None], 0.5, r"arms of a group must be labels or whole numbers from 0, got None"),
        ([0, 1, 0], 0.5, r"arms of a group must be different, got \[0, 1, 0\]"),
        ([0, 1], 1.5, r"floor of a group must be in \[0, 1\], got 1.5"),
        ([0, 1], -0.1, r"floor of a group must be in \[0, 1\], got -0.1"),
        ([0, 1], float("nan"), r"floor of a group must be in \[0, 1\], got nan"),
        ([0, 1], "half", r"floor of a group must be in \[0, 1\], got 'half'"),
    ],
)
def test_groups_that_are_none(arms: Any, floor: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Group(arms, floor)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({}, r"a group must have a floor or a ceiling, got neither for 0, 'b'"),
        ({"ceiling": 0.0}, r"ceiling of a group must be in \[1e-12, 1\], got 0.0"),
        ({"ceiling": 1.5}, r"ceiling of a group must be in \[1e-12, 1\], got 1.5"),
        ({"ceiling": "all"}, r"ceiling of a group must be in \[1e-12, 1\], got 'all'"),
        (
            {"floor": 0.5, "ceiling": 0.25},
            r"ceiling of a group must be at least its floor: "
            r"the group 0, 'b' has a floor of 50 % but a ceiling of 25 %",
        ),
    ],
)
def test_ceilings_that_are_none(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Group([0, "b"], **limits)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"floor": 1.5}, r"floor must be in \[0, 1\], got 1.5"),
        ({"ceiling": 0.0}, r"ceiling must be in \[1e-12, 1\], got 0.0"),
        ({"ceiling": 1.5}, r"ceiling must be in \[1e-12, 1\], got 1.5"),
        ({"ceiling": "high"}, r"ceiling must be in \[1e-12, 1\], got 'high'"),
        ({"ceiling": [0.5, 0.0, 0.6]}, r"ceiling must be in \[1e-12, 1\], got 0.0 for arm 1"),
        ({"ceiling": [0.5, 1.1, 0.6]}, r"ceiling must be in \[1e-12, 1\], got 1.1 for arm 1"),
        ({"groups": "all"}, r"groups must be a list of groups, got 'all'"),
        ({"groups": {"arms": [0], "floor": 0.1}}, r"groups must be a list of groups, got \{.*\}"),
        ({"groups": 7}, r"groups must be a list of groups, got 7"),
        ({"groups": [[0, 1]]}, r"a group must have arms, and a floor or a ceiling, got \[0, 1\]"),
        ({"groups": [{"arms": [0, 1]}]}, r"a group must have arms, and a floor or a ceiling, got \{'arms': \[0, 1\]\}"),
        ({"groups": [{"floor": 0.1}]}, r"a group must have arms, and a floor or a ceiling, got \{'floor': 0.1\}"),
        ({"groups": [{"arms": [0], "top": 1}]}, r"a group must have arms, and a floor or a ceiling, got \{.*\}"),
        ({"groups": [Group([0, 1], 0.1), Group([2, 1], 0.1)]}, "groups must not overlap, got arm 1 in two of them"),
    ],
)
def test_nonsense_whatever_the_number_of_arms(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Bounded(**arguments)


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        (
            Bounded(0.4),
            r"3 floors of 40 % add up to 120 %; at most 33.3 % each is possible",
        ),
        (Bounded([0.1, 0.2]), r"floors must have one entry per arm \(3\), got 2"),
        (Bounded(0.0, [0.5, 0.5]), r"ceiling must have one entry per arm \(3\), got 2"),
        (Bounded(groups=[Group([1, 3], 0.2)]), r"groups must hold arms below 3, got arm 3"),
        (
            Bounded([0.3, 0.2, 0.1], 0.25),
            r"limits must not contradict each other: arm 0 has a floor of 30 % but a ceiling of 25 %",
        ),
    ],
)
def test_limits_that_do_not_fit_the_arms(rates: Bounded, message: str) -> None:
    for ask in (lambda: rates.limits(3), lambda: fb.Instance([1.0, 0.5, 0.0], rates=rates)):
        with pytest.raises(ValueError, match=f"^{message}$"):
            ask()
    with pytest.raises(ValueError, match=f"^{message}$"):
        fb.Identifier(3, 0.1, fb.Gaussian(), rates=rates)


def test_from_dict_names_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"^bounded takes floor, ceiling, groups, got 'roof'$"):
        Rate.from_dict({"kind": "bounded", "roof": 0.5})
    with pytest.raises(ValueError, match=r"^a group must have arms, and a floor or a ceiling, got 3$"):
        Rate.from_dict({"kind": "bounded", "groups": [3]})
