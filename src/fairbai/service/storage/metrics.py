"""Figures for Prometheus."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"  # where several workers add up their figures
BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


def share(directory: str) -> None:
    """Have the worker processes that are started from here add up their figures."""
    os.environ[DIRECTORY] = directory


class Metrics:
    """Requests by route and status, how long they took, and how many operations shared a commit."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        registry: dict[str, Any] = {"registry": self._registry}
        labels = ["method", "route", "status"]
        self._requests = Counter("fairbai_requests", "Requests that were answered", labels, **registry)
        self._seconds = Histogram("fairbai_seconds", "Their time", ["method", "route"], buckets=BUCKETS, **registry)
        self._commits = Counter("fairbai_commits", "Transactions that were committed", **registry)
        self._operations = Counter("fairbai_operations", "Operations in these transactions", **registry)
        self._waiting = Gauge(
            "fairbai_waiting", "Operations that wait for a commit", multiprocess_mode="livesum", **registry
        )
        self._bound: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self._read_waiting: Callable[[], int] = lambda: 0
        if DIRECTORY in os.environ:
            _forget_the_dead(Path(os.environ[DIRECTORY]))  # whom this worker may stand in for

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        name = method, route, status
        bound = self._bound.get(name)
        if bound is None:
            bound = self._requests.labels(method, route, status), self._seconds.labels(method, route)
            self._bound[name] = bound
        bound[0].inc()
        bound[1].observe(seconds)

    def committed(self, operations: int) -> None:
        """A transaction was committed; another worker may be the one that shows how many operations wait now."""
        self._commits.inc()
        self._operations.inc(operations)
        self._waiting.set(self._read_waiting())

    def watch(self, waiting: Callable[[], int]) -> None:
        """Where to read how many operations wait, at the time of asking."""
        self._read_waiting = waiting

    def text(self) -> bytes:
        """All figures, of all workers."""
        self._waiting.set(self._read_waiting())
        if DIRECTORY not in os.environ:
            return generate_latest(self._registry)
        everybody = CollectorRegistry()
        multiprocess.MultiProcessCollector(everybody)  # type: ignore[no-untyped-call]
        return generate_latest(everybody)


def _forget_the_dead(directory: Path) -> None:
    """What waited in a worker that was killed does not wait any more."""
    for file in directory.glob("gauge_live*_*.db"):
        process = int(file.stem.rpartition("_")[2])
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            with contextlib.suppress(FileNotFoundError):  # another worker does the same
                multiprocess.mark_process_dead(process)  # type: ignore[no-untyped-call]
        except PermissionError:  # it lives, as somebody else
            pass
