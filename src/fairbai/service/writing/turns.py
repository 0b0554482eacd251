"""Whose turn it is: experiments take turns, light work takes turns with heavy work, and every turn is short.

So an operation that is light waits for at most one turn of heavy work, however many others have heavy work to do.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

from fairbai.service.domain import costs
from fairbai.service.domain.operation import Operation
from fairbai.service.writing.ledger import Ledger

MAX_REMEMBERED = 100_000  # experiments whose size is known

Work = Operation[Any] | Callable[[Ledger], Any]


class Waiting(NamedTuple):
    """Something to do, who waits for it, and what it waits behind: the experiment or, of a function, the key."""

    work: Work
    future: asyncio.Future[Any]
    lane: str


class Turns:
    """What waits to be written; those of one experiment stay in order.

    Args:
        ledger: What knows how much operations cost.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lanes: OrderedDict[str, deque[Waiting]] = OrderedDict()
        self._length = 0
        self._heavy_next = True
        self._arms: dict[str, int] = {}

    def __len__(self) -> int:
        return self._length

    def add(self, waiting: Waiting) -> None:
        """Queue something."""
        lane = self._lanes.get(waiting.lane)
        if lane is None:
            lane = self._lanes[waiting.lane] = deque()
        lane.append(waiting)
        self._length += 1

    def take(self) -> list[Waiting]:
        """What to write next, in one transaction: at least one, if anything waits, and no more than is soon done."""
        self._heavy_next = not self._heavy_next
        group = self._take(self._heavy_next)
        return group or self._take(not self._heavy_next)

    def _take(self, heavy: bool) -> list[Waiting]:
        """Heavy or light work; an experiment whose operation does not fit is the first one the next time."""
        group: list[Waiting] = []
        left = costs.MAX_OPERATION if heavy else costs.MAX_LIGHT
        opened: dict[str, int] = {}  # the experiments in the group, and how many trials or rewards of each
        full = False
        while self._lanes and not full:
            before = len(group)
            for name in list(self._lanes):
                lane = self._lanes[name]
                work = lane[0].work
                cost = self._seconds(work, opened.get(name))
                if (cost > costs.LIGHT) != heavy:
                    continue
                if group and cost > left:
                    full = True
                    continue
                group.append(lane.popleft())
                left -= cost
                opened[name] = opened.get(name, 0) + (work.size if isinstance(work, Operation) else 1)
                if lane:
                    self._lanes.move_to_end(name)
                else:
                    del self._lanes[name]
            if len(group) == before:
                break
        self._length -= len(group)
        return group

    def _seconds(self, work: Work, before: int | None) -> float:
        """What it takes; ``before`` are the trials and rewards of its experiment in the group, None if it is new."""
        if not isinstance(work, Operation):
            return costs.FUNCTION
        name, opened = work.experiment, before is not None
        book = self._ledger.in_memory(name)
        if book is None:
            return work.cost_unread + (0.0 if opened else costs.of_reading(self._arms.get(name)))
        if name not in self._arms:
            self._remember(name, len(book.labels))
        looking = costs.of_looking(book, (before or 0) + work.size)
        if before is None:
            return work.cost(book) + costs.of_state(book) + looking
        return work.cost(book) + looking - costs.of_looking(book, before)

    def _remember(self, name: str, arms: int) -> None:
        """Keep the size of an experiment for when it is no longer in memory."""
        if len(self._arms) >= MAX_REMEMBERED:
            self._arms.clear()
        self._arms[name] = arms
