"""Bringing the tables of a database to the schema that this fairbai knows."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from fairbai.service.storage.backfill import fill
from fairbai.service.storage.database import Database
from fairbai.service.storage.failures import TROUBLE, DatabaseError, explained, shown
from fairbai.service.storage.schema import SCHEMA


def upgrade(database: Database) -> None:
    """Bring the tables to the schema that this fairbai knows; refuse a newer one, and a read-only database."""
    try:
        with changing_tables(database) as connection:
            found = MigrationContext.configure(connection).get_current_revision()
            if found == SCHEMA:  # SQLite only finds out whether it can write when it does
                connection.execute(text("UPDATE alembic_version SET version_num = version_num"))
                return
            if found is not None and found not in known_revisions():
                raise DatabaseError(
                    f"{shown(database.url)} was written by a newer fairbai (schema {found}, "
                    f"this one knows {SCHEMA}): install the newer fairbai"
                )
            migrate(connection, SCHEMA)
            fill(connection)
    except TROUBLE as error:
        raise DatabaseError(explained(database.url, error)) from None


def migrate(connection: Connection, revision: str) -> None:
    """Bring the tables to a revision, without what their rows may lack then."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


@contextmanager
def changing_tables(database: Database) -> Iterator[Connection]:
    """An exclusive transaction in which tables may be replaced by changed copies, as migrations on SQLite must.

    SQLite would not drop a table that others refer to, so foreign keys are only checked at the end; that setting can
    only be changed outside transactions.
    """
    with database.writer.connect() as connection:
        driver: Any = connection.connection.driver_connection
        if database.is_sqlite:
            driver.execute("PRAGMA foreign_keys = OFF")
        try:
            with connection.begin():
                database.lock(connection)
                yield connection
                if database.is_sqlite and (lost := connection.exec_driver_sql("PRAGMA foreign_key_check").first()):
                    raise DatabaseError(
                        f"{shown(database.url)}: a row of {lost[0]} refers to a missing row of {lost[2]}"
                    )
        finally:
            if database.is_sqlite:
                driver.execute("PRAGMA foreign_keys = ON")


def check_version(database: Database) -> None:
    """Refuse a database that needs an upgrade first."""
    found = schema_version(database)
    if found != SCHEMA:
        has = "no tables" if found is None else f"schema {found}"
        raise DatabaseError(
            f"{shown(database.url)} has {has}, this fairbai needs schema {SCHEMA}: "
            "start fairbai serve on it to upgrade it"
        )


def schema_version(database: Database) -> str | None:
    """The version of the schema; None if there are no tables."""
    with database.reader.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config


def known_revisions() -> set[str]:
    """The schemas that this fairbai can upgrade, and its own."""
    return {revision.revision for revision in ScriptDirectory.from_config(_config()).walk_revisions()}
