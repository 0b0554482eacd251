"""Filling in what older versions did not keep, from the log."""

import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, select, update

from fairbai.service.book import Book, encode, new_book
from fairbai.service.promises import Promises
from fairbai.service.schema import events, experiments

CHUNK = 10_000  # events that are in memory at a time


def fill(connection: Connection) -> None:
    """Complete the experiments that an older version wrote; those of this version are left as they are."""
    names = connection.execute(select(experiments.c.id).where(experiments.c.arms.is_(None))).scalars().all()
    for name in names:
        row = connection.execute(select(experiments).where(experiments.c.id == name)).one()
        book = _completed(connection, row)
        values = {"arms": len(book.labels), **book.row()}
        connection.execute(update(experiments).where(experiments.c.id == name).values(values))


def _completed(connection: Connection, row: Row[Any]) -> Book:
    promises = new_book(json.loads(row.config)).promises
    if promises.watched:
        _replay(promises, _log(connection, row.id, row.version))
    book = Book.read(row.config, encode({**json.loads(row.state), "promises": promises.to_dict()}))
    book.look()
    return book


def _replay(promises: Promises, log: Iterator[tuple[str, dict[str, Any]]]) -> None:
    """How far every promise was ever from being kept."""
    for kind, data in log:
        if kind == "asked":
            promises.assign(data["arms"])
        elif kind == "batch":
            promises.assign_batch(data["pulls"])
        else:  # decided
            promises.decided()


def _log(connection: Connection, experiment: str, end: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for start in range(0, end, CHUNK):
        statement = (
            select(events.c.kind, events.c.data)
            .where(events.c.experiment == experiment, events.c.sequence > start)
            .where(events.c.sequence <= min(start + CHUNK, end), events.c.kind.in_(("asked", "batch", "decided")))
            .order_by(events.c.sequence)
        )
        for kind, data in connection.execute(statement).all():
            yield kind, json.loads(data)
