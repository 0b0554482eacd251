"""Server-sent events: the status of an experiment whenever it changes.

Streams poll the database once per second, in threads, and share what they find. They end when the server is told to
stop, which would otherwise wait for them forever, and soon after their key or session has ended.
"""

import asyncio
import logging
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache
from typing import Any

from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from fairbai.service.domain.encoding import encode
from fairbai.service.domain.refusals import Refusal, no_such_experiment, unavailable
from fairbai.service.http.quotas import too_many
from fairbai.service.reading.reader import Reader
from fairbai.service.reading.words import count
from fairbai.service.storage.deletions import PRESENT
from fairbai.service.storage.failures import TROUBLE, explained
from fairbai.service.storage.schema import experiments

MAX_STREAMS = 100  # per worker
EVERY = 1.0  # seconds between two polls
HEARTBEAT = 15.0  # seconds of silence after which a comment keeps proxies from closing the connection
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

log = logging.getLogger("fairbai.service")


class Streams:
    """The streams of a worker.

    Args:
        reader: Reads the experiments.
        per_key: How many a key may have open at once.
    """

    def __init__(self, reader: Reader, per_key: int = MAX_STREAMS) -> None:
        self._reader, self._per_key = reader, per_key
        self._open: Counter[str] = Counter()  # by key
        self._closing = False
        self._event = lru_cache(maxsize=MAX_STREAMS)(self._status_event)

    def close(self) -> None:
        """End all of them."""
        self._closing = True

    async def open(self, experiment: str, key: str, good: Callable[[], Awaitable[bool]]) -> StreamingResponse:
        """A stream that ends when ``good`` says that its key is no longer valid; a Refusal if too many are open."""
        await run_in_threadpool(self._version, experiment)
        if self._open[key] >= self._per_key:
            most = count(self._per_key, "stream")
            raise too_many(f"A key may have at most {most} open at once; poll the status instead")
        if self._open.total() >= MAX_STREAMS:
            raise unavailable(f"At most {MAX_STREAMS} streams may be open at once; poll the status instead")
        self._open[key] += 1
        return LimitedStream(self._events(experiment, good), "text/event-stream", lambda: self._release(key))

    def _release(self, key: str) -> None:
        self._open[key] -= 1
        if self._open[key] <= 0:
            del self._open[key]

    @property
    def _ending(self) -> bool:
        return self._closing or told_to_stop()

    async def _events(self, experiment: str, good: Callable[[], Awaitable[bool]]) -> AsyncIterator[str]:
        try:
            async for event in self._polled(experiment, good):
                yield event
        except TROUBLE as error:  # it has begun, so that it can only end; browsers then connect again
            log.warning("a stream ended: %s", explained(self._reader.database.url, error))

    async def _polled(self, experiment: str, good: Callable[[], Awaitable[bool]]) -> AsyncIterator[str]:
        seen, silent = -1, 0.0
        while not self._ending and await good():
            try:
                version = await run_in_threadpool(self._version, experiment)
                changed = None if version == seen else await run_in_threadpool(self._event, experiment, version)
            except Refusal:  # it was deleted
                yield "event: end\ndata: {}\n\n"
                return
            if changed is not None:
                event, seen, over = changed
                yield event
                if over:
                    yield "event: end\ndata: {}\n\n"
                    return
                silent = 0.0
            elif silent >= HEARTBEAT:
                yield ": still here\n\n"
                silent = 0.0
            await asyncio.sleep(EVERY)
            silent += EVERY

    def _version(self, experiment: str) -> int:
        with self._reader.database.reader.connect() as connection:
            statement = select(experiments.c.version).where(experiments.c.id == experiment, PRESENT)
            version: int | None = connection.execute(statement).scalar_one_or_none()
        if version is None:
            raise no_such_experiment(experiment)
        return version

    def _status_event(self, experiment: str, version: int) -> tuple[str, int, bool]:
        """The event, its version (at least ``version``), and whether the experiment is over.

        Late rewards and batches still count after that, but nobody waits for them.
        """
        found = self._reader.read(experiment).status
        event = f"id: {found['version']}\nevent: status\ndata: {encode(found)}\n\n"
        return event, found["version"], found["stopped"] and found["pending"] == 0


class LimitedStream(StreamingResponse):
    """One of a limited number of streams.

    Args:
        pieces: What to send.
        media_type: Its media type.
        release: Called once when the stream ends, however it ends.
    """

    def __init__(self, pieces: AsyncIterator[str], media_type: str, release: Callable[[], None]) -> None:
        super().__init__(pieces, media_type=media_type, headers=HEADERS)
        self._release = release

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._release()


def told_to_stop() -> bool:
    """Whether uvicorn was told to stop; it waits for open streams before it tells the application."""
    handler: Any = signal.getsignal(signal.SIGTERM)
    return bool(getattr(getattr(handler, "__self__", None), "should_exit", False))
