"""Filling up to the limits, and the tangents that certify an allocation within them."""

from __future__ import annotations

import numpy as np
import pytest

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
    fill_up(limits.ceilings, limits.groups, limits.group_floors, full, np.empty((2, full.size)))
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
        arms, _ = prepare(family, Problem(means, ones, limits.floors, spare), workspace)
        held = kernels.Limits(limits.floors, limits.ceilings, limits.groups, limits.group_floors)
        points = list(random_points(bounds, 4, rng))
        for r in (1e-4, 0.03, 0.7, 5.0, 1e3):
            tangent = kernels._tangent(arms, held, r, True, workspace)
            for shares in points:
                x = shares[best]
                costs = [transport(family, means[best], 1.0, x, means[a], 1.0, shares[a])[0] for a in range(means.size)]
                value = np.delete(costs, best).min()
                step = arms.level * x - value - tangent.value * r
                assert value <= tangent.value + tangent.slope * step + 1e-12 * arms.level, (bounds, r)
