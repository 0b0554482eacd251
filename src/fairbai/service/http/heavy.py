"""Work that takes long: a few at once, in threads, because each takes the interpreter from the requests of others."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from fairbai.service.domain.refusals import Refusal
from fairbai.service.storage.limits import Limits

THREADS = 2

Result = TypeVar("Result")


class HeavyWork:
    """The threads of a worker for statuses, charts, reports, exports and plans.

    Args:
        limits: How many plans and exports may be under way.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._threads: CapacityLimiter | None = None
        self._plans: Counter[str] = Counter()
        self._exports: Counter[str] = Counter()
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

    async def each(self, chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
        """Pieces of a long answer, each made when it is its turn, so that a few long answers keep nobody out."""
        while (chunk := await self.run(lambda: next(chunks, None))) is not None:
            yield chunk

    async def plan(self, key: str, function: Callable[[], Result]) -> Result:
        """Compute a plan for a key; a Refusal if too many are under way."""
        limits = self._limits
        if self._plans[key] >= limits.plans_per_key:
            raise _busy("plans", f"A key may have at most {limits.plans_per_key} plans computed at once")
        if self._plans.total() >= limits.plans:
            raise _busy("plans", f"The server computes at most {limits.plans} plans at once")
        with _one_more(self._plans, key):
            return await self.run(function)

    @contextmanager
    def export(self, key: str) -> Iterator[None]:
        """The time that an export for a key takes; a Refusal if it has too many under way."""
        most = self._limits.exports_per_key
        if self._exports[key] >= most:
            raise _busy("exports", f"A key may have at most {most} exports under way at once")
        with _one_more(self._exports, key):
            yield


class Export(StreamingResponse):
    """A response that takes long to make; until it has ended it counts as one of its key's."""

    def __init__(self, chunks: Iterator[bytes], heavy: HeavyWork, key: str, **options: Any) -> None:
        super().__init__(heavy.each(chunks), **options)
        self._heavy, self._key = heavy, key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, unless the key has too many under way."""
        with self._heavy.export(self._key):
            await super().__call__(scope, receive, send)


@contextmanager
def _one_more(under_way: Counter[str], key: str) -> Iterator[None]:
    under_way[key] += 1
    try:
        yield
    finally:
        under_way[key] -= 1
        if not under_way[key]:
            del under_way[key]


def heavy_of(request: Request) -> HeavyWork:
    """The threads for heavy work of the worker that a request came to."""
    heavy: HeavyWork = request.app.state.heavy
    return heavy


def _busy(what: str, detail: str) -> Refusal:
    return Refusal(429, f"Too many {what}", detail, {"Retry-After": "1"})
