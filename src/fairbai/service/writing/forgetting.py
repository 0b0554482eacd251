"""Forgetting units after their retention: who they were, and not their trials."""

import asyncio
import time

from sqlalchemy import select

from fairbai.service.domain.cycles import seconds
from fairbai.service.domain.encoding import decode
from fairbai.service.domain.units import Erase
from fairbai.service.storage.database import Database
from fairbai.service.storage.deletions import PRESENT, present
from fairbai.service.storage.schema import experiments, units
from fairbai.service.storage.wiping import wipe
from fairbai.service.writing.leases import submitted
from fairbai.service.writing.unasked import logged
from fairbai.service.writing.writer import Writer

EVERY = 3600.0  # seconds between two searches
MAX_PER_OPERATION = 500  # units, so that others do not wait long


def times(database: Database, retention: str | None, now: float) -> dict[str, float]:
    """The experiments that forget units, and the time before which those were assigned that each forgets.

    Args:
        database: Where they are.
        retention: Of experiments that have none of their own; None to keep the units of these. It never ends before
            a unit can no longer earn.
        now: Seconds since 1970.
    """
    statement = select(experiments.c.id, experiments.c.config).where(PRESENT)
    if retention is None:
        statement = statement.where(experiments.c.config.contains('"unit_retention":'))
    with database.reader.connect() as connection:
        configs = [(row.id, decode(row.config)) for row in connection.execute(statement)]
    found = {}
    for name, config in configs:
        duration = config.get("unit_retention", retention)
        if duration is not None:
            found[name] = now - max(seconds(duration), config.get("report_after") or 0.0)
    return found


def overdue(database: Database, experiment: str, before: float) -> list[str]:
    """Some units that are to be forgotten."""
    own = (units.c.experiment == experiment) & present(units.c.experiment)
    statement = select(units.c.hash).where(own, units.c.at < before)
    with database.reader.connect() as connection:
        return list(connection.execute(statement.order_by(units.c.at).limit(MAX_PER_OPERATION)).scalars())


async def forget(database: Database, writer: Writer, retention: str | None, now: float | None = None) -> int:
    """Forget the units that were stored for long enough; returns how many."""
    total = 0
    found = await asyncio.to_thread(times, database, retention, time.time() if now is None else now)
    for experiment, before in found.items():
        while names := await asyncio.to_thread(overdue, database, experiment, before):
            erased = await submitted(writer, Erase(experiment, None, names))
            if not erased:
                break  # the experiment was deleted meanwhile
            total += erased
    await asyncio.to_thread(wipe, database)  # also of units that were erased while a reader was in the way
    return total


async def forget_forever(database: Database, writer: Writer, retention: str | None) -> None:
    """Look for units to forget now and periodically; survives a database that is temporarily unavailable."""
    while True:
        with logged("units", database):
            await forget(database, writer, retention)
        await asyncio.sleep(EVERY)
