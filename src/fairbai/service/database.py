"""Opening a database: connections that do not acknowledge before the disk does, and the version of the schema."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError

DEFAULT = "sqlite:///fairbai.db"
BUSY = 30.0  # seconds that a connection waits for another one's lock


class DatabaseError(OSError):
    """The database cannot be used; the message says why, without a password."""


@dataclass(frozen=True)
class Database:
    """Connections for the writer, whose transactions exclude each other, and for readers.

    Attributes:
        url: Where it is.
        writer: Transactions that may write.
        reader: Transactions that only read, and that wait for nobody.
    """

    url: URL
    writer: Engine
    reader: Engine

    @property
    def is_sqlite(self) -> bool:
        """Whether one process only may write."""
        return self.url.get_backend_name() == "sqlite"

    def close(self) -> None:
        """Close all connections."""
        self.writer.dispose()
        self.reader.dispose()

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that sees the database as it is now, until it is closed."""
        with self.reader.connect() as connection:
            if not self.is_sqlite:  # where a transaction sees nothing else anyway
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    def ping(self) -> None:
        """Raise DatabaseError if the database does not answer."""
        try:
            with self.reader.connect() as connection:
                connection.execute(text("SELECT 1"))
        except DBAPIError as error:
            raise DatabaseError(explained(self.url, error)) from None


def open_database(url: str = DEFAULT, synchronous: bool = True, create: bool = True) -> Database:
    """Connect, and make sure that a commit is on disk when it returns.

    Args:
        url: ``sqlite:///file.db`` or ``postgresql://user:password@host/name``.
        synchronous: False gives up that promise, which is for tests that must see a loss.
        create: Whether a SQLite file that does not exist is created.
    """
    target = _target(url)
    if not create and target.get_backend_name() == "sqlite" and not Path(str(target.database)).exists():
        raise DatabaseError(f"{shown(target)}: there is no such file")
    sqlite = target.get_backend_name() == "sqlite"
    options = _sqlite_options() if sqlite else {"pool_pre_ping": True}
    writer, reader = create_engine(target, **options), create_engine(target, **options)
    for engine in (writer, reader):
        event.listen(engine, "connect", _prepare_sqlite(synchronous) if sqlite else _prepare_postgresql(synchronous))
    if sqlite:
        _begin_with(writer, "BEGIN IMMEDIATE")
        _begin_with(reader, "BEGIN")
    database = Database(target, writer, reader)
    try:
        if synchronous:
            _check_synchronous(database)
    except DBAPIError as error:
        raise DatabaseError(explained(target, error)) from None
    return database


def _target(url: str) -> URL:
    try:
        target = make_url(url)
    except (ArgumentError, ValueError):  # what came is not shown: it may hold a password
        raise ValueError(f"database must be a URL such as {DEFAULT} or postgresql://host/name") from None
    backend = target.get_backend_name()
    if backend == "postgresql":
        return target.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise ValueError(f"database must be SQLite or PostgreSQL, got {backend}")
    if not target.database or target.database == ":memory:":
        raise ValueError(f"database must be a file, such as {DEFAULT}, got {url!r}")
    return target.set(drivername="sqlite+pysqlite")


def _sqlite_options() -> dict[str, Any]:
    # isolation_level None: we begin transactions ourselves, as the driver begins them only before the first write
    return {"connect_args": {"timeout": BUSY, "isolation_level": None, "check_same_thread": False}}


def _begin_with(engine: Engine, statement: str) -> None:
    """Begin transactions so, in the driver; the event "begin" would have it a statement of SQLAlchemy."""
    dialect: Any = engine.dialect
    dialect.do_begin = lambda connection: connection.execute(statement)


def _prepare_sqlite(synchronous: bool) -> Any:
    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if synchronous else 'NORMAL'}")
        connection.execute("PRAGMA foreign_keys = ON")

    return prepare


def _prepare_postgresql(synchronous: bool) -> Any:
    def prepare(connection: Any, _: Any) -> None:
        (now,) = connection.execute("SHOW synchronous_commit").fetchone()
        if now != "remote_apply" or not synchronous:  # which is stricter still
            connection.execute(f"SET synchronous_commit = {'on' if synchronous else 'off'}")
        connection.commit()

    return prepare


def _check_synchronous(database: Database) -> None:
    """Read back what a commit waits for."""
    expected: dict[str, tuple[Any, ...]]
    if database.is_sqlite:
        expected = {"PRAGMA journal_mode": ("wal",), "PRAGMA synchronous": (2,), "PRAGMA foreign_keys": (1,)}
    else:
        expected = {"SHOW synchronous_commit": ("on", "remote_apply"), "SHOW fsync": ("on",)}
    with database.writer.connect() as connection:
        for question, allowed in expected.items():
            found = connection.exec_driver_sql(question).scalar()
            if found not in allowed:
                raise DatabaseError(
                    f"{shown(database.url)} would lose acknowledged rewards in a crash: "
                    f"{question} must be {allowed[0]}, got {found}"
                )


def shown(url: URL) -> str:
    """The address without its password."""
    return url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


def explained(url: URL, error: DBAPIError) -> str:
    """What went wrong, in one line, for people who run the service."""
    reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
    hints = {
        "read-only transaction": "this server does not take writes",
        "readonly database": "the file or its directory cannot be written",
        "unable to open database file": "its directory must exist and be writable",
        "disk is full": "free some space; nothing that was acknowledged is lost",
        "No space left": "free some space; nothing that was acknowledged is lost",
        "not a database": "the file holds something else",
        "database is locked": "another process holds it for too long",
    }
    hint = next((f" ({text})" for part, text in hints.items() if part in reason), "")
    return f"{shown(url)}: {reason}{hint}"


# --- the version of the schema ----------------------------------------------------------------------------------


def upgrade(database: Database) -> None:
    """Bring the tables to the version that this fairbai knows; refuse a newer one."""
    from fairbai.service.filling import fill  # which needs the rest of the service

    config, script = _config(), _scripts()
    try:
        _check_writable(database)
        with database.writer.begin() as connection:
            if not database.is_sqlite:  # two servers that start at once
                connection.execute(text("SELECT pg_advisory_xact_lock(7210431)"))
            found = MigrationContext.configure(connection).get_current_revision()
            if found is not None and found not in {revision.revision for revision in script.walk_revisions()}:
                raise DatabaseError(
                    f"{shown(database.url)} was written by a newer fairbai (schema {found}, "
                    f"this one knows {script.get_current_head()}): pip install --upgrade 'fairbai[service]'"
                )
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            fill(connection)
    except DBAPIError as error:
        raise DatabaseError(explained(database.url, error)) from None


def _check_writable(database: Database) -> None:
    """Raise an error of the driver if nothing can be written; SQLite finds out only when it writes."""
    with database.writer.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE fairbai_probe (x INTEGER)")
        connection.rollback()


def check_version(database: Database) -> None:
    """Refuse a database that this fairbai would have to upgrade first."""
    found, known = schema_version(database), _scripts().get_current_head()
    if found != known:
        has = "no tables" if found is None else f"schema {found}"
        raise DatabaseError(
            f"{shown(database.url)} has {has}, this fairbai needs schema {known}: "
            "start fairbai serve on it, which upgrades it"
        )


def schema_version(database: Database) -> str | None:
    """The version of the tables; None where there are none."""
    with database.reader.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())
