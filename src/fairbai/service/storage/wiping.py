"""Removing what was deleted from the files of SQLite, and not only from its tables."""

import logging

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
    with database.writer.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {round(1000 * MAX_WAIT)}")
        try:
            busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]
        finally:
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {round(1000 * BUSY)}")
    if busy:
        log.info("the write-ahead log is in use, and will be emptied within the hour")
    return not busy
