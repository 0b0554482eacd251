"""A process that has imported everything, and forks a server whenever it is told to: most of a start are imports.

It reads lines of JSON: the address of a database, a port, and a file for what the server prints. It answers with the
server's process id. The server is the one of `fairbai serve`.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from fairbai.service import serve, warming
from fairbai.service.http import app
from fairbai.service.storage.settings import ServerSettings


class Forked:
    """A server that another process has forked; what is needed of a ``subprocess.Popen``."""

    def __init__(self, process: int) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process

    def poll(self) -> int | None:
        """None as long as it lives."""
        try:
            os.kill(self._process, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self, seconds: float = 120.0) -> None:
        """Wait until it has ended."""
        give_up = time.monotonic() + seconds
        while self.poll() is None:
            assert time.monotonic() < give_up
            time.sleep(0.005)

    def kill(self) -> None:
        """SIGKILL."""
        self._send(signal.SIGKILL)

    def terminate(self) -> None:
        """SIGTERM."""
        self._send(signal.SIGTERM)

    def _send(self, what: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._process, what)


class Nursery:
    """The process, seen from a test."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.service.nursery"]
        root = Path(__file__).parents[2]
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=root
        )

    def fork(self, url: str, port: int, log: Path) -> Forked:
        """A new server."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps([url, port, str(log)]) + "\n")
            return Forked(int(self._process.stdout.readline()))

    def close(self) -> None:
        """End it, after its servers: it is what notices that they have ended."""
        self._process.communicate(timeout=240)


def main() -> None:
    """Fork servers until there is nothing more to read."""
    warming.warm_up()
    assert app.from_environment  # what uvicorn is going to import
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the servers
    for line in sys.stdin:
        url, port, log = json.loads(line)
        process = os.fork()
        if process == 0:
            _serve(url, port, log)
        print(process, flush=True)


def _serve(url: str, port: int, log: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for ours, theirs in ((nothing, 0), (file, 1), (file, 2)):
        os.dup2(ours, theirs)
    try:
        serve.serve(ServerSettings(database=url), "127.0.0.1", port, 1, lambda line: print(line, flush=True))
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
