"""Random limits that can be met: floors, ceilings and floors of groups; tight, loose, and where nothing is spare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

KINDS = (
    "loose",
    "tight",
    "ceiling of the best arm",
    "ceiling of the challenger",
    "one ceiling for all",
    "group of the best arm",
    "groups",
    "all at once",
)
EDGES = ("group floors of sum 1", "ceilings of sum 1", "floors that are ceilings", "floors of sum 1", "full group")
"""With these the limits have no interior, and cone solvers are in trouble."""

WHOLE = 64


class Bounds(NamedTuple):
    """Limits as plain data: one floor and one ceiling per arm, and groups as pairs of arms and floor."""

    floors: Floats
    ceilings: Floats
    groups: tuple[tuple[tuple[int, ...], float], ...] = ()

    def excess(self, weights: Sequence[float]) -> float:
        """By how much these shares are outside the limits, at most."""
        shares = np.asarray(weights)
        lacks = [floor - shares[list(arms)].sum() for arms, floor in self.groups]
        return float(max((self.floors - shares).max(), (shares - self.ceilings).max(), abs(shares.sum() - 1.0), *lacks))


def random_bounds(kind: str, means: Sequence[float], rng: np.random.Generator) -> Bounds:
    """Limits of a kind around random shares, which are multiples of 1/64: their sums are exact."""
    arms = len(means)
    inside = (1 + rng.multinomial(WHOLE - arms, rng.dirichlet(np.ones(arms)))) / WHOLE
    order = np.argsort(means)
    best, second = int(order[-1]), int(order[-2])
    floors, ceilings, groups = np.zeros(arms), np.ones(arms), []
    if kind == "loose":
        floors = 0.5 * inside * rng.integers(0, 2, arms)
        ceilings = np.minimum(1.0, inside + rng.uniform(0.1, 0.9, arms))
    elif kind == "tight":
        floors, ceilings = 0.9 * inside, np.minimum(1.0, 1.1 * inside)
        groups = _groups(0.96 * inside, rng)
    elif kind == "ceiling of the best arm":
        ceilings[best] = inside[best] * rng.uniform(0.1, 1.0)
    elif kind == "ceiling of the challenger":
        ceilings[second] = inside[second] * rng.uniform(0.1, 1.0)
    elif kind == "one ceiling for all":
        ceilings[:] = rng.uniform(1.0 / arms, min(1.0, 2.0 / arms)) if arms > 2 else 0.75
    elif kind == "group of the best arm":
        members = sorted({best, int(rng.integers(arms))})
        groups = [(tuple(members), float(inside[members].sum()) ** 0.5)]
    elif kind == "groups":
        groups = _groups(inside * rng.uniform(0.5, 0.99), rng)
    elif kind == "all at once":
        floors = inside * rng.uniform(0.0, 1.0, arms) * rng.integers(0, 2, arms)
        ceilings = np.minimum(1.0, inside * rng.uniform(1.01, 4.0, arms))
        groups = _groups(np.maximum(floors, inside * rng.uniform(0.5, 1.0)), rng)
    elif kind == "group floors of sum 1":
        groups = _groups(inside, rng)
    elif kind == "ceilings of sum 1":
        ceilings = inside.copy()
    elif kind == "floors that are ceilings":
        fixed = rng.random(arms) < 0.5
        floors, ceilings = np.where(fixed, inside, 0.0), np.where(fixed, inside, 1.0)
    elif kind == "floors of sum 1":
        floors = inside.copy()
    elif kind == "full group":
        members = rng.permutation(arms)[: rng.integers(1, arms)]
        ceilings[members] = inside[members]
        groups = [(tuple(members.tolist()), float(inside[members].sum()))]
    return Bounds(floors, ceilings, tuple(groups))


def _groups(floors: Floats, rng: np.random.Generator) -> list[tuple[tuple[int, ...], float]]:
    """All arms in groups, with the sums of these floors."""
    parts = np.array_split(rng.permutation(floors.size), rng.integers(1, floors.size + 1))
    return [(tuple(part.tolist()), float(floors[part].sum())) for part in parts]


def random_points(bounds: Bounds, count: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Shares within the limits: mixtures of corners."""
    from scipy.optimize import linprog

    size = bounds.floors.size
    rows = [np.isin(np.arange(size), arms) for arms, _ in bounds.groups]
    extra: dict[str, Any] = {}
    if rows:
        extra = {"A_ub": -np.array(rows, dtype=float), "b_ub": [-floor for _, floor in bounds.groups]}
    limits = list(zip(bounds.floors, bounds.ceilings, strict=True))
    corners = []
    for _ in range(3):
        found = linprog(rng.normal(size=size), A_eq=np.ones((1, size)), b_eq=[1.0], bounds=limits, **extra)
        assert found.status == 0, bounds
        corners.append(found.x)
    for _ in range(count):
        yield rng.dirichlet(np.ones(3)) @ np.array(corners)
