"""Server-sent events: the status of an experiment whenever it changes.

Streams poll the database once per second, in threads, and share what they find. They end when the server is told to
stop, which would otherwise wait for them forever, and soon after their key is revoked.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache
from typing import Any

from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from fairbai.service.domain.encoding import encode
from fairbai.service.domain.refusals import no_such_experiment, unavailable
from fairbai.service.reading.reader import Reader
from fairbai.service.storage.schema import experiments

MAX_STREAMS = 100  # per worker
EVERY = 1.0  # seconds between two polls
HEARTBEAT = 15.0  # seconds of silence after which a comment keeps proxies from closing the connection
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Streams:
    """The streams of a worker.

    Args:
        reader: Reads the experiments.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._open = 0
        self._closing = False
        self._event = lru_cache(maxsize=MAX_STREAMS)(self._status_event)

    def close(self) -> None:
        """End all of them."""
        self._closing = True

    async def open(self, experiment: str, good: Callable[[], Awaitable[bool]]) -> StreamingResponse:
        """A stream that ends when ``good`` says that its key is no longer valid; a Refusal if too many are open."""
        await run_in_threadpool(self._version, experiment)
        if self._open >= MAX_STREAMS:
            raise unavailable(f"At most {MAX_STREAMS} streams may be open at once; poll the status instead")
        self._open += 1
        return LimitedStream(self._events(experiment, good), "text/event-stream", self._release)

    def _release(self) -> None:
        self._open -= 1

    @property
    def _ending(self) -> bool:
        return self._closing or told_to_stop()

    async def _events(self, experiment: str, good: Callable[[], Awaitable[bool]]) -> AsyncIterator[str]:
        seen, silent = -1, 0.0
        while not self._ending and await good():
            version = await run_in_threadpool(self._version, experiment)
            if version != seen:
                event, seen, over = await run_in_threadpool(self._event, experiment, version)
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
            statement = select(experiments.c.version).where(experiments.c.id == experiment)
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
