"""What a server must find in its database for as long as it runs: the schema that it knows, and the same history.

A restore replaces everything, also what units are hashed with, which a server has read when it started. So every
database has an *incarnation*, a random text that a restore changes.
"""

import secrets as random
from typing import Any

from sqlalchemy import Connection, Select, column, delete, literal_column, select, table

from fairbai.service.storage.schema import SCHEMA, secrets

NAME = "incarnation"
OWN = secrets.c.name == literal_column(f"'{NAME}'")

REVISION = select(column("version_num")).select_from(table("alembic_version")).scalar_subquery().label("revision")
INCARNATION = select(secrets.c.value).where(OWN).scalar_subquery().label("incarnation")
STAMPS: Select[Any] = select(REVISION, INCARNATION)


def incarnation(connection: Connection) -> str:
    """That of a database, which gets one if it has none."""
    found = connection.execute(STAMPS).one().incarnation
    return renewed(connection) if found is None else str(found)


def renewed(connection: Connection) -> str:
    """Another one, after which servers that run on the database refuse to go on."""
    value = random.token_hex(16)
    connection.execute(delete(secrets).where(OWN))
    connection.execute(secrets.insert(), {"name": NAME, "value": value})
    return value


def trouble(revision: str, found: str | None, expected: str | None) -> str | None:
    """Why a server must not go on, in words for clients; None if it may.

    Args:
        revision: The schema of the database.
        found: Its incarnation.
        expected: The one that the server knows; None for any.
    """
    if revision != SCHEMA:
        return (
            f"The database was upgraded to schema {revision} while this server was running, which knows schema "
            f"{SCHEMA}: it must be restarted with the fairbai that upgraded the database"
        )
    if expected is not None and found != expected:
        return "The database was restored from a backup while this server was running: it must be restarted"
    return None
