"""Leases: tickets whose reward did not come in time expire, and those with a fixed age are counted at it."""

import asyncio
import logging
import time
from itertools import groupby

from sqlalchemy import select

from fairbai.service.domain.operations import Expire, Look
from fairbai.service.domain.refusals import Refusal
from fairbai.service.storage.database import Database
from fairbai.service.storage.failures import TROUBLE, explained
from fairbai.service.storage.schema import experiments, tickets
from fairbai.service.writing.writer import Writer

MAX_AT_ONCE = 5_000

log = logging.getLogger("fairbai.service")


def overdue(database: Database, now: float) -> list[Expire]:
    """What must expire now, one operation per experiment."""
    statement = (
        select(tickets.c.experiment, tickets.c.number)
        .where(tickets.c.waiting, tickets.c.expires_at < now)
        .order_by(tickets.c.expires_at, tickets.c.number)
        .limit(MAX_AT_ONCE)
    )
    with database.reader.connect() as connection:
        found = sorted(tuple(row) for row in connection.execute(statement))
    groups = groupby(found, key=lambda row: row[0])
    return [Expire(experiment, tickets=[number for _, number in rows]) for experiment, rows in groups]


def ended(database: Database, now: float) -> list[Look]:
    """The experiments that may decide now."""
    statement = select(experiments.c.id).where(experiments.c.looks_at <= now).order_by(experiments.c.looks_at)
    with database.reader.connect() as connection:
        return [Look(name) for name in connection.execute(statement.limit(MAX_AT_ONCE)).scalars()]


async def sweep(database: Database, writer: Writer, now: float | None = None) -> int:
    """Expire what is overdue, and end the cycles that are over; returns the number of tickets."""
    total = await _expire(database, writer, now)
    looks = await asyncio.to_thread(ended, database, time.time() if now is None else now)
    await asyncio.gather(*(writer.submit(operation) for operation in looks))
    return total


async def _expire(database: Database, writer: Writer, now: float | None) -> int:
    total = 0
    while True:
        operations = await asyncio.to_thread(overdue, database, time.time() if now is None else now)
        expired: int = sum(await asyncio.gather(*(writer.submit(operation) for operation in operations)))
        total += expired
        if expired < MAX_AT_ONCE:
            return total


async def sweep_forever(database: Database, writer: Writer, seconds: float) -> None:
    """Look for overdue tickets periodically; survives a database that is temporarily unavailable."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await sweep(database, writer)
        except Refusal as refusal:
            log.warning("leases: %s", refusal.detail)
        except TROUBLE as error:
            log.warning("leases: %s", explained(database.url, error))
        except Exception:  # whatever it is, other leases must still end
            log.exception("leases")
