"""Metrics for Prometheus."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"  # where several workers add up their metrics
BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


def share(directory: str) -> None:
    """Let the worker processes that are started from here add up their metrics."""
    os.environ[DIRECTORY] = directory


class Metrics:
    """Requests by route and status, their duration, how many operations shared a commit, and how the kernels run."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        registry: dict[str, Any] = {"registry": self._registry}
        labels = ["method", "route", "status"]
        self._requests = Counter("fairbai_requests", "Requests answered", labels, **registry)
        self._seconds = Histogram(
            "fairbai_seconds", "Seconds per request", ["method", "route"], buckets=BUCKETS, **registry
        )
        self._commits = Counter("fairbai_commits", "Transactions committed", **registry)
        self._operations = Counter("fairbai_operations", "Operations in these transactions", **registry)
        self._waiting = Gauge(
            "fairbai_waiting", "Operations waiting for a commit", multiprocess_mode="livesum", **registry
        )
        self._compiled = Gauge(
            "fairbai_compiled",
            "1 if the kernels of all workers run compiled, 0 if some run as Python",
            multiprocess_mode="livemin",
            **registry,
        )
        self._bound: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self._read_waiting: Callable[[], int] = lambda: 0
        if DIRECTORY in os.environ:
            _forget_the_dead(Path(os.environ[DIRECTORY]))  # which this worker may have replaced

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        name = method, route, status
        bound = self._bound.get(name)
        if bound is None:
            bound = self._requests.labels(method, route, status), self._seconds.labels(method, route)
            self._bound[name] = bound
        bound[0].inc()
        bound[1].observe(seconds)

    def committed(self, operations: int) -> None:
        """Count a committed transaction; the gauge is set too, as another worker may be the one that shows it."""
        self._commits.inc()
        self._operations.inc(operations)
        self._waiting.set(self._read_waiting())

    def watch(self, waiting: Callable[[], int]) -> None:
        """Set the function that says how many operations are waiting."""
        self._read_waiting = waiting

    def set_compiled(self, compiled: bool) -> None:
        """Note whether the kernels run compiled."""
        self._compiled.set(compiled)

    def text(self) -> bytes:
        """All metrics of all workers."""
        self._waiting.set(self._read_waiting())
        if DIRECTORY not in os.environ:
            return generate_latest(self._registry)
        combined = CollectorRegistry()
        multiprocess.MultiProcessCollector(combined)  # type: ignore[no-untyped-call]
        return generate_latest(combined)


def _forget_the_dead(directory: Path) -> None:
    """Operations of a worker that was killed are no longer waiting."""
    for file in directory.glob("gauge_live*_*.db"):
        process = int(file.stem.rpartition("_")[2])
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            with contextlib.suppress(FileNotFoundError):  # another worker does the same
                multiprocess.mark_process_dead(process)  # type: ignore[no-untyped-call]
        except PermissionError:  # it is alive, under another user
            pass
