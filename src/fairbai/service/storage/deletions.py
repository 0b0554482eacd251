"""Deleted experiments: the record that is kept of each, and how its rows go."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, exists, func, literal_column, select, update

from fairbai.service.storage.database import Database
from fairbai.service.storage.schema import deletions, deliveries, events, experiments, history, tickets, units

GONE = -1
"""The restores of a deleted experiment. PostgreSQL checks only the locked row again after waiting for its lock."""


def present(experiment: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether an experiment is there: one that was deleted may still have rows, which go a few at a time."""
    return ~exists().where(deletions.c.experiment == experiment)


PRESENT = (experiments.c.restores > literal_column(f"{GONE}")) & present(experiments.c.id)

MAX_ROWS = 2_000  # per transaction: others wait for it
NUMBERED = ((events, events.c.sequence), (tickets, tickets.c.number))


def record(connection: Connection, experiment: str, at: float, actor: str | None) -> Row[Any] | None:
    """Delete an experiment: from here on it is not there. Returns the record of it; None if it was not there.

    Repeating it changes nothing.
    """
    locked = select(experiments).where(experiments.c.id == experiment, PRESENT).with_for_update()
    row = connection.execute(locked).one_or_none()
    if row is not None:
        kept = {"experiment": row.id, "project": row.project, "name": row.name, "head": row.head}
        connection.execute(deletions.insert(), {**kept, "at": at, "actor": actor, "events": row.version})
        gone = update(experiments).where(experiments.c.id == experiment)
        # the name of the call, and the flag, may be used again
        connection.execute(gone.values(restores=GONE, key=None, flag=None))
    return _recorded(connection, experiment)


def _recorded(connection: Connection, experiment: str) -> Row[Any] | None:
    return connection.execute(select(deletions).where(deletions.c.experiment == experiment)).one_or_none()


def project_of(database: Database, experiment: str) -> str | None:
    """The project of a deleted experiment; None if it was not deleted."""
    with database.reader.connect() as connection:
        found = _recorded(connection, experiment)
    return None if found is None else str(found.project)


def clear(connection: Connection, experiment: str) -> bool:
    """Delete some rows of a deleted experiment; returns whether none is left."""
    for table, number in NUMBERED:
        own = table.c.experiment == experiment
        first = connection.execute(select(func.min(number)).where(own)).scalar()
        if first is not None:
            connection.execute(delete(table).where(own, number < first + MAX_ROWS))
            return False
    own = units.c.experiment == experiment
    some = select(units.c.hash).where(own).order_by(units.c.hash).limit(MAX_ROWS)
    if connection.execute(delete(units).where(own, units.c.hash.in_(some))).rowcount:
        return False
    for table in (history, deliveries):
        connection.execute(delete(table).where(table.c.experiment == experiment))
    connection.execute(delete(experiments).where(experiments.c.id == experiment))
    return True


def unfinished(database: Database) -> list[str]:
    """The deleted experiments that still have rows: the server ended on the way."""
    with database.reader.connect() as connection:
        return list(connection.execute(select(experiments.c.id).where(~PRESENT)).scalars())


def recorded(database: Database, limit: int, project: str | None = None) -> list[Row[Any]]:
    """The records of the last deletions, newest first; those of one project only, if it is given."""
    statement: Select[Any] = select(deletions).order_by(deletions.c.at.desc(), deletions.c.experiment).limit(limit)
    if project is not None:
        statement = statement.where(deletions.c.project == project)
    with database.reader.connect() as connection:
        return list(connection.execute(statement))
