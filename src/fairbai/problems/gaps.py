"""What a trial forgoes: how far every arm is from the best, and the least that floors and limits cost per trial."""

import numpy as np

from fairbai.problems.checks import Array
from fairbai.problems.rates import Limits, Polytope


def gaps_of(means: Array, goal: str) -> Array:
    """How far the mean of every arm is from the best, which is the least for the goal "min"; never negative.

    Example:
        >>> gaps_of(np.array([3.0, 1.0]), "min").tolist()
        [2.0, 0.0]
    """
    found: Array = means.max() - means if goal == "max" else means - means.min()
    return found


def least_gap(gaps: Array, floors: Array, limits: Limits | Polytope | None = None) -> float:
    """The mean gap per trial of the best policy that keeps all floors and limits.

    With floors alone, the other arms get their floors and the best arm gets the rest. With ceilings or groups it is a
    linear program.

    Example:
        >>> round(least_gap(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.1, 0.2])), 12)
        0.5
    """
    if limits is None:
        return float(gaps @ floors)
    from scipy.optimize import linprog  # which takes a while to import

    if isinstance(limits, Polytope):
        shares = [(floor, None) for floor in floors.tolist()]
        found = linprog(gaps, -limits.members, -limits.group_floors, np.ones((1, gaps.size)), [1.0], shares)
        return float(gaps @ np.asarray(found.x, dtype=np.float64))
    groups = np.unique(limits.groups[limits.groups >= 0.0])
    members = (limits.groups == groups[:, None]).astype(np.float64)
    chosen = groups.astype(np.int64)
    most, least = limits.group_ceilings[chosen], limits.group_floors[chosen]
    rows = np.concatenate([members, -members]) if groups.size else None
    ends = np.concatenate([most, -least]) if groups.size else None
    shares = list(zip(limits.floors.tolist(), np.maximum(limits.floors, limits.ceilings).tolist(), strict=True))
    found = linprog(gaps, rows, ends, np.ones((1, gaps.size)), [1.0], shares, method="highs")
    return float(gaps @ np.asarray(found.x, dtype=np.float64))
