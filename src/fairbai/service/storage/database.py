"""Opening a database: connections whose commits return only once the data is on disk."""

import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError

from fairbai.service.storage import stamps
from fairbai.service.storage.deadlines import DEADLINE, DeadlineConnection
from fairbai.service.storage.failures import TROUBLE, DatabaseError, explained, shown
from fairbai.service.storage.files import OpenedFile
from fairbai.service.storage.settings import DEFAULT

BUSY = 5.0  # seconds to wait for the lock of another process; a call may wait behind another one that waits
POOL = {"pool_timeout": 10.0}  # seconds to wait for a free connection
TIMEOUTS = {  # of the writer on PostgreSQL, within the deadline of a call so that the server is the one to give up
    "lock_timeout": "3s",
    "statement_timeout": "9s",
    "idle_in_transaction_session_timeout": "10s",  # a frozen worker does not keep its locks
}
READING = {"statement_timeout": "15s"}  # of readers, so that the server does not go on after the deadline
CONNECTING = {  # to PostgreSQL: notice a server that has vanished although its connections look open
    "connect_timeout": 10,  # seconds
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds
}
PREPARING = 3600.0  # seconds for a call of a server that prepares the database, or waits for another to do so
STARTING = 7210431  # the advisory lock that servers hold while they prepare a database
OWNER_ONLY = 0o600  # the mode of a SQLite file; those beside it get the same from SQLite

log = logging.getLogger("fairbai.service")


@dataclass(frozen=True)
class Database:
    """Connections for the writer, whose transactions are mutually exclusive, and for readers.

    Attributes:
        url: Its address.
        writer: For transactions that may write.
        reader: For transactions that only read and never wait.
        file: The SQLite file; None on PostgreSQL.
        incarnation: What every restore changes, if somebody wants to notice one.
    """

    url: URL
    writer: Engine
    reader: Engine
    file: OpenedFile | None = None
    incarnation: str | None = None

    @property
    def is_sqlite(self) -> bool:
        """Whether only one process may write."""
        return self.url.get_backend_name() == "sqlite"

    def close(self) -> None:
        """Close all connections; those that a thread is still using, as soon as it has finished."""
        for engine in (self.writer, self.reader):
            event.listen(engine, "checkin", _close)
            engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction whose commit may be acknowledged; raises FileGoneError if it is not where the file was."""
        with self.writer.connect() as connection:
            with connection.begin():
                yield connection
            self.check_file()

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """A transaction that no other server's preparation overlaps."""
        with self.writing() as connection:
            self.lock(connection)
            yield connection

    def lock(self, connection: Connection) -> None:
        """Wait until no other server is preparing the database, and keep others out until the transaction ends."""
        if not self.is_sqlite:  # where write transactions are exclusive anyway
            driver: Any = connection.connection.driver_connection
            driver.deadline = PREPARING  # until the connection is returned to the pool
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

    def check_file(self) -> None:
        """Raise FileGoneError if the SQLite file or its log is not the one that the next server will find."""
        if self.file is not None:
            self.file.check()

    def warn_if_others_can_read(self) -> None:
        """Log a warning if the SQLite file is not for its owner only."""
        if self.file is not None and (mode := os.stat(self.file.path).st_mode) & 0o077:
            log.warning("%s may be read by other users (mode %o): run chmod 600 on it", self.file.path, mode & 0o777)

    def ping(self) -> None:
        """Raise what a request would; DatabaseError, with words for clients, if it was upgraded or restored."""
        with self.reader.connect() as connection:
            revision, incarnation = connection.execute(stamps.STAMPS).one()
        if (trouble := stamps.trouble(revision, incarnation, self.incarnation)) is not None:
            raise DatabaseError(trouble)

    def stamped(self) -> "Database":
        """The same, which notices from now on if somebody restores a backup into it."""
        with self.alone() as connection:
            return replace(self, incarnation=stamps.incarnation(connection))


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
    if sqlite:
        _create_for_owner(target)
    options = POOL | (_sqlite_options() if sqlite else _postgresql_options(target))
    writer, reader = create_engine(target, **options), create_engine(target, **options)
    for engine in (writer, reader):
        event.listen(engine, "connect", _prepare_sqlite(synchronous) if sqlite else _prepare_postgresql(synchronous))
    if sqlite:
        _begin_with(writer, "BEGIN IMMEDIATE")
        _begin_with(reader, "BEGIN")
    else:
        for engine, timeouts in ((writer, TIMEOUTS), (reader, READING)):
            event.listen(engine, "do_connect", _connect)
            event.listen(engine, "connect", _set_timeouts(timeouts))
            event.listen(engine, "checkout", _set_deadline)
    database = Database(target, writer, reader)
    try:
        if synchronous:
            _check_synchronous(database)
        if sqlite:
            database = replace(database, file=_opened_file(writer))
            for engine in (writer, reader):
                _check_before_use(engine, database.check_file)
    except TROUBLE as error:
        raise DatabaseError(explained(target, error)) from None
    return database


def _close(connection: Any, _: Any) -> None:
    if connection is not None:
        connection.close()


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


def _create_for_owner(target: URL) -> None:
    """Create a SQLite file if there is none; if that fails, SQLite says why.

    A file that is missing beside its log was moved away: with an empty one in its place SQLite would delete the log,
    and what was committed last is only there.
    """
    path = str(target.database)
    if path.startswith("file:"):
        return
    log = Path(f"{path}-wal")
    logged = log.exists() and log.stat().st_size  # first: another server may create both at this moment
    if logged and not Path(path).exists():
        raise DatabaseError(
            f"{shown(target)}: the file is missing, but {log} is there, with what was committed last: "
            "put the file back, or move the log away to begin with an empty database"
        )
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, OWNER_ONLY))


def _opened_file(engine: Engine) -> OpenedFile:
    """The file that SQLite has opened, and the log, which is there as long as a connection that has read is open."""
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1 FROM sqlite_master LIMIT 1")
        return OpenedFile(connection.exec_driver_sql("PRAGMA database_list").one()[2])


def _check_before_use(engine: Engine, check: Callable[[], None]) -> None:
    """Refuse connections, new and old, once the file is gone: a new one would even change what is now in its place."""

    def connect(dialect: Any, record: Any, args: Any, options: Any) -> Any:
        check()
        (path,) = args
        if path.startswith("file:"):
            return None  # connect as usual
        return dialect.connect(f"{Path(path).as_uri()}?mode=rw", uri=True, **options)  # which creates none

    event.listen(engine, "do_connect", connect)
    event.listen(engine, "checkout", lambda *_: check())


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
        connection.execute("PRAGMA secure_delete = ON")  # not every build of SQLite overwrites what is deleted

    return prepare


def _prepare_postgresql(synchronous: bool) -> Any:
    def prepare(connection: Any, _: Any) -> None:
        (now,) = connection.execute("SHOW synchronous_commit").fetchone()
        if now != "remote_apply" or not synchronous:  # remote_apply is stricter still
            connection.execute(f"SET synchronous_commit = {'on' if synchronous else 'off'}")
        connection.commit()

    return prepare


def _connect(dialect: Any, record: Any, args: Any, options: Any) -> DeadlineConnection:
    return DeadlineConnection.connect(*args, **options)  # type: ignore[no-any-return]


def _set_deadline(connection: Any, record: Any, proxy: Any) -> None:
    connection.deadline = DEADLINE


def _set_timeouts(timeouts: dict[str, str]) -> Any:
    def prepare(connection: Any, _: Any) -> None:
        for name, value in timeouts.items():
            connection.execute(f"SET {name} = '{value}'")
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
