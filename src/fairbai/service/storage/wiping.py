"""Removing what was deleted from the files of SQLite, and not only from its tables."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any

from fairbai.service.storage.database import BUSY, Database

MAX_WAIT = 0.2  # seconds for readers to finish: writers wait meanwhile
PAUSE = 60.0  # seconds without another attempt after one that had to give up

log = logging.getLogger("fairbai.service")


def wipe(database: Database) -> bool:
    """Empty the write-ahead log, which has earlier contents of pages; False if a long reader, like a backup, needs it.

    In the file itself deleted rows are overwritten (``secure_delete``). On PostgreSQL, VACUUM and WAL segments are the
    business of whoever runs it.
    """
    if not database.is_sqlite:
        return True
    with database.writer.connect() as connection:
        driver: Any = connection.connection.driver_connection  # SQLAlchemy would begin a transaction
        try:
            driver.execute(f"PRAGMA busy_timeout = {round(1000 * MAX_WAIT)}")
            busy = bool(driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
            driver.execute(f"PRAGMA busy_timeout = {round(1000 * BUSY)}")
        except sqlite3.Error as error:
            connection.invalidate()
            log.warning("the write-ahead log was not emptied: %s", error)
            return False
    if busy:
        log.info("the write-ahead log is in use, and will be emptied within the hour")
    return not busy


class Wiper:
    """Empties the write-ahead log for many who erase: once for all who came before, and seldom while it fails.

    Otherwise whoever erases again and again during a backup would hold up all who write.

    Args:
        database: Whose log.
        clock: Seconds that never run backwards.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock = database, clock
        self._lock, self._counting = threading.Lock(), threading.Lock()
        self._wanted = self._done = 0
        self._not_before = -float("inf")

    def wipe(self) -> None:
        """Empty it of what was deleted until now, unless a reader is in the way: then it is done within the hour."""
        with self._counting:
            self._wanted += 1
            mine = self._wanted
        with self._lock:
            if self._done >= mine or self._clock() < self._not_before:
                return
            before = self._wanted
            if wipe(self._database):
                self._done = before
            else:
                self._not_before = self._clock() + PAUSE
