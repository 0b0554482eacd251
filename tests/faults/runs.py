"""A run: clients, faults, and what the checker says."""

import csv
import io
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbai.client import Client
from tests.faults import schedule
from tests.faults.clients import RETRIES, TIMEOUT, Caller, Experiments
from tests.faults.history import Kept, Log, Verdict, check
from tests.faults.proxy import Running
from tests.service.nursery import Nursery
from tests.service.postgresql import Cluster
from tests.service.server import Server, free_port

CALLERS = 6
CLOSING = "Error closing cursor\nTraceback (most recent call last)"
"""SQLAlchemy says so where the connection is lost while it streams rows; the call itself says that the database is."""
FLOOR = 0.2
FORMS: dict[str, dict[str, Any]] = {
    "long": {"arms": ["a", "b", "c", "d"], "delta": 1e-9, "floors": FLOOR},
    "short": {"arms": ["a", "b", "c"], "delta": 0.05, "floors": FLOOR},
}


@dataclass
class Report:
    """What happened in a run."""

    name: str
    seed: int
    seconds: float
    calls: int
    faults: Counter[str]
    experiments: int
    verdict: Verdict

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.items()))
        return (
            f"{self.name}, seed {self.seed}, {self.seconds:.0f} s: {self.calls:,} calls on {self.experiments} "
            f"experiments, {self.faults.total()} faults ({kinds}): {self.verdict}"
        )


def run_sqlite(seed: int, seconds: float) -> Report:
    """One worker on SQLite."""
    with tempfile.TemporaryDirectory(prefix="fairbai-faults-") as folder, _nursery() as nursery:
        file = Path(folder) / "fairbai.db"
        server = Server(f"sqlite:///{file}", Path(folder), nursery=nursery)
        with _started(server):
            return _run("SQLite, 1 worker", server, schedule.on_sqlite(server, file), seed, seconds)


def run_postgresql(seed: int, seconds: float) -> Report:
    """Two workers on PostgreSQL, behind a proxy."""
    cluster = Cluster()
    try:
        cluster.start()
        cluster.run("CREATE DATABASE faults")
        port = free_port()
        proxy = Running(port, cluster.root / ".s.PGSQL.5432")
        try:
            with tempfile.TemporaryDirectory(prefix="fairbai-faults-") as folder:
                url = f"postgresql://postgres@127.0.0.1:{port}/faults"
                server = Server(url, Path(folder), workers=2)
                with _started(server):
                    faults = schedule.on_postgresql(server, cluster, proxy, cluster.url("faults"))
                    return _run("PostgreSQL, 2 workers", server, faults, seed, seconds)
        finally:
            proxy.kill()
    finally:
        cluster.remove()


@contextmanager
def _nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    try:
        yield nursery
    finally:
        nursery.close()


@contextmanager
def _started(server: Server) -> Iterator[None]:
    server.start()
    try:
        yield
    finally:
        server.stop()
        server.kill()


def _run(name: str, server: Server, faults: dict[str, schedule.Fault], seed: int, seconds: float) -> Report:
    experiments = Experiments(lambda kind: _create(server, kind))
    clients = [Client(server.address, server.key, TIMEOUT, RETRIES) for _ in range(CALLERS)]
    once = Client(server.address, server.key, TIMEOUT, 0)
    callers = [
        Caller(number, seed, client, experiments, None if number else once) for number, client in enumerate(clients)
    ]
    for caller in callers:
        caller.start()
    try:
        done = schedule.run(faults, seed, seconds)
    finally:
        for caller in callers:
            caller.end.set()
    _wait_until_well(server)
    for caller in callers:
        caller.join(180.0)
        assert not caller.is_alive()
    for client in (*clients, once):
        client.close_connections()
    history = [event for caller in callers for event in caller.history]
    verdict = check(history, {experiment: _log(server, experiment) for experiment in experiments.all})
    verdict.wrong += _differences(server, experiments, [event for event in history if isinstance(event, Kept)])
    return Report(name, seed, seconds, sum(caller.calls for caller in callers), done, len(experiments.all), verdict)


def _create(server: Server, kind: str) -> str:
    """An experiment; whatever hangs now will not for ever."""
    with Client(server.address, server.key, TIMEOUT, retries=30) as client:
        return client.create(kind, family={"kind": "gaussian", "variance": 1.0}, seed=1, **FORMS[kind])


def _wait_until_well(server: Server, seconds: float = 120.0) -> None:
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        try:
            if server.call("GET", "/readyz", seconds=TIMEOUT).status == 200:
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"the server does not get well:\n{server.log.read_text()[-5000:]}")


def _log(server: Server, experiment: str) -> Log:
    answer = server.call("GET", f"/v1/experiments/{experiment}/events?format=csv")
    assert answer.status == 200
    lines = list(csv.DictReader(io.StringIO(answer.body, newline="")))
    asked = [line["arm"] for line in lines if line["kind"] == "asked"]
    told, voided = (
        [(line["arm"], float(line["reward"])) for line in lines if line["kind"] == kind] for kind in ("told", "voided")
    )
    return Log(asked, told, tuple(arm["arm"] for arm in _status(server, experiment)["arms"]), FLOOR, voided)


def _status(server: Server, experiment: str) -> dict[str, Any]:
    found: dict[str, Any] = server.call("GET", f"/v1/experiments/{experiment}").body
    return found


def _differences(server: Server, experiments: Experiments, heads: list[Kept]) -> list[str]:
    """What is wrong with the server itself: its state, its counts, or an error that it did not expect."""
    found = []
    for experiment in experiments.all:
        log, status = _log(server, experiment), _status(server, experiment)
        if (status["trials"], status["observed"]) != (len(log.asked), len(log.told) - len(log.voided)):
            found.append(f"{experiment} has {status['trials']} trials, {status['observed']} observed, unlike its log")
    found += verified(server, heads)
    said = server.log.read_text().replace(CLOSING, "")
    if (at := said.find("Traceback (most recent call last)")) >= 0:
        found.append(f"the server had an error:\n{said[max(0, at - 300) : at + 5000]}")
    return found


def verified(server: Server, heads: list[Kept]) -> list[str]:
    """What `fairbai verify --head` finds, given all heads that clients were told."""
    kept = server.directory / "heads.txt"
    kept.write_text("".join(f"{one.experiment}={one.head}\n" for one in heads))
    command = [sys.executable, "-m", "fairbai", "verify", "--database", server.url, "--head", str(kept)]
    done = subprocess.run(command, capture_output=True, text=True)
    return [] if done.returncode == 0 else [f"verify --head: {done.stdout}{done.stderr}"]
