"""The rates of the paper's experiments."""

from typing import TYPE_CHECKING

import numpy as np

from fairbai.kernels.allocation.floors import allocate, new_workspace
from fairbai.problems import checks
from fairbai.problems.rates.constant import Constant

if TYPE_CHECKING:
    from fairbai.problems.instance import Instance


def blended(instance: "Instance", p0: float, alpha: float) -> Constant:
    """The paper's pre-specified rates p0 (alpha w* + (1 - alpha) v), with v proportional to 1 / w*.

    w* is the unconstrained allocation of the instance. alpha = 0.9 is the paper's agonistic setting (the floors
    help to explore), alpha = 0.1 its antagonistic one.

    Example:
        >>> import fairbai as fb
        >>> blended(fb.Instance([1.0, 0.0]), p0=0.9, alpha=0.1).floor
        array([0.45, 0.45])
    """
    p0 = checks.number("p0", p0, 0.0, 1.0, "in [0, 1]")
    alpha = checks.number("alpha", alpha, 0.0, 1.0, "in [0, 1]")
    means, arms = instance.means, instance.means.size
    if np.sum(means == means.max()) > 1:
        raise ValueError("instance must have a single best arm: with a tie w* is not defined")
    weights = np.empty(arms)
    none = checks.frozen(np.zeros(arms))
    allocate(*instance.problem(), none, 0.0, weights, new_workspace(arms))
    inverse = 1.0 / weights
    return Constant(p0 * (alpha * weights + (1.0 - alpha) * inverse / inverse.sum()))
