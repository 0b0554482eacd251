"""How long the writer takes: what tells a writer that hangs from one that has nothing to do."""

import time
from collections.abc import Callable, Hashable, Iterable


class Watch:
    """Times of the writer's work; the event loop says what is submitted, and the thread what it takes.

    Args:
        clock: Seconds that never run backwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._submitted: dict[Hashable, float] = {}  # when what is waiting was submitted, oldest first
        self._began: float | None = None

    def submit(self, name: Hashable) -> None:
        """Another operation is about to wait."""
        self._submitted[name] = self._clock()

    def begin(self, names: Iterable[Hashable]) -> None:
        """These operations are now a group."""
        for name in names:
            del self._submitted[name]
        self._began = self._clock()

    def end(self) -> None:
        """The group is done."""
        self._began = None

    @property
    def waiting(self) -> int:
        """How many operations wait."""
        return len(self._submitted)

    @property
    def busy(self) -> float:
        """Seconds since the present group began; 0 if there is none."""
        began = self._began
        return 0.0 if began is None else self._clock() - began

    @property
    def oldest(self) -> float:
        """Seconds that the oldest waiting operation has waited; 0 if there is none."""
        try:
            return self._clock() - next(iter(self._submitted.values()))
        except (StopIteration, RuntimeError):  # nothing, or it is just being taken
            return 0.0
