"""API keys: ``fb_<id>_<secret>``. The database holds the id and a hash of the secret.

A secret is 256 random bits, so a plain SHA-256 protects it: it cannot be guessed, and a slow hash would add nothing.
"""

import hashlib
import hmac
import secrets
import threading
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select, update

from fairbai.service.domain.refusals import Refusal
from fairbai.service.storage.database import Database
from fairbai.service.storage.schema import keys

ROLES = ("reader", "writer", "admin")  # each may do what those before it may, and more
REMEMBERED = 10.0  # seconds after which a key is looked up again, and a revoked one is noticed
MAX_ADDRESSES = 10_000


@dataclass(frozen=True)
class Key:
    """A key as stored."""

    id: str
    hash: str
    role: str
    revoked: bool
    name: str = ""


def create_key(database: Database, role: str, name: str = "") -> str:
    """Create a key; only the caller ever sees it in full."""
    if role not in ROLES:
        raise ValueError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
    with database.writer.begin() as connection:
        return _insert(connection, role, name)


def first_key(database: Database) -> str | None:
    """A key for the first admin if there is no key yet; of several servers that start at once, one gets it."""
    with database.alone() as connection:
        count = connection.execute(select(func.count()).select_from(keys)).scalar_one()
        return _insert(connection, "admin", "first") if count == 0 else None


def _insert(connection: Connection, role: str, name: str) -> str:
    key, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = {"id": key, "hash": _hash(secret), "role": role, "name": name, "created_at": time.time()}
    connection.execute(keys.insert(), row)
    return f"fb_{key}_{secret}"


def list_keys(database: Database) -> list[dict[str, Any]]:
    """All keys, oldest first, without their hashes."""
    columns = [column for column in keys.c if column.name != "hash"]
    with database.reader.connect() as connection:
        found = connection.execute(select(*columns).order_by(keys.c.created_at, keys.c.id))
        return [dict(row._mapping) for row in found]


def revoke_key(database: Database, key: str) -> None:
    """Revoke a key, given its id or in full."""
    name = key_id(key) or key
    with database.writer.begin() as connection:
        statement = (
            update(keys).where(keys.c.id == name).values(revoked_at=func.coalesce(keys.c.revoked_at, time.time()))
        )
        if connection.execute(statement).rowcount == 0:
            raise ValueError(f"No key has the id {name!r}")


def find_key(database: Database, key: str) -> Key | None:
    """The key with this id."""
    with database.reader.connect() as connection:
        row = connection.execute(select(keys).where(keys.c.id == key)).one_or_none()
    return None if row is None else Key(row.id, row.hash, row.role, row.revoked_at is not None, row.name)


def key_id(token: str) -> str:
    """The id in a key; empty if it is malformed."""
    return _parts(token)[0]


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


NOBODY = Key("", _hash(secrets.token_urlsafe(32)), "reader", True)  # compared with if there is no such key


class Keyring:
    """Recognises keys; those seen recently are recognised from memory.

    Args:
        database: Where the keys are.
        failures: How many wrong keys per minute an address may send. After that only keys in memory are accepted, so
            that guessing does not load the database.
    """

    def __init__(self, database: Database, failures: int = 20) -> None:
        self._database = database
        self._failures = failures
        self._known: dict[str, tuple[float, Key]] = {}
        self._failed: dict[str, tuple[float, int]] = {}
        self._lock = threading.Lock()  # guards the failures: keys are looked up in several threads

    def recall(self, token: str) -> str | None:
        """The role of a key that was looked up recently, else None."""
        key, secret = _parts(token)
        known = self._known.get(key)
        if known is None or time.monotonic() - known[0] > REMEMBERED:
            return None
        return _role(known[1], secret)

    def role(self, token: str, address: str) -> str:
        """The role of a key; raises a Refusal if it is wrong."""
        key, secret = _parts(token)
        known = self._known.get(key)
        if known is None or _role(known[1], secret) is None:  # others at this address may be guessing
            self._check_failures(address)
        found = find_key(self._database, key) if key else None
        role = _role(found or NOBODY, secret)
        if found is None or found.revoked:
            self._known.pop(key, None)  # from now on its lookups count as failures
        if found is None or role is None:
            with self._lock:
                self._count_failure(address)
            raise unauthorized("The key is unknown or was revoked")
        self._known[key] = time.monotonic(), found
        return role

    def _check_failures(self, address: str) -> None:
        since, count = self._failed.get(address, (0.0, 0))
        wait = since + 60.0 - time.monotonic()
        if count >= self._failures and wait > 0.0:
            detail = f"At most {self._failures} wrong keys per minute are accepted from one address"
            raise Refusal(429, "Too many wrong keys", detail, {"Retry-After": str(int(wait) + 1)})

    def _count_failure(self, address: str) -> None:
        now = time.monotonic()
        if len(self._failed) >= MAX_ADDRESSES:
            self._failed = {name: entry for name, entry in self._failed.items() if entry[0] + 60.0 > now}
        if len(self._failed) >= MAX_ADDRESSES:
            self._failed.clear()  # a flood from everywhere: better to forget than to run out of memory
        since, count = self._failed.get(address, (now, 0))
        self._failed[address] = (since, count + 1) if since + 60.0 > now else (now, 1)


def _parts(token: str) -> tuple[str, str]:
    prefix, _, rest = token.partition("_")
    key, _, secret = rest.partition("_")
    return (key, secret) if prefix == "fb" and len(key) <= 16 and key.isalnum() and key.isascii() else ("", "")


def _role(key: Key, secret: str) -> str | None:
    same = hmac.compare_digest(key.hash, _hash(secret))
    return key.role if same and not key.revoked else None


def unauthorized(detail: str) -> Refusal:
    """401: no key, or a wrong one."""
    return Refusal(401, "Key required", detail, {"WWW-Authenticate": "Bearer"})
