"""States of experiments, for tests that call kernels directly."""

import numpy as np

from fairbai.kernels.state import SCALARS, STATE_ROWS, STRETCH


def empty_state(arms: int) -> np.ndarray:
    """All zeros, but for ties of equal means."""
    state = np.zeros((STATE_ROWS, arms))
    state[STRETCH] = 1.0
    return state


def empty_scalars() -> np.ndarray:
    """All zeros."""
    return np.zeros(SCALARS)
