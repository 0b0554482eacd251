"""What happens without a request: leases end, rewards come of age, cycles end, and deadlines pass.

What one operation has left of its work, so that others need not wait, is done here, too.
"""

import asyncio
import time
from itertools import groupby
from typing import Any

from sqlalchemy import select

from fairbai.service.domain.operation import Operation
from fairbai.service.domain.operations import Expire, Look
from fairbai.service.domain.refusals import Refusal
from fairbai.service.storage.database import Database
from fairbai.service.storage.deletions import PRESENT, present
from fairbai.service.storage.schema import experiments, tickets
from fairbai.service.writing.unasked import logged
from fairbai.service.writing.writer import Writer

MAX_AT_ONCE = 5_000
MAX_PER_OPERATION = 250  # tickets, so that no other experiment waits long


def overdue(database: Database, now: float) -> list[Expire]:
    """What must expire now, in operations of a bounded size."""
    statement = (
        select(tickets.c.experiment, tickets.c.number)
        .where(tickets.c.waiting, tickets.c.expires_at < now, present(tickets.c.experiment))
        .order_by(tickets.c.expires_at, tickets.c.number)
        .limit(MAX_AT_ONCE)
    )
    with database.reader.connect() as connection:
        found = sorted(tuple(row) for row in connection.execute(statement))
    groups = groupby(found, key=lambda row: row[0])
    return [
        Expire(experiment, tickets=numbers[first : first + MAX_PER_OPERATION])
        for experiment, rows in groups
        for numbers in [[number for _, number in rows]]
        for first in range(0, len(numbers), MAX_PER_OPERATION)
    ]


def ended(database: Database, now: float) -> list[Look]:
    """The experiments that may decide now, whose deadline has passed, or that have more to count."""
    due = select(experiments.c.id, experiments.c.looks_at).where(experiments.c.looks_at <= now, PRESENT)
    statement = due.order_by(experiments.c.looks_at).limit(MAX_AT_ONCE)
    with database.reader.connect() as connection:
        return [Look(name, behind=at == 0.0) for name, at in connection.execute(statement)]


async def sweep(database: Database, writer: Writer, now: float | None = None) -> int:
    """Expire what is overdue, end cycles and experiments whose time is over, and count on where that was left to this.

    Returns the number of tickets that expired.
    """
    total = await _expire(database, writer, now)
    looks = await asyncio.to_thread(ended, database, time.time() if now is None else now)
    seen = {look.experiment for look in looks}
    while looks:
        more = await asyncio.gather(*(submitted(writer, operation) for operation in looks))
        looks = [Look(look.experiment, behind=True) for look, left in zip(looks, more, strict=True) if left]
        if looks:  # to count on may take long, and the time of others passes meanwhile
            total += await _expire(database, writer, now)
            due = await asyncio.to_thread(ended, database, time.time() if now is None else now)
            looks += [look for look in due if look.experiment not in seen]
            seen.update(look.experiment for look in looks)
    return total


async def submitted(writer: Writer, operation: Operation[Any]) -> int:
    """What an operation returns; 0 if its experiment was deleted since it was found."""
    try:
        return await writer.submit(operation) or 0
    except Refusal as refusal:
        if refusal.status != 404:
            raise
        return 0


async def _expire(database: Database, writer: Writer, now: float | None) -> int:
    total = 0
    while True:
        operations = await asyncio.to_thread(overdue, database, time.time() if now is None else now)
        expired = sum(await asyncio.gather(*(submitted(writer, operation) for operation in operations)))
        total += expired
        if expired < MAX_AT_ONCE:
            return total


async def sweep_forever(database: Database, writer: Writer, seconds: float) -> None:
    """Look for overdue tickets periodically; survives a database that is temporarily unavailable."""
    while True:
        await asyncio.sleep(seconds)
        with logged("leases", database):
            await sweep(database, writer)
