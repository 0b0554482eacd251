"""Many rows in one statement.

SQLite runs inside our process, where a statement a row costs little. PostgreSQL gets one statement with the columns as
arrays: it would else have to answer for every row.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Executable, Subquery, Table, and_, bindparam, func, select, true
from sqlalchemy.dialects.postgresql import ARRAY


@dataclass(frozen=True)
class Bulk:
    """A statement for rows, in both forms."""

    for_each: Executable
    for_all: Executable

    def run(self, connection: Connection, rows: list[dict[str, Any]]) -> None:
        """Execute it for these rows."""
        if not rows:
            return
        if connection.dialect.name == "sqlite" or len(rows) == 1:
            connection.execute(self.for_each, rows)
        else:
            connection.execute(self.for_all, {name: [row[name] for row in rows] for name in rows[0]})


def _arrays(table: Table, names: dict[str, str]) -> Subquery:
    """Parameters that are arrays, as the columns of a table; ``names`` maps columns to parameters."""
    columns = [
        func.unnest(bindparam(parameter, type_=ARRAY(table.c[column].type))).label(column)
        for column, parameter in names.items()
    ]
    return select(*columns).subquery("given")


def inserting(table: Table) -> Bulk:
    """Insert rows, each with all columns."""
    names = list(table.c.keys())
    given = _arrays(table, {name: name for name in names})
    return Bulk(table.insert(), table.insert().from_select(names, select(*given.c)))


def updating(table: Table, key: tuple[str, ...], values: tuple[str, ...] = (), **fixed: Any) -> Bulk:
    """Update rows that are named by a key. Parameters are named as columns, with ``of_`` or ``new_`` before."""
    names = {**{name: f"of_{name}" for name in key}, **{name: f"new_{name}" for name in values}}
    given = _arrays(table, names)
    each = and_(true(), *(table.c[name] == bindparam(f"of_{name}") for name in key))
    joined = and_(true(), *(table.c[name] == given.c[name] for name in key))
    return Bulk(
        table.update().where(each).values({name: bindparam(f"new_{name}") for name in values} | fixed),
        table.update().where(joined).values({name: given.c[name] for name in values} | fixed),
    )
