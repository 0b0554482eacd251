"""Reading logs of any length in parts, so that only one part is in memory; and what they add up to."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, select

from fairbai.service.domain.encoding import decode
from fairbai.service.domain.tally import LogChangedError, Tally
from fairbai.service.storage.schema import VOIDED, events

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


def voided_tickets(connection: Connection, experiment: str, end: int, after: int = 0) -> frozenset[int]:
    """The tickets that the events after number ``after`` and up to number ``end`` voided."""
    own = events.c.experiment == experiment
    voids = select(events.c.sequence).where(own, events.c.sequence > after, events.c.sequence <= end, VOIDED)
    found = connection.execute(select(events.c.data).where(own, events.c.sequence.in_(voids.correlate(None)))).scalars()
    return frozenset(number for data in found for number in decode(data)["tickets"])


def recount(
    connection: Connection,
    experiment: str,
    config: dict[str, Any],
    without: frozenset[int],
    end: int,
    before: Tally | None = None,
) -> Tally:
    """What the events up to number ``end`` say was counted, without some tickets and those that they voided.

    It goes on from ``before``. If that counted what is to be left out by now, it is a ``LogChangedError``: reading the
    whole log again takes long, and is left to a caller that keeps nobody waiting.
    """
    if before is None:
        tally = Tally(config, without | voided_tickets(connection, experiment, end))
    else:  # which knows what was voided before it
        tally = before
        every = before.without | without
        if before.version > end or before.without != every | voided_tickets(
            connection, experiment, end, before.version
        ):
            raise LogChangedError
    while part := part_of_log(connection, experiment, tally.version, end):
        for event in part:
            tally.take(event.sequence, event.kind, decode(event.data))
    return tally
