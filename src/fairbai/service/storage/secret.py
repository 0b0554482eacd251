"""The key that units are hashed with: the database's own, or one that is kept elsewhere."""

import secrets as random
from hashlib import blake2b, sha256

from sqlalchemy import Connection, delete, select

from fairbai.service.storage.database import Database
from fairbai.service.storage.failures import DatabaseError, shown
from fairbai.service.storage.schema import secrets, units

OWN, CHECK = "unit_key", "unit_key_check"  # the names of a key that is stored, and of the hash of one that is not


def unit_key(database: Database, given: str | None = None) -> bytes:
    """The key of a database, which never changes: with another one every unit would be new.

    Args:
        database: Where its own key is stored or, if one was given, the hash of that.
        given: A secret from elsewhere: with it, who has the database cannot test whether somebody is in it.
    """
    key = None if given is None else sha256(given.encode()).digest()
    with database.alone() as connection:
        stored = {row.name: row.value for row in connection.execute(select(secrets))}
        if key is None:
            if CHECK in stored:
                raise DatabaseError(f"{shown(database.url)}: its units are hashed with a secret: give --unit-secret")
            return bytes.fromhex(stored.get(OWN) or _store(connection, OWN, random.token_hex(32)))
        check = blake2b(key, person=b"check").hexdigest()
        if OWN in stored and connection.execute(select(units.c.number).limit(1)).first() is None:
            connection.execute(delete(secrets).where(secrets.c.name == OWN))
            del stored[OWN]
        if OWN in stored or stored.get(CHECK, check) != check:
            raise DatabaseError(
                f"{shown(database.url)}: its units are hashed with another secret, and each would be new: "
                f"give that one{', which is its own: leave --unit-secret out' if OWN in stored else ''}"
            )
        if CHECK not in stored:
            _store(connection, CHECK, check)
        return key


def _store(connection: Connection, name: str, value: str) -> str:
    connection.execute(secrets.insert(), {"name": name, "value": value})
    return value
