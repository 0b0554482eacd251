"""One worker per experiment, so that workers share transactions instead of waiting for each other's.

If every worker wrote what it is asked to, each would wait for the others' lock of the experiment's row and then read
the experiment again, because they have changed it. So the workers of a server agree, without talking, on one of them
for each experiment (rendezvous hashing of its id and the workers that answer), and the others hand operations over to
it. This is a hint and not a lease: whoever writes locks the row and checks its version, so that nothing depends on it
for correctness. If a worker dies or freezes, the others take over at once; what was on its way is answered with 503.
"""

import asyncio
import contextlib
import logging
import os
import socket
import tempfile
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from fairbai.service.domain.operation import Operation
from fairbai.service.storage.database import Database
from fairbai.service.storage.metrics import Metrics
from fairbai.service.writing.backlog import MAX_WAITING
from fairbai.service.writing.links import Doing, Handing
from fairbai.service.writing.writer import Result, Work, Writer

VARIABLE = "FAIRBAI_WORKERS"  # the directory with the sockets of a server's workers
BEAT = 0.25  # seconds between two signs of life, and two looks for other workers
SILENT = 1.5  # seconds without one, after which a worker counts as frozen
AVOIDED = 5.0  # seconds for which a frozen worker is left alone
TURNS = 5  # of the event loop, from the end of a transaction until the other worker is told
MAX_PATH = 90  # characters of the directory: a socket's address has little room
MAX_KNOWN = 10_000  # experiments whose worker is remembered

log = logging.getLogger("fairbai.service")


@contextlib.contextmanager
def shared_directory() -> Iterator[None]:
    """A private directory for the sockets of the worker processes that are started from here."""
    place = None if len(tempfile.gettempdir()) < MAX_PATH - 30 else "/tmp"
    with tempfile.TemporaryDirectory(prefix="fairbai-workers-", dir=place) as directory:  # mode 0700
        if hasattr(socket, "AF_UNIX"):
            os.environ[VARIABLE] = directory
        yield


def writer_for(database: Database, metrics: Metrics) -> Writer:
    """The writer of this process: one that knows the others, if there are any."""
    directory = os.environ.get(VARIABLE)
    return Writer(database, metrics) if directory is None else SharedWriter(database, metrics, Path(directory))


class SharedWriter(Writer):
    """A writer that hands operations over to the worker whose experiment it is.

    Args:
        database: Where to write.
        metrics: Where it counts what it does.
        directory: Where the workers' sockets are.
    """

    def __init__(self, database: Database, metrics: Metrics, directory: Path) -> None:
        super().__init__(database, metrics)
        self._directory, self._name = directory, str(os.getpid())
        self._doing: set[Doing] = set()
        self._handing: dict[str, Handing] = {}
        self._owners: dict[str, Handing | None] = {}
        self._avoided: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start, and look for the other workers."""
        super().start()
        self._task = asyncio.create_task(self._look_around())

    async def stop(self) -> None:
        """Take no more from others, finish what is waiting, and tell them what became of it."""
        try:
            if self._task is not None:
                self._task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await self._task
        finally:
            await self._finish()

    async def _finish(self) -> None:
        beating = asyncio.create_task(self._beat_forever())  # who is waiting must not think that this worker is frozen
        try:
            await super().stop()
        finally:
            beating.cancel()
        for _ in range(TURNS):
            await asyncio.sleep(0)
        for link in [*self._doing, *self._handing.values()]:
            link.close()

    def submit(self, work: Work[Result], actor: str | None = None) -> asyncio.Future[Result]:
        """Queue an operation here or, if its experiment is another worker's, there."""
        if isinstance(work, Operation) and not self._closing:
            owner = self._owner(work.experiment)
            if owner is not None and owner.waiting < MAX_WAITING:
                self._metrics.handed_over()
                return owner.hand_over(work)
        return super().submit(work, actor)

    # --- whose experiment it is ---------------------------------------------------------------------------------

    def _owner(self, experiment: str) -> Handing | None:
        """The connection to the worker whose experiment it is; None if it is ours."""
        if experiment not in self._owners:
            if len(self._owners) >= MAX_KNOWN:
                self._owners.clear()
            links: dict[str, Handing | None] = {self._name: None}
            links |= {name: link for name, link in self._handing.items() if link.alive}
            self._owners[experiment] = links[max(links, key=lambda name: _weight(name, experiment))]
        return self._owners[experiment]

    # --- the other workers --------------------------------------------------------------------------------------

    async def _look_around(self) -> None:
        """Listen, give signs of life, find other workers, and give up those that are silent."""
        own = self._directory / self._name
        try:
            server = await asyncio.get_running_loop().create_unix_server(self._accept, str(own))
        except OSError as error:
            log.warning("workers cannot hand over to each other, and will wait for each other instead: %s", error)
            return
        try:
            await self._look_forever()
        finally:
            server.close()
            own.unlink(missing_ok=True)

    async def _look_forever(self) -> None:
        trouble = ""
        while True:
            self._beat()
            before, trouble = trouble, ""
            try:
                await self._look()
            except OSError as error:  # such as too many open files; signs of life go on
                trouble = str(error)
                if trouble != before:
                    log.warning("cannot look for other workers, and will try again: %s", trouble)
            await asyncio.sleep(BEAT)

    async def _beat_forever(self) -> None:
        while True:
            self._beat()
            await asyncio.sleep(BEAT)

    def _beat(self) -> None:
        for doing in self._doing:
            doing.beat()

    async def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        for name, link in list(self._handing.items()):
            if link.silent > SILENT:
                log.warning("worker %s does not answer; this one takes over", name)
                self._avoided[name] = now + AVOIDED
                link.drop()
        names = {path.name for path in self._directory.iterdir()} - {self._name} - set(self._handing)
        for name in names:
            if self._avoided.get(name, 0.0) < now:
                await self._connect(name)

    def _accept(self) -> Doing:
        doing = Doing(super().submit, self._doing.discard)
        self._doing.add(doing)
        return doing

    async def _connect(self, name: str) -> None:
        """Connect to another worker; from its first sign of life on it has its share of the experiments."""
        link, path = Handing(super().submit, lambda link: self._change(name, link)), self._directory / name
        connecting = asyncio.get_running_loop().create_unix_connection(lambda: link, str(path))
        try:
            await asyncio.wait_for(connecting, SILENT)
        except (OSError, TimeoutError):
            if not _exists(name):
                path.unlink(missing_ok=True)
        else:
            if link.open:
                self._handing[name] = link

    def _change(self, name: str, link: Handing) -> None:
        """A worker can be asked from now on, or no longer."""
        if not link.open and self._handing.get(name) is link:
            del self._handing[name]
        self._owners.clear()


def _weight(worker: str, experiment: str) -> bytes:
    return blake2b(f"{worker} {experiment}".encode(), digest_size=8).digest()


def _exists(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's, whose number it now is
        return True
    return True
