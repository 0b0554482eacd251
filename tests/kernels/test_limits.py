"""Filling up to the limits, and the tangents that certify an allocation within them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbai.kernels.allocation import limits as kernels
from fairbai.kernels.allocation.arms import Problem, prepare
from fairbai.kernels.limits import fill_up, forced_shares
from fairbai.kernels.pairs import transport
from fairbai.problems.rates import Bounded, Group, Limits
from tests.oracle.limits import EDGES, KINDS, Bounds, random_bounds, random_points

kinds = pytest.mark.parametrize("kind", KINDS + EDGES)


def limits_of(bounds: Bounds) -> Limits:
    groups = [Group(*group) for group in bounds.groups]
    return Bounded(bounds.floors, bounds.ceilings, groups).limits(bounds.floors.size)


def filled(bounds: Bounds, weights: np.ndarray) -> np.ndarray:
    limits, full = limits_of(bounds), weights.copy()
    fill_up(limits.ceilings, limits.groups, limits.group_floors, limits.group_ceilings, full, np.empty((2, full.size)))
    return full


@kinds
def test_filled_shares_are_within_the_limits_and_above_what_was_there(kind: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        bounds = random_bounds(kind, rng.normal(size=int(rng.integers(2, 9))), rng)
        (inside,) = random_points(bounds, 1, rng)
        for start in (bounds.floors, np.maximum(bounds.floors, rng.uniform(0.0, 1.0, inside.size) * inside)):
            full = filled(bounds, start)
            assert np.all(full >= start)
            assert bounds.excess(full.tolist()) <= 1e-12, bounds


@kinds
def test_shares_within_the_limits_stay(kind: str) -> None:
    rng = np.random.default_rng(2)
    bounds = random_bounds(kind, rng.normal(size=6), rng)
    for inside in random_points(bounds, 5, rng):
        assert filled(bounds, inside) == pytest.approx(inside, abs=1e-12)


@st.composite
def unfinished_shares(draw: st.DrawFn) -> tuple[Bounds, np.ndarray]:
    """Limits around some shares, with room of any size or none, and shares between the floors and these shares."""
    arms = draw(st.integers(2, 6))
    some = st.lists(st.integers(0, 32), min_size=arms, max_size=arms)
    inside = np.array(draw(some.filter(any)), dtype=float)
    inside /= inside.sum()
    part = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.999999, 1.0]), min_size=arms, max_size=arms)
    floors, room = inside * draw(part), np.array(draw(part))
    ceilings = np.maximum(1e-3, inside + room * (1.0 - inside))
    numbers = draw(st.lists(st.integers(-1, 2), min_size=arms, max_size=arms))
    groups = []
    for number in {number for number in numbers if number >= 0}:
        members = [arm for arm in range(arms) if numbers[arm] == number]
        total = float(inside[members].sum())
        floor, ceiling = (draw(st.sampled_from([0.0, 0.3, 1.0])) for _ in range(2))
        groups.append((tuple(members), total * floor, min(1.0, max(1e-3, total + ceiling * (1.0 - total)))))
    return Bounds(floors, ceilings, tuple(groups)), floors + (inside - floors) * np.array(draw(part))


@given(unfinished_shares())
def test_shares_are_filled_up_to_all_limits(question: tuple[Bounds, np.ndarray]) -> None:
    bounds, start = question
    full = filled(bounds, start)
    assert np.all(full >= start)
    assert bounds.excess(full.tolist()) <= 1e-12


def test_a_group_ceiling_leaves_the_rest_to_the_others() -> None:
    """The group takes 0.1 and 0.2 of the room that its ceiling leaves, as the distances are 1 to 2; arm 2 the rest."""
    bounds = Bounds(np.zeros(3), np.array([0.4, 0.8, 0.7]), (((0, 1), 0.0, 0.3),))
    assert filled(bounds, np.zeros(3)) == pytest.approx([0.1, 0.2, 0.7], abs=1e-15)
    assert filled(bounds, np.array([0.2, 0.1, 0.0])) == pytest.approx([0.2, 0.1, 0.7], abs=1e-15)


def test_what_is_forced() -> None:
    """Group 0 asks for more than its arms, group 1 for less; 0.1 + 0.3 + 0.25 are forced, and 0.35 left."""
    work = np.empty((2, 5))
    floors, groups = np.array([0.1, 0.05, 0.1, 0.2, 0.05]), np.array([-1.0, 0.0, 0.0, 1.0, 1.0])
    assert forced_shares(floors, groups, np.array([0.3, 0.1, 0.0, 0.0, 0.0]), work) == pytest.approx(0.35)
    assert work[0] == pytest.approx([0.3, 0.25, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("family", range(4))
@kinds
def test_tangents_are_above_the_whole_set(family: int, kind: str) -> None:
    """Whatever the r: with y = d x - c every allocation within the limits has c <= c0 + slope (y - y0)."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        means = rng.uniform(0.1, 0.9, int(rng.integers(2, 7)))
        bounds, best, ones = random_bounds(kind, means.tolist(), rng), int(np.argmax(means)), np.ones(means.size)
        limits, workspace = limits_of(bounds), np.empty((kernels.LIMITED_ROWS, means.size))
        spare = forced_shares(limits.floors, limits.groups, limits.group_floors, workspace[kernels.WORK :])
        arms, _ = prepare(
            family, Problem(means, ones, np.array([ones, 0.0 * ones]), -1, limits.floors, spare), workspace
        )
        held = kernels.Limits(*limits[:5])
        kernels._fill_room(held, workspace)
        points = list(random_points(bounds, 4, rng))
        for r in (1e-4, 0.03, 0.7, 5.0, 1e3):
            tangent = kernels._tangent(arms, held, r, True, workspace)
            for shares in points:
                x = shares[best]
                named = (means[best], 1.0, x)
                costs = [transport(family, named, (means[a], 1.0, shares[a]), (1.0, 0.0))[0] for a in range(means.size)]
                value = np.delete(costs, best).min()
                step = arms.level * x - value - tangent.value * r
                assert value <= tangent.value + tangent.slope * step + 1e-12 * arms.level, (bounds, r)
