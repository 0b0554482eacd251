"""A database that is frozen or cannot write: requests are answered in time, `/readyz` says so, and the server stops."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from fairbai.service.storage import deadlines
from fairbai.service.storage.database import open_database
from fairbai.service.storage.deadlines import DEADLINE
from tests.faults.freezing import backends, frozen
from tests.faults.schedule import holding
from tests.service.conftest import Start
from tests.service.postgresql import Cluster
from tests.service.server import Answer, Server

pytestmark = pytest.mark.slow_without_jit
MARGIN = 20.0  # seconds for a busy machine


def timed(call: Callable[[], Answer]) -> tuple[int, float]:
    began = time.monotonic()
    return call().status, time.monotonic() - began


def gauge(server: Server, name: str) -> float:
    lines = server.call("GET", "/metrics").body.splitlines()
    return float(next(line for line in lines if line.startswith(f"{name} ")).split()[1])


def test_every_call_has_a_deadline(cluster: Cluster, postgresql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read, a write and a commit; the connection is discarded, and the next one works while the old is frozen."""
    monkeypatch.setattr(deadlines, "CONNECT_AGAIN", 60)
    found = open_database(postgresql)
    try:
        with found.writer.begin() as connection:
            connection.execute(text("CREATE TABLE numbers (number INTEGER)"))
        for engine, statement in ((found.reader, "SELECT 1"), (found.writer, "INSERT INTO numbers VALUES (1)")):
            with engine.connect() as connection:
                connection.execute(text(statement))
                driver: Any = connection.connection.driver_connection
                assert driver.deadline == DEADLINE
                driver.deadline = 0.5
                with frozen(*backends(cluster, postgresql)):
                    began = time.monotonic()
                    with pytest.raises(OperationalError, match=r"did not answer within 0\.5 seconds"):
                        connection.commit() if engine is found.writer else connection.execute(text(statement))
                    assert 0.4 < time.monotonic() - began < 0.5 + MARGIN
                    with engine.connect() as another:
                        another.execute(text("SELECT 1"))
    finally:
        found.close()


@pytest.mark.system
def test_a_frozen_backend(start: Start, cluster: Cluster, postgresql: str) -> None:
    """H3: the ask is refused in time, not ready is said at once, and the same server goes on afterwards."""
    server = start(postgresql)
    experiment = server.create()
    path = f"/v1/experiments/{experiment}"
    assert server.call("POST", f"{path}/ask", {}).status == 200
    assert server.call("GET", "/readyz").status == 200
    with frozen(*backends(cluster, postgresql)), ThreadPoolExecutor() as pool:
        calls = [("POST", f"{path}/ask", {}), ("GET", path, None), ("GET", f"{path}/history", None)]
        waiting = [pool.submit(timed, lambda call=call: server.call(*call)) for call in calls]
        wait_for(lambda: server.call("GET", "/readyz"), 503, 5.0 + MARGIN)
        wait_until(lambda: gauge(server, "fairbai_writer_busy_seconds") > 1.0)
        statuses, seconds = zip(*(done.result() for done in waiting), strict=True)
        assert max(seconds) < DEADLINE + 2.0 + MARGIN
        assert statuses[0] == 503
        assert set(statuses) <= {200, 503}  # a read may have got a new connection
        # PostgreSQL itself is well: with new connections everything works, though the old ones are still frozen
        assert wait_for(lambda: server.call("POST", f"{path}/ask", {}), 200)
        assert wait_for(lambda: server.call("GET", path), 200)
    assert wait_for(lambda: server.call("GET", "/readyz"), 200)
    server.verify()


@pytest.mark.system
def test_a_frozen_postgresql(start: Start, cluster: Cluster, postgresql: str) -> None:
    """All of it, so that connecting hangs, too; a server that is told to stop meanwhile does."""
    server = start(postgresql)
    experiment = server.create()
    processes = [cluster.process, *backends(cluster, postgresql)]
    with frozen(*processes), ThreadPoolExecutor() as pool:
        asked = pool.submit(timed, lambda: server.call("POST", f"/v1/experiments/{experiment}/ask", {}))
        wait_until(lambda: gauge(server, "fairbai_writer_busy_seconds") > 0.0)
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 35.0 + MARGIN
        assert asked.result()[0] == 503


@pytest.mark.system
def test_a_server_with_nothing_to_do_stops_at_once(start: Start, postgresql: str) -> None:
    server = start(postgresql)
    server.create()
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 10.0  # what it would wait for is given up after 12


def wait_until(condition: Callable[[], bool], seconds: float = 2 * MARGIN) -> None:
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def wait_for(call: Callable[[], Answer], status: int, seconds: float = 2 * MARGIN) -> Answer:
    give_up = time.monotonic() + seconds
    while (answer := call()).status != status:
        assert time.monotonic() < give_up, answer
        time.sleep(0.1)
    return answer


@pytest.mark.system
def test_a_frozen_process_that_holds_the_lock_of_sqlite(start: Start, sqlite: str, tmp_path: Path) -> None:
    """A write is refused in time, reads go on, and it is not ready."""
    server = start(sqlite)
    experiment = server.create()
    path = f"/v1/experiments/{experiment}"
    holder = holding(tmp_path / "fairbai.db")
    try:
        with frozen(holder.pid), ThreadPoolExecutor() as pool:
            asked = pool.submit(timed, lambda: server.call("POST", f"{path}/ask", {}))
            status, seconds = timed(lambda: server.call("GET", "/readyz"))
            assert (status, seconds < 5.0 + MARGIN) == (503, True)
            assert server.call("GET", path).status == 200
            status, seconds = asked.result()
            assert (status, seconds < DEADLINE + MARGIN) == (503, True)
    finally:
        holder.kill()
        holder.communicate()
    assert wait_for(lambda: server.call("POST", f"{path}/ask", {}), 200)
    assert wait_for(lambda: server.call("GET", "/readyz"), 200)
