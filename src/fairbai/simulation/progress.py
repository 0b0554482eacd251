"""A progress bar with rate and time left, for people who watch."""

from contextlib import AbstractContextManager
from typing import Any

from fairbai.simulation.extras import needs


class _Silent(AbstractContextManager["_Silent"]):
    """A bar that shows nothing."""

    def update(self, count: int) -> None:
        """Nothing to show."""

    def __exit__(self, *error: object) -> None:
        """Nothing to clear."""


def progress_bar(total: int, shown: bool, done: int = 0, unit: str = "runs") -> Any:
    """A bar for ``total`` runs, or other units, of which ``done`` are done already; on standard error."""
    if not shown:
        return _Silent()
    return needs("tqdm").tqdm(total=total, initial=done, unit=f" {unit}", dynamic_ncols=True, smoothing=0.05)
