"""Arms and their rewards, as users give them."""

from collections import Counter
from typing import Any

import numpy as np

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


def counted(number: int, noun: str) -> str:
    """A count with its noun: no rewards, 1 reward, 2 rewards."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
