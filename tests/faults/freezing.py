"""Processes that are stopped (SIGSTOP) for a while: they keep their connections and locks, and say nothing."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.service.postgresql import Cluster
from tests.service.server import Server


@contextmanager
def frozen(*processes: int) -> Iterator[None]:
    """Freeze processes."""
    for process in processes:
        send(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            send(process, signal.SIGCONT)


def send(process: int, number: signal.Signals) -> bool:
    """Send a signal to a process; returns whether it was there."""
    with suppress(ProcessLookupError):
        os.kill(process, number)
        return True
    return False


def backends(cluster: Cluster, url: str) -> list[int]:
    """The processes of PostgreSQL that serve a database."""
    name = url.split("?")[0].rpartition("/")[2]
    rows = cluster.run(f"SELECT pid FROM pg_stat_activity WHERE datname = '{name}' ORDER BY pid")
    return [pid for (pid,) in rows]


def children(process: int) -> list[int]:
    """The processes that a process has started, in order."""
    with suppress(FileNotFoundError), open(f"/proc/{process}/task/{process}/children") as file:
        return sorted(int(word) for word in file.read().split())
    return []


def workers_of(server: Server) -> list[int]:
    """The processes that answer a server's requests, if it has several."""
    assert server.process is not None
    return [process for process in children(server.process) if _is_worker(process)]


def _is_worker(process: int) -> bool:
    with suppress(FileNotFoundError), open(f"/proc/{process}/cmdline", "rb") as file:
        return b"spawn_main" in file.read()
    return False
