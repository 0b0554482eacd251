"""Random limits that can be met: floors and ceilings of arms and groups; tight, loose, and with nothing to spare."""

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
    "ceiling of the best arm's group",
    "ceiling of the challenger's group",
    "group ceilings",
    "all at once, with group ceilings",
)
EDGES = (
    "group floors of sum 1",
    "ceilings of sum 1",
    "floors that are ceilings",
    "floors of sum 1",
    "full group",
    "group ceilings of sum 1",
    "group floors that are ceilings",
    "group full of floors",
)
"""With these the limits have no interior, and cone solvers are in trouble."""

WHOLE = 64


class Bounds(NamedTuple):
    """Limits as plain data: one floor and one ceiling per arm, and groups as arms, floor and ceiling."""

    floors: Floats
    ceilings: Floats
    groups: tuple[tuple[tuple[int, ...], float, float], ...] = ()

    def excess(self, weights: Sequence[float]) -> float:
        """By how much these shares are outside the limits, at most."""
        shares = np.asarray(weights)
        sums = [(shares[list(arms)].sum(), floor, ceiling) for arms, floor, ceiling in self.groups]
        outside = [max(floor - total, total - ceiling) for total, floor, ceiling in sums]
        arms = max((self.floors - shares).max(), (shares - self.ceilings).max())
        return float(max(arms, abs(shares.sum() - 1.0), *outside))

    def rows(self) -> tuple[Floats, Floats]:
        """The groups as rows of A and b in A w <= b: their floors, then those of their ceilings that are below 1."""
        size = self.floors.size
        members = np.array([np.isin(np.arange(size), arms) for arms, _, _ in self.groups], dtype=float)
        floors, ceilings = (np.array([group[place] for group in self.groups]) for place in (1, 2))
        held = ceilings < 1.0
        members = members.reshape(len(self.groups), size)
        return np.vstack([-members, members[held]]), np.concatenate([-floors, ceilings[held]])


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
        groups = [(tuple(members), float(inside[members].sum()) ** 0.5, 1.0)]
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
        groups = [(tuple(members.tolist()), float(inside[members].sum()), 1.0)]
    elif kind in ("ceiling of the best arm's group", "ceiling of the challenger's group"):
        first = best if "best" in kind else second
        members = sorted({first, int(rng.integers(arms))})[: arms - 1]
        groups = [(tuple(members), 0.0, float(inside[members].sum()) * rng.uniform(0.2, 1.0))]
    elif kind == "group ceilings":
        groups = _between(0.0 * inside, inside * rng.uniform(1.001, 1.5), rng, least=2)
    elif kind == "all at once, with group ceilings":
        floors = inside * rng.uniform(0.0, 1.0, arms) * rng.integers(0, 2, arms)
        ceilings = np.minimum(1.0, inside * rng.uniform(1.01, 4.0, arms))
        least = np.maximum(floors, inside * rng.uniform(0.5, 1.0))
        groups = _between(least, inside * rng.uniform(1.01, 2.0, arms), rng)
    elif kind == "group ceilings of sum 1":
        groups = _between(0.0 * inside, inside, rng, least=2)
    elif kind == "group floors that are ceilings":
        groups = _between(inside, inside, rng, least=2)[1:]
    elif kind == "group full of floors":
        members = rng.permutation(arms)[: rng.integers(1, arms)]
        floors[members] = inside[members]
        groups = [(tuple(members.tolist()), 0.0, float(inside[members].sum()))]
    return Bounds(floors, ceilings, tuple(groups))


def _groups(floors: Floats, rng: np.random.Generator) -> list[tuple[tuple[int, ...], float, float]]:
    """All arms in groups, with the sums of these floors."""
    return _between(floors, np.full(floors.size, np.inf), rng)


def _between(
    floors: Floats, ceilings: Floats, rng: np.random.Generator, least: int = 1
) -> list[tuple[tuple[int, ...], float, float]]:
    """All arms in groups, with the sums of these floors and ceilings."""
    parts = np.array_split(rng.permutation(floors.size), rng.integers(least, floors.size + 1))
    return [(tuple(part.tolist()), float(floors[part].sum()), min(1.0, float(ceilings[part].sum()))) for part in parts]


def random_points(bounds: Bounds, count: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Shares within the limits: mixtures of corners."""
    from scipy.optimize import linprog

    size = bounds.floors.size
    rows, most = bounds.rows()
    extra: dict[str, Any] = {"A_ub": rows, "b_ub": most} if most.size else {}
    limits = list(zip(bounds.floors, bounds.ceilings, strict=True))
    corners = []
    for _ in range(3):
        found = linprog(rng.normal(size=size), A_eq=np.ones((1, size)), b_eq=[1.0], bounds=limits, **extra)
        assert found.status == 0, bounds
        corners.append(found.x)
    for _ in range(count):
        yield rng.dirichlet(np.ones(3)) @ np.array(corners)
