"""When the database fails: what its operator reads in the log, and what a client is told."""

import logging

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from fairbai.service.domain.refusals import Refusal, unavailable

# The database failed: nothing was changed, unless a commit was not answered, which may be repeated.
TROUBLE = (DBAPIError, NoConnectionError)
SILENT = ("did not answer", "timeout expired")
GONE = "The database file was deleted or replaced while the server was running: nothing was accepted"

log = logging.getLogger("fairbai.service")


class DatabaseError(OSError):
    """The database cannot be used; the message says why, without a password."""


class FileGoneError(DBAPIError):
    """What was committed is not where the next server will look for it: a failure of the database like others."""

    def __init__(self, reason: str) -> None:
        super().__init__(None, None, Exception(reason))


def shown(url: URL) -> str:
    """The URL without its password."""
    return url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


def cause(error: SQLAlchemyError) -> str:
    """The driver's message, without the statement, which may hold anything."""
    said = getattr(error, "orig", None) or error
    return str(said).strip().splitlines()[0] if str(said).strip() else type(said).__name__


def explained(url: URL, error: SQLAlchemyError) -> str:
    """What went wrong, in one line, for the operator."""
    reason = cause(error)
    hints = {
        "read-only transaction": "this server does not accept writes",
        "readonly database": "the file or its directory is not writable",
        "unable to open database file": "its directory must exist and be writable",
        "disk is full": "free some space; nothing acknowledged is lost",
        "No space left": "free some space; nothing acknowledged is lost",
        "not a database": "the file is something else",
        "database is locked": "another process locked it for too long",
        "lock timeout": "another process locked the experiment for too long",
        "QueuePool limit": "too many concurrent reads",
        "while the server was running": "put the file back and restart the server; until then nothing is answered",
    }
    hint = next((f" ({text})" for part, text in hints.items() if part in reason), "")
    return f"{shown(url)}: {reason}{hint}"


def of_database(url: URL, error: SQLAlchemyError) -> Refusal:
    """507 if the disk is full, else 503; the details go to the log, not to the client."""
    log.error("%s", explained(url, error))
    if isinstance(error, FileGoneError):
        return unavailable(GONE)
    if any(part in cause(error) for part in ("is full", "No space left")):
        return Refusal(507, "Out of space", "The database's disk is full; nothing was changed", {"Retry-After": "60"})
    if any(part in cause(error) for part in SILENT):
        return unavailable("The database does not answer; it is safe to repeat the request")
    return unavailable("The database did not confirm the request; it is safe to repeat it")
