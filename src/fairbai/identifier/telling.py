"""What ``Identifier.tell`` is given: arms or trials with their rewards, checked and held until they count."""

from collections import Counter
from typing import Any

import numpy as np

from fairbai.experiment.drawn_trials import DrawnTrials, OrderedTrials
from fairbai.experiment.open_trials import OpenTrials
from fairbai.experiment.procedure import Procedure
from fairbai.identifier.trials import Trial, tag_of
from fairbai.kernels import state as rows
from fairbai.problems.checks import Array


def pairs(arm: Any, reward: Any) -> tuple[list[Any], list[Any]]:
    """The arguments of ``tell`` as two lists of one length."""
    if not isinstance(arm, (list, np.ndarray)):
        return [arm], [reward]
    if not isinstance(reward, (list, tuple, np.ndarray)):
        raise ValueError(f"rewards must be a list like arms, got {reward!r}")
    if len(arm) != len(reward):
        raise ValueError(f"rewards must be as many as arms ({len(arm)}), got {len(reward)}")
    return list(arm), list(reward)


def check_pending(state: Array, labels: tuple[Any, ...], arms: list[int]) -> None:
    """Refuse rewards of these arms if one of them has fewer trials that wait for one."""
    for arm, got in Counter(arms).items():
        pending = int(state[rows.ASSIGNED, arm] - state[rows.OBSERVED, arm])
        if got > pending:
            raise ValueError(
                f"arm {labels[arm]!r} has {counted(pending, 'pending trial')}, got {counted(got, 'reward')}"
            )


def hold(procedure: Procedure, opened: OpenTrials, told: list[Any], arms: list[int], values: list[float]) -> None:
    """Hold rewards where they do not count at once, and count what is due: all or, where one is wrong, none.

    Args:
        procedure: The experiment.
        opened: Its open trials.
        told: What the user named each of them by, its ``Trial`` or a label.
        arms: Their arms.
        values: What the kernels count of their rewards.
    """
    numbers = [one.number if isinstance(one, Trial) else None for one in told]
    opened.hold(list(zip(numbers, arms, strict=True)), values)
    if isinstance(opened, DrawnTrials):
        procedure.count_ready()


def check_kept(procedure: Procedure, opened: OrderedTrials, seed: int, told: list[Any], arms: list[int]) -> None:
    """Refuse what the caller kept if these are not the next trials, as they were drawn."""
    opened.check_order([one.number if isinstance(one, Trial) else None for one in told])
    opened.check_chances(arms, [one.probability for one in told], _guarantees(procedure))
    for one, arm in zip(told, arms, strict=True):
        if one.probability is None and procedure.decision is None:
            raise ValueError(f"trial {one.number} must have the probability with which it was drawn, got None")
        if one.tag != tag_of(seed, opened.stream_of(one.number), one.number, arm, one.probability):
            drawn = f"arm {one.arm!r} with probability {one.probability!r} and tag {one.tag!r}"
            raise ValueError(f"trial {one.number} must be what ask_trial returned, with its tag, got {drawn}")


def count_next(
    procedure: Procedure, opened: OrderedTrials, arms: list[int], values: list[float], chances: list[float | None]
) -> None:
    """Count the next trials in the order of assignment, as they were drawn: the caller vouches for that."""
    if procedure.decision is None and None in chances:
        raise ValueError("trials before the decision must have the probability with which they were drawn, got None")
    opened.check_chances(arms, chances, _guarantees(procedure))
    for arm, value, chance in zip(arms, values, chances, strict=True):
        opened.first += 1
        procedure.count_drawn(arm, value, chance)


def _guarantees(procedure: Procedure) -> Array:
    assert procedure.experiment.guarantees is not None  # only drawn trials are told in order
    return procedure.experiment.guarantees


def counted(number: int, noun: str) -> str:
    """A count with its noun: no rewards, 1 reward, 2 rewards."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
