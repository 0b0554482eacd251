"""A progress bar with rate and time left, for people who watch."""

import sys
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from fairbai.compiling.waiting import waited
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
    bar = _bar_class(needs("tqdm").tqdm)
    return bar(total=total, initial=done, unit=f" {unit}", dynamic_ncols=True, smoothing=0.05, **more)


@cache
def _bar_class(tqdm: Any) -> Any:
    class Bar(tqdm):  # type: ignore[misc]
        """Leaves the time in which the kernels were compiled out of its rate, and so of the time that is left."""

        waited = 0.0

        def __init__(self, **options: Any) -> None:
            self.waited = waited.seconds
            super().__init__(**options)

        def update(self, count: int = 1) -> Any:
            now = waited.seconds
            self.start_t += now - self.waited
            self.last_print_t += now - self.waited
            self.waited = now
            return super().update(count)

    return Bar


def _installed(module: str) -> bool:
    try:
        needs(module)
    except ImportError:
        return False
    return True
