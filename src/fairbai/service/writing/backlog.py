"""What waits for the writer: how much of it is whose, so that nobody fills the queue for everybody else."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from fairbai.service.domain.operation import Operation
from fairbai.service.domain.refusals import Refusal, unavailable

MAX_WAITING = 20_000  # operations
MAX_WAITING_ROWS = 500_000  # of these operations, approximately: they are in memory
MAX_EACH = 5_000  # operations of one key, and of one experiment
MAX_EACH_ROWS = 20_000  # of these: planned for less than half a second
ROWS_OF_FUNCTION = 100  # what is not an operation, such as creating an experiment, counts for so many


@dataclass(slots=True)
class Share:
    """What waits of one experiment, of one key, or of all."""

    operations: int = 0
    rows: int = 0
    since: float = 0.0  # when it had its last turn or, before that, began to wait

    def change(self, operations: int, rows: int) -> None:
        """Add something, or take it away."""
        self.operations += operations
        self.rows += rows

    @property
    def is_full(self) -> bool:
        """Whether a key or an experiment must wait before it may send more."""
        return self.operations >= MAX_EACH or self.rows >= MAX_EACH_ROWS


class Entry(NamedTuple):
    """What waits, whose it is, what it waits behind, and whether it is let in if much of that waits."""

    lane: str
    actor: str | None
    rows: int
    urgent: bool = False


class Backlog:
    """What was submitted and is not answered yet. Used in the event loop only.

    What the server does by itself has no actor, and is refused only if everything is full.

    Args:
        clock: Seconds that never run backwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._all = Share()
        self._lanes: OrderedDict[str, Share] = OrderedDict()  # whoever has waited longest for a turn is the first
        self._actors: dict[str, Share] = {}

    def add(self, work: Any, actor: str | None = None) -> Entry:
        """Take something in; a Refusal if there is no room for it.

        Args:
            work: An operation, or a function of the ledger.
            actor: The key that asks for the function; operations know their own.
        """
        if isinstance(work, Operation):
            entry = Entry(work.experiment, work.actor, work.size, work.urgent)
        else:
            entry = Entry("" if actor is None else f"key {actor}", actor, ROWS_OF_FUNCTION)
        self._check(entry)
        self._all.change(1, entry.rows)
        lane = self._lanes.get(entry.lane)
        if lane is None:
            lane = self._lanes[entry.lane] = Share(since=self._clock())
        lane.change(1, entry.rows)
        if entry.actor is not None:
            self._actors.setdefault(entry.actor, Share()).change(1, entry.rows)
        return entry

    def remove(self, entry: Entry) -> None:
        """It is answered."""
        self._all.change(-1, -entry.rows)
        lane = self._lanes[entry.lane]
        lane.change(-1, -entry.rows)
        if lane.operations:
            lane.since = self._clock()
            self._lanes.move_to_end(entry.lane)
        else:
            del self._lanes[entry.lane]
        if entry.actor is not None:
            actor = self._actors[entry.actor]
            actor.change(-1, -entry.rows)
            if not actor.operations:
                del self._actors[entry.actor]

    @property
    def oldest(self) -> float:
        """Seconds that the experiment has waited that has waited longest for its next turn; 0 if there is none."""
        first = next(iter(self._lanes.values()), None)
        return 0.0 if first is None else self._clock() - first.since

    def _check(self, entry: Entry) -> None:
        if self._all.operations >= MAX_WAITING or self._all.rows >= MAX_WAITING_ROWS:
            raise unavailable("Too many requests are waiting for the database")
        if entry.actor is None:
            return
        for shares, name, whose in ((self._actors, entry.actor, "key"), (self._lanes, entry.lane, "experiment")):
            share = shares.get(name)
            if share is not None and share.is_full and not (entry.urgent and shares is self._lanes):
                raise _too_much(whose)


def _too_much(whose: str) -> Refusal:
    most = f"{MAX_EACH:,} requests and {MAX_EACH_ROWS:,} trials and rewards"
    detail = f"Too much of this {whose} is waiting to be written: at most {most} may wait at once"
    return Refusal(429, "Too many requests", detail, {"Retry-After": "1"})
