"""Work that takes long: a few at once, in threads, because each takes the interpreter from the requests of others."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from fairbai.service.domain.refusals import Refusal
from fairbai.service.storage.limits import Limits

THREADS = 2

Result = TypeVar("Result")


class HeavyWork:
    """The threads of a worker for statuses, charts, reports and plans.

    Args:
        limits: How many plans may be under way.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._threads: CapacityLimiter | None = None
        self._plans: Counter[str] = Counter()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncIterator[None]:
        """Wait for those who came before under the same name."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            yield

    async def run(self, function: Callable[[], Result]) -> Result:
        """What a function returns, once it is its turn."""
        if self._threads is None:  # which needs a running event loop
            self._threads = CapacityLimiter(THREADS)
        return await to_thread.run_sync(function, limiter=self._threads)

    async def plan(self, key: str, function: Callable[[], Result]) -> Result:
        """Compute a plan for a key; a Refusal if too many are under way."""
        async with self._turn(key):
            return await self.run(function)

    @asynccontextmanager
    async def _turn(self, key: str) -> AsyncIterator[None]:
        limits = self._limits
        if self._plans[key] >= limits.plans_per_key:
            raise _busy(f"A key may have at most {limits.plans_per_key} plans computed at once")
        if self._plans.total() >= limits.plans:
            raise _busy(f"The server computes at most {limits.plans} plans at once")
        self._plans[key] += 1
        try:
            yield
        finally:
            self._plans[key] -= 1
            if not self._plans[key]:
                del self._plans[key]


def heavy_of(request: Request) -> HeavyWork:
    """The threads for heavy work of the worker that a request came to."""
    heavy: HeavyWork = request.app.state.heavy
    return heavy


def _busy(detail: str) -> Refusal:
    return Refusal(429, "Too many plans", detail, {"Retry-After": "1"})
