"""How far from its limits a sampling rule can ever be, in trials: what a rule that is fair on every path promises."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairbai.problems.rates import Bounded, Constant


class Bounds(NamedTuple):
    """The most that is possible in any run at any time, for limits that are known beforehand.

    Attributes:
        behind: Trials that each arm can be behind its floor.
        above: Trials that each arm can be above its ceiling; one entry per arm even where there are no ceilings.
        groups: Trials that each group can be behind its floor.
        groups_above: Trials that each group can be above its ceiling; one entry per group even where there are none.
    """

    behind: list[float]
    above: list[float]
    groups: list[float]
    groups_above: Sequence[float] = ()


def group_sizes(rates: Constant, arms: int) -> list[int]:
    """How many arms each group has."""
    if not isinstance(rates, Bounded):
        return []
    members = rates.limits(arms).groups.astype(np.int64)
    return [int(size) for size in np.bincount(members[members >= 0])]


def groups_floored(rates: Constant, arms: int) -> list[int]:
    """How many arms with a floor each group has."""
    if not isinstance(rates, Bounded):
        return []
    limits = rates.limits(arms)
    members = limits.groups.astype(np.int64)
    held = np.bincount(members[members >= 0], limits.floors[members >= 0] > 0.0)
    return [int(number) for number in held]


def harmonic(n: int) -> float:
    """1 + 1/2 + ... + 1/n."""
    return sum(1.0 / k for k in range(1, n + 1))
