"""Removing what was deleted from the files of SQLite, and not only from its tables."""

import logging
import sqlite3
from typing import Any

from fairbai.service.storage.database import BUSY, Database

MAX_WAIT = 0.2  # seconds for readers to finish: writers wait meanwhile

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
