"""What was acknowledged survives: a server that is killed, a power cut, a PostgreSQL that stops at once.

Each is beside a control in which a commit does not wait for the disk: it must lose something, or else the test could
not have seen a loss.
"""

import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.service.conftest import Start
from tests.service.hammer import reward_of
from tests.service.load import Acknowledged, check_exact, load, log_of
from tests.service.postgresql import Cluster
from tests.service.server import Server

pytestmark = pytest.mark.slow_without_jit
MANY = 1_000_000  # pairs: until the clients are ended


@pytest.mark.system
def test_kill_the_server_twenty_times(start: Start, sqlite: str, postgresql: str) -> None:
    """Clients repeat what was not answered: so there must be exactly what they know of.

    Both databases at the same time: most of it is waiting.
    """
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(kill_again_and_again, start(url), 20) for url in (sqlite, postgresql)]:
            done.result()


def kill_again_and_again(server: Server, kills: int) -> None:
    experiment = server.create()
    with load(server, experiment, MANY, clients=4) as clients:
        for _ in range(kills):
            clients.wait_for(tells=20)
            server.kill()
            server.start()
        acknowledged = clients.end()
    assert len(acknowledged.told) > 20 * kills
    assert acknowledged.visits > len(acknowledged.units) > kills
    print(
        f"{server.url.partition(':')[0]}: {kills} kills, {acknowledged.visits:,} visits of {len(acknowledged.units):,} "
        "units, each with one ticket and one arm"
    )
    check_exact(server, experiment, acknowledged)
    command = [sys.executable, "-m", "fairbai", "verify", "--database", server.url]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=server.directory).stdout
    assert said.splitlines()[-1] == "0 of 1 experiments differ from their log"


# --- SQLite: every commit waits for the disk --------------------------------------------------------------------


def syncs_of(start: Start, disk: Path, directory: Path, synchronous: bool) -> list[int]:
    """How often each of some tells, one after another, waited for the disk before it was acknowledged."""
    counter = directory / "syncs"
    environment = {"LD_PRELOAD": str(disk), "DISK_WATCHED": str(directory), "DISK_SYNCS": str(counter)}
    server = start(f"sqlite:///{directory}/fairbai.db", environment=environment, synchronous=synchronous)
    experiment = server.create()
    tickets = server.call("POST", f"/v1/experiments/{experiment}/ask", {"n": 40}).body["tickets"]
    counts = []
    for ticket in tickets:
        before = counter.stat().st_size
        told = {"rewards": [{"ticket": ticket["ticket"], "reward": 0.5}]}
        assert server.call("POST", f"/v1/experiments/{experiment}/tell", told).status == 200
        counts.append(counter.stat().st_size - before)
    return counts


@pytest.mark.system
def test_every_tell_waits_for_the_disk(start: Start, disk: Path, tmp_path: Path) -> None:
    """SIGKILL cannot tell synchronous FULL from NORMAL, because the kernel outlives the server: count fsyncs.

    A library that is preloaded counts them, and not strace: that is one more program to install, and needs rights that
    a container may not give. The library needs the compiler only, and can also break the disk and cut its power.
    """
    assert min(syncs_of(start, disk, tmp_path, synchronous=True)) >= 1


@pytest.mark.system
def test_a_careless_server_does_not(start: Start, disk: Path, tmp_path: Path) -> None:
    """The control: NORMAL waits for the disk at checkpoints only."""
    assert sum(syncs_of(start, disk, tmp_path, synchronous=False)) < 10


@pytest.mark.system
def test_a_group_shares_its_wait(start: Start, disk: Path, tmp_path: Path) -> None:
    """At least one fsync a transaction, and fewer transactions than operations: the group commit."""
    counter = tmp_path / "syncs"
    environment = {"LD_PRELOAD": str(disk), "DISK_WATCHED": str(tmp_path), "DISK_SYNCS": str(counter)}
    server = start(f"sqlite:///{tmp_path}/fairbai.db", environment=environment)
    experiment = server.create()
    before = counter.stat().st_size
    with load(server, experiment, pairs=20) as clients:
        clients.finish()
    with sqlite3.connect(tmp_path / "fairbai.db") as database:
        count = "SELECT count(*), count(DISTINCT at) FROM events WHERE sequence > 1"
        operations, transactions = database.execute(count).fetchone()  # a transaction has one time for all its events
    database.close()
    assert operations > transactions
    assert counter.stat().st_size - before >= transactions


@pytest.mark.system
@pytest.mark.parametrize("synchronous", [True, False])
def test_a_power_cut(start: Start, disk: Path, tmp_path: Path, synchronous: bool) -> None:
    """A disk that has only what was synced loses power under load; the control, NORMAL, must lose something.

    The control has several tries, as SQLite may happen to have made a checkpoint just before the cut.
    """
    tries = 1 if synchronous else 4
    assert any(lost_by_a_cut(start, disk, tmp_path / str(one), synchronous) for one in range(tries)) != synchronous


def lost_by_a_cut(start: Start, disk: Path, folder: Path, synchronous: bool) -> int:
    """How many acknowledged rewards are lost when the power is cut under load."""
    running, survives, restored = folder / "running", folder / "survives", folder / "restored"
    running.mkdir(parents=True)
    survives.mkdir()
    environment = {"LD_PRELOAD": str(disk), "DISK_WATCHED": str(running), "DISK_SURVIVES": str(survives)}
    url = f"sqlite:///{running}/fairbai.db"
    experiment, key = created(start(url, environment=environment))
    server = start(url, environment=environment, synchronous=synchronous)
    server.key = key
    with load(server, experiment, MANY, clients=4, patient=False) as clients:
        clients.wait_for(tells=60)
        server.kill()
        acknowledged = clients.finish()
    shutil.copytree(survives, restored, ignore=shutil.ignore_patterns("*.draft"))
    after = start(f"sqlite:///{restored}/fairbai.db")
    after.key = key
    return lost(after, experiment, acknowledged)


def created(server: Server) -> tuple[str, str]:
    """An experiment that is on disk, and a key; the server has stopped."""
    experiment = server.create()
    server.stop()
    return experiment, server.key


def lost(server: Server, experiment: str, acknowledged: Acknowledged) -> int:
    """How many acknowledged rewards a database does not have; those that it has must be right."""
    told = dict(log_of(server, experiment).told)
    assert all(told[ticket] == reward_of(ticket) for ticket in told)
    server.verify()
    return len(acknowledged.told - set(told))


# --- PostgreSQL -------------------------------------------------------------------------------------------------


@pytest.mark.system
@pytest.mark.parametrize("synchronous", [True, False])
def test_postgresql_stops_at_once(start: Start, cluster: Cluster, postgresql: str, synchronous: bool) -> None:
    """Even where the database is set up to lose rewards, the service makes its commits wait; the control does not.

    The control has several tries, as PostgreSQL may happen to have written its log just before it was stopped.
    """
    name = postgresql.split("?")[0].rpartition("/")[2]
    cluster.run(f"ALTER DATABASE {name} SET synchronous_commit = off")
    server = start(postgresql, synchronous=synchronous)
    tries = 1 if synchronous else 5
    assert any(lost_by_a_stop(server, cluster) for _ in range(tries)) != synchronous
    assert server.call("GET", "/readyz").status == 200  # the same server goes on


def lost_by_a_stop(server: Server, cluster: Cluster) -> int:
    """How many acknowledged rewards are lost when PostgreSQL stops at once under load."""
    experiment = server.create()
    cluster.run("CHECKPOINT")  # the experiment itself is on disk
    with load(server, experiment, MANY, clients=4, patient=False) as clients:
        clients.wait_for(tells=60)
        cluster.stop(immediately=True)
        try:
            acknowledged = clients.finish()
            answer = server.call("POST", f"/v1/experiments/{experiment}/ask", {})
            assert (answer.status, answer.headers["content-type"]) == (503, "application/problem+json")
        finally:
            cluster.start()
    found = lost(server, experiment, acknowledged)
    assert server.call("POST", f"/v1/experiments/{experiment}/ask", {}).status == 200
    return found


@pytest.mark.system
def test_a_postgresql_without_fsync_is_refused(cluster: Cluster, postgresql: str, tmp_path: Path) -> None:
    """The service cannot mend this one, so it does not start."""
    cluster.stop()
    cluster.start(fsync="off")
    try:
        assert "SHOW fsync must be on, got off" in Server(postgresql, tmp_path).refused()
    finally:
        cluster.stop()
        cluster.start()
