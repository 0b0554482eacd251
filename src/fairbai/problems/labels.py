"""The labels of arms, as users give them."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np


def labels_of(arms: int | Sequence[Hashable]) -> tuple[Any, ...]:
    """The labels of the arms, which users give by themselves or by their number."""
    try:
        labels = tuple(range(arms)) if isinstance(arms, (int, np.integer)) else tuple(arms)
    except TypeError:
        raise ValueError(f"arms must be their number or their labels, got {arms!r}") from None
    if len(labels) < 2:
        raise ValueError(f"arms must be at least two, got {len(labels)}")
    for label in labels:
        if not isinstance(label, (str, int)):
            raise ValueError(f"arms must have labels that are strings or whole numbers, got {label!r}")
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"arms must have different labels, got {twice!r} twice")
    return labels


def labels_for(arms: int | Sequence[Hashable] | None, means: Any) -> tuple[Any, ...]:
    """The labels of the arms that have these means: those given, or their numbers."""
    count = np.size(means)
    labels = tuple(range(count)) if arms is None else labels_of(arms)
    if len(labels) != count:
        raise ValueError(f"arms must be as many as means ({count}), got {len(labels)}")
    return labels


def some(labels: Sequence[Any]) -> str:
    """A few labels, for an error."""
    shown = ", ".join(repr(label) for label in labels[:5])
    return shown if len(labels) <= 5 else f"{shown}, ... ({len(labels)} arms)"
