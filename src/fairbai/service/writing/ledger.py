"""Operations in transactions: disk, memory and what clients are told always agree.

A transaction locks the rows of its experiments, brings the books in memory up to date with them, applies the
operations, and writes events, tickets and states. Its results are returned only once it is committed. If it fails, the
books that it touched are discarded and will be read again.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, bindparam, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from fairbai.service.domain.book import Book
from fairbai.service.domain.deadlines import check_deadline
from fairbai.service.domain.encoding import decode, encode
from fairbai.service.domain.flags import taken
from fairbai.service.domain.operation import Operation, key_used
from fairbai.service.domain.refusals import Refusal, no_such_experiment, unavailable
from fairbai.service.domain.unit import UnitOfWork
from fairbai.service.storage.logs import recount
from fairbai.service.storage.schema import OPEN_FLAG, experiments
from fairbai.service.storage.stamps import STAMPS, trouble
from fairbai.service.writing import rows
from fairbai.service.writing.locks import Locks, held

log = logging.getLogger("fairbai.service")
MAX_BOOKS = 256  # in memory
TOUCH = text("UPDATE alembic_version SET version_num = version_num")
SELECT_BOOK = select(experiments.c.config, experiments.c.state).where(experiments.c.id == bindparam("of_experiment"))


@dataclass(frozen=True)
class Origin:
    """Where a new experiment comes from.

    Attributes:
        project: To which it belongs.
        actor: The id of the key of who creates it; None for the server itself.
        key: The name of the call, unique among all keys; repeating the call under the same name changes nothing.
        former: How versions without projects stored that name.
    """

    project: str = "default"
    actor: str | None = None
    key: str | None = None
    former: str | None = None


class Ledger:
    """Applies operations; must not be used by two threads at once.

    Attributes:
        appended: How many events it has committed.

    Args:
        writer: Connections for transactions that may write.
        clock: Seconds since 1970.
        check: Raises FileGoneError if what was committed is not where the next server will look for it.
        incarnation: Of the database, which a restore changes; None for any.
    """

    def __init__(
        self,
        writer: Engine,
        clock: Any = time.time,
        check: Callable[[], None] = lambda: None,
        incarnation: str | None = None,
    ) -> None:
        self._writer = writer
        self._clock = clock
        self._check = check
        self._incarnation = incarnation
        self.appended = 0
        self._connection: Connection | None = None
        self._books: OrderedDict[str, Book] = OrderedDict()
        self._locks = Locks()

    def run(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """Apply operations in one transaction; returns a result or a Refusal for each.

        If it raises, nothing has changed.
        """
        try:
            return self._run(operations)
        except DBAPIError as error:
            if not self._locks.waited_in_vain(error, {operation.experiment for operation in operations}):
                raise
        return self._run(operations)  # without those that are still locked

    def _run(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        try:
            connection = self._connected()
            with connection.begin():
                units, results = self.carry_out(connection, operations)
                self._check()  # before the commit, too: it may write into the file, and so hide what happened to it
            self._check()
            for unit in units:
                self.appended += len(unit.new_events)
                if unit.book.doubted and not unit.was_doubted:
                    _warn(unit)
            return results
        except BaseException:
            for operation in operations:
                self._books.pop(operation.experiment, None)
            self.close()
            raise

    def carry_out(
        self, connection: Connection, operations: Sequence[Operation[Any]]
    ) -> tuple[Collection[UnitOfWork], list[Any]]:
        """Apply operations in a transaction that somebody else commits; returns what it changed, and the results."""
        touched = sorted({operation.experiment for operation in operations})
        units = self._open(connection, touched, operations)
        results = [_apply(operation, units[operation.experiment]) for operation in operations]
        opened = [unit for unit in units.values() if isinstance(unit, UnitOfWork)]
        rows.write(connection, opened)
        return opened, results

    def in_memory(self, experiment: str) -> Book | None:
        """The book of an experiment, if it was read before."""
        return self._books.get(experiment)

    def touch(self) -> None:
        """Write something that changes nothing, to see whether it can be committed."""
        try:
            with self._connected().begin() as transaction:
                transaction.connection.execute(TOUCH)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Return the connection to the pool; the next transaction takes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def forget(self, experiment: str) -> None:
        """Read an experiment again before anything else is done to it."""
        self._books.pop(experiment, None)

    def _connected(self) -> Connection:
        """The connection, kept from one transaction to the next."""
        if self._connection is None:
            self._connection = self._writer.connect()
        return self._connection

    def create(self, experiment: str, book: Book, origin: Origin | None = None) -> tuple[str, dict[str, Any]]:
        """Create an experiment; returns its id and configuration, or those of the one that already has the key."""
        origin = origin or Origin()
        unit = UnitOfWork(experiment, book, self._clock(), actor=origin.actor)
        unit.create()
        try:
            found = self._inserted(unit, origin)
        except IntegrityError:  # another request has just used the key or the flag
            found = self._inserted(unit, origin)
        self._check()
        self.appended += found[0] == experiment
        return found

    def _inserted(self, unit: UnitOfWork, origin: Origin) -> tuple[str, dict[str, Any]]:
        with self._writer.begin() as connection:
            found = _insert(connection, unit, origin)
            self._check_stamps(*connection.execute(STAMPS).one())  # which nobody changes before this transaction ends
            return found

    # --- reading what the operations need -----------------------------------------------------------------------

    def _open(
        self, connection: Connection, touched: list[str], operations: Sequence[Operation[Any]]
    ) -> dict[str, UnitOfWork | Refusal]:
        """Lock the experiments and read everything that the operations need; a Refusal for those without."""
        found, locked = self._locks.take(connection, touched)
        now = self._clock()  # after waiting for the locks, so that times in the log are in order
        units: dict[str, UnitOfWork] = {}
        refused: dict[str, Refusal] = {}
        for name, version, head, restores, *stamps in found:
            self._check_stamps(*stamps)
            try:
                units[name] = UnitOfWork(name, self._book(connection, name, version, head), now, restores=restores)
            except Refusal as refusal:  # its state is damaged: the others go on
                refused[name] = refusal
        for unit in units.values():
            unit.following = partial(rows.following, connection, unit.experiment)
            unit.logged = partial(recount, connection, unit.experiment, unit.book.config)
            own = [operation for operation in operations if operation.experiment == unit.experiment]
            rows.read_units(connection, unit, {name for operation in own for name in operation.unit_hashes(unit.book)})
            numbers = {number for operation in own for number in operation.ticket_numbers()}
            rows.read_tickets(connection, unit, numbers.union(one.number for one in unit.units.values()))
            rows.read_keyed(connection, unit, {key for operation in own for key in operation.key_names()})
        missing = [name for name in touched if name not in units and name not in refused]
        others = {name: held() if name in locked else no_such_experiment(name) for name in missing}
        return {**units, **refused, **others}

    def _check_stamps(self, revision: str, incarnation: str | None) -> None:
        """Refuse to write into tables that a newer fairbai has changed meanwhile, or that a restore has filled."""
        if (found := trouble(revision, incarnation, self._incarnation)) is not None:
            raise unavailable(found)

    def _book(self, connection: Connection, experiment: str, version: int, head: str | None) -> Book:
        """The book at this version; read again if another process has changed it, or the database another history."""
        book = self._books.get(experiment)
        if book is None or (book.version, book.head) != (version, head):
            config, state = connection.execute(SELECT_BOOK, {"of_experiment": experiment}).one()
            book = self._books[experiment] = Book.read(config, state)
            book.head = head
            if len(self._books) > MAX_BOOKS:
                self._books.popitem(last=False)
        self._books.move_to_end(experiment)
        return book


def _apply(operation: Operation[Any], unit: UnitOfWork | Refusal) -> Any:
    try:
        if isinstance(unit, Refusal):
            return unit
        return operation.apply(unit)
    except Refusal as refusal:
        return refusal


def _warn(unit: UnitOfWork) -> None:
    """Log the first doubt about an experiment."""
    first = unit.book.doubts()[0]
    log.warning("experiment %s: doubt after %d trials: %s", unit.experiment, first["trial"], first["reason"])


def _insert(connection: Connection, unit: UnitOfWork, origin: Origin) -> tuple[str, dict[str, Any]]:
    if before := _created_before(connection, origin):
        if before.project != origin.project:
            raise key_used("Idempotency-Key", f"project {before.project!r}", f"project {origin.project!r}")
        return before.id, decode(before.config)
    check_deadline(unit.book, unit.at)
    config = unit.book.config
    _check_flag(connection, origin.project, config.get("flag"))
    row = {"id": unit.experiment, "key": origin.key, "name": config["name"], "created_at": unit.at}
    row |= {"config": encode(config), "arms": len(unit.book.labels), "project": origin.project, "head": unit.book.head}
    row["flag"] = config.get("flag")
    connection.execute(experiments.insert(), {**row, **unit.book.row()})
    rows.INSERT_EVENTS.run(connection, unit.new_events)
    return unit.experiment, unit.book.config


def _check_flag(connection: Connection, project: str, flag: str | None) -> None:
    """Refuse a flag that a running experiment has; an index does so if two are created at once."""
    if flag is not None:
        running = (experiments.c.project == project, experiments.c.flag == flag, OPEN_FLAG)
        found = connection.execute(select(experiments.c.id).where(*running)).scalar()
        if found is not None:
            raise taken(flag, found)


def _created_before(connection: Connection, origin: Origin) -> Any:
    """What a call under the same name created."""
    for key in (origin.key, origin.former):
        if key is not None:
            columns = (experiments.c.id, experiments.c.config, experiments.c.project)
            found = connection.execute(select(*columns).where(experiments.c.key == key)).one_or_none()
            if found is not None:
                return found
    return None
