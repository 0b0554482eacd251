"""Databases as an earlier version left them."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

from sqlalchemy import Connection, MetaData, select

from fairbai.service.domain.encoding import encode
from fairbai.service.storage.database import open_database
from fairbai.service.storage.upgrades import changing_tables, migrate


def take_back(url: str, revision: str) -> None:
    """Give a database the tables of an earlier schema, without what these cannot hold."""
    with closing(open_database(url)) as database, changing_tables(database) as connection:
        now = _tables(connection)
        rows = {
            name: [_as_of(revision, dict(row._mapping)) for row in connection.execute(select(table))]
            for name, table in now.tables.items()
        }
        now.drop_all(connection)
        migrate(connection, revision)
        for table in _tables(connection).sorted_tables:
            kept = [{column.name: row[column.name] for column in table.c} for row in rows[table.name]]
            if kept and table.name != "alembic_version":
                connection.execute(table.delete())  # what the migrations have put there
                connection.execute(table.insert(), kept)


def _tables(connection: Connection) -> MetaData:
    found = MetaData()
    found.reflect(connection)
    return found


def _as_of(revision: str, row: dict[str, Any]) -> dict[str, Any]:
    """At first tickets had no tokens."""
    if revision < "0006" and row.get("kind") == "asked":
        data = json.loads(row["data"])
        data.pop("seed", None)
        row["data"] = encode(data)
    return row
