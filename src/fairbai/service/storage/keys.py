"""API keys: ``fb_<id>_<secret>``. The database holds the id and a hash of the secret.

A secret is 256 random bits, so a plain SHA-256 protects it: it cannot be guessed, and a slow hash would add nothing.
A key belongs to one project and sees only what is in it; a server admin belongs to none, and sees everything.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, func, select, update

from fairbai.service.domain.refusals import Refusal
from fairbai.service.storage.database import Database
from fairbai.service.storage.projects import DEFAULT_PROJECT, check_project
from fairbai.service.storage.schema import keys, sessions

ROLES = ("reader", "writer", "admin")  # each may do what those before it may, and more
ID_BYTES = 6
GRACE = 86_400.0  # seconds that a key still works after its rotation, by default


class NoSuchKeyError(ValueError):
    """No key has the id."""


@dataclass(frozen=True)
class Key:
    """A key as stored; a server admin has no project."""

    id: str
    hash: str
    role: str
    revoked: bool
    name: str = ""
    project: str | None = None
    expires_at: float | None = None

    def has(self, secret: str) -> bool:
        """Whether this is its secret."""
        return hmac.compare_digest(self.hash, digest(secret))

    @property
    def expired(self) -> bool:
        """Whether it has expired by now."""
        return self.expires_at is not None and time.time() >= self.expires_at

    @property
    def valid(self) -> bool:
        """Whether it is neither revoked nor expired."""
        return not self.revoked and not self.expired


def create_key(
    database: Database, role: str, name: str = "", project: str | None = None, lifetime: float | None = None
) -> str:
    """Create a key; only the caller ever sees it in full.

    Args:
        database: Where it is stored.
        role: What it may do.
        name: Who uses it, for people.
        project: To which it belongs. Without one, an admin is a server admin, and all others belong to ``default``.
        lifetime: Seconds until it expires; None for never.
    """
    if role not in ROLES:
        raise ValueError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
    belongs = DEFAULT_PROJECT if project is None and role != "admin" else project
    expires_at = _end_of(lifetime)
    with database.writing() as connection:
        if belongs is not None:
            check_project(connection, belongs)
        return _insert(connection, role, name, belongs, expires_at)


def _end_of(lifetime: float | None) -> float | None:
    if lifetime is not None and lifetime <= 0.0:
        raise ValueError("A key must expire later than now, such as in 90d")
    return None if lifetime is None else time.time() + lifetime


def first_key(database: Database) -> str | None:
    """A key for the first server admin if there is no key yet; of servers that start at once, one gets it."""
    with database.alone() as connection:
        count = connection.execute(select(func.count()).select_from(keys)).scalar_one()
        return _insert(connection, "admin", "first") if count == 0 else None


def _insert(
    connection: Connection,
    role: str,
    name: str,
    project: str | None = None,
    expires_at: float | None = None,
    key: str | None = None,
) -> str:
    key, secret = key or secrets.token_hex(ID_BYTES), secrets.token_urlsafe(32)
    row = {"id": key, "hash": digest(secret), "role": role, "name": name, "created_at": time.time()}
    connection.execute(keys.insert(), {**row, "project": project, "expires_at": expires_at})
    return f"fb_{key}_{secret}"


def list_keys(database: Database, project: str | None = None) -> list[dict[str, Any]]:
    """All keys, or those of a project, oldest first, without their hashes."""
    columns = [column for column in keys.c if column.name != "hash"]
    statement = select(*columns).order_by(keys.c.created_at, keys.c.id)
    with database.reader.connect() as connection:
        return [dict(row._mapping) for row in connection.execute(_within(statement, project))]


def revoke_key(database: Database, key: str, project: str | None = None) -> None:
    """Revoke a key, given its id or in full, and end its sessions; with a project, only a key of it."""
    with database.writing() as connection:
        found = _stored(connection, key, project)
        at = func.coalesce(keys.c.revoked_at, time.time())
        connection.execute(update(keys).where(keys.c.id == found.id).values(revoked_at=at))
        connection.execute(delete(sessions).where(sessions.c.key == found.id))


def rotate_key(
    database: Database, key: str, grace: float = GRACE, lifetime: float | None = None, project: str | None = None
) -> str:
    """Create a successor of a key, with its role, project and name; the old key expires after the grace.

    A key has one successor: how long it was to live is not known after the rotation.

    Args:
        database: Where they are stored.
        key: The id of the old key, or the key in full.
        grace: Seconds that the old key still works, unless it expires sooner.
        lifetime: Seconds until the new key expires; by default as many as the old one had from its creation.
        project: Only a key of this project.
    """
    with database.writing() as connection:
        old = _stored(connection, key, project)
        if not _key(old).valid:
            ended = "was revoked" if old.revoked_at is not None else "has expired"
            raise ValueError(f"The key {old.id} {ended}: only a valid key can be rotated; create a new one instead")
        new, now = _successor(old.id), time.time()
        if connection.execute(select(keys.c.id).where(keys.c.id == new)).one_or_none() is not None:
            raise ValueError(f"The key {old.id} was rotated: rotate its successor {new} instead")
        if lifetime is None and old.expires_at is not None:
            lifetime = old.expires_at - old.created_at
        ends = min(now + grace, old.expires_at or now + grace)
        connection.execute(update(keys).where(keys.c.id == old.id).values(expires_at=ends))
        return _insert(connection, old.role, old.name, old.project, _end_of(lifetime), new)


def _successor(key: str) -> str:
    """The id of what a key is rotated to, which shows that it was; ids are no secrets."""
    return digest(f"successor of {key}")[: 2 * ID_BYTES]


def _stored(connection: Connection, key: str, project: str | None) -> Row[Any]:
    name = key_id(key) or key
    own = _within(select(keys).where(keys.c.id == name), project)
    row = connection.execute(own.with_for_update()).one_or_none()
    if row is None:
        raise NoSuchKeyError(f"No key has the id {name!r}")
    return row


def _within(statement: Select[Any], project: str | None) -> Select[Any]:
    return statement if project is None else statement.where(keys.c.project == project)


def find_keys(database: Database, names: Collection[str]) -> dict[str, Key]:
    """The keys with these ids."""
    with database.reader.connect() as connection:
        return {row.id: _key(row) for row in connection.execute(select(keys).where(keys.c.id.in_(names)))}


def _key(row: Row[Any]) -> Key:
    return Key(row.id, row.hash, row.role, row.revoked_at is not None, row.name, row.project, row.expires_at)


def note_uses(database: Database, used: dict[str, float]) -> None:
    """Store when keys were last used."""
    rows = [{"of_id": key, "at": at} for key, at in sorted(used.items())]  # sorted, so that workers cannot deadlock
    latest = func.coalesce(keys.c.used_at, 0.0) < bindparam("at")
    statement = update(keys).where(keys.c.id == bindparam("of_id"), latest).values(used_at=bindparam("at"))
    with database.writer.begin() as connection:
        connection.execute(statement, rows)


def key_id(token: str) -> str:
    """The id in a key; empty if it is malformed."""
    return split_key(token)[0]


def split_key(token: str) -> tuple[str, str]:
    """The id and the secret in a key; empty if it is malformed."""
    prefix, _, rest = token.partition("_")
    key, _, secret = rest.partition("_")
    return (key, secret) if prefix == "fb" and len(key) <= 16 and key.isalnum() and key.isascii() else ("", "")


def digest(secret: str) -> str:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def unauthorized(detail: str, **extra: Any) -> Refusal:
    """401: no key, or a wrong one."""
    return Refusal(401, "Key required", detail, {"WWW-Authenticate": "Bearer"}, **extra)
