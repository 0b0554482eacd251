"""Group commit: operations that wait at the same time share one transaction, and so one wait for the disk.

Experiments take turns, and a transaction ends before it takes long, so that none waits for the heavy work of another.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from fairbai.service.domain.operation import Operation
from fairbai.service.domain.refusals import Refusal, unavailable
from fairbai.service.storage.database import Database
from fairbai.service.storage.failures import TROUBLE, of_database
from fairbai.service.storage.metrics import Metrics
from fairbai.service.writing.backlog import Backlog, Entry
from fairbai.service.writing.ledger import Ledger
from fairbai.service.writing.turns import Turns, Waiting
from fairbai.service.writing.watch import Watch

GATHERING = 0.001  # seconds that operations wait for others, again and again while others come,
MAX_GATHERING = 5  # at most so many times
STOPPING = 12.0  # seconds for the thread to finish: more than the deadline of a call to the database

DEAD = "Nothing can be written: restart the service"

log = logging.getLogger("fairbai.service")

Result = TypeVar("Result")
Work = Operation[Result] | Callable[[Ledger], Result]


class Writer:
    """The thread that writes.

    ``submit`` is called in the event loop; the future that it returns is done once the operation is committed.

    Attributes:
        watch: How long its work takes.
        backlog: What is not answered yet.
    """

    def __init__(self, database: Database, metrics: Metrics) -> None:
        self._database = database
        self._metrics = metrics
        self._ledger = Ledger(database.writer, check=database.check_file, incarnation=database.incarnation)
        self._gathered: list[Waiting] = []  # what was submitted and is not in the queue yet:
        self._expected = 1  # until they are so many,
        self._timer: asyncio.TimerHandle | None = None  # or it is time
        self._unanswered: dict[asyncio.Future[Any], Entry] = {}
        self._queue: SimpleQueue[list[Waiting] | None] = SimpleQueue()
        self._turns = Turns(self._ledger)  # of the thread only
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="fairbai-writer", daemon=True)
        self.watch, self.backlog = Watch(), Backlog()
        self._closing = self._ended = False

    def start(self) -> None:
        """Start, in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Finish what is waiting, and end the thread; one that hangs is left behind."""
        self._closing = True
        self._hand_in()
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join, STOPPING)
        if self._thread.is_alive():
            log.error("the writer hangs; what is waiting was not acknowledged")

    @property
    def waiting(self) -> int:
        """How many operations have not started."""
        return self.watch.waiting

    @property
    def alive(self) -> bool:
        """Whether the thread is running."""
        return self._thread.is_alive() and not self._ended

    def submit(self, work: Work[Result], actor: str | None = None) -> asyncio.Future[Result]:
        """Queue an operation, or a function of the ledger that uses its own transaction, for a key or the server."""
        if self._closing:
            raise unavailable("The service is shutting down")
        if not self.alive:
            raise unavailable(DEAD)
        entry = self.backlog.add(work, actor)
        assert self._loop is not None
        future: asyncio.Future[Result] = self._loop.create_future()
        self._unanswered[future] = entry
        self.watch.submit()
        self._gathered.append(Waiting(work, future, entry.lane))
        if len(self._gathered) >= self._expected:
            self._hand_in()
        elif self._timer is None:
            self._wait_for_others(MAX_GATHERING, 0)
        return future

    def _wait_for_others(self, turns: int, before: int) -> None:
        """Hand in what was gathered, once nothing comes any more; ``before`` is how much there was a moment ago."""
        now = len(self._gathered)
        if turns == 0 or (now == before and now == len(self._unanswered)):  # else some are about to be answered
            self._hand_in()
            return
        assert self._loop is not None
        self._timer = self._loop.call_later(GATHERING, self._wait_for_others, turns - 1, now)

    def _hand_in(self) -> None:
        """Give the thread what was gathered: it is woken once for all, as from then on both want the interpreter."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._gathered:
            self._queue.put(self._gathered)
            self._gathered = []

    def _resolve(self, done: list[tuple[asyncio.Future[Any], Any]]) -> None:
        """Answer a group. Its clients are about to call again, and then share a transaction with all that wait now."""
        self._expected = len(self._unanswered)
        for future, result in done:
            self.backlog.remove(self._unanswered.pop(future))
            if future.cancelled():  # the client has gone; its operation was carried out all the same
                continue
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)

    # --- in the thread ------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            self._work_until_the_end()
        except BaseException:
            log.critical("the writer has ended, and nothing can be written: restart the service", exc_info=True)
            assert self._loop is not None
            self._loop.call_soon_threadsafe(self._give_up)
        finally:
            self._ledger.close()

    def _give_up(self) -> None:
        """The thread has ended, in the event loop: nobody else would answer what waits."""
        self._ended = True
        refusal = unavailable("The writer did not confirm the request; it is safe to repeat it")
        self._resolve([(future, refusal) for future in self._unanswered])

    def _work_until_the_end(self) -> None:
        ending = False
        while not ending or self._turns:
            if not self._turns:
                ending = self._receive(self._queue.get())
            with suppress(Empty):
                while not ending:
                    ending = self._receive(self._queue.get_nowait())
            group = self._turns.take()
            if group:
                self._answer(group)

    def _receive(self, given: list[Waiting] | None) -> bool:
        """Queue what was submitted; returns whether it is time to stop."""
        for waiting in given or ():
            self._turns.add(waiting)
        return given is None

    def _answer(self, group: list[Waiting]) -> None:
        self.watch.begin(len(group))
        try:
            done = self._run(group)
        except Exception as error:  # nothing may end the thread; clients can safely repeat their calls
            log.exception("a group of %d operations failed", len(group))
            done = [(waiting.future, error) for waiting in group]
        self.watch.end()
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._resolve, done)

    def _run(self, group: list[Waiting]) -> list[tuple[asyncio.Future[Any], Any]]:
        before = self._ledger.appended
        shared = [(work, future) for work, future, _ in group if isinstance(work, Operation)]
        alone = [(work, future) for work, future, _ in group if not isinstance(work, Operation)]
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
        self._metrics.appended(self._ledger.appended - before)
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
