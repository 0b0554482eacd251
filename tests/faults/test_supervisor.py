"""The parent of the workers: whom it replaces, when it gives up, and that it does not wait."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from uvicorn.config import STARTUP_FAILURE

from fairbai.service.http import supervisor
from fairbai.service.http.supervisor import Supervisor


class Worker:
    """What a parent sees of a worker."""

    def __init__(self, *_: Any, alive: bool = True, answers: bool = True, exitcode: int | None = None) -> None:
        self.alive, self.answers, self.exitcode, self.pid = alive, answers, exitcode, id(self)
        self.process = SimpleNamespace(is_alive=lambda: self.alive, join=self._join, kill=self.kill)

    def _join(self, seconds: float = 0.0) -> None:
        time.sleep(min(seconds, 0.2) if self.alive else 0.0)

    def ping(self, seconds: float) -> bool:
        return self.answers

    is_ready = ping

    def kill(self) -> None:
        self.alive = False

    def join(self) -> None:
        assert not self.alive

    def start(self) -> None:
        self.alive = True


@pytest.fixture
def parent(monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    monkeypatch.setattr(supervisor, "Process", Worker)
    found = Supervisor.__new__(Supervisor)  # whose __init__ would take the signals of this process
    found.config, found.sockets = SimpleNamespace(timeout_worker_healthcheck=0.1), []  # type: ignore[assignment]
    found.should_exit, found._heard, found._served = threading.Event(), {}, False
    return found


def look(parent: Supervisor, *workers: Any) -> list[bool]:
    """Which workers are still there after a look."""
    parent.processes = list(workers)
    parent.keep_subprocess_alive()
    return [now is before for now, before in zip(parent.processes, workers, strict=True)]


def test_who_ends_is_replaced(parent: Supervisor) -> None:
    assert look(parent, Worker(), Worker(alive=False)) == [True, False]
    assert all(worker.process.is_alive() for worker in parent.processes)


def test_who_is_silent_is_replaced_later(parent: Supervisor) -> None:
    workers = Worker(), Worker(answers=False)
    assert look(parent, *workers) == [True, True]
    time.sleep(0.15)  # or longer
    assert look(parent, *workers) == [True, False]


def test_workers_that_cannot_start(parent: Supervisor) -> None:
    """At first the server stops; once it has served, the database may just be away."""
    look(parent, Worker(answers=False), Worker(alive=False, exitcode=STARTUP_FAILURE))
    assert parent.should_exit.is_set()
    parent.should_exit.clear()
    assert look(parent, Worker(), Worker(alive=False, exitcode=STARTUP_FAILURE)) == [True, False]
    assert not parent.should_exit.is_set()


def test_workers_that_do_not_stop_are_ended(parent: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "STOPPING", 0.1)
    parent.processes = [Worker(), Worker(alive=False), Worker()]  # type: ignore[list-item]
    parent.join_all()
    assert not any(worker.process.is_alive() for worker in parent.processes)
