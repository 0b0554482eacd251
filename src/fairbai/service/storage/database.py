"""Opening a database: connections whose commits return only once the data is on disk."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError

from fairbai.service.storage.failures import TROUBLE, DatabaseError, explained, shown
from fairbai.service.storage.settings import DEFAULT

BUSY = 30.0  # seconds to wait for another connection's lock
POOL = {"pool_timeout": 10.0}  # seconds to wait for a free connection
TIMEOUTS = {"lock_timeout": "15s", "statement_timeout": "60s"}  # of the writer on PostgreSQL
CONNECTING = {  # to PostgreSQL: notice a server that has vanished although its connections look open
    "connect_timeout": 10,  # seconds
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds
}
STARTING = 7210431  # the advisory lock that servers hold while they prepare a database


@dataclass(frozen=True)
class Database:
    """Connections for the writer, whose transactions are mutually exclusive, and for readers.

    Attributes:
        url: Its address.
        writer: For transactions that may write.
        reader: For transactions that only read and never wait.
    """

    url: URL
    writer: Engine
    reader: Engine

    @property
    def is_sqlite(self) -> bool:
        """Whether only one process may write."""
        return self.url.get_backend_name() == "sqlite"

    def close(self) -> None:
        """Close all connections."""
        self.writer.dispose()
        self.reader.dispose()

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """A transaction that no other server's preparation overlaps."""
        with self.writer.begin() as connection:
            self.lock(connection)
            yield connection

    def lock(self, connection: Connection) -> None:
        """Wait until no other server is preparing the database, and keep others out until the transaction ends."""
        if not self.is_sqlite:  # where write transactions are exclusive anyway
            for name in TIMEOUTS:  # the others may take long
                connection.execute(text(f"SET LOCAL {name} = 0"))
            connection.execute(text(f"SELECT pg_advisory_xact_lock({STARTING})"))

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that sees the database as it is now until it is closed."""
        with self.reader.connect() as connection:
            if not self.is_sqlite:  # where every transaction is a snapshot
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    def ping(self) -> None:
        """Raise DatabaseError if the database does not answer."""
        try:
            with self.reader.connect() as connection:
                connection.execute(text("SELECT 1"))
        except TROUBLE as error:
            raise DatabaseError(explained(self.url, error)) from None


def open_database(url: str = DEFAULT, synchronous: bool = True, create: bool = True) -> Database:
    """Connect, and make sure that commits are on disk when they return.

    Args:
        url: ``sqlite:///file.db`` or ``postgresql://user:password@host/name``.
        synchronous: False gives up that guarantee, for tests that must see a loss.
        create: Whether to create a missing SQLite file.
    """
    target = _target(url)
    sqlite = target.get_backend_name() == "sqlite"
    if not create and sqlite and not Path(str(target.database)).exists():
        raise DatabaseError(f"{shown(target)}: no such file")
    options = POOL | (_sqlite_options() if sqlite else _postgresql_options(target))
    writer, reader = create_engine(target, **options), create_engine(target, **options)
    for engine in (writer, reader):
        event.listen(engine, "connect", _prepare_sqlite(synchronous) if sqlite else _prepare_postgresql(synchronous))
    if sqlite:
        _begin_with(writer, "BEGIN IMMEDIATE")
        _begin_with(reader, "BEGIN")
    else:
        event.listen(writer, "connect", _set_timeouts)
    database = Database(target, writer, reader)
    try:
        if synchronous:
            _check_synchronous(database)
    except TROUBLE as error:
        raise DatabaseError(explained(target, error)) from None
    return database


def _target(url: str) -> URL:
    try:
        target = make_url(url)
    except (ArgumentError, ValueError):  # not shown, as it may hold a password
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
    # isolation_level None: we begin transactions ourselves; the driver would do so only before the first write
    return {"connect_args": {"timeout": BUSY, "isolation_level": None, "check_same_thread": False}}


def _begin_with(engine: Engine, statement: str) -> None:
    """Begin transactions with this statement, in the driver; the event "begin" would go through SQLAlchemy."""
    dialect: Any = engine.dialect
    dialect.do_begin = lambda connection: connection.execute(statement)


def _postgresql_options(target: URL) -> dict[str, Any]:
    given = {name: value for name, value in CONNECTING.items() if name not in target.query}  # the URL may override them
    return {"pool_pre_ping": True, "connect_args": given}


def _prepare_sqlite(synchronous: bool) -> Any:
    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if synchronous else 'NORMAL'}")
        connection.execute("PRAGMA foreign_keys = ON")

    return prepare


def _prepare_postgresql(synchronous: bool) -> Any:
    def prepare(connection: Any, _: Any) -> None:
        (now,) = connection.execute("SHOW synchronous_commit").fetchone()
        if now != "remote_apply" or not synchronous:  # remote_apply is stricter still
            connection.execute(f"SET synchronous_commit = {'on' if synchronous else 'off'}")
        connection.commit()

    return prepare


def _set_timeouts(connection: Any, _: Any) -> None:
    for name, value in TIMEOUTS.items():
        connection.execute(f"SET {name} = '{value}'")
    connection.commit()


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
