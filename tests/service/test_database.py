"""Databases: what a commit waits for, versions, and what goes wrong with them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

from fairbai.service import database as databases
from fairbai.service.database import DatabaseError, check_version, open_database, schema_version, upgrade
from fairbai.service.schema import metadata
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


def test_newer_database_is_refused(tmp_path: Path) -> None:
    with opened(address(tmp_path)) as database:
        with database.writer.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        with pytest.raises(DatabaseError, match=r"newer fairbai \(schema 9999.*pip install --upgrade"):
            upgrade(database)


def test_verify_neither_creates_nor_upgrades(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="there is no such file"):
        open_database(address(tmp_path), create=False)
    database = open_database(address(tmp_path))
    with pytest.raises(DatabaseError, match="has no tables, this fairbai needs schema 0002: start fairbai serve"):
        check_version(database)
    upgrade(database)
    check_version(database)
    database.close()


def test_read_only_database(tmp_path: Path) -> None:
    with opened(address(tmp_path)):
        pass
    database = open_database(f"sqlite:///file:{tmp_path / 'test.db'}?mode=ro&uri=true")
    with pytest.raises(DatabaseError, match="the file or its directory cannot be written"):
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
    with pytest.raises(DatabaseError, match="the file holds something else"):
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
        assert client.post(f"{at}/ask", json={}).json()["tickets"][0]["ticket"] == str(before["trials"])
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


def test_directory_as_database(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="unable to open database file"):
        open_database(f"sqlite:///{tmp_path}")
