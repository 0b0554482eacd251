"""Tickets whose reward did not come in time."""

import asyncio
import logging
import time
from itertools import groupby

from sqlalchemy import select

from fairbai.service.domain.operations import Expire
from fairbai.service.domain.refusals import Refusal
from fairbai.service.storage.database import Database
from fairbai.service.storage.failures import TROUBLE, explained
from fairbai.service.storage.schema import tickets
from fairbai.service.writing.writer import Writer

MAX_AT_ONCE = 5_000

log = logging.getLogger("fairbai.service")


def overdue(database: Database, now: float) -> list[Expire]:
    """What has to be expired now, an operation an experiment."""
    statement = (
        select(tickets.c.experiment, tickets.c.number)
        .where(tickets.c.waiting, tickets.c.expires_at < now)
        .order_by(tickets.c.expires_at)
        .limit(MAX_AT_ONCE)
    )
    with database.reader.connect() as connection:
        found = sorted(tuple(row) for row in connection.execute(statement))
    groups = groupby(found, key=lambda row: row[0])
    return [Expire(experiment, tickets=[number for _, number in rows]) for experiment, rows in groups]


async def sweep(database: Database, writer: Writer, now: float | None = None) -> int:
    """Expire what is overdue; returns how many tickets."""
    total = 0
    while True:
        operations = await asyncio.to_thread(overdue, database, time.time() if now is None else now)
        expired: int = sum(await asyncio.gather(*(writer.submit(operation) for operation in operations)))
        total += expired
        if expired < MAX_AT_ONCE:
            return total


async def sweep_for_ever(database: Database, writer: Writer, seconds: float) -> None:
    """Look for overdue tickets again and again; a database that is away for a while does not end it."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await sweep(database, writer)
        except Refusal as refusal:
            log.warning("leases: %s", refusal.detail)
        except TROUBLE as error:
            log.warning("leases: %s", explained(database.url, error))
        except Exception:  # whatever it is, the other leases must go on ending
            log.exception("leases")
