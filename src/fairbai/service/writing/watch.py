"""How long the writer takes: what tells a writer that hangs from one that has nothing to do."""

import time
from collections.abc import Callable


class Watch:
    """What the writer is doing; the event loop says what is submitted, and the thread what it takes.

    Args:
        clock: Seconds that never run backwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._submitted = 0  # operations, written by the event loop only,
        self._taken = 0  # and this by the thread only
        self._began: float | None = None

    def submit(self) -> None:
        """Another operation is about to wait."""
        self._submitted += 1

    def begin(self, operations: int) -> None:
        """So many operations are now a group."""
        self._taken += operations
        self._began = self._clock()

    def end(self) -> None:
        """The group is done."""
        self._began = None

    @property
    def waiting(self) -> int:
        """How many operations wait."""
        return self._submitted - self._taken

    @property
    def busy(self) -> float:
        """Seconds since the present group began; 0 if there is none."""
        began = self._began
        return 0.0 if began is None else self._clock() - began
