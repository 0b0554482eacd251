"""The announcements that are to be delivered: claimed by one worker at a time, and kept with what came of them."""

from typing import Any

from sqlalchemy import Row, select, update

from fairbai.service.storage.database import Database
from fairbai.service.storage.schema import deliveries


def claim(database: Database, now: float, until: float, limit: int) -> list[Row[Any]]:
    """Some announcements that are due; until a time no other worker gets them."""
    due = deliveries.c.next_at <= now
    with database.reader.connect() as connection:  # which waits for nobody
        if limit < 1 or connection.execute(select(deliveries.c.id).where(due).limit(1)).first() is None:
            return []
    statement = select(deliveries).where(due).order_by(deliveries.c.next_at).limit(limit)
    with database.writer.begin() as connection:
        found = list(connection.execute(statement.with_for_update(skip_locked=True)))
        claimed = deliveries.c.id.in_([row.id for row in found])
        connection.execute(update(deliveries).where(claimed).values(next_at=until, attempts=deliveries.c.attempts + 1))
    return found


def settle(database: Database, name: str, delivered_at: float | None, next_at: float | None, error: str | None) -> None:
    """Note what came of an attempt; without a next one it is delivered, or given up."""
    values = {"delivered_at": delivered_at, "next_at": next_at, "error": error}
    with database.writer.begin() as connection:
        connection.execute(update(deliveries).where(deliveries.c.id == name).values(values))


def of_experiment(database: Database, experiment: str, limit: int) -> list[Row[Any]]:
    """The last announcements of an experiment, newest first."""
    own = select(deliveries).where(deliveries.c.experiment == experiment)
    with database.reader.connect() as connection:
        return list(connection.execute(own.order_by(deliveries.c.at.desc(), deliveries.c.id).limit(limit)))
