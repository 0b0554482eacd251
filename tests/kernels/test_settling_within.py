"""Settling within limits: the least number of further trials, against integer programs, and how they are given."""

from __future__ import annotations

import math
from itertools import count
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, milp

from fairbai.kernels.settling.limits import arm_for_limits, limit_violation, settle_limits, trials_to_limits
from fairbai.kernels.state import (
    ASSIGNED,
    CEILING,
    FLOOR,
    GROUP,
    GROUP_CEILING,
    GROUP_FLOOR,
    ROUND,
    SLACK,
)
from fairbai.problems.rates import Bounded, Group
from tests.oracle.limits import EDGES, KINDS, Bounds, random_bounds
from tests.states import empty_scalars, empty_state

MOST = 400


class Held(NamedTuple):
    """An experiment of which only the assigned trials and the limits matter."""

    state: np.ndarray
    scalars: np.ndarray
    workspace: np.ndarray


def held(assigned: list[int], bounds: Bounds) -> Held:
    limits = Bounded(bounds.floors, bounds.ceilings, [Group(*group) for group in bounds.groups]).limits(len(assigned))
    state, scalars = empty_state(len(assigned)), empty_scalars()
    state[ASSIGNED] = assigned
    state[FLOOR], state[CEILING] = limits.floors, limits.ceilings
    state[GROUP], state[GROUP_FLOOR] = limits.groups, limits.group_floors
    state[GROUP_CEILING] = limits.group_ceilings
    scalars[ROUND], scalars[SLACK] = sum(assigned), limits.slack
    return Held(state, scalars, np.empty((2, len(assigned))))


def possible(assigned: list[int], bounds: Bounds, total: int, exact: bool) -> bool:
    """Whether whole scalars, at least those assigned and ``total`` in sum, meet every limit: an integer program."""
    size = len(assigned)
    up, down = (math.ceil, math.floor) if exact else (math.floor, math.ceil)
    lower = np.maximum(assigned, [up(floor * total) for floor in bounds.floors])
    upper = np.array([down(ceiling * total) for ceiling in bounds.ceilings])
    if np.any(lower > upper):
        return False
    rows, least, most = [np.ones(size)], [float(total)], [float(total)]
    for arms, floor, ceiling in bounds.groups:
        rows.append(np.isin(np.arange(size), arms).astype(float))
        least.append(up(floor * total))
        most.append(down(ceiling * total))
    found = milp(
        np.zeros(size),
        integrality=np.ones(size),
        bounds=Box(lower, upper),
        constraints=LinearConstraint(np.array(rows), np.array(least), np.array(most)),
    )
    return bool(found.status == 0)


def least(assigned: list[int], bounds: Bounds, exact: bool) -> int:
    """m*, one m after the other."""
    total = sum(assigned)
    return next(m for m in count() if m > MOST or possible(assigned, bounds, total + m, exact))


def cases(kind: str, number: int, seed: int) -> list[tuple[list[int], Bounds]]:
    """Trials that are about within the limits, as rules leave them, and some that are anywhere."""
    rng = np.random.default_rng([seed, *map(ord, kind)])
    found = []
    for _ in range(number):
        bounds = random_bounds(kind, rng.normal(size=int(rng.integers(2, 6))), rng)
        centre = held([0] * bounds.floors.size, bounds).state[FLOOR]
        shares = 0.5 * rng.dirichlet(np.ones(bounds.floors.size)) + 0.5 * np.minimum(bounds.ceilings, centre + 0.2)
        assigned = rng.poisson(rng.integers(3, 25) * shares)
        assigned[rng.integers(assigned.size)] += 1
        found.append((assigned.tolist(), bounds))
    return found


@pytest.mark.parametrize("kind", KINDS + EDGES)
def test_number_of_trials_is_the_least(kind: str) -> None:
    checked = 0
    for assigned, bounds in cases(kind, 6, seed=1):
        experiment = held(assigned, bounds)
        exact = experiment.scalars[SLACK] > 1e-9
        found = trials_to_limits(*experiment)
        assert experiment.state[ASSIGNED].tolist() == assigned
        if found <= 120:  # each step of the brute force is an integer program
            checked += 1
            assert found == least(assigned, bounds, exact), (assigned, bounds)
    assert checked > 0


@pytest.mark.parametrize("kind", KINDS + EDGES)
def test_the_trials_end_within_all_limits(kind: str) -> None:
    """One by one as an Identifier gives them, and at once as a simulated run counts them."""
    for assigned, bounds in cases(kind, 25, seed=2):
        experiment = held(assigned, bounds)
        state, scalars, workspace = experiment
        more = trials_to_limits(*experiment)
        total = sum(assigned) + more
        pulls = np.zeros(len(assigned), dtype=np.int64)
        assert settle_limits(state, scalars, workspace, pulls) == total == pulls.sum()
        assert state[ASSIGNED].tolist() == assigned
        for _ in range(more):
            state[ASSIGNED, arm_for_limits(state, scalars, total, workspace)] += 1.0
        assert state[ASSIGNED].tolist() == pulls.tolist()
        if more > 0 or possible(assigned, bounds, total, exact=scalars[SLACK] > 1e-9):
            excess = limit_violation(state, pulls, total, workspace[0]) * total
            assert excess == 0.0 if scalars[SLACK] > 1e-9 else excess < 1.0, (assigned, bounds)


@pytest.mark.parametrize(
    ("assigned", "bounds", "expected"),
    [
        ([3, 3, 4], Bounds(np.zeros(3), np.full(3, 0.4)), 0),
        ([6, 2, 2], Bounds(np.zeros(3), np.full(3, 0.5)), 2),  # 6 of 12
        ([6, 2, 2], Bounds(np.zeros(3), np.array([0.5, 1.0, 0.2])), 2),
        ([8, 1, 1], Bounds(np.zeros(3), np.ones(3), (((1, 2), 0.5, 1.0),)), 6),  # 8 of 16
        ([8, 1, 1], Bounds(np.array([0.0, 0.0, 0.25]), np.ones(3), (((1, 2), 0.5, 1.0),)), 6),
        ([4, 4, 1], Bounds(np.zeros(3), np.ones(3), (((0, 1), 0.0, 0.5),)), 7),  # 8 of 16
        ([8, 0, 1], Bounds(np.array([0.0, 0.25, 0.0]), np.ones(3), (((0, 1), 0.0, 0.5),)), 23),  # 8 + 8 of 32
        ([0, 0, 9], Bounds(np.zeros(3), np.ones(3), (((0, 1), 0.1, 0.2),)), 1),
        ([1, 0, 0], Bounds(np.zeros(3), np.array([0.01, 1.0, 1.0])), 99),
        ([0, 0, 0], Bounds(np.full(3, 0.3), np.full(3, 0.4)), 0),
        ([1, 0, 0], Bounds(np.full(3, 0.3), np.full(3, 0.4)), 2),
        ([3, 1], Bounds(np.array([0.5, 0.0]), np.array([0.5, 1.0])), 1),  # 3 of 5 is 0.5 up to less than one trial
    ],
)
def test_by_hand(assigned: list[int], bounds: Bounds, expected: int) -> None:
    assert trials_to_limits(*held(assigned, bounds)) == expected


def first_possible(assigned: list[int], bounds: Bounds, exact: bool) -> int:
    """m*, by the conditions of docs/limits.md at every total; exact for shares that are multiples of a power of 2."""
    up, down = (np.ceil, np.floor) if exact else (np.floor, np.ceil)
    totals = np.arange(sum(assigned), 60_000)[:, None].astype(float)
    need, may = np.maximum(assigned, up(bounds.floors * totals)), down(bounds.ceilings * totals)
    met = np.all(need <= may, axis=1)
    alone, least, most = np.ones(len(assigned), dtype=bool), np.zeros(len(totals)), np.zeros(len(totals))
    for arms, floor, ceiling in bounds.groups:
        members = list(arms)
        alone[members] = False
        low = np.maximum(up(floor * totals[:, 0]), need[:, members].sum(axis=1))
        high = np.minimum(down(ceiling * totals[:, 0]), may[:, members].sum(axis=1))
        met &= low <= high
        least, most = least + low, most + high
    least, most = least + need[:, alone].sum(axis=1), most + may[:, alone].sum(axis=1)
    return int(np.argmax(met & (least <= totals[:, 0]) & (totals[:, 0] <= most)))


@pytest.mark.parametrize("exact", [True, False])
def test_long_waits_for_groups_that_had_too_much(exact: bool) -> None:
    """A rule that ignored its ceilings may have given a group hundreds of trials too many."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        arms = int(rng.integers(3, 6))
        floors = rng.integers(0, 7, arms) / 64
        members = tuple(rng.permutation(arms)[: rng.integers(1, arms)].tolist())
        least = float(floors[list(members)].sum())
        ceiling = least + (rng.integers(1, 5) / 64 if exact or least == 0.0 else 0.0)
        bounds = Bounds(floors, np.ones(arms), ((members, 0.0, ceiling),))
        assigned = rng.integers(0, 60, arms)
        if not exact:  # such a group gets its floors and no more: an arm without a floor nothing at all
            assigned = np.where(floors > 0.0, assigned, np.minimum(assigned, 1))
        found = trials_to_limits(*held(assigned.tolist(), bounds))
        assert found == first_possible(assigned.tolist(), bounds, held(assigned.tolist(), bounds).scalars[SLACK] > 0.0)


def test_what_is_out_of_reach_is_left() -> None:
    """An arm with a ceiling of 1e-12 that was pulled twice, or one in a group that is full of other arms' floors."""
    assert trials_to_limits(*held([2, 5], Bounds(np.zeros(2), np.array([1e-12, 1.0])))) == 0
    group = Bounds(np.array([0.5, 0.0, 0.0]), np.ones(3), (((0, 1), 0.0, 0.5),))
    assert trials_to_limits(*held([0, 9, 0], group)) == 0


def test_violation_is_the_largest_of_all() -> None:
    bounds = Bounds(np.array([0.2, 0.0, 0.0, 0.0]), np.array([1.0, 0.3, 1.0, 1.0]), (((2, 3), 0.4, 0.6),))
    state, _, workspace = held([0] * 4, bounds)
    for pulls, expected in (
        ([2, 3, 2, 3], 0.0),
        ([1, 3, 3, 3], 0.1),  # the floor of arm 0
        ([2, 4, 2, 2], 0.1),  # the ceiling of arm 1
        ([6, 3, 1, 0], 0.3),  # the floor of the group
        ([2, 1, 4, 3], 0.1),  # its ceiling
        ([0, 5, 4, 1], 0.2),
    ):
        assert limit_violation(state, np.array(pulls), sum(pulls), workspace[0]) == pytest.approx(expected, abs=1e-15)
