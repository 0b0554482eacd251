"""The replay of a log, for the audit page.

A short log is replayed at once, in a thread. A long one takes seconds or minutes, and no trial must wait for it: so it
is replayed in a process of its own with a lower priority, although it takes a few seconds to start.
"""

import asyncio
import contextlib
import json
import logging
import sys
from collections.abc import AsyncIterator
from typing import Any, cast

from starlette.concurrency import run_in_threadpool

from fairbai.service.domain.audit_answers import Replayed
from fairbai.service.domain.refusals import unavailable
from fairbai.service.http.streams import LimitedStream, told_to_stop
from fairbai.service.reading.reader import row_of
from fairbai.service.reading.replay import replayed
from fairbai.service.storage.database import Database

SHORT = 2_000  # events and trials of a log that is replayed in a thread, in less than a second
POLL_SECONDS = 1.0  # how long to wait for a line before looking whether the server stops
MAX_KEPT = 1000  # results
MAX_LINE = 2**24  # bytes; the default of asyncio is 2**16

log = logging.getLogger("fairbai.service")


class Replays:
    """The replays of a worker, one at a time, and their results.

    Args:
        database: Where the logs are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._running = False
        self._results: dict[str, Replayed] = {}

    def result(self, experiment: str) -> Replayed | None:
        """The last replay of an experiment in this worker, if there was one."""
        return self._results.get(experiment)

    def begin(self, experiment: str) -> LimitedStream:
        """Lines of JSON: the progress, then what differs; raises a Refusal while another replay is running."""
        if self._running:
            raise unavailable("Another replay is running; try again when it is done")
        self._running = True
        return LimitedStream(self._lines(experiment), "application/x-ndjson", self._release)

    def _release(self) -> None:
        self._running = False

    async def _lines(self, experiment: str) -> AsyncIterator[str]:
        row = await run_in_threadpool(row_of, self._database, experiment)
        if row.version + row.assigned <= SHORT:
            yield json.dumps(await self._replay_here(experiment)) + "\n"
            return
        async for line in self._lines_of_process(experiment):
            yield line

    async def _replay_here(self, experiment: str) -> dict[str, Any]:
        try:
            found = await run_in_threadpool(replayed, self._database, experiment)
        except Exception:  # the response has begun: the page is told in its own terms
            log.exception("the replay of %s failed", experiment)
            return {"failed": True}
        self._keep(experiment, found)
        return {"done": True, **found}

    async def _lines_of_process(self, experiment: str) -> AsyncIterator[str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "fairbai.service.reading.replay"),
            stdin=asyncio.subprocess.PIPE,  # where nobody else can read the database's password
            stdout=asyncio.subprocess.PIPE,
            limit=MAX_LINE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        url = self._database.url.render_as_string(hide_password=False)
        try:
            process.stdin.write(json.dumps([url, experiment]).encode())
            process.stdin.close()
            while not told_to_stop():
                with contextlib.suppress(TimeoutError):
                    line = (await asyncio.wait_for(process.stdout.readline(), POLL_SECONDS)).decode()
                    if not line:
                        break
                    self._note(experiment, json.loads(line))
                    yield line
            if not told_to_stop() and await process.wait() != 0:  # its log says why
                yield json.dumps({"failed": True}) + "\n"
        finally:
            if process.returncode is None:  # the client has gone, or the server stops
                process.kill()

    def _note(self, experiment: str, line: dict[str, Any]) -> None:
        if line.pop("done", False):
            self._keep(experiment, cast(Replayed, line))

    def _keep(self, experiment: str, found: Replayed) -> None:
        self._results.pop(experiment, None)
        if len(self._results) >= MAX_KEPT:
            self._results.pop(next(iter(self._results)))
        self._results[experiment] = found
