"""Group commit: operations that wait at the same time share one transaction, and so one wait for the disk."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from fairbai.service.domain.operations import Operation
from fairbai.service.domain.refusals import Refusal, unavailable
from fairbai.service.storage.database import Database
from fairbai.service.storage.failures import TROUBLE, of_database
from fairbai.service.storage.metrics import Metrics
from fairbai.service.writing.ledger import Ledger

GATHERING = 0.0005  # seconds that a group waits for others, if the one before had several operations
MAX_WAITING = 10_000  # operations
MAX_WAITING_ROWS = 500_000  # of these operations, approximately: they are in memory
MAX_ROWS = 20_000  # per transaction, approximately: others wait for it

log = logging.getLogger("fairbai.service")

Result = TypeVar("Result")
Work = Operation[Result] | Callable[[Ledger], Result]
Waiting = tuple[Work[Any], asyncio.Future[Any]]


class Writer:
    """The thread that writes.

    ``submit`` is called in the event loop; the future that it returns is done once the operation is committed.
    """

    def __init__(self, database: Database, metrics: Metrics) -> None:
        self._database = database
        self._metrics = metrics
        self._ledger = Ledger(database.writer)
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="fairbai-writer", daemon=True)
        self._closing = False
        self._rows_submitted = 0  # written by the event loop only,
        self._rows_taken = 0  # and this by the thread only

    def start(self) -> None:
        """Start, in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Finish what is waiting, and end the thread."""
        self._closing = True
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    @property
    def waiting(self) -> int:
        """How many operations have not started."""
        return self._queue.qsize()

    @property
    def alive(self) -> bool:
        """Whether the thread is running."""
        return self._thread.is_alive()

    def submit(self, work: Work[Result]) -> asyncio.Future[Result]:
        """Queue an operation, or a function of the ledger that uses its own transaction."""
        if self._closing:
            raise unavailable("The service is shutting down")
        rows_waiting = self._rows_submitted - self._rows_taken
        if self._queue.qsize() >= MAX_WAITING or rows_waiting >= MAX_WAITING_ROWS:
            raise unavailable("Too many requests are waiting for the database")
        assert self._loop is not None
        future: asyncio.Future[Result] = self._loop.create_future()
        self._rows_submitted += _size(work)
        self._queue.put((work, future))
        return future

    # --- in the thread ------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            self._work_until_the_end()
        finally:
            self._ledger.close()

    def _work_until_the_end(self) -> None:
        last_was_group = False
        while (first := self._queue.get()) is not None:
            if last_was_group:  # clients that were just answered are about to call again
                time.sleep(GATHERING)
            group, last = self._take(first)
            last_was_group = len(group) > 1
            try:
                done = self._run(group)
            except Exception as error:  # nothing may end the thread; clients can safely repeat their calls
                log.exception("a group of %d operations failed", len(group))
                done = [(future, error) for _, future in group]
            assert self._loop is not None
            self._loop.call_soon_threadsafe(_resolve, done)
            if last:
                return

    def _take(self, first: Waiting) -> tuple[list[Waiting], bool]:
        """Everything that is waiting, up to a bound, and whether it is time to stop."""
        group, rows = [first], _size(first[0])
        try:
            while rows < MAX_ROWS:
                following = self._queue.get_nowait()
                if following is None:
                    return group, True
                group.append(following)
                rows += _size(following[0])
        except Empty:
            pass
        finally:
            self._rows_taken += rows
        return group, False

    def _run(self, group: list[Waiting]) -> list[tuple[asyncio.Future[Any], Any]]:
        shared = [(work, future) for work, future in group if isinstance(work, Operation)]
        alone = [(work, future) for work, future in group if not isinstance(work, Operation)]
        done = [(future, self._try(lambda work=work: work(self._ledger))) for work, future in alone]  # type: ignore[misc]
        if shared:
            operations = [work for work, _ in shared]
            results = self._try(lambda: self._ledger.run(operations))
            if isinstance(results, Refusal):  # the database failed, and so did all of them
                results = [results] * len(shared)
            elif isinstance(results, BaseException):  # a bug in one of them, which should not affect the others
                results = [self._alone(operation) for operation in operations]
            else:
                self._metrics.committed(len(shared))
            done += [(future, result) for (_, future), result in zip(shared, results, strict=True)]
        return done

    def _alone(self, operation: Operation[Any]) -> Any:
        result = self._try(lambda: self._ledger.run([operation])[0])
        if isinstance(result, BaseException) and not isinstance(result, Refusal):
            log.error("%s failed", type(operation).__name__, exc_info=result)
        return result

    def _try(self, function: Callable[[], Any]) -> Any:
        """What a function returns or raises; a database failure becomes a Refusal that hides the details."""
        try:
            return function()
        except TROUBLE as error:
            return of_database(self._database.url, error)
        except Exception as error:
            return error


def _size(work: Work[Any]) -> int:
    return work.size if isinstance(work, Operation) else 1


def _resolve(done: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in done:
        if future.cancelled():  # the client has gone; its operation was carried out all the same
            continue
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)
