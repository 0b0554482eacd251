"""Arms and their rewards, as users give them."""

from typing import Any

import numpy as np


def pairs(arm: Any, reward: Any) -> tuple[list[Any], list[Any]]:
    """The arguments of ``tell`` as two lists of one length."""
    if not isinstance(arm, (list, np.ndarray)):
        return [arm], [reward]
    if not isinstance(reward, (list, tuple, np.ndarray)):
        raise ValueError(f"rewards must be a list like arms, got {reward!r}")
    if len(arm) != len(reward):
        raise ValueError(f"rewards must be as many as arms ({len(arm)}), got {len(reward)}")
    return list(arm), list(reward)
