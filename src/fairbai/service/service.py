"""Objects that live as long as the server: database, reader, writer, keys, and what it does unasked."""

import asyncio
import contextlib
from collections.abc import Coroutine
from functools import lru_cache
from typing import Any

from sqlalchemy import Row

from fairbai.service import warming
from fairbai.service.demo import Demo
from fairbai.service.domain.encoding import decode
from fairbai.service.domain.refusals import Refusal
from fairbai.service.reading.flags import Flags
from fairbai.service.reading.reader import Reader, row_of
from fairbai.service.storage import deletions
from fairbai.service.storage.database import open_database
from fairbai.service.storage.keyring import Keyring
from fairbai.service.storage.metrics import Load, Metrics
from fairbai.service.storage.secret import unit_key
from fairbai.service.storage.settings import ServerSettings
from fairbai.service.storage.upgrades import upgrade
from fairbai.service.storage.wiping import Wiper
from fairbai.service.writing import deleting, forgetting, leases
from fairbai.service.writing.handover import writer_for
from fairbai.service.writing.probe import Probe
from fairbai.service.writing.visits import Visits
from fairbai.service.writing.webhooks import Webhooks

EVERY = 1.0  # seconds between two updates of the gauges
MAX_PROJECTS = 10_000  # experiments whose project is remembered


class Service:
    """A running service.

    Args:
        settings: The server's settings.
        metrics: Where it counts what it does.
    """

    def __init__(self, settings: ServerSettings, metrics: Metrics) -> None:
        self.settings, self._metrics = settings, metrics
        database = open_database(settings.database, settings.synchronous)
        database.warn_if_others_can_read()
        upgrade(database)
        self.database = database.stamped()
        self.reader = Reader(self.database)
        self.flags = Flags(self.database)
        self.keyring = Keyring(self.database, settings.failures)
        self.writer = writer_for(self.database, metrics)
        self.visits = Visits(self.database, self.writer, unit_key(self.database, settings.unit_secret))
        self.wiper = Wiper(self.database)
        self.probe = Probe(self.database, self.writer)
        self.webhooks = Webhooks(self.database, metrics, settings)
        self._demo = Demo(self.database, self.writer)
        self._tasks: set[asyncio.Task[None]] = set()
        self._projects: dict[str, str] = {}
        self.labels = lru_cache(maxsize=1000)(self._labels)
        metrics.watch(self._load)

    async def start(self) -> None:
        """Start working."""
        await asyncio.to_thread(warming.warm_up)
        self.writer.start()
        self._begin(warming.watch(self._metrics.set_compiled))
        self._begin(self.keyring.note_uses_forever())
        self._begin(self._show_load())
        self._begin(leases.sweep_forever(self.database, self.writer, self.settings.sweep))
        self._begin(self.webhooks.deliver_forever())
        self._begin(deleting.retire_forever(self.database, self.writer, self.settings.retention))
        self._begin(forgetting.forget_forever(self.database, self.writer, self.settings.unit_retention))
        if self.settings.demo:
            await self._demo.begin()
            self._begin(self._demo.play())

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Forget work that is done; an error is raised at the end."""
        if not task.cancelled() and task.exception() is None:
            self._tasks.discard(task)

    async def delete(self, experiment: str, actor: str | None) -> Row[Any]:
        """Delete an experiment; returns the record of it. Its rows go afterwards, or after the next start."""
        found = await deleting.delete(self.database, self.writer, experiment, actor)
        self.labels.cache_clear()
        self.flags.forget()
        self._begin(deleting.clear(self.database, self.writer, experiment))
        return found

    @property
    def demo(self) -> str | None:
        """The id of the demo experiment, if there is one."""
        return self._demo.experiment

    async def stop(self) -> None:
        """Finish what was started, whatever goes wrong on the way."""
        try:
            for task in list(self._tasks):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        finally:
            try:
                await self.writer.stop()
            finally:
                self.visits.close()
                self.database.close()

    async def project_of(self, experiment: str, deleted: bool = False) -> str:
        """The project of an experiment, which never changes; a Refusal if there is no such experiment.

        With ``deleted``, there may have been one.
        """
        known = self._projects.get(experiment)
        if known is None:
            known = await asyncio.to_thread(self._project, experiment, deleted)
            if len(self._projects) >= MAX_PROJECTS:
                self._projects.clear()
            self._projects[experiment] = known
        return known

    def _project(self, experiment: str, deleted: bool) -> str:
        try:
            return str(row_of(self.database, experiment).project)
        except Refusal:
            known = deletions.project_of(self.database, experiment) if deleted else None
            if known is None:
                raise
            return known

    def _load(self) -> Load:
        return Load(self.writer.waiting, self.writer.watch.busy, self.writer.backlog.oldest)

    async def _show_load(self) -> None:
        """Keep the gauges up to date, as another worker may be the one that shows them."""
        while True:
            await asyncio.sleep(EVERY)
            self._metrics.show_load()

    def _labels(self, experiment: str) -> tuple[str, ...]:
        return tuple(decode(row_of(self.database, experiment).config)["arms"])
