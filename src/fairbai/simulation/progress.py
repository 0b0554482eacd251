"""A progress bar with rate and time left, for people who watch."""

import sys
from contextlib import AbstractContextManager
from typing import Any

from fairbai.simulation.extras import needs

DELAY = 1.0  # seconds before a bar that nobody asked for


class _Silent(AbstractContextManager["_Silent"]):
    """A bar that shows nothing."""

    def update(self, count: int) -> None:
        """Nothing to show."""

    def __exit__(self, *error: object) -> None:
        """Nothing to clear."""


def progress_bar(total: int, shown: bool | None, done: int = 0, unit: str = "runs") -> Any:
    """A bar on standard error for ``total`` runs, or other units, of which ``done`` are done already.

    Where ``shown`` is None, there is one if standard error is a terminal and tqdm is installed; it appears after a
    second, and goes when it is done.
    """
    more: dict[str, Any] = {} if shown else {"delay": DELAY, "leave": False}
    if shown is None:
        shown = sys.stderr.isatty() and _installed("tqdm")
    if not shown:
        return _Silent()
    return needs("tqdm").tqdm(total=total, initial=done, unit=f" {unit}", dynamic_ncols=True, smoothing=0.05, **more)


def _installed(module: str) -> bool:
    try:
        needs(module)
    except ImportError:
        return False
    return True
