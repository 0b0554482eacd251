"""Deletion and retention: an experiment goes with all its rows, a record stays, and everybody notices."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.exc import OperationalError

from fairbai.client import ServiceError
from fairbai.client.calls import checked
from fairbai.service.domain.cycles import checked_retention
from fairbai.service.reading.chains import seen
from fairbai.service.reading.verify import verify
from fairbai.service.storage import database as databases
from fairbai.service.storage import deletions
from fairbai.service.storage.database import Database
from fairbai.service.storage.schema import deliveries, events, experiments, history, tickets, units
from fairbai.service.writing import forgetting
from fairbai.service.writing.deleting import expired, retire
from fairbai.service.writing.leases import ended, overdue, sweep
from tests.service.postgresql import Cluster
from tests.service.running import FORM, Local, address, ask, create, opened, play, running, tell

DAY = 86_400.0


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Local]:
    with running(address(tmp_path)) as found:
        yield found


def rows_of(database: Database, at: str) -> int:
    """How many rows of any table an experiment has."""
    name, total = at.rpartition("/")[2], 0
    with database.reader.connect() as connection:
        for table in (events, tickets, units, history, deliveries):
            statement = select(func.count()).select_from(table).where(table.c.experiment == name)
            total += connection.execute(statement).scalar_one()
        total += connection.execute(
            select(func.count()).select_from(experiments).where(experiments.c.id == name)
        ).scalar_one()
    return total


def cleared(database: Database, at: str) -> None:
    """Wait until an experiment has no rows."""
    give_up = time.monotonic() + 30.0
    while rows_of(database, at):
        assert time.monotonic() < give_up
        time.sleep(0.01)


def test_deletion_is_answered_before_the_rows_are_gone(
    client: Local, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    at, other = create(client), create(client)
    may_go, clear = threading.Event(), deletions.clear

    def later(*given: Any) -> bool:
        assert may_go.wait(120.0)
        return clear(*given)

    monkeypatch.setattr(deletions, "clear", later)
    assert client.request("DELETE", at).status_code == 200
    assert client.get(at).status_code == 404
    assert rows_of(client.app.service.database, at) > 0
    may_go.set()
    cleared(client.app.service.database, at)
    failing = OperationalError("DELETE", {}, Exception("locked"))
    monkeypatch.setattr(deletions, "clear", lambda *_: (_ for _ in ()).throw(failing))
    assert client.request("DELETE", other).status_code == 200
    give_up = time.monotonic() + 30.0
    while not any(line.startswith("deletion: ") for line in caplog.messages):
        assert time.monotonic() < give_up
        time.sleep(0.01)
    monkeypatch.setattr(deletions, "clear", clear)
    service = client.app.service
    assert rows_of(service.database, other) > 0
    client.wait(retire(service.database, service.writer, None))  # as once per hour
    assert rows_of(service.database, other) == 0


def test_deleted_experiment_is_gone_and_recorded(client: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "MAX_ROWS", 7)  # so that it takes several transactions
    at, other = create(client, name="old"), create(client, name="new")
    play(client, at, 10)
    client.post(f"{at}/batches", json={"batch": "x", "pulls": {"a": 1}, "sums": {"a": 1.0}})  # its labels are cached
    (ticket,) = ask(client, at)
    version = client.get(at).json()["version"]
    for _ in range(2):  # again changes nothing
        found = client.request("DELETE", at)
        assert found.status_code == 200, found.text
    record = found.json()
    assert (record["id"], record["name"], record["events"]) == (at.rpartition("/")[2], "old", version)
    assert client.get("/v1/deletions").json() == {"deletions": [record]}
    cleared(client.app.service.database, at)
    batch = {"batch": "y", "pulls": {"a": 1}, "sums": {"a": 1.0}}
    told = {"rewards": [{"ticket": ticket["ticket"], "reward": 1.0}]}
    answers = [client.get(f"{at}{path}") for path in ("", "/policy", "/audit", "/events", "/history", "/stream")]
    answers += [client.post(f"{at}/{call}", json=form) for call, form in (("ask", {}), ("tell", told), ("close", None))]
    answers.append(client.post(f"{at}/batches", json=batch))
    assert {one.status_code for one in answers} == {404}
    assert [one["name"] for one in client.get("/v1/experiments").json()["experiments"]] == ["new"]
    assert client.get(other).status_code == 200
    assert client.request("DELETE", "/v1/experiments/12ab").status_code == 404


def test_deletion_that_was_cut_short_is_finished(client: Local) -> None:
    """Once it is recorded, the experiment is not there; its rows go when the server is back."""
    at = create(client, lease=10.0)
    ask(client, at, 5)
    service = client.app.service
    with service.database.writer.begin() as connection:
        deletions.record(connection, at.rpartition("/")[2], time.time(), None)
    assert client.get(at).status_code == client.post(f"{at}/ask").status_code == 404
    assert list(verify(service.database)) == []
    assert seen(service.database, {})["heads"] == {}
    assert overdue(service.database, 1e12) == []  # others' tickets do not wait for them
    assert client.wait(sweep(service.database, service.writer, 1e12)) == 0  # its tickets are overdue
    assert rows_of(service.database, at) > 0
    assert client.wait(retire(service.database, service.writer, None)) == 1
    assert rows_of(service.database, at) == 0


def test_deleted_experiment_has_no_deadline(client: Local) -> None:
    at = create(client, deadline="2099-01-01T00:00:00Z")
    database = client.app.service.database
    assert [look.experiment for look in ended(database, 1e12)] == [at.rpartition("/")[2]]
    with database.writer.begin() as connection:
        deletions.record(connection, at.rpartition("/")[2], time.time(), None)
    assert ended(database, 1e12) == []


def test_the_name_of_a_call_is_free_once_its_experiment_is_deleted(client: Local) -> None:
    named = {"Idempotency-Key": "first"}
    first, again = (client.post("/v1/experiments", json=FORM, headers=named).json()["id"] for _ in "xy")
    assert first == again
    with client.app.service.database.writer.begin() as connection:
        deletions.record(connection, first, time.time(), None)
    made = client.post("/v1/experiments", json=FORM, headers=named)
    assert (made.status_code, made.json()["id"] != first) == (201, True)
    assert client.get(f"/v1/experiments/{made.json()['id']}").status_code == 200


@pytest.mark.system
def test_who_waits_for_a_deletion_writes_nothing_after_it(
    cluster: Cluster, postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL shows those who wait for a row the tables as they were before."""
    for name in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"):
        monkeypatch.setitem(databases.TIMEOUTS, name, "100s")
    monkeypatch.setattr(databases, "DEADLINE", 100.0)
    with running(postgresql) as client, opened(postgresql) as other, ThreadPoolExecutor() as pool:
        at = create(client)
        name = at.rpartition("/")[2]

        def record(again: Database) -> Any:
            with again.writer.begin() as connection:
                return deletions.record(connection, name, 2.0, None)

        with other.writer.begin() as connection:
            deletions.record(connection, name, 1.0, None)
            asked, deleted = pool.submit(client.post, f"{at}/ask"), pool.submit(record, other)
            give_up = time.monotonic() + 60.0
            while cluster.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != [(2,)]:
                assert time.monotonic() < give_up
                time.sleep(0.01)
        assert asked.result().status_code == 404
        assert deleted.result().at == 1.0


def test_stream_of_a_deleted_experiment_ends(client: Local) -> None:
    at = create(client)

    async def follow() -> list[str]:
        async def good() -> bool:
            return True

        response = await client.app.fastapi.state.streams.open(at.rpartition("/")[2], "key", good)
        pieces = []
        async for piece in response.body_iterator:
            pieces.append(piece)
            if len(pieces) == 1:
                await client.http.delete(at)
        return pieces

    first, last = client.wait(follow())
    assert first.startswith("id: 1\nevent: status")
    assert last == "event: end\ndata: {}\n\n"


def test_units_of_a_deleted_experiment_are_not_looked_for(client: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    at = create(client, lease=None)
    assert client.post(f"{at}/ask", json={"unit": "user-7"}).status_code == 200
    service, name, later = client.app.service, at.rpartition("/")[2], time.time() + 1.0
    assert len(forgetting.overdue(service.database, name, later)) == 1
    monkeypatch.setattr(forgetting, "times", lambda *_: {name: later})  # found before the deletion
    with service.database.writing() as connection:
        deletions.record(connection, name, time.time(), None)
    assert forgetting.overdue(service.database, name, later) == []

    async def forget() -> int:
        async with asyncio.timeout(30.0):
            return await forgetting.forget(service.database, service.writer, None)

    assert client.wait(forget()) == 0
    monkeypatch.setattr(forgetting, "overdue", lambda *_: ["a unit that was found before the deletion"])
    assert client.wait(forget()) == 0


@pytest.mark.parametrize("own", [True, False])
def test_retention_counts_from_the_last_event_after_the_end(tmp_path: Path, own: bool) -> None:
    with running(address(tmp_path), retention=None if own else "30d") as client:
        changes: dict[str, Any] = {"retention": "30d"} if own else {}
        ended, running_on, longer = (
            create(client, **changes),
            create(client, **changes),
            create(client, retention="90d"),
        )
        for at in (ended, longer):
            tell(client, at, {ask(client, at)[0]["ticket"]: 1.0})
            client.post(f"{at}/close")
        service = client.app.service

        def retired(days: float) -> int:
            later = time.time() + days * DAY
            found: int = client.wait(retire(service.database, service.writer, service.settings.retention, later))
            return found

        assert retired(29) == 0
        assert retired(31) == 1
        assert [client.get(at).status_code for at in (ended, running_on, longer)] == [404, 200, 200]
        (record,) = client.get("/v1/deletions").json()["deletions"]
        assert record["deleted_by"] is None
        assert retired(91) == 1
        assert client.get(longer).status_code == 404


def test_erasing_a_unit_does_not_keep_its_experiment(client: Local) -> None:
    at, start = create(client, lease=None, retention="30d"), time.time()
    client.post(f"{at}/ask", json={"unit": "user-7"})
    client.post(f"{at}/close")
    assert client.post(f"{at}/units/erase", json={"unit": "user-7"}).json() == {"erased": 1}
    database = client.app.service.database
    with database.writing() as connection:
        connection.execute(update(events).where(events.c.kind == "erased").values(at=start + 20 * DAY))
    assert expired(database, None, start + 29 * DAY) == []
    assert expired(database, None, start + 31 * DAY) == [at.rpartition("/")[2]]


def test_retention_is_checked_and_kept_in_the_configuration(client: Local) -> None:
    at = create(client, retention="365d")
    assert client.get(at).json()["config"]["retention"] == "365d"
    refused = client.post("/v1/experiments", json={"name": "x", "arms": ["a", "b"], "delta": 0.1, "family": "poisson",
                                                   "retention": "5m"})  # fmt: skip
    assert refused.status_code == 422
    assert "retention must be a duration such as 365d, from 1h to 36500d, got '5m'" in refused.json()["detail"]
    with pytest.raises(ValueError, match="such as 365d"):
        checked_retention("a year")


def test_only_admins_delete(tmp_path: Path) -> None:
    with running(address(tmp_path), role="writer") as client:
        for method, path in (("DELETE", "/v1/experiments/12"), ("GET", "/v1/deletions")):
            with pytest.raises(ServiceError, match="needs a key with the role admin"):
                checked(client.request(method, path))
