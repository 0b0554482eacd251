"""The replay of a log, for the page of the audit.

It runs in a process of its own, with less priority: it computes for seconds or minutes, and no trial must wait for it.
"""

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from typing import Any, cast

from sqlalchemy import select

from fairbai.service.domain.answers import Replayed
from fairbai.service.domain.encoding import iso
from fairbai.service.domain.refusals import unavailable
from fairbai.service.http.streams import LimitedStream, told_to_stop
from fairbai.service.reading.verify import verify_experiment
from fairbai.service.storage.database import Database, open_database
from fairbai.service.storage.schema import experiments

EVERY = 0.5  # seconds between two lines
POLL_SECONDS = 1.0  # seconds after which a silent replay is no reason not to stop
MAX_KEPT = 1000  # results
NICENESS = 10
MAX_LINE = 2**24  # bytes; asyncio would end at 2**16
MAX_DIFFERENCE = 300  # characters: one may hold two states, of which nobody reads all


class Replays:
    """The replays of a worker, one at a time, and their results.

    Args:
        database: Where the logs are.
    """

    def __init__(self, database: Database) -> None:
        self._url = database.url.render_as_string(hide_password=False)
        self._running = False
        self._results: dict[str, Replayed] = {}

    def result(self, experiment: str) -> Replayed | None:
        """The last one of an experiment, if it was here."""
        return self._results.get(experiment)

    def begin(self, experiment: str) -> LimitedStream:
        """Lines of JSON: how far it is, and at last what differs; a Refusal while another one runs."""
        if self._running:
            raise unavailable("another replay is running: try again when it is done")
        self._running = True
        return LimitedStream(self._lines(experiment), "application/x-ndjson", self._release)

    def _release(self) -> None:
        self._running = False

    async def _lines(self, experiment: str) -> AsyncIterator[str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "fairbai.service.http.replay"),
            stdin=asyncio.subprocess.PIPE,  # where nobody else can read the password of a database
            stdout=asyncio.subprocess.PIPE,
            limit=MAX_LINE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        line = "{}"
        try:
            process.stdin.write(json.dumps([self._url, experiment]).encode())
            process.stdin.close()
            while not told_to_stop():
                with contextlib.suppress(TimeoutError):
                    line = (await asyncio.wait_for(process.stdout.readline(), POLL_SECONDS)).decode()
                    if not line:
                        break
                    self._keep(experiment, json.loads(line))
                    yield line
            if not told_to_stop() and await process.wait() != 0:  # its log says why
                yield json.dumps({"failed": True}) + "\n"
        finally:
            if process.returncode is None:  # whoever asked has gone, or the server stops
                process.kill()

    def _keep(self, experiment: str, line: dict[str, Any]) -> None:
        if line.get("done"):
            self._results.pop(experiment, None)
            if len(self._results) >= MAX_KEPT:
                self._results.pop(next(iter(self._results)))
            del line["done"]
            self._results[experiment] = cast(Replayed, line)


def replay(url: str, experiment: str) -> None:
    """Replay a log, and print lines of JSON."""
    database, began = open_database(url, create=False), time.monotonic()
    shown = began
    with database.snapshot() as connection:
        statement = select(experiments.c.version).where(experiments.c.id == experiment)
        total = connection.execute(statement).scalar_one()

        def say(checked: int) -> None:
            nonlocal shown
            if time.monotonic() >= shown + EVERY:
                shown = time.monotonic()
                print(json.dumps({"checked": checked, "of": total}), flush=True)

        differences = [shortened(difference) for difference in verify_experiment(connection, experiment, say)]
    database.close()
    result = {"done": True, "checked": total, "of": total, "differences": differences}
    print(json.dumps({**result, "seconds": time.monotonic() - began, "at": iso(time.time())}), flush=True)


def shortened(difference: str) -> str:
    """The first words of a difference; ``fairbai verify`` prints all of them."""
    return difference if len(difference) <= MAX_DIFFERENCE else f"{difference[: MAX_DIFFERENCE - 2]} …"


if __name__ == "__main__":
    os.nice(NICENESS)
    replay(*json.load(sys.stdin))
