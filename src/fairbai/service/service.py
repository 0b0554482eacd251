"""Objects that live as long as the server: database, reader, writer, keys, and the search for overdue tickets."""

import asyncio
import contextlib
from functools import lru_cache

from fairbai.service.demo import Demo
from fairbai.service.domain.book import Book, new_book
from fairbai.service.domain.encoding import decode, encode
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
        self.settings = settings
        self.database = open_database(settings.database, settings.synchronous)
        upgrade(self.database)
        self.reader = Reader(self.database)
        self.keyring = Keyring(self.database, settings.failures)
        self.writer = Writer(self.database, metrics)
        self._demo = Demo(self.database, self.writer)
        self._playing: asyncio.Task[None] | None = None
        self.labels = lru_cache(maxsize=1000)(self._labels)
        metrics.watch(lambda: self.writer.waiting)

    async def start(self) -> None:
        """Start working."""
        await asyncio.to_thread(_warm_up)
        self.writer.start()
        self._sweeping = asyncio.create_task(leases.sweep_forever(self.database, self.writer, self.settings.sweep))
        if self.settings.demo:
            await self._demo.begin()
            self._playing = asyncio.create_task(self._demo.play())

    @property
    def demo(self) -> str | None:
        """The id of the demo experiment, if there is one."""
        return self._demo.experiment

    async def stop(self) -> None:
        """Finish what was started, whatever goes wrong on the way."""
        try:
            for task in filter(None, (self._sweeping, self._playing)):
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


def _warm_up() -> None:
    """Load the compiled kernels, so that the first request does not wait for them."""
    defaults = {"family": "gaussian", "rates": "constant", "sampling": "fair_top_two", "stopping": "mixture"}
    book = new_book({"arms": ["a", "b"], "delta": 0.1, "settle": True, "seed": 0, "lease": None, **defaults})
    for _ in range(4):
        book.tell(book.ask(1), [0.0], [], 0)
    book.identifier.policy(2)
    book.tell_batch([1, 1], [0.0, 0.0])
    Book.read(encode(book.config), book.row()["state"]).identifier.status()
