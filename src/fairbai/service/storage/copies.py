"""Backups: a snapshot of all tables in one SQLite file, whichever database they come from or go to.

A backup has the schema of the database that it was made of, and is itself a database that ``fairbai serve`` would run
on. Sessions are left out: people sign in again.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, MetaData, NullPool, create_engine, inspect, select, text
from sqlalchemy.exc import DBAPIError

from fairbai.service.storage.database import OWNER_ONLY, Database, open_database
from fairbai.service.storage.failures import TROUBLE, DatabaseError, cause, explained, shown
from fairbai.service.storage.schema import metadata
from fairbai.service.storage.upgrades import changing_tables, known_revisions, migrate

CHUNK = 1_000  # rows
VERSION_TABLE = "alembic_version"
LEFT_OUT = {VERSION_TABLE, "sessions"}

Counts = dict[str, int]  # rows by table


def backup(database: Database, file: Path) -> Counts:
    """Write a snapshot of a database to a new file, readable by its owner only; servers may go on meanwhile."""
    if file.exists():
        raise FileExistsError(f"{file} exists: a backup is never written over another file")
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, OWNER_ONLY))
    try:
        with database.snapshot() as source:
            counts = _write(source, part)
        _publish(part, file)
    except TROUBLE as error:
        raise DatabaseError(explained(database.url, error)) from None
    finally:
        for left in (part, part.with_name(f"{part.name}-wal"), part.with_name(f"{part.name}-shm")):
            left.unlink(missing_ok=True)
    return counts


def _write(source: Connection, part: Path) -> Counts:
    revision = _revision(source)
    if revision is None:
        raise DatabaseError("the database has no tables: there is nothing to back up")
    with closing(open_database(f"sqlite:///{part}")) as target:
        with changing_tables(target) as connection:
            migrate(connection, revision)
            counts = copy_rows(source, connection)
        with target.writer.connect() as connection:  # so that one file is everything
            driver: Any = connection.connection.driver_connection
            driver.execute("PRAGMA journal_mode = DELETE")
    return counts


def _publish(part: Path, file: Path) -> None:
    """Give a complete backup its name, on disk; raises FileExistsError if it was taken meanwhile."""
    with part.open("rb+") as complete:
        os.fsync(complete.fileno())
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, OWNER_ONLY))  # a link would be refused by some disks
    part.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def opened_backup(file: Path) -> Iterator[Connection]:
    """A connection to a backup, which is not changed; raises DatabaseError if it is damaged, or none."""
    if not file.is_file():
        raise DatabaseError(f"{file}: no such file")
    address = f"{file.resolve().as_uri()}?mode=ro"
    engine = create_engine("sqlite://", creator=lambda: sqlite3.connect(address, uri=True), poolclass=NullPool)
    with engine.connect() as connection:
        _check_backup(file, connection)
        yield connection


def _check_backup(file: Path, connection: Connection) -> None:
    try:
        wrong = connection.exec_driver_sql("PRAGMA quick_check").scalar()
        if wrong != "ok":
            raise DatabaseError(f"{file} is damaged: {wrong}")
        if _revision(connection) is None or not inspect(connection).has_table("experiments"):
            raise DatabaseError(f"{file} is not a backup of fairbai")
    except DBAPIError as error:
        raise DatabaseError(f"{file}: {cause(error)}") from None


def replace_tables(source: Connection, target: Connection, database: Database) -> Counts:
    """Give a database the tables and rows of a backup, in a transaction; refuse one that has experiments."""
    revision, found = _revision(source), _revision(target)
    known = known_revisions()
    for where, has in (("the backup", revision), (shown(database.url), found)):
        if has is not None and has not in known:
            raise DatabaseError(f"{where} was written by a newer fairbai (schema {has}): install the newer fairbai")
    tables = MetaData()
    tables.reflect(target, only=lambda name, _: name in metadata.tables or name == VERSION_TABLE)
    if "experiments" in tables.tables and not database.is_sqlite:  # where transactions are exclusive anyway
        target.execute(text("LOCK TABLE experiments IN ACCESS EXCLUSIVE MODE"))
    for name in ("experiments", "deletions"):
        if name in tables.tables and target.execute(select(tables.tables[name]).limit(1)).first() is not None:
            raise DatabaseError(
                f"{shown(database.url)} has experiments, which a restore would destroy: name an empty database"
            )
    tables.drop_all(target)
    assert revision is not None
    migrate(target, revision)
    return copy_rows(source, target)


def copy_rows(source: Connection, target: Connection) -> Counts:
    """Copy all tables into empty ones of the same schema; returns how many rows each has."""
    here, there = MetaData(), MetaData()
    here.reflect(source, only=lambda name, _: name in metadata.tables)
    there.reflect(target, only=lambda name, _: name in metadata.tables)
    for table in reversed(there.sorted_tables):
        target.execute(table.delete())  # what the migrations have put there
    counts = {}
    for table in there.sorted_tables:
        if table.name in LEFT_OUT:
            continue
        counts[table.name] = 0
        found = here.tables[table.name]
        statement = select(*(found.c[column.name] for column in table.c)).execution_options(yield_per=CHUNK)
        with source.execute(statement) as rows:
            for part in rows.partitions():
                target.execute(table.insert(), [dict(row._mapping) for row in part])
                counts[table.name] += len(part)
    return counts


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()
