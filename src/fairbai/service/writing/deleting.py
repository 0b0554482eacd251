"""Deleting experiments, by hand or after their retention. Rows go a few at a time, so that nobody waits long."""

import asyncio
import logging
import time
from functools import partial
from typing import Any

from sqlalchemy import Row, or_, select

from fairbai.service.domain.cycles import seconds
from fairbai.service.domain.encoding import decode
from fairbai.service.domain.refusals import no_such_experiment
from fairbai.service.storage import deletions
from fairbai.service.storage.database import Database
from fairbai.service.storage.schema import events, experiments
from fairbai.service.writing.ledger import Ledger
from fairbai.service.writing.unasked import logged
from fairbai.service.writing.writer import Writer

EVERY = 3600.0  # seconds between two searches for experiments whose retention is over

log = logging.getLogger("fairbai.service")


async def delete(database: Database, writer: Writer, experiment: str, actor: str | None = None) -> Row[Any]:
    """Delete an experiment, whose rows are to be cleared then; returns the record that is kept.

    A Refusal if it was never there.
    """
    record = await writer.submit(partial(_record, database, experiment, actor), actor)
    if record is None:
        raise no_such_experiment(experiment)
    return record


async def clear(database: Database, writer: Writer, experiment: str) -> None:
    """Clear the rows of a deleted experiment; what goes wrong is logged, and the next search finishes it."""
    with logged("deletion", database):
        await _clear_all(database, writer, experiment)


async def _clear_all(database: Database, writer: Writer, experiment: str) -> None:
    while not await writer.submit(partial(_clear, database, experiment)):
        pass  # between two steps others have their turn


def _record(database: Database, experiment: str, actor: str | None, ledger: Ledger) -> Row[Any] | None:
    with database.writing() as connection:
        found = deletions.record(connection, experiment, time.time(), actor)
    ledger.forget(experiment)
    return found


def _clear(database: Database, experiment: str, _: Ledger) -> bool:
    with database.writing() as connection:
        return deletions.clear(connection, experiment)


def expired(database: Database, retention: str | None, now: float) -> list[str]:
    """The experiments that have ended, and whose last event is longer ago than their retention.

    That units were erased is no such event: to forget them must not keep their experiment.

    Args:
        database: Where they are.
        retention: Of those that have none of their own; None to keep them.
        now: Seconds since 1970.
    """
    own = select(events.c.at).where(events.c.experiment == experiments.c.id, events.c.kind != "erased")
    last = own.order_by(events.c.sequence.desc()).limit(1).scalar_subquery().label("at")
    statement = select(experiments.c.id, experiments.c.config, last)
    statement = statement.where(or_(experiments.c.stopped, experiments.c.closed), deletions.PRESENT)
    if retention is None:
        statement = statement.where(experiments.c.config.contains('"retention":'))
    with database.reader.connect() as connection:
        rows = connection.execute(statement).all()
    kept = ((row.id, row.at, decode(row.config).get("retention", retention)) for row in rows)
    return [name for name, at, duration in kept if duration is not None and at + seconds(duration) <= now]


async def retire(database: Database, writer: Writer, retention: str | None, now: float | None = None) -> int:
    """Delete what is no longer to be kept, and finish deletions that were cut short; returns how many."""
    names = await asyncio.to_thread(deletions.unfinished, database)
    names += await asyncio.to_thread(expired, database, retention, time.time() if now is None else now)
    for name in names:
        record = await delete(database, writer, name)
        await _clear_all(database, writer, name)
        log.info("experiment %s: deleted, with %d events", name, record.events)
    return len(names)


async def retire_forever(database: Database, writer: Writer, retention: str | None) -> None:
    """Look for experiments to delete now and periodically; survives a database that is temporarily unavailable."""
    while True:
        with logged("deletion", database):
            await retire(database, writer, retention)
        await asyncio.sleep(EVERY)
