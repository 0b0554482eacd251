"""Databases: what a commit waits for, versions, and what goes wrong with them."""

from __future__ import annotations

import socket
import sqlite3
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Column, Integer, event, inspect, text

from fairbai.service.reading.verify import verify
from fairbai.service.storage import database as databases
from fairbai.service.storage import upgrades
from fairbai.service.storage.database import open_database
from fairbai.service.storage.deliveries import of_experiment
from fairbai.service.storage.failures import DatabaseError
from fairbai.service.storage.logs import voided_tickets
from fairbai.service.storage.schema import metadata
from fairbai.service.storage.upgrades import check_version, schema_version, upgrade
from tests.service.earlier import take_back
from tests.service.running import address, create, opened, play, running


def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    with opened(address(tmp_path)) as database, database.writer.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_settings_are_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = databases._prepare_sqlite
    monkeypatch.setattr(databases, "_prepare_sqlite", lambda _: prepare(False))
    with pytest.raises(DatabaseError, match=r"would lose acknowledged rewards.*synchronous must be 2, got 1"):
        open_database(address(tmp_path))


def test_migrations_give_the_tables_of_the_schema(tmp_path: Path) -> None:
    with opened(address(tmp_path)) as database, database.reader.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_upgrade_again_changes_nothing(tmp_path: Path) -> None:
    with opened(address(tmp_path)) as database:
        version = schema_version(database)
        upgrade(database)
        assert schema_version(database) == version is not None


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.system)])
def test_an_older_database_gets_indexes_and_keeps_its_rows(request: pytest.FixtureRequest, kind: str) -> None:
    url, hook = request.getfixturevalue(kind), "https://hooks.example.com/fairbai"
    with running(url, webhook_hosts=("hooks.example.com",), webhook_secret="x" * 32) as client:
        at = create(client, delta=1e-9, webhook=hook)
        play(client, at, 5)
        client.post(f"{at}/void", json={"tickets": ["2"], "reason": "sent twice"})
        client.post(f"{at}/close")
        head = client.get(f"{at}/head").json()
    take_back(url, "0008")
    with opened(url) as database:
        experiment = at.rpartition("/")[2]
        assert [found for _, found in verify(database)] == [[]]
        assert [row.kind for row in of_experiment(database, experiment, 10)] == ["stop"]
        with database.reader.connect() as connection:
            assert voided_tickets(connection, experiment, 10**9) == {2}
            indexes = {
                one["name"] for name in ("events", "deliveries") for one in inspect(connection).get_indexes(name)
            }
            assert {"events_voided", "deliveries_newest"} <= indexes
    with running(url) as client:
        assert client.get(f"{at}/head").json() == head


def test_voids_and_announcements_are_found_without_reading_whole_tables(tmp_path: Path) -> None:
    asked: list[tuple[str, Any]] = []
    with opened(address(tmp_path)) as database, database.reader.connect() as connection:
        event.listen(database.reader, "before_cursor_execute", lambda *given: asked.append(given[2:4]))
        voided_tickets(connection, "x", 7)
        of_experiment(database, "x", 7)
        first, second = (
            " ".join(str(row[3]) for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", given))
            for text, given in list(asked)
        )
    assert "USING COVERING INDEX events_voided" in first
    assert "USING INDEX deliveries_newest" in second


def test_newer_database_is_refused(tmp_path: Path) -> None:
    with opened(address(tmp_path)) as database:
        with database.writer.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        with pytest.raises(DatabaseError, match=r"newer fairbai \(schema 9999.*install the newer fairbai"):
            upgrade(database)


def test_verify_neither_creates_nor_upgrades(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="no such file"):
        open_database(address(tmp_path), create=False)
    database = open_database(address(tmp_path))
    with pytest.raises(DatabaseError, match=r"has no tables, this fairbai needs schema \d+: start fairbai serve"):
        check_version(database)
    upgrade(database)
    check_version(database)
    database.close()


def test_read_only_database(tmp_path: Path) -> None:
    with opened(address(tmp_path)):
        pass
    database = open_database(f"sqlite:///file:{tmp_path / 'test.db'}?mode=ro&uri=true")
    with pytest.raises(DatabaseError, match="the file or its directory is not writable"):
        upgrade(database)
    database.close()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "database must be a URL such as"),
        ("mysql://host/name", "database must be SQLite or PostgreSQL, got mysql"),
        ("sqlite://", "database must be a file"),
        ("sqlite:///:memory:", "database must be a file"),
    ],
)
def test_bad_addresses(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        open_database(url)


def test_unreachable_databases_are_explained_without_the_password() -> None:
    with pytest.raises(DatabaseError, match="its directory must exist and be writable"):
        open_database("sqlite:////nowhere/at/all.db")
    with pytest.raises(DatabaseError, match="connection failed") as found:
        open_database("postgresql://me:secret@127.0.0.1:1/name")
    assert "secret" not in str(found.value)


def test_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "test.db").write_text("not a database at all" * 100)
    with pytest.raises(DatabaseError, match="the file is something else"):
        open_database(address(tmp_path))


def test_database_that_fails_answers_503_and_comes_back(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client)
        play(client, at, 3)
        before = client.get(at).json()
        other = sqlite3.connect(tmp_path / "test.db")
        with other:
            other.execute("ALTER TABLE events RENAME TO gone")
        refused = client.post(f"{at}/ask", json={})
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        assert "events" not in refused.text
        with other:
            other.execute("ALTER TABLE gone RENAME TO events")
        other.close()
        assert client.get(at).json() == before
        assert client.post(f"{at}/ask", json={}).json()["tickets"][0]["ticket"].startswith(f"{before['trials']}-")
        assert client.get("/readyz").status_code == 200


def test_what_cannot_be_read_is_503(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client)
        other = sqlite3.connect(tmp_path / "test.db")
        with other:
            other.execute("ALTER TABLE history RENAME TO gone")
            other.execute("ALTER TABLE keys RENAME TO lost")
        other.close()
        assert client.get(f"{at}/history").status_code == 503
        unknown = client.get("/readyz", headers={"Authorization": "Bearer fb_00_00"})
        assert unknown.status_code == 503  # nobody knows whether this is a wrong key


def test_tables_can_be_replaced_although_others_refer_to_them(tmp_path: Path) -> None:
    """As migrations on SQLite must; rows that lose what they refer to are noticed."""
    url = address(tmp_path)
    with running(url) as client:
        at = create(client)
        play(client, at, 3)
        before = client.get(at).json()
    with opened(url) as database:
        with upgrades.changing_tables(database) as connection:
            change = Operations(MigrationContext.configure(connection, opts={"render_as_batch": True}))
            with change.batch_alter_table("experiments", recreate="always") as table:
                table.add_column(Column("new", Integer))
        lost = pytest.raises(DatabaseError, match="refers to a missing row of experiments")
        with lost, upgrades.changing_tables(database) as connection:
            connection.execute(text("DELETE FROM experiments"))
        with database.writer.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
            connection.exec_driver_sql("ALTER TABLE experiments DROP COLUMN new")
            connection.commit()
    with running(url) as client:
        assert client.get(at).json() == before


def test_row_that_somebody_holds_for_too_long_is_503(postgresql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(databases.TIMEOUTS, "lock_timeout", "200ms")
    with running(postgresql) as client, psycopg.connect(postgresql) as other:
        at = create(client)
        other.execute("SELECT * FROM experiments FOR UPDATE")
        refused = client.post(f"{at}/ask", json={})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        other.rollback()
        assert client.post(f"{at}/ask", json={}).status_code == 200


def test_too_many_readers_are_503(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(databases.POOL, "pool_timeout", 0.1)
    with running(address(tmp_path)) as client:
        at = create(client)
        with ExitStack() as readers:
            for _ in range(15):
                readers.enter_context(client.app.service.database.reader.connect())
            for path in (at, "/readyz", "/v1/experiments"):
                assert client.get(path).status_code == 503
        assert client.get(at).status_code == 200


def test_server_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(databases.CONNECTING, "connect_timeout", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(DatabaseError, match="timeout"):
        open_database(f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/name")


def test_directory_as_database(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="unable to open database file"):
        open_database(f"sqlite:///{tmp_path}")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_connections_that_are_in_use_are_closed_afterwards(request: pytest.FixtureRequest, kind: str) -> None:
    """Else a thread that still reads while the server stops would leave its connection open."""
    database = open_database(request.getfixturevalue(kind))
    with database.reader.connect() as connection:
        connection.execute(text("SELECT 1"))
        driver: Any = connection.connection.driver_connection
        database.close()
    with pytest.raises((sqlite3.ProgrammingError, psycopg.OperationalError), match="closed"):
        driver.execute("SELECT 1")
