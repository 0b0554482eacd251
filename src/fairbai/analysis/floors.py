"""The least probability with which every arm was drawn, which limits what a log with probabilities can prove."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairbai.analysis.columns import Codes
from fairbai.analysis.log import Log
from fairbai.problems.checks import Array, number
from fairbai.problems.labels import some


def least_of(log: Log, floor: Any) -> Array | None:
    """The least probability of every arm, declared or as logged; None without probabilities."""
    if log.probabilities is None:
        if floor is not None:
            raise ValueError(f"floor is for logs with probabilities, got {floor!r} without a column of probabilities")
        return None
    if floor is None:
        return _least_logged(log.arms, log.probabilities, len(log.labels))
    floors = [_floor(floor, label, log.labels) for label in log.labels]
    short = log.probabilities < np.array(floors)[log.arms] * (1.0 - 1e-9)
    if short.any():
        trial = int(np.argmax(short))
        least = floors[int(log.arms[trial])]
        raise ValueError(
            f"{log.place(trial)}: the probability must be at least the floor, {least:g}, got "
            f"{log.probabilities[trial]:g}"
        )
    return np.array(floors)


def _floor(floor: Any, label: str | int, labels: tuple[Any, ...]) -> float:
    if isinstance(floor, Mapping):
        by_label = {str(name): value for name, value in floor.items()}
        expected = f"floor must be one for all arms, or one for each of {some(labels)}"
        if str(label) not in by_label:
            raise ValueError(f"{expected}, got none for {label!r}")
        if others := by_label.keys() - set(map(str, labels)):
            raise ValueError(f"{expected}, got one for {min(others)!r}")
        floor = by_label[str(label)]
    return number("floor", floor, 1e-9, 1.0, "in (0, 1]")


def _least_logged(arms: Codes, probabilities: Array, count: int) -> Array:
    """The least probability with which every arm was drawn; 1 for an arm that never was."""
    least = np.ones(count)
    np.minimum.at(least, arms, probabilities)
    return least
