"""Backfilling columns that older versions did not have, from the log."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, select, update

from fairbai.service.domain.book import Book, new_book
from fairbai.service.domain.encoding import decode, encode
from fairbai.service.domain.promises import Promises
from fairbai.service.storage.logs import whole_log
from fairbai.service.storage.schema import experiments


def fill(connection: Connection) -> None:
    """Complete the rows that an older version wrote."""
    names = connection.execute(select(experiments.c.id).where(experiments.c.arms.is_(None))).scalars().all()
    for name in names:
        row = connection.execute(select(experiments).where(experiments.c.id == name)).one()
        book = _completed(connection, row)
        values = {"arms": len(book.labels), **book.row()}
        connection.execute(update(experiments).where(experiments.c.id == name).values(values))


def _completed(connection: Connection, row: Row[Any]) -> Book:
    promises = new_book(decode(row.config)).promises
    if promises.watched:
        _replay(promises, whole_log(connection, row.id, row.version))
    book = Book.read(row.config, encode({**decode(row.state), "promises": promises.to_dict()}))
    book.look()
    return book


def _replay(promises: Promises, log: Iterable[Row[Any]]) -> None:
    """Track how far each guarantee ever was from being kept."""
    for event in log:
        if event.kind == "asked":
            promises.assign(decode(event.data)["arms"])
        elif event.kind == "batch":
            promises.assign_batch(decode(event.data)["pulls"])
        elif event.kind in ("decided", "closed"):
            promises.freeze()
