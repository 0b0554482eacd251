"""Sessions: people who signed in. The database holds a hash of the token that is in their cookie."""

import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import delete, select

from fairbai.service.storage.database import Database
from fairbai.service.storage.keys import Key, digest, find_keys
from fairbai.service.storage.schema import sessions

MAX_SESSIONS = 50  # of a key


@dataclass(frozen=True)
class Session:
    """A session as stored, and the key that opened it."""

    key: Key
    expires_at: float

    @property
    def valid(self) -> bool:
        """Whether it has not ended; it ends with its key at the latest."""
        return self.key.valid and time.time() < self.expires_at


def open_session(database: Database, key: Key, seconds: float) -> str:
    """A token for somebody who has just shown their key.

    Sessions that have expired are removed on the way, and all but the newest of the key.
    """
    token, now = secrets.token_urlsafe(32), time.time()
    ends = now + seconds if key.expires_at is None else min(now + seconds, key.expires_at)
    row = {"hash": digest(token), "key": key.id, "created_at": now, "expires_at": ends}
    with database.writing() as connection:
        connection.execute(delete(sessions).where(sessions.c.expires_at <= now))
        connection.execute(sessions.insert(), row)
        newest_first = select(sessions.c.hash).where(sessions.c.key == key.id).order_by(sessions.c.created_at.desc())
        if older := connection.execute(newest_first.offset(MAX_SESSIONS)).scalars().all():
            connection.execute(delete(sessions).where(sessions.c.hash.in_(older)))
    return token


def end_session(database: Database, token: str) -> None:
    """End a session; one that does not exist has ended already."""
    with database.writing() as connection:
        connection.execute(delete(sessions).where(sessions.c.hash == digest(token)))


def find_sessions(database: Database, hashes: Collection[str]) -> dict[str, Session]:
    """The sessions whose tokens have these hashes."""
    with database.reader.connect() as connection:
        rows = connection.execute(select(sessions).where(sessions.c.hash.in_(hashes))).all()
    known = find_keys(database, {row.key for row in rows}) if rows else {}
    return {row.hash: Session(known[row.key], row.expires_at) for row in rows if row.key in known}
