"""Metrics for Prometheus."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"  # where several workers add up their metrics
BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


def share(directory: str) -> None:
    """Let the worker processes that are started from here add up their metrics."""
    os.environ[DIRECTORY] = directory


class Load(NamedTuple):
    """What the writer has to do.

    Attributes:
        waiting: Operations that wait.
        busy: Seconds that the present transaction has taken.
        oldest: Seconds that an experiment has waited for its turn.
    """

    waiting: int = 0
    busy: float = 0.0
    oldest: float = 0.0


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
        self._events = Counter("fairbai_events", "Events appended to the logs of experiments", **registry)
        self._webhooks = Counter("fairbai_webhooks", "Attempts to deliver a webhook", ["outcome"], **registry)
        self._handed_over = Counter(
            "fairbai_handed_over", "Operations handed over to the worker whose experiment it is", **registry
        )
        self._waiting = Gauge(
            "fairbai_waiting", "Operations waiting for a commit", multiprocess_mode="livesum", **registry
        )
        self._busy = Gauge(
            "fairbai_writer_busy_seconds",
            "Seconds that the present transaction has taken, of the slowest worker",
            multiprocess_mode="livemax",
            **registry,
        )
        self._oldest = Gauge(
            "fairbai_oldest_waiting_seconds",
            "Seconds that an experiment has waited for its next turn, of all workers",
            multiprocess_mode="livemax",
            **registry,
        )
        self._compiled = Gauge(
            "fairbai_compiled",
            "1 if the kernels of all workers run compiled, 0 if some run as Python",
            multiprocess_mode="livemin",
            **registry,
        )
        self._bound: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self._load: Callable[[], Load] = Load
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
        """Count a committed transaction."""
        self._commits.inc()
        self._operations.inc(operations)

    def appended(self, events: int) -> None:
        """Count events in the logs."""
        self._events.inc(events)

    def announced(self, outcome: str) -> None:
        """Count an attempt to deliver a webhook: delivered, failed or given_up."""
        self._webhooks.labels(outcome).inc()

    def handed_over(self) -> None:
        """Count an operation that another worker does."""
        self._handed_over.inc()

    def watch(self, load: Callable[[], Load]) -> None:
        """Set the function that says what the writer has to do."""
        self._load = load

    def show_load(self) -> None:
        """Set the gauges of what the writer has to do."""
        load = self._load()
        self._waiting.set(load.waiting)
        self._busy.set(load.busy)
        self._oldest.set(load.oldest)

    def set_compiled(self, compiled: bool) -> None:
        """Note whether the kernels run compiled."""
        self._compiled.set(compiled)

    def text(self) -> bytes:
        """All metrics of all workers."""
        self.show_load()
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
