"""The parent of several workers: it replaces those that end, and never waits long for one that hangs."""

import logging
import time
from socket import socket

from uvicorn import Config
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

PING = 0.5  # seconds for a worker to answer
STOPPING = 27.0  # seconds for all workers to end by themselves, which takes them less

log = logging.getLogger("fairbai.service")


class Supervisor(Multiprocess):
    """Uvicorn's, which would hear no signal while it waits for a frozen worker, and would wait for it at the end.

    Args:
        config: How to run the workers; ``timeout_worker_healthcheck`` is how long one may be silent.
        sockets: Where they listen.
    """

    def __init__(self, config: Config, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        self._heard: dict[Process, float] = {}
        self._served = False

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have ended, or have been silent for too long.

        If the first ones cannot start, others could not either; later it may be that the database is away for a while.
        """
        for index, process in enumerate(self.processes):
            if self.should_exit.is_set() or self._is_well(process):
                continue
            process.kill()
            process.join()
            if process.exitcode == STARTUP_FAILURE and not self._served:
                log.error("worker %s cannot start, so the server stops", process.pid)
                self.should_exit.set()
                return
            log.warning("worker %s has ended and is replaced", process.pid)
            self._heard.pop(process, None)
            self.processes[index] = Process(self.config, self.sockets)
            self.processes[index].start()

    def _is_well(self, process: Process) -> bool:
        if not process.process.is_alive():
            return False
        now = time.monotonic()
        if process.ping(PING):
            self._heard[process] = now
            self._served = self._served or process.is_ready(PING)
        return now - self._heard.setdefault(process, now) < self.config.timeout_worker_healthcheck

    def join_all(self) -> None:
        """Wait for the workers to end, and end those that do not."""
        end = time.monotonic() + STOPPING
        for process in self.processes:
            process.process.join(max(0.0, end - time.monotonic()))
            if process.process.is_alive():
                log.error("worker %s did not stop, and is ended", process.pid)
                process.process.kill()
                process.process.join()
