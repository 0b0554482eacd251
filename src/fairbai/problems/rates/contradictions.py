"""Limits that cannot all be met, and why not.

Call least what a part (see ``declared``) must have, and most what it may have. The limits can be met if and only if
floor <= ceiling for every arm, least <= most for every part, and Σ least <= 1 <= Σ most: then every part can be given a
share between the two such that they sum to 1, and every arm one within its part.
"""

from typing import NoReturn

import numpy as np

from fairbai.problems.checks import SUM_TOLERANCE, Array
from fairbai.problems.rates.declared import Declared, Parts
from fairbai.problems.sentences import listed, told

MAX_PARTS = 4  # that a sentence names


def refuse_contradictions(declared: Declared) -> None:
    """Raise a ValueError that says which limits contradict each other, if some do."""
    wrong = declared.ceilings < declared.floors
    if wrong.any():
        arm = int(np.argmax(wrong))
        low, high = float(declared.floors[arm]), float(declared.ceilings[arm])
        _refuse(f"{declared.arm(arm).name} has a floor of ", low, " but a ceiling of ", high)
    parts = declared.parts()
    _check_groups(declared, parts)
    least, most = float(parts.least.sum()), float(parts.most.sum())
    if least > 1.0 + SUM_TOLERANCE:
        _refuse(_shares(declared, parts.least, "must have at least", "at least"), ": that is ", least, " of the trials")
    if most < 1.0 - SUM_TOLERANCE:
        _refuse(_all_ceilings(declared, parts), ": that leaves ", 1.0 - most, " of the trials for nobody")


def _refuse(*why: str | float) -> NoReturn:
    raise ValueError(f"limits must not contradict each other: {told(*why)}")


def _check_groups(declared: Declared, parts: Parts) -> None:
    """Refuse a group whose arms have floors or ceilings that do not go with its own."""
    for number, group in enumerate(declared.groups):
        subject = declared.group(group)
        its, has = "these" if subject.several else "its", f"{subject.together} {subject.has}"
        floors, ceilings = float(parts.floors[number]), float(parts.ceilings[number])
        if group.floor > ceilings + SUM_TOLERANCE:
            _refuse(f"{has} a floor of ", group.floor, f" but {its} arms have ceilings of ", ceilings, " together")
        if floors > group.ceiling + SUM_TOLERANCE:
            _refuse(f"{has} a ceiling of ", group.ceiling, f" but {its} arms have floors of ", floors, " together")


def _all_ceilings(declared: Declared, parts: Parts) -> str:
    """Ceilings of which the sum is too small."""
    if declared.groups:
        return _shares(declared, parts.most, "may have at most", "at most")
    one, total = float(declared.ceilings[0]), float(declared.ceilings.sum())
    if np.any(declared.ceilings != one):
        return told("the ceilings add up to ", total)
    return told(f"{declared.ceilings.size} ceilings of ", one, " add up to ", total)


def _shares(declared: Declared, shares: Array, first: str, other: str) -> str:
    """The shares of the parts, in words, the largest first; the small ones are summed up if there are many."""
    order = [int(part) for part in np.argsort(-shares, kind="stable") if shares[part] > 0.0]
    shown = order if len(order) <= MAX_PARTS else order[: MAX_PARTS - 1]
    alone, groups = declared.alone, declared.groups
    words: list[str] = []
    for part in shown:
        group = groups[part] if part < len(groups) else None
        name = declared.arm(int(alone[part - len(groups)])).name if group is None else declared.group(group).name
        together = " together" if group is not None and len(group.arms) > 1 else ""
        words.append(told(f"{name} {other if words else first} ", float(shares[part]), together))
    if len(shown) < len(order):
        rest = order[len(shown) :]
        words.append(told(f"the {len(rest)} others {other} ", float(shares[rest].sum()), " together"))
    return listed(words)
