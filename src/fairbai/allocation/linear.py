"""The optimal allocation of linear arms: what the kernel takes of an instance, and what it finds."""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from fairbai.kernels.linear.allocate import allocate_linear
from fairbai.problems.checks import Array, frozen
from fairbai.problems.instance import Instance
from fairbai.problems.linear import Linear
from fairbai.problems.rates import Bounded, Constant, Overlapping, Rate
from fairbai.problems.rates.overlapping import rounded

TOLERANCE = 1e-8  # the relative gap at which the solver is content; issue and docs promise 1e-6
ROOM = 0.1  # the room that an interior point tries to have, in equal shares
RELAXED = 2e-7  # by which floors that leave no room are relaxed


class Polytope(NamedTuple):
    """The shares that floors allow, as the kernel takes them.

    Attributes:
        floors: One per arm.
        groups: A row per limit of a group, 1 for its members or, for a ceiling, -1; and what it sums to at least.
        inside: Shares that are strictly inside; empty if there are no groups.
    """

    floors: Array
    groups: tuple[Array, Array]
    inside: Array


def polytope_of(rates: Rate, arms: int) -> Polytope:
    """The shares that these rates allow, for linear arms; a ValueError for rates that these cannot have."""
    if isinstance(rates, Bounded) or not isinstance(rates, Constant):
        raise ValueError(
            f"linear arms need limits that are known beforehand, got {rates.kind} rates: give constant floors, such as "
            f"floors=0.02, or ceilings"
        )
    if not isinstance(rates, Overlapping) or not rates.groups:
        nothing = (frozen(np.zeros((0, arms))), frozen(np.zeros(0)))
        return Polytope(rates.floors(np.zeros(arms)), nothing, frozen(np.zeros(0)))
    floors, members, totals, _ = rates.polytope(arms)
    inside, rooms = _interior(floors, members, totals)
    relaxed = np.where(rooms < RELAXED, RELAXED, 0.0)
    return Polytope(frozen(floors - relaxed[:arms]), (members, frozen(totals - relaxed[arms:])), frozen(inside))


def _interior(floors: Array, members: Array, totals: Array) -> tuple[Array, Array]:
    """Shares that leave the least room as large as possible and then as much room as possible, and that of every floor.

    A linear program: one variable per share, one for the room of every floor, and one for the least room.
    """
    arms = floors.size
    rows, least = np.vstack([np.eye(arms), members]), np.concatenate([floors, totals])
    some = min(ROOM, max(0.0, 1.0 - float(floors.sum()))) / arms
    count = least.size
    given = np.hstack([-rows, np.eye(count), np.zeros((count, 1))])
    above = np.hstack([np.zeros((count, arms)), -np.eye(count), np.ones((count, 1))])
    found = linprog(
        np.concatenate([np.zeros(arms), -np.ones(count), [-10.0 * count]]),
        np.vstack([given, above]),
        np.concatenate([-least, np.zeros(count)]),
        np.concatenate([np.ones(arms), np.zeros(count + 1)])[None, :],
        [1.0],
        [(None, None)] * arms + [(0.0, some)] * (count + 1),
    )
    inside = rounded(np.array(found.x, dtype=np.float64)[:arms])
    rooms: Array = rows @ inside - least
    return inside, rooms


def solve_linear(instance: Instance, named: int) -> tuple[Array, float, float]:
    """The optimal shares if this arm is to be the answer, the characteristic time and the certified gap."""
    family, arms = instance.oriented, instance.means.size
    assert isinstance(family, Linear)
    one, weights = polytope_of(instance.rates, arms), np.empty(arms)
    means = frozen(family.out_of_units(instance.means))
    question = (family.coordinates, family.variance, means, instance.ties, named)
    cost, gap = allocate_linear(*question, one, TOLERANCE, weights)
    return frozen(weights), 1.0 / float(cost) if cost > 0.0 else math.inf, float(gap)
