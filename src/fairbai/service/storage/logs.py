"""Reading logs of any length in parts, so that only one part is in memory."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, select

from fairbai.service.storage.schema import events

MAX_EVENTS = 1_000  # per part
MAX_TEXT = 1_000_000  # characters per part, approximately: an event may have 10,000 tickets


def part_of_log(connection: Connection, experiment: str, after: int, end: int) -> list[Row[Any]]:
    """The events after number ``after``, up to number ``end`` or the size of a part; empty at the end."""
    statement = (
        select(events)
        .where(events.c.experiment == experiment, events.c.sequence > after, events.c.sequence <= end)
        .order_by(events.c.sequence)
        .limit(MAX_EVENTS)
        .execution_options(stream_results=True)  # for this statement only: others on the connection may write
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
