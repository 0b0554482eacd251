"""How far from its limits a sampling rule can ever be, in trials: what a rule that is fair on every path promises."""

from typing import NamedTuple

import numpy as np

from fairbai.problems.rates import Bounded, Constant


class Bounds(NamedTuple):
    """The most that is possible in any run at any time, for limits that are known beforehand.

    Attributes:
        behind: Trials that each arm can be behind its floor.
        above: Trials that each arm can be above its ceiling; one entry per arm even where there are no ceilings.
        groups: Trials that each group can be behind its floor.
    """

    behind: list[float]
    above: list[float]
    groups: list[float]


def group_sizes(rates: Constant, arms: int) -> list[int]:
    """How many arms each group has."""
    if not isinstance(rates, Bounded):
        return []
    members = rates.limits(arms).groups.astype(np.int64)
    return [int(size) for size in np.bincount(members[members >= 0])]


def harmonic(n: int) -> float:
    """1 + 1/2 + ... + 1/n."""
    return sum(1.0 / k for k in range(1, n + 1))
