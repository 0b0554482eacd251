"""The SQLite file: only its owner reads it, and nothing is acknowledged once it is gone."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairbai.service.reading.verify import verify
from fairbai.service.storage.database import open_database
from fairbai.service.storage.failures import DatabaseError
from fairbai.service.storage.keys import create_key
from tests.service.running import FORM, Local, address, ask, create, opened, running, tell


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Local]:
    with opened(address(tmp_path)) as database:
        create_key(database, "reader", "to rotate and revoke")
    with running(address(tmp_path)) as found:
        create(found, name="to delete")
        yield found


class Calls:
    """Calls of every kind, to an experiment with a ticket and a unit; made while the file is where it was."""

    def __init__(self, client: Local) -> None:
        self._client, self.at = client, create(client, flag="shop")
        (key, *_) = client.get("/v1/keys").json()["keys"]
        deleted = client.get("/v1/experiments").json()["experiments"][-1]
        (self.ticket,) = (one["ticket"] for one in ask(client, self.at))
        evaluate = ("POST", "/ofrep/v1/evaluate/flags/shop", {"json": {"context": {"targetingKey": "visitor"}}})
        self._reads: list[tuple[str, str, dict[str, Any]]] = [
            ("POST", f"{self.at}/ask", {"json": {"unit": "visitor"}}),  # which returns, and is only read
            evaluate,
            ("GET", self.at, {}),
            ("GET", f"{self.at}/events", {}),
            ("GET", f"{self.at}/head", {}),
            ("GET", "/v1/experiments", {}),
        ]
        for method, path, options in self._reads:
            assert client.request(method, path, **options).status_code == 200
        self._writes: list[tuple[str, str, dict[str, Any]]] = [
            ("POST", f"{self.at}/ask", {"json": {}}),
            ("POST", f"{self.at}/tell", {"json": {"rewards": [{"ticket": self.ticket, "reward": 1.0}]}}),
            ("POST", "/v1/experiments", {"json": FORM}),
            ("POST", f"{self.at}/close", {}),
            ("POST", "/v1/keys", {"json": {"role": "reader"}}),
            ("POST", "/v1/projects", {"json": {"name": "shop"}}),
            ("POST", "/sign-in", {"data": {"key": client.http.headers["Authorization"].split()[1]}}),
            ("POST", "/sign-out", {"headers": {"Cookie": "fairbai=1"}}),
            ("DELETE", f"/v1/experiments/{deleted['id']}", {}),
            ("POST", f"/v1/keys/{key['id']}/rotate", {"json": {}}),
            ("POST", f"/v1/keys/{key['id']}/revoke", {}),
        ]

    def assert_refused(self) -> None:
        """Nothing is accepted, and nothing is said to be missing: what was committed may come back with the file."""
        for method, path, options in self._writes + self._reads:
            refused = self._client.request(method, path, **options)
            assert refused.status_code == 503, (path, refused.text)
            assert refused.json()["detail"].startswith("The database file was deleted or replaced while the server was")
        ready = self._client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["detail"].startswith("The database file was deleted or replaced while the server was")
        assert self._client.get("/healthz").status_code == 200


def test_nothing_is_acknowledged_once_the_file_is_deleted(client: Local, tmp_path: Path) -> None:
    calls = Calls(client)
    for file in tmp_path.glob("test.db*"):
        file.unlink()
    calls.assert_refused()
    assert list(tmp_path.glob("test.db*")) == []


def test_nothing_is_acknowledged_once_the_file_is_replaced_also_when_it_is_back(
    client: Local, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Who knows what was written into the file that was in its place, or into the log beside both."""
    calls = Calls(client)
    file, kept, copy = (tmp_path / name for name in ("test.db", "kept", "copy"))
    os.link(file, kept)
    shutil.copy(file, copy)
    copy.replace(file)
    with caplog.at_level(logging.ERROR):
        calls.assert_refused()
    assert "test.db: the file was replaced by another while the server was running" in caplog.text
    kept.replace(file)
    calls.assert_refused()


@pytest.mark.parametrize("connections", ["kept", "new"])
def test_a_file_that_is_moved_away_and_back_has_everything(tmp_path: Path, connections: str) -> None:
    """A connection that is opened meanwhile must not make an empty database in its place, and delete its log."""
    file, away = tmp_path / "test.db", tmp_path / "away"
    with running(address(tmp_path)) as client:
        calls = Calls(client)
        told = tell(client, calls.at, {calls.ticket: 1.0})
        file.rename(away)
        if connections == "new":
            database = client.app.service.database
            for engine in (database.writer, database.reader):
                engine.pool = engine.pool.recreate()
        calls.assert_refused()
        assert not file.exists()
        with pytest.raises(DatabaseError, match=r"the file is missing, but .*test\.db-wal is there, with what was"):
            open_database(address(tmp_path))  # as when the server is restarted too early
        away.rename(file)
        calls.assert_refused()
    with running(address(tmp_path)) as client:
        assert client.get(f"{calls.at}/head").json()["head"] == told["head"]
        assert client.post(calls.at + "/ask", json={"unit": "visitor"}).json()["reason"] == "returning"
        assert client.get("/readyz").status_code == 200
    with opened(address(tmp_path)) as database:
        assert [differences for _, differences in verify(database) if differences] == []


def test_two_processes_that_begin_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One creates the file and its log just after the other has first looked for either."""
    real, others = Path.exists, list[Any]()

    def exists(path: Path, **options: Any) -> bool:
        found = real(path, **options)
        if not others and path.parent == tmp_path:
            others.append(None)
            others.append(open_database(address(tmp_path)))
            with others[-1].writing() as connection:
                connection.exec_driver_sql("CREATE TABLE mine (number INTEGER)")
        return found

    monkeypatch.setattr(Path, "exists", exists)
    open_database(address(tmp_path)).close()
    assert (tmp_path / "test.db-wal").stat().st_size
    others[-1].close()


def test_nothing_is_acknowledged_once_the_wal_is_deleted(client: Local, tmp_path: Path) -> None:
    calls = Calls(client)
    (tmp_path / "test.db-wal").unlink()
    calls.assert_refused()


def test_nothing_is_acknowledged_once_the_wal_is_another(client: Local, tmp_path: Path) -> None:
    """As when it is deleted, and a command makes a new one."""
    calls = Calls(client)
    (tmp_path / "test.db-wal").unlink()
    (tmp_path / "test.db-wal").touch()
    calls.assert_refused()


def test_nothing_is_acknowledged_once_the_file_is_overwritten_by_an_older_one(
    client: Local, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As ``cp`` does, which leaves the file where it is."""
    at = create(client)
    file, copy = tmp_path / "test.db", tmp_path / "copy"
    shutil.copy(file, copy)
    (ticket, *others) = ask(client, at, 2_000)
    with opened(address(tmp_path)) as database, database.reader.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint")
    assert tell(client, at, {others[0]["ticket"]: 1.0})["accepted"] == 1
    shutil.copy(copy, file)
    with caplog.at_level(logging.ERROR):
        refused = client.post(f"{at}/tell", json={"rewards": [{"ticket": ticket["ticket"], "reward": 1.0}]})
    assert refused.status_code == 503
    assert "test.db: the file was overwritten (it had" in caplog.text
    assert client.get("/readyz").status_code == 503


def test_only_the_owner_can_read_the_file(client: Local, tmp_path: Path) -> None:
    at = create(client)
    tell(client, at, {ticket["ticket"]: 1.0 for ticket in ask(client, at, 3)})
    modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.glob("test.db*")}
    assert modes == {"test.db": 0o600, "test.db-wal": 0o600, "test.db-shm": 0o600}


def test_a_file_that_others_can_read_is_left_as_it_is_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(address(tmp_path)):
        pass
    (tmp_path / "test.db").chmod(0o644)
    with caplog.at_level(logging.WARNING), running(address(tmp_path)):
        pass
    assert "test.db may be read by other users (mode 644): run chmod 600 on it" in caplog.text
    assert (tmp_path / "test.db").stat().st_mode & 0o777 == 0o644
