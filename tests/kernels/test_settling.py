"""Settling: the least number of further trials after which every arm has its floor, against brute force."""

from __future__ import annotations

import math
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbai.kernels.settling.floors import arm_for_floors, floor_violation, owed, settle_floors, trials_to_floors
from fairbai.kernels.settling.limits import allowed
from fairbai.kernels.state import ASSIGNED, ROUND
from tests.states import empty_scalars, empty_state


def arrays(assigned: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The state of an experiment of which only the assigned trials matter."""
    state, scalars = empty_state(len(assigned)), empty_scalars()
    state[ASSIGNED] = assigned
    scalars[ROUND] = sum(assigned)
    return state, scalars


def settle(assigned: list[int], floors: list[float]) -> int:
    state, scalars = arrays(assigned)
    share = np.array(floors)
    return int(trials_to_floors(state, scalars, share))


def rounded_up(share: float) -> int:
    """As ``math.ceil``, but what is above a whole number by rounding alone counts as that number."""
    near = round(share)
    return near if abs(share - near) <= 4e-16 * share else math.ceil(share)


def lacking(assigned: list[int], floors: list[float], total: int) -> int:
    return sum(max(0, rounded_up(p * total) - n) for p, n in zip(floors, assigned, strict=True))


@pytest.mark.parametrize("floor", [0.07, 0.14, 0.28, 0.29, 0.55, 0.56, 0.57, 0.58])
def test_a_floor_that_is_a_whole_number_of_trials_is_owed_exactly_that(floor: float) -> None:
    """0.07 * 100 is 7.000000000000001."""
    whole = round(100 * floor)
    assert owed(floor, 100.0, 0.5) == whole
    assert owed(floor, 101.0, 0.5) == whole + 1
    assert allowed(floor, 100.0, 0.5) == whole
    assert floor_violation(np.array([floor]), np.array([float(whole)]), 100.0) == 0.0
    assert floor_violation(np.array([floor]), np.array([whole - 1.0]), 100.0) == pytest.approx(0.01)
    assert settle([whole, 100 - whole], [floor, 0.0]) == 0


def least(assigned: list[int], floors: list[float]) -> int:
    """m* = min{m : Σ_a (⌈p_a (t + m)⌉ − N_a)₊ ≤ m}, one m after the other."""
    total = sum(assigned)
    return next(m for m in count() if lacking(assigned, floors, total + m) <= m)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], list[float]]:
    arms = draw(st.integers(2, 6))
    assigned = draw(st.lists(st.integers(0, 40), min_size=arms, max_size=arms))
    parts = draw(st.lists(st.floats(0.0, 1.0), min_size=arms, max_size=arms))
    total = draw(st.sampled_from([0.0, 0.3, 0.9, 0.99, 0.999]))
    return assigned, [total * part / max(sum(parts), 1e-3) for part in parts]


@given(cases())
def test_number_of_trials_is_the_least(case: tuple[list[int], list[float]]) -> None:
    assigned, floors = case
    assert settle(assigned, floors) == least(assigned, floors)


@given(cases())
def test_the_arm_furthest_behind_meets_every_floor_at_the_end(case: tuple[list[int], list[float]]) -> None:
    assigned, floors = case
    state, _ = arrays(assigned)
    share = np.array(floors)
    total = sum(assigned) + settle(assigned, floors)
    for _ in range(total - sum(assigned)):
        arm = arm_for_floors(state, share, total)
        assert state[ASSIGNED, arm] < rounded_up(share[arm] * total)  # no trial is given away
        state[ASSIGNED, arm] += 1.0
    assert (state[ASSIGNED] >= share * total * (1.0 - 4e-16)).all()


@pytest.mark.parametrize(
    ("assigned", "floors", "expected"),
    [
        ([5, 5], [0.0, 0.0], 0),
        ([5, 5], [0.5, 0.4], 0),
        ([10, 0], [0.0, 0.5], 10),
        ([10, 0], [0.4, 0.1], 2),
        ([9, 1, 0], [0.2, 0.2, 0.2], 5),
        ([0, 0, 0], [0.3, 0.3, 0.3], 0),
        ([1, 0, 0], [0.3, 0.3, 0.3], 2),
    ],
)
def test_by_hand(assigned: list[int], floors: list[float], expected: int) -> None:
    assert settle(assigned, floors) == least(assigned, floors) == expected


@pytest.mark.parametrize("spare", [1e-3, 1e-5, 1e-6])
def test_floors_that_leave_little_take_long(spare: float) -> None:
    """Brute force would take a million steps: instead m* holds, and repeating m -> lacking(m) from below ends there."""
    assigned, floors = [30, 10, 2], [0.2, 0.3, 0.5 - spare]
    m, total = 0, sum(assigned)
    while lacking(assigned, floors, total + m) > m:  # the least fixed point of a monotone map
        m = lacking(assigned, floors, total + m)
    assert settle(assigned, floors) == m


@pytest.mark.parametrize("assigned", [[7, 3, 4], [1, 1, 1], [20, 1, 1], [3, 40, 0]])
@pytest.mark.parametrize("floors", [[0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3], [0.01, 0.01, 0.98]])
def test_floors_that_sum_to_one_are_rounded_down(assigned: list[int], floors: list[float]) -> None:
    """They are met up to less than one trial, again with the least number of trials."""
    total = sum(assigned)

    def short(m: int) -> int:
        return sum(max(0, math.floor(p * (total + m)) - n) for p, n in zip(floors, assigned, strict=True))

    assert settle(assigned, floors) == next(m for m in count() if short(m) <= m)


@pytest.mark.parametrize(
    ("assigned", "floors"), [([10, 10, 5], [0.6, 0.4, 0.0]), ([10, 10, 10], [0.5, 0.5 - 1e-12, 1e-12])]
)
def test_floors_that_sum_to_one_can_be_out_of_reach(assigned: list[int], floors: list[float]) -> None:
    """The last arm has had too much for any total of up to a billion trials."""
    assert settle(assigned, floors) == 0


# All trials of settling at once, as a simulated run takes them


def at_once(assigned: list[int], floors: list[float]) -> list[int]:
    state, scalars = arrays(assigned)
    share, pulls = np.array(floors), np.zeros(len(assigned), dtype=np.int64)
    total = settle_floors(state, scalars, share, pulls)
    assert total == sum(assigned) + settle(assigned, floors) == pulls.sum()
    assert state[ASSIGNED].tolist() == assigned
    return [int(count) for count in pulls]


def one_by_one(assigned: list[int], floors: list[float]) -> list[int]:
    """As an Identifier gives them."""
    state, _ = arrays(assigned)
    share = np.array(floors)
    total = sum(assigned) + settle(assigned, floors)
    for _ in range(total - sum(assigned)):
        state[ASSIGNED, arm_for_floors(state, share, total)] += 1.0
    return [int(count) for count in state[ASSIGNED]]


@given(cases())
def test_at_once_is_one_by_one(case: tuple[list[int], list[float]]) -> None:
    assert at_once(*case) == one_by_one(*case)


@given(st.lists(st.integers(1, 40), min_size=2, max_size=6), st.data())
def test_at_once_is_one_by_one_for_floors_that_sum_to_one(assigned: list[int], data: st.DataObject) -> None:
    """Rounded down, these leave a few trials that no arm must have."""
    parts = data.draw(st.lists(st.integers(1, 10), min_size=len(assigned), max_size=len(assigned)))
    floors = [part / sum(parts) for part in parts]
    assert at_once(assigned, floors) == one_by_one(assigned, floors)


@pytest.mark.parametrize(
    ("assigned", "floors"), [([10, 10, 5], [0.6, 0.4, 0.0]), ([10, 10, 10], [0.5, 0.5 - 1e-12, 1e-12])]
)
def test_at_once_leaves_what_is_out_of_reach(assigned: list[int], floors: list[float]) -> None:
    assert at_once(assigned, floors) == assigned


@pytest.mark.parametrize("spare", [1e-3, 1e-5, 1e-6])
def test_at_once_for_floors_that_leave_little(spare: float) -> None:
    """Millions of trials, one by one for nobody: every floor is met, and no arm that has enough gets more."""
    assigned, floors = [30, 10, 2], [0.2, 0.3, 0.5 - spare]
    pulls = at_once(assigned, floors)
    total = sum(pulls)
    assert pulls == [max(n, rounded_up(p * total)) for p, n in zip(floors, assigned, strict=True)]
