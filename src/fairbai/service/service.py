"""Objects that live as long as the server: database, reader, writer, keys, and what it does unasked."""

import asyncio
import contextlib
from collections.abc import Coroutine
from functools import lru_cache
from typing import Any

from fairbai.service import warming
from fairbai.service.demo import Demo
from fairbai.service.domain.encoding import decode
from fairbai.service.reading.reader import Reader, row_of
from fairbai.service.storage.database import open_database
from fairbai.service.storage.keys import Keyring
from fairbai.service.storage.metrics import Metrics
from fairbai.service.storage.settings import ServerSettings
from fairbai.service.storage.upgrades import upgrade
from fairbai.service.writing import leases
from fairbai.service.writing.writer import Writer


class Service:
    """A running service.

    Args:
        settings: The server's settings.
        metrics: Where it counts what it does.
    """

    def __init__(self, settings: ServerSettings, metrics: Metrics) -> None:
        self.settings, self._metrics = settings, metrics
        self.database = open_database(settings.database, settings.synchronous)
        upgrade(self.database)
        self.reader = Reader(self.database)
        self.keyring = Keyring(self.database, settings.failures)
        self.writer = Writer(self.database, metrics)
        self._demo = Demo(self.database, self.writer)
        self._tasks: list[asyncio.Task[None]] = []
        self.labels = lru_cache(maxsize=1000)(self._labels)
        metrics.watch(lambda: self.writer.waiting)

    async def start(self) -> None:
        """Start working."""
        await asyncio.to_thread(warming.warm_up)
        self.writer.start()
        self._begin(warming.watch(self._metrics.set_compiled))
        self._begin(leases.sweep_forever(self.database, self.writer, self.settings.sweep))
        if self.settings.demo:
            await self._demo.begin()
            self._begin(self._demo.play())

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work))

    @property
    def demo(self) -> str | None:
        """The id of the demo experiment, if there is one."""
        return self._demo.experiment

    async def stop(self) -> None:
        """Finish what was started, whatever goes wrong on the way."""
        try:
            for task in self._tasks:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        finally:
            try:
                await self.writer.stop()
            finally:
                self.database.close()

    def _labels(self, experiment: str) -> tuple[str, ...]:
        return tuple(decode(row_of(self.database, experiment).config)["arms"])
