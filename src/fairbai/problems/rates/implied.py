"""What limits imply but do not say: the least and the largest share that every arm and every group can really have.

A part (see ``declared``) gets at least 1 minus what all others may have, and at most 1 minus what all others must have.
An arm gets at least what its group gets minus what the other arms of the group may have, and at most what its group
gets minus what they must have. These bounds are exact, because groups do not overlap.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fairbai.problems.checks import SUM_TOLERANCE, Array, frozen
from fairbai.problems.rates.declared import Declared, Parts, Subject
from fairbai.problems.rates.groups import Group
from fairbai.problems.sentences import told


class Tightened(NamedTuple):
    """The shares that limits really leave: every end of them is taken by some shares within the limits.

    Attributes:
        floors: The least share of each arm.
        ceilings: The largest share of each arm.
        group_floors: The least share of each group.
        group_ceilings: The largest share of each group.
    """

    floors: Array
    ceilings: Array
    group_floors: Array
    group_ceilings: Array


def tightened(declared: Declared) -> Tightened:
    """The shares that these limits really leave."""
    parts, groups = declared.parts(), len(declared.groups)
    of = parts.of
    least = np.maximum(parts.least, 1.0 - (parts.most.sum() - parts.most))
    most = np.minimum(parts.most, 1.0 - (parts.least.sum() - parts.least))
    floors = np.maximum(declared.floors, least[of] - (parts.ceilings[of] - declared.ceilings))
    ceilings = np.minimum(declared.ceilings, most[of] - (parts.floors[of] - declared.floors))
    return Tightened(frozen(floors), frozen(ceilings), frozen(least[:groups]), frozen(most[:groups]))


def implied(declared: Declared) -> list[str]:
    """Sentences about the groups and arms that get more than their floor or less than their ceiling says.

    That the floors of others keep an arm without a ceiling below 1 goes without saying.
    """
    parts, real = declared.parts(), tightened(declared)
    sentences: list[str] = []
    for number, group in enumerate(declared.groups):
        sentences += _of_group(declared, parts, real, number, group)
    for arm, part in enumerate(parts.of):
        if part >= len(declared.groups):
            sentences += _of_arm(declared, real, arm)
        elif len(declared.groups[part].arms) > 1:  # else it has been told of the group
            sentences += _of_member(declared, parts, real, arm, declared.groups[part])
    return sentences


def _of_group(declared: Declared, parts: Parts, real: Tightened, number: int, group: Group) -> Iterator[str]:
    subject = declared.group(group)
    floors, ceilings = float(parts.floors[number]), float(parts.ceilings[number])
    least, most = float(real.group_floors[number]), float(real.group_ceilings[number])
    if len(group.arms) == len(declared.labels):
        return  # all trials are theirs
    if _above(least, float(parts.least[number])):
        yield _raised(subject, group.floor, least, *_others_most(declared, group.arms, 1.0 - least))
    elif group.floor > 0.0 and _above(floors, group.floor):
        yield _raised(subject, group.floor, least, "the floors of these arms add up to ", floors)
    if group.ceiling < 1.0 and _above(float(parts.most[number]), most):
        yield _lowered(subject, group.ceiling, most, *_others_least(declared, group.arms, 1.0 - most))
    elif group.ceiling < 1.0 and _above(group.ceiling, ceilings):
        yield _lowered(subject, group.ceiling, most, "the ceilings of these arms add up to ", ceilings)


def _of_arm(declared: Declared, real: Tightened, arm: int) -> Iterator[str]:
    """About an arm in no group."""
    subject, floor, ceiling = declared.arm(arm), float(declared.floors[arm]), float(declared.ceilings[arm])
    least, most = float(real.floors[arm]), float(real.ceilings[arm])
    if _above(least, floor):
        yield _raised(subject, floor, least, *_others_most(declared, (arm,), 1.0 - least))
    if ceiling < 1.0 and _above(ceiling, most):
        yield _lowered(subject, ceiling, most, *_others_least(declared, (arm,), 1.0 - most))


def _of_member(declared: Declared, parts: Parts, real: Tightened, arm: int, group: Group) -> Iterator[str]:
    """About an arm of a group with several: its group gets so much, and the other arms of the group the rest."""
    part, floor, ceiling = int(parts.of[arm]), float(declared.floors[arm]), float(declared.ceilings[arm])
    subject, whole = declared.arm(arm), declared.members(group)
    others = [other for other in group.numbers if other != arm]
    other = declared.arm(others[0]) if len(others) == 1 else Subject("its other arms", several=True)
    least, most = float(real.floors[arm]), float(real.ceilings[arm])
    if _above(least, floor):
        rest = float(parts.ceilings[part]) - ceiling
        has = (f"{whole.name} has at least ", float(real.group_floors[part]))
        yield _raised(subject, floor, least, *has, f" and {other.together} may have at most ", rest)
    if ceiling < 1.0 and _above(ceiling, most):
        rest = float(parts.floors[part]) - floor
        has = (f"{whole.name} may have at most ", float(real.group_ceilings[part]))
        more = (f" and {other.together} {other.has} at least ", rest) if rest > 0.0 else ()
        yield _lowered(subject, ceiling, most, *has, *more)


def _above(share: float, other: float) -> bool:
    return share > other + SUM_TOLERANCE


def _others_most(declared: Declared, arms: tuple[int | str, ...], most: float) -> tuple[str | float, ...]:
    return f"{_others(declared, arms).together} may have at most ", most


def _others_least(declared: Declared, arms: tuple[int | str, ...], least: float) -> tuple[str | float, ...]:
    others = _others(declared, arms)
    return f"{others.together} {others.has} at least ", least


def _others(declared: Declared, arms: tuple[int | str, ...]) -> Subject:
    """All other arms, as a subject."""
    if len(declared.labels) - len(arms) > 1:
        return Subject("all others", several=True)
    (other,) = set(range(len(declared.labels))).difference(map(int, arms))
    return declared.arm(other)


def _raised(subject: Subject, floor: float, least: float, *why: str | float) -> str:
    says = ("a floor of ", floor) if floor > 0.0 else ("no floor",)
    return told(f"{subject.together} {subject.has} ", *says, ", but as ", *why, f", {subject.gets} at least ", least)


def _lowered(subject: Subject, ceiling: float, most: float, *why: str | float) -> str:
    says = ("a ceiling of ", ceiling)
    return told(f"{subject.together} {subject.has} ", *says, ", but as ", *why, f", {subject.gets} at most ", most)
