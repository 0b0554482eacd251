"""A server in a process of its own, as `fairbai serve` starts it, and a few ways to end it."""

import fcntl
import http.client
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from fairbai.service.reading.verify import verify
from fairbai.service.storage.database import open_database
from tests.service.nursery import Forked, Nursery

# As `fairbai serve`, without the promise that a commit waits for the disk, and with patience for wrong keys.
CARELESS = """
import sys
from fairbai.service.serve import serve
from fairbai.service.storage.settings import ServerSettings
serve(ServerSettings(database=sys.argv[1], synchronous=False, failures=10**6), "127.0.0.1", int(sys.argv[2]), 1)
"""


PORTS = range(20_000, 32_000)  # Ray takes those from 10,000 on
_taken: set[int] = set()  # by this process


@dataclass
class Answer:
    """An answer over HTTP."""

    status: int
    headers: dict[str, str]
    body: Any


class Server:
    """A server; it can be started again and again, on the same port.

    Args:
        url: Its database.
        directory: Where it runs and keeps its log.
        workers: Processes.
        synchronous: Whether a commit waits for the disk.
        environment: Further variables.
        nursery: What forks it, for a quick start.
        arguments: Further arguments of `fairbai serve`.
        descriptors: How many files it may open.
    """

    def __init__(
        self,
        url: str,
        directory: Path,
        workers: int = 1,
        synchronous: bool = True,
        environment: dict[str, str] | None = None,
        nursery: Nursery | None = None,
        arguments: Sequence[str] = (),
        descriptors: int | None = None,
    ) -> None:
        self.url, self.directory, self.port = url, directory, free_port()
        self.key = ""
        self.log = directory / f"server-{self.port}.log"
        self._workers, self._synchronous = workers, synchronous
        self._environment = {**os.environ, "TMPDIR": str(directory), **(environment or {})}
        self._process: subprocess.Popen[bytes] | Forked | None = None
        self._nursery = nursery
        self._arguments, self._descriptors = list(arguments), descriptors

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> "Server":
        """Start, and wait until it answers."""
        if self._nursery is None:
            self.launch()
        else:
            self._process = self._nursery.fork(self.url, self.port, self.log)
        give_up = time.monotonic() + 240.0  # where the kernels are not compiled yet
        while not self._answers():
            assert self._process is not None
            assert self._process.poll() is None, self.log.read_text()
            assert time.monotonic() < give_up, self.log.read_text()
            time.sleep(0.02)
        found = re.search(r"fb_\w+_[\w-]+", self.log.read_text())
        self.key = found.group() if found else self.key
        return self

    def launch(self) -> subprocess.Popen[bytes]:
        """Start without waiting."""
        if self._synchronous:
            command = ["-m", "fairbai", "serve", "--database", self.url, "--port", str(self.port)]
            command += ["--workers", str(self._workers), *self._arguments]
        else:
            command = ["-c", CARELESS, self.url, str(self.port)]
        command = [sys.executable, *command]
        if self._descriptors is not None:
            command = ["sh", "-c", f'ulimit -n {self._descriptors}; exec "$@"', "sh", *command]
        with self.log.open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.directory, env=self._environment)
        self._process = process
        return process

    @property
    def memory(self) -> float:
        """The memory that it takes, in megabytes."""
        assert isinstance(self._process, subprocess.Popen)
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s*(\d+) kB", status)[0]) / 1e3

    def refused(self) -> str:
        """What it says when it does not start."""
        process = self.launch()
        try:
            assert process.wait(240) != 0
        finally:
            self.kill()
        return self.log.read_text()

    def _answers(self) -> bool:
        try:
            return self.call("GET", "/healthz").status == 200
        except OSError:
            return False

    def kill(self) -> None:
        """SIGKILL: no time to finish anything."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> int | None:
        """End it as an administrator would; returns its exit code, if it ran and was not forked."""
        if self._process is None or self._process.poll() is not None:
            return None
        self._process.terminate()
        return self._process.wait(120)

    @property
    def process(self) -> int | None:
        """The id of its process, if it was started."""
        return None if self._process is None else self._process.pid

    def call(self, method: str, path: str, body: Any = None, seconds: float = 120.0, **headers: str) -> Answer:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {"Authorization": f"Bearer {self.key}", **headers})
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        kind = response.headers.get_content_type()
        content = json.loads(data) if kind.endswith("json") else data.decode()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)

    def create(self, **options: Any) -> str:
        """Begin an experiment that does not stop soon; returns its id."""
        form = {
            "name": "test",
            "arms": ["a", "b", "c", "d"],
            "delta": 1e-9,
            "family": {"kind": "gaussian", "variance": 1.0},
            "floors": 0.2,
            "seed": 1,
        }
        answer = self.call("POST", "/v1/experiments", form | options)
        assert answer.status == 201, answer
        return str(answer.body["id"])

    def verify(self) -> None:
        """All is well, says what `fairbai verify` runs."""
        database = open_database(self.url)
        try:
            assert [differences for _, differences in verify(database) if differences] == []
        finally:
            database.close()


def free_port() -> int:
    """A port that nobody listens on, and that no other process of the tests takes before it is used.

    The kernel would choose one of those that it also gives to connections, and the same one to several processes, as a
    server listens on it only later, and not while it is restarted. So ports are from below that range, and a process
    that takes one locks its byte of a file for as long as it lives.
    """
    first = random.SystemRandom().randrange(len(PORTS))
    for port in (*PORTS[first:], *PORTS[:first]):
        if port not in _taken:
            with suppress(OSError), socket.socket() as found:
                fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
                _taken.add(port)
                found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                found.bind(("127.0.0.1", port))
                return port
    raise AssertionError("no port is free")


@cache
def _locks() -> IO[bytes]:
    return (Path(tempfile.gettempdir()) / f"fairbai-ports-{os.getuid()}.lock").open("wb")
