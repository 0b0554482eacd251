"""Which families and rewards are refused because evidence could be infinite, which JSON and comparisons cannot hold.

Linear arms are refused, too, if they are too many for their parameters.
"""

import math
from collections.abc import Iterable

import numpy as np

from fairbai.problems.families import Bounded, Exponential, Family, Gaussian
from fairbai.problems.linear import Linear
from fairbai.service.domain.book import Book
from fairbai.service.domain.costs import check_linear
from fairbai.service.domain.refusals import invalid

MIN_VARIANCE, MAX_VARIANCE = 1e-60, 1e200
MIN_WIDTH, MAX_END = 1e-60, 1e100
MAX_DEVIATIONS = 1e130  # of a reward; with the least variance, the largest reward that a request may have
MIN_POSITIVE = 1e-150


def check_scale(family: Family) -> None:
    """Refuse the family of a new experiment with a ValueError; rewards are at most 1e100 in size."""
    if isinstance(family, Linear):
        check_linear(len(family.features), family.dimension)
    if isinstance(family, (Gaussian, Linear)):
        for name, given in (("variance", family.variance), ("guess", getattr(family, "guess", None))):
            numbers = np.atleast_1d(np.array(1.0 if given is None else given, dtype=float))
            wrong = numbers[(numbers < MIN_VARIANCE) | (numbers > MAX_VARIANCE)]
            if wrong.size:
                raise ValueError(f"{name} must be from {MIN_VARIANCE:g} to {MAX_VARIANCE:g}, got {wrong[0]:g}")
    if isinstance(family, Bounded):
        if not -MAX_END <= family.low < family.high <= MAX_END:
            ends = f"{family.low:g} and {family.high:g}"
            raise ValueError(f"low and high must be at most {MAX_END:g} in size, got {ends}")
        if family.high - family.low < MIN_WIDTH:
            raise ValueError(f"high must be at least {MIN_WIDTH:g} above low, got {family.low!r} and {family.high!r}")


def check_rewards(book: Book, rewards: Iterable[float]) -> None:
    """Refuse rewards, or means of them, that are too small or, with a variance of earlier versions, too large."""
    found = _range(book.identifier.family)
    if found is None:
        return
    low, high = found
    for reward in rewards:
        if not low <= reward <= high:
            raise invalid(f"a reward of this experiment must be from {low:g} to {high:g}, got {reward!r}")


def _range(family: Family) -> tuple[float, float] | None:
    """The least and the largest reward that may be told; None where requests allow no other."""
    if isinstance(family, Exponential):
        return MIN_POSITIVE, MAX_END
    if isinstance(family, Gaussian) and not family.unknown_variance:
        given = family.variance
        least = given if isinstance(given, float) else float(np.min(np.asarray(given, dtype=float)))
        if least < MIN_VARIANCE:
            most = MAX_DEVIATIONS * math.sqrt(least)
            return -most, most
    return None
