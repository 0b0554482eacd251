"""Whether the service can do its work now: the database answers, and the writer can write, in time."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from fairbai.service.domain.refusals import Refusal
from fairbai.service.storage.database import Database
from fairbai.service.storage.failures import GONE, TROUBLE, DatabaseError, FileGoneError
from fairbai.service.writing.ledger import Ledger
from fairbai.service.writing.writer import DEAD, Writer

EVERY = 3.0  # seconds after a write until another is tried
MAX_WAIT = 3.0  # seconds to wait for each answer
SLOW = 5.0  # seconds after which a group, or an experiment that waits for its turn, is stuck


class Probe:
    """Tries what a request would do.

    Args:
        database: Must answer.
        writer: Must be able to write.
    """

    def __init__(self, database: Database, writer: Writer) -> None:
        self._database, self._writer = database, writer
        self._under_way: dict[str, asyncio.Future[Any]] = {}
        self._wrote: float | None = None

    async def trouble(self) -> str | None:
        """Why the service is not ready, for clients; None if it is. Takes a few seconds at most, whatever hangs."""
        return self._stuck() or await self._answers() or await self._writes()

    def _stuck(self) -> str | None:
        watch = self._writer.watch
        if not self._writer.alive:
            return DEAD
        if watch.busy > SLOW:
            return f"The writer has been at one transaction for {watch.busy:.0f} seconds"
        if (oldest := self._writer.backlog.oldest) > SLOW:
            return f"An experiment has been waiting for its turn to be written for {oldest:.0f} seconds"
        return None

    async def _answers(self) -> str | None:
        try:
            answered = await self._within("ping", lambda: asyncio.to_thread(self._database.ping))
        except DatabaseError as error:
            return str(error)
        except FileGoneError:
            return GONE
        except TROUBLE:  # whose text may name hosts and users
            answered = False
        return None if answered else "The database does not answer"

    async def _writes(self) -> str | None:
        """Write something now and then: a full disk can still be read, and what hangs may be the writer alone."""
        now = asyncio.get_running_loop().time
        if self._wrote is not None and now() < self._wrote + EVERY:
            return None
        try:
            if not await self._within("write", lambda: self._writer.submit(Ledger.touch)):
                return f"The database has not confirmed a write for {MAX_WAIT:.0f} seconds"
        except Refusal as refusal:
            return refusal.detail
        self._wrote = now()
        return None

    async def _within(self, name: str, begin: Any) -> bool:
        """Whether something is done soon; all who ask meanwhile wait for the same."""
        found = self._under_way.get(name)
        if found is None or found.done():
            work: Awaitable[Any] = begin()
            found = self._under_way[name] = asyncio.ensure_future(work)
            found.add_done_callback(_look)
        await asyncio.wait({found}, timeout=MAX_WAIT)
        if not found.done():
            return False
        found.result()
        return True


def _look(future: asyncio.Future[Any]) -> None:
    """Take notice of how it ended, for which nobody may be waiting."""
    if not future.cancelled():
        future.exception()
