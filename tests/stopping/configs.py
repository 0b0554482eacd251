"""Configurations for the stopping kernels, which read no more than the family and the stopping rule."""

from __future__ import annotations

import numpy as np

from fairbai.kernels.config import Config
from fairbai.kernels.state import MEAN, OBSERVED, SCALE
from tests.states import empty_state


def config(family: int, stopping: int, kappa: float, size: float, alpha: float = 0.0, bonus: float = 0.0) -> Config:
    return Config(family, 0, False, 0, 0, stopping, -1, 0, 0, 0.0, 1.0, 0.0, 0.0, kappa, size, alpha, bonus)


def one_arm(count: float, mean: float, scale: float) -> np.ndarray:
    """The state of an experiment with a single arm."""
    state = empty_state(1)
    state[OBSERVED], state[MEAN], state[SCALE] = count, mean, scale
    return state
