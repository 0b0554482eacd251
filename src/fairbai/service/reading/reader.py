"""Experiments as they are on disk. The last few are kept, so that the calls of one page share the work."""

import threading
from collections import OrderedDict
from functools import cached_property
from typing import Any

from sqlalchemy import Row, select

from fairbai.identifier import Status
from fairbai.service.domain import status_answers
from fairbai.service.domain.book import Book
from fairbai.service.domain.refusals import no_such_experiment
from fairbai.service.reading.status import described
from fairbai.service.reading.waits import waited_for
from fairbai.service.storage.database import Database
from fairbai.service.storage.deletions import PRESENT
from fairbai.service.storage.schema import experiments

MAX_READINGS = 32  # in memory


class Reading:
    """One experiment at one moment; several threads may read it, and nobody changes it.

    Attributes:
        row: Its row.
        book: What the row holds.
        waits: The ticket that held rewards wait for, if they do.
    """

    def __init__(self, row: Row[Any], database: Database) -> None:
        self.row = row
        self.book = Book.read(row.config, row.state)
        self.waits = waited_for(database, row.id, self.book)

    @cached_property
    def now(self) -> Status:
        """The status of its identifier."""
        return self.book.identifier.status()

    @cached_property
    def status(self) -> status_answers.Status:
        """The status as clients see it."""
        return described(self.row, self.book, self.now, self.waits)


class Reader:
    """Reads experiments.

    Args:
        database: Where they are.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._kept: OrderedDict[str, Reading] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, experiment: str) -> Reading:
        """The experiment as it is now; the row is always read, but the book only if the row has changed."""
        row = row_of(self.database, experiment)
        with self._lock:
            kept = self._kept.get(experiment)
        reading = kept if kept is not None and kept.row == row else Reading(row, self.database)
        with self._lock:
            self._kept[experiment] = reading
            self._kept.move_to_end(experiment)
            if len(self._kept) > MAX_READINGS:
                self._kept.popitem(last=False)
        return reading


def row_of(database: Database, experiment: str) -> Row[Any]:
    """The row of an experiment."""
    with database.reader.connect() as connection:
        row = connection.execute(select(experiments).where(experiments.c.id == experiment, PRESENT)).one_or_none()
    if row is None:
        raise no_such_experiment(experiment)
    return row
