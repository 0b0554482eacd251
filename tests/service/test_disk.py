"""A disk that is full, broken or read-only: clear errors, nothing corrupted, and work goes on when it is well again."""

import errno
from pathlib import Path
from typing import Any

import pytest

from tests.service.conftest import Start
from tests.service.postgresql import Cluster
from tests.service.server import Answer, Server

pytestmark = pytest.mark.slow_without_jit
FAULTS = [("ENOSPC", 507), ("EROFS", 503), ("EIO", 503)]


def told(server: Server, experiment: str, ticket: str) -> Answer:
    rewards = {"rewards": [{"ticket": ticket, "reward": 0.5}]}
    return server.call("POST", f"/v1/experiments/{experiment}/tell", rewards)


def is_problem(answer: Answer, status: int) -> bool:
    return (answer.status, answer.body["status"], answer.headers["content-type"]) == (
        status,
        status,
        "application/problem+json",
    )


def counts(server: Server, experiment: str) -> tuple[Any, ...]:
    status = server.call("GET", f"/v1/experiments/{experiment}")
    assert status.status == 200  # reading works all the time
    return status.body["trials"], status.body["observed"], status.body["version"]


@pytest.mark.system
@pytest.mark.parametrize(("fault", "expected"), FAULTS)
def test_writes_fail_for_a_while(start: Start, disk: Path, tmp_path: Path, fault: str, expected: int) -> None:
    """The server is not restarted; what was refused was not done, and what was done before is there."""
    broken, files = tmp_path / "broken", tmp_path / "files"
    files.mkdir()
    environment = {"LD_PRELOAD": str(disk), "DISK_WATCHED": str(files), "DISK_FAULT": str(broken)}
    server = start(f"sqlite:///{files}/fairbai.db", environment=environment)
    experiment = server.create()
    tickets = server.call("POST", f"/v1/experiments/{experiment}/ask", {"n": 5}).body["tickets"]
    assert told(server, experiment, tickets[0]["ticket"]).status == 200
    before = counts(server, experiment)
    broken.write_text(str(getattr(errno, fault)))
    for ticket in tickets[1:4]:
        answer = told(server, experiment, ticket["ticket"])
        assert is_problem(answer, expected)
        assert str(tmp_path) not in str(answer.body)
    assert is_problem(server.call("POST", f"/v1/experiments/{experiment}/ask", {}), expected)
    form = {"name": "x", "arms": ["a", "b"], "delta": 0.1, "family": "bernoulli"}
    assert is_problem(server.call("POST", "/v1/experiments", form), expected)
    assert is_problem(server.call("GET", "/readyz"), 503)
    assert counts(server, experiment) == before
    broken.unlink()
    assert server.call("GET", "/readyz").status == 200
    for ticket in tickets:
        assert told(server, experiment, ticket["ticket"]).status == 200
    assert counts(server, experiment)[:2] == (5, 5)
    server.verify()


@pytest.mark.system
def test_a_read_only_file_is_refused_at_the_start(start: Start, sqlite: str, tmp_path: Path) -> None:
    """And says so in a line, without a traceback."""
    start(sqlite).stop()
    server = Server(f"{sqlite.replace('sqlite:///', 'sqlite:///file:')}?mode=ro&uri=true", tmp_path)
    said = server.refused()
    assert "readonly database (the file or its directory is not writable)" in said
    assert "Traceback" not in said


@pytest.mark.system
def test_a_postgresql_that_only_reads(start: Start, cluster: Cluster, postgresql: str) -> None:
    """As a standby does; the server goes on when it may write again."""
    name = postgresql.split("?")[0].rpartition("/")[2]
    server = start(postgresql)
    experiment = server.create()
    before = counts(server, experiment)
    cluster.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    cluster.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    assert is_problem(server.call("POST", f"/v1/experiments/{experiment}/ask", {}), 503)
    assert counts(server, experiment) == before
    cluster.run(f"ALTER DATABASE {name} SET default_transaction_read_only = off")
    cluster.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    assert server.call("POST", f"/v1/experiments/{experiment}/ask", {}).status == 200
    server.verify()


@pytest.mark.system
def test_no_database_at_all(start: Start, cluster: Cluster, postgresql: str) -> None:
    """While it is away: the process lives, is not ready, and every call says so without internals."""
    server = start(postgresql)
    experiment = server.create()
    cluster.stop()
    try:
        assert server.call("GET", "/healthz").status == 200
        path = f"/v1/experiments/{experiment}"
        for answer in (
            server.call("GET", "/readyz"),
            server.call("GET", path),
            server.call("GET", f"{path}/history"),
            server.call("GET", f"{path}/policy"),
            server.call("GET", f"{path}/events"),
            server.call("POST", f"{path}/ask", {}),
            server.call("POST", f"{path}/batches", {"batch": "b", "pulls": {"a": 1}, "sums": {"a": 1.0}}),
            server.call("GET", path, Authorization="Bearer fb_0123456789ab_unknown"),
        ):
            assert is_problem(answer, 503)
            assert str(cluster.root) not in str(answer.body)
    finally:
        cluster.start()
    assert server.call("GET", "/readyz").status == 200
    assert server.call("POST", f"{path}/ask", {}).status == 200
