"""Operations in transactions: disk, memory and what clients are told always agree.

A transaction locks the rows of its experiments, brings the books in memory up to date with them, applies the
operations, and writes events, tickets and states. Its results are returned only once it is committed. If it fails, the
books that it touched are discarded and will be read again.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, bindparam, false, select
from sqlalchemy.exc import IntegrityError

from fairbai.service.domain.book import Book
from fairbai.service.domain.encoding import decode, encode
from fairbai.service.domain.operations import Operation
from fairbai.service.domain.refusals import Refusal, no_such_experiment
from fairbai.service.domain.unit import Ticket, UnitOfWork
from fairbai.service.storage.bulk import Chosen, inserting, replacing, updating
from fairbai.service.storage.schema import events, experiments, history, tickets

log = logging.getLogger("fairbai.service")
MAX_BOOKS = 256  # in memory
CHANGING = (
    *("version", "state", "decided", "stopped", "closed", "recommendation", "assigned", "observed"),
    *("progress", "floors_kept", "looks_at"),
)

INSERT_EVENTS, INSERT_TICKETS, INSERT_POINTS = inserting(events), inserting(tickets), replacing(history)
UPDATE_TOLD = updating(tickets, ("experiment", "number"), ("reward",), waiting=false())
UPDATE_HELD = updating(tickets, ("experiment", "number"), ("reward",))
UPDATE_EXPIRED = updating(tickets, ("experiment", "number"), waiting=false())
UPDATE_EXPERIMENTS = updating(experiments, ("id",), CHANGING)
VERSIONS = Chosen(
    select(experiments.c.id, experiments.c.version)
    .order_by(experiments.c.id)  # so that two transactions cannot deadlock
    .with_for_update(),
    experiments.c.id,
)
OWN_TICKETS = select(*(tickets.c[name] for name in ("number", *Ticket._fields))).where(
    tickets.c.experiment == bindparam("of_experiment")
)
TICKETS = Chosen(OWN_TICKETS, tickets.c.number)
FOLLOWING = OWN_TICKETS.where(tickets.c.number >= bindparam("first"), tickets.c.number < bindparam("end"))
MAX_FOLLOWING = 500  # tickets to read at a time
KEYED = Chosen(select(events.c.key, events.c.data).where(events.c.key.is_not(None)), events.c.key)
SELECT_BOOK = select(experiments.c.config, experiments.c.state).where(experiments.c.id == bindparam("of_experiment"))


class Ledger:
    """Applies operations; must not be used by two threads at once.

    Args:
        writer: Connections for transactions that may write.
        clock: Seconds since 1970.
    """

    def __init__(self, writer: Engine, clock: Any = time.time) -> None:
        self._writer = writer
        self._clock = clock
        self._connection: Connection | None = None
        self._books: OrderedDict[str, Book] = OrderedDict()

    def run(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """Apply operations in one transaction; returns a result or a Refusal for each.

        If it raises, nothing has changed.
        """
        touched = sorted({operation.experiment for operation in operations})
        try:
            connection = self._connected()
            with connection.begin():
                units = self._open(connection, touched, operations)
                results = [_apply(operation, units.get(operation.experiment)) for operation in operations]
                _write(connection, units.values())
            for unit in units.values():
                if unit.book.doubted and not unit.was_doubted:
                    _warn(unit)
            return results
        except BaseException:
            for experiment in touched:
                self._books.pop(experiment, None)
            self.close()
            raise

    def close(self) -> None:
        """Return the connection to the pool; the next transaction takes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connected(self) -> Connection:
        """The connection, kept from one transaction to the next."""
        if self._connection is None:
            self._connection = self._writer.connect()
        return self._connection

    def create(self, experiment: str, book: Book, key: str | None = None) -> tuple[str, dict[str, Any]]:
        """Create an experiment; returns its id and configuration, or those of the one that already has the key."""
        unit = UnitOfWork(experiment, book, self._clock())
        unit.create()
        try:
            with self._writer.begin() as connection:
                return _insert(connection, unit, key)
        except IntegrityError:  # another request has just used the key
            with self._writer.begin() as connection:
                return _insert(connection, unit, key)

    # --- reading what the operations need -----------------------------------------------------------------------

    def _open(
        self, connection: Connection, touched: list[str], operations: Sequence[Operation[Any]]
    ) -> dict[str, UnitOfWork]:
        """Lock the experiments and read everything that the operations need."""
        versions = VERSIONS.run(connection, touched)
        now = self._clock()  # after waiting for the locks, so that times in the log are in order
        units = {name: UnitOfWork(name, self._book(connection, name, version), now) for name, version in versions}
        for unit in units.values():
            unit.following = partial(_following, connection, unit.experiment)
            own = [operation for operation in operations if operation.experiment == unit.experiment]
            _read_tickets(connection, unit, {number for operation in own for number in operation.ticket_numbers()})
            _read_keyed(connection, unit, {key for operation in own for key in operation.key_names()})
        return units

    def _book(self, connection: Connection, experiment: str, version: int) -> Book:
        """The book at this version; read again if another process has changed it."""
        book = self._books.get(experiment)
        if book is None or book.version != version:
            config, state = connection.execute(SELECT_BOOK, {"of_experiment": experiment}).one()
            book = self._books[experiment] = Book.read(config, state)
            if len(self._books) > MAX_BOOKS:
                self._books.popitem(last=False)
        self._books.move_to_end(experiment)
        return book


def _apply(operation: Operation[Any], unit: UnitOfWork | None) -> Any:
    try:
        if unit is None:
            raise no_such_experiment(operation.experiment)
        return operation.apply(unit)
    except Refusal as refusal:
        return refusal


def _warn(unit: UnitOfWork) -> None:
    """Log the first doubt about an experiment."""
    first = unit.book.doubts()[0]
    log.warning("experiment %s: doubt after %d trials: %s", unit.experiment, first["trial"], first["reason"])


def _read_tickets(connection: Connection, unit: UnitOfWork, numbers: set[int]) -> None:
    unit.tickets |= _tickets(TICKETS.run(connection, numbers, of_experiment=unit.experiment))


def _tickets(rows: Iterable[Any]) -> dict[int, Ticket]:
    return {
        number: Ticket(arm, expires_at, bool(waiting), reward, probability)
        for number, arm, expires_at, waiting, reward, probability in rows
    }


def _following(connection: Connection, experiment: str, first: int) -> dict[int, Ticket]:
    """Stored tickets from a number on."""
    some = {"of_experiment": experiment, "first": first, "end": first + MAX_FOLLOWING}
    return _tickets(connection.execute(FOLLOWING, some))


def _read_keyed(connection: Connection, unit: UnitOfWork, keys: set[str]) -> None:
    for key, data in KEYED.run(connection, keys):
        unit.keyed[key] = decode(data)


# --- writing ----------------------------------------------------------------------------------------------------


def _write(connection: Connection, units: Iterable[UnitOfWork]) -> None:
    changed = [unit for unit in units if unit.new_events]
    if not changed:
        return
    for statement, name in (
        (INSERT_EVENTS, "new_events"),
        (INSERT_TICKETS, "new_tickets"),
        (UPDATE_HELD, "held"),
        (UPDATE_TOLD, "told"),
        (UPDATE_EXPIRED, "expired"),
        (INSERT_POINTS, "new_points"),
    ):
        statement.run(connection, [row for unit in changed for row in getattr(unit, name)])
    UPDATE_EXPERIMENTS.run(connection, [_row(unit) for unit in changed])


def _row(unit: UnitOfWork) -> dict[str, Any]:
    row = unit.book.row()
    return {"of_id": unit.experiment, **{f"new_{name}": row[name] for name in CHANGING}}


def _insert(connection: Connection, unit: UnitOfWork, key: str | None) -> tuple[str, dict[str, Any]]:
    config = encode(unit.book.config)
    if key is not None:
        before = connection.execute(
            select(experiments.c.id, experiments.c.config).where(experiments.c.key == key)
        ).one_or_none()
        if before is not None:
            return before.id, decode(before.config)
    row = {"id": unit.experiment, "key": key, "name": unit.book.config["name"], "created_at": unit.at, "config": config}
    row["arms"] = len(unit.book.labels)
    connection.execute(experiments.insert(), {**row, **unit.book.row()})
    INSERT_EVENTS.run(connection, unit.new_events)
    return unit.experiment, unit.book.config
