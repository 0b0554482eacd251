"""What ``Identifier.ask`` is given, checked."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fairbai.experiment.procedure import Procedure
from fairbai.problems.checks import Array, whole


def checked_n(n: Any, report_after: int | None) -> int:
    """How many trials to assign at once."""
    trials = whole("n", n, 1)
    if report_after is not None and trials > report_after:
        raise ValueError(f"n must be at most report_after ({report_after}): others would be due at once, got {trials}")
    return trials


def mask(procedure: Procedure, available: Sequence[Any], known: Callable[[Any], int]) -> Array:
    """1 for every available arm, and 0 for the others.

    Args:
        procedure: The experiment.
        available: The labels of the available arms.
        known: The number of an arm with a label, which it checks.
    """
    sampling, arms = procedure.experiment.sampling, procedure.experiment.policy.size
    if not sampling.skips_arms:
        raise ValueError(f"{sampling.kind} cannot skip arms: use VirtualQueues(), or leave out available")
    if isinstance(available, str):
        raise ValueError(f"available must be a list of arms, got {available!r}")
    found = np.zeros(arms)
    found[[known(arm) for arm in available]] = 1.0
    found[list(procedure.off)] = 0.0
    if not found.any():
        raise ValueError(f"available must have an arm that is not switched off, got {list(available)!r}")
    return found
