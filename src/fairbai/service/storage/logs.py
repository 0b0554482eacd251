"""Reading logs of any length: a part at a time, so that only that much is in memory."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, select

from fairbai.service.storage.schema import events

MAX_EVENTS = 1_000  # of a part
MAX_TEXT = 1_000_000  # characters of a part, about: an event may have 10,000 tickets


def part_of_log(connection: Connection, experiment: str, after: int, end: int) -> list[Row[Any]]:
    """The events that follow number ``after``, up to number ``end`` or to the size of a part; empty at the end."""
    statement = (
        select(events)
        .where(events.c.experiment == experiment, events.c.sequence > after, events.c.sequence <= end)
        .order_by(events.c.sequence)
        .limit(MAX_EVENTS)
        .execution_options(stream_results=True)  # of this statement: others of the connection may change something
    )
    found: list[Row[Any]] = []
    size = 0
    with connection.execute(statement) as rows:
        for row in rows:
            found.append(row)
            size += len(row.data)
            if size >= MAX_TEXT:
                break
    return found


def whole_log(connection: Connection, experiment: str, end: int) -> Iterator[Row[Any]]:
    """The events up to number ``end``."""
    after = 0
    while part := part_of_log(connection, experiment, after, end):
        yield from part
        after = part[-1].sequence
