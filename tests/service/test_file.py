"""The SQLite file: only its owner reads it, and nothing is acknowledged once it is gone."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairbai.service.storage.keys import create_key
from tests.service.running import FORM, Local, address, ask, create, opened, running, tell


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Local]:
    with opened(address(tmp_path)) as database:
        create_key(database, "reader", "to rotate and revoke")
    with running(address(tmp_path)) as found:
        create(found, name="to delete")
        yield found


def assert_refuses(client: Local, at: str, ticket: str) -> None:
    """Every call that writes; what was committed may be in a file that comes back."""
    (key, *_), deleted = client.get("/v1/keys").json()["keys"], client.get("/v1/experiments").json()["experiments"][-1]
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", f"{at}/ask", {"json": {}}),
        ("POST", f"{at}/tell", {"json": {"rewards": [{"ticket": ticket, "reward": 1.0}]}}),
        ("POST", "/v1/experiments", {"json": FORM}),
        ("POST", f"{at}/close", {}),
        ("POST", "/v1/keys", {"json": {"role": "reader"}}),
        ("POST", "/v1/projects", {"json": {"name": "shop"}}),
        ("POST", "/sign-in", {"data": {"key": client.http.headers["Authorization"].split()[1]}}),
        ("POST", "/sign-out", {"headers": {"Cookie": "fairbai=1"}}),
        ("DELETE", f"/v1/experiments/{deleted['id']}", {}),
        ("POST", f"/v1/keys/{key['id']}/rotate", {"json": {}}),
        ("POST", f"/v1/keys/{key['id']}/revoke", {}),
    ]
    for method, path, options in calls:
        refused = client.request(method, path, **options)
        assert refused.status_code == 503, path
        assert refused.json()["detail"].startswith("The database file was deleted or replaced while the server was")
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200


def test_nothing_is_acknowledged_once_the_file_is_deleted(client: Local, tmp_path: Path) -> None:
    at = create(client)
    (ticket,) = ask(client, at)
    for file in tmp_path.glob("test.db*"):
        file.unlink()
    assert_refuses(client, at, ticket["ticket"])


def test_nothing_is_acknowledged_once_the_file_is_replaced(
    client: Local, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    at = create(client)
    (ticket,) = ask(client, at)
    file, kept, copy = (tmp_path / name for name in ("test.db", "kept", "copy"))
    os.link(file, kept)
    shutil.copy(file, copy)
    copy.replace(file)
    with caplog.at_level(logging.ERROR):
        assert_refuses(client, at, ticket["ticket"])
    assert "test.db: the file was replaced by another while the server was running" in caplog.text
    kept.replace(file)
    assert client.get("/readyz").status_code == 200
    again = client.post(f"{at}/tell", json={"rewards": [{"ticket": ticket["ticket"], "reward": 1.0}]})
    assert again.status_code == 200


def test_nothing_is_acknowledged_once_the_wal_is_deleted(client: Local, tmp_path: Path) -> None:
    at = create(client)
    (ticket,) = ask(client, at)
    (tmp_path / "test.db-wal").unlink()
    assert_refuses(client, at, ticket["ticket"])


def test_nothing_is_acknowledged_once_the_wal_is_another(client: Local, tmp_path: Path) -> None:
    """As when it is deleted, and a command makes a new one."""
    at = create(client)
    (ticket,) = ask(client, at)
    (tmp_path / "test.db-wal").unlink()
    (tmp_path / "test.db-wal").touch()
    assert_refuses(client, at, ticket["ticket"])


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
    assert "test.db: the file was overwritten while the server was running (it had" in caplog.text
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
