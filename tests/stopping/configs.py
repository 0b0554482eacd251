"""Configurations for the stopping kernels, which read no more than the family and the stopping rule."""

from __future__ import annotations

import numpy as np

from fairbai.kernels.config import Config
from fairbai.kernels.state import MEAN, OBSERVED, PENALTY, SCALE
from fairbai.kernels.stopping.tilts import Arm, arm_of


def config(family: int, stopping: int, kappa: float, size: float) -> Config:
    return Config(family, 0, False, 0, 0, stopping, 0, 0, 0.0, 1.0, 0.0, kappa, size)


def one_arm(given: Config, count: float, mean: float, scale: float) -> Arm:
    """The rewards of a single arm."""
    state = np.zeros((PENALTY + 1, 1))
    state[OBSERVED], state[MEAN], state[SCALE] = count, mean, scale
    return arm_of(given, state, 0)
