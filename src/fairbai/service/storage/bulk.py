"""Many rows in one statement.

SQLite runs inside our process, where one statement per row is cheap but SQLAlchemy's overhead is not: so statements
are compiled once and go straight to the driver. PostgreSQL gets one statement with the columns as arrays, or it would
have to answer for every row.
"""

import json
import sqlite3
from collections.abc import Callable, Collection
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Delete,
    Insert,
    Select,
    String,
    Subquery,
    Table,
    Text,
    Update,
    and_,
    any_,
    bindparam,
    func,
    select,
    true,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import IntegrityError, OperationalError


class Bulk:
    """A statement for rows, in both forms.

    Args:
        for_each: Executed once per row.
        for_all: Executed once, with arrays.
    """

    def __init__(self, for_each: Insert | Update | Delete, for_all: Insert | Update | Delete) -> None:
        compiled = for_each.compile(dialect=sqlite.dialect())
        self._text, self._values = str(compiled), itemgetter(*(compiled.positiontup or ()))
        self._for_all = for_all

    def run(self, connection: Connection, rows: list[dict[str, Any]]) -> None:
        """Execute it for these rows."""
        if not rows:
            return
        if connection.dialect.name == "sqlite":
            _in_driver(connection, "executemany", self._text, list(map(self._values, rows)))
        else:
            connection.execute(self._for_all, {name: [row[name] for row in rows] for name in rows[0]})


class Chosen:
    """A query for the rows whose column has one of many values, in both forms.

    Args:
        query: The query without that condition, or a function that puts the condition into it.
        column: The column.
    """

    def __init__(self, query: Select[Any] | Callable[[ColumnElement[bool]], Select[Any]], column: Column[Any]) -> None:
        chosen = query.where if isinstance(query, Select) else query
        values: Any = func.json_each(bindparam("values", type_=Text)).table_valued("value")
        compiled = chosen(column.in_(select(values.c.value))).compile(dialect=sqlite.dialect())
        self._text, self._order = str(compiled), list(compiled.positiontup or ())
        kind = ARRAY(String if isinstance(column.type, String) else column.type)  # a length would truncate values
        self._for_all = chosen(column == any_(bindparam("values", type_=kind)))

    def run(self, connection: Connection, values: Collection[Any], **others: Any) -> list[Any]:
        """The rows, as tuples."""
        if not values:
            return []
        if connection.dialect.name == "sqlite":
            given = {**others, "values": json.dumps(list(values))}
            return _in_driver(connection, "execute", self._text, [given[name] for name in self._order])
        return list(connection.execute(self._for_all, {**others, "values": list(values)}))


def _in_driver(connection: Connection, method: str, statement: str, given: list[Any]) -> list[Any]:
    """What SQLite returns, without SQLAlchemy's own results, which take longer to make than SQLite takes for its work.

    Errors are SQLAlchemy's, as everywhere else.
    """
    driver: Any = connection.connection.driver_connection
    try:
        found: list[Any] = getattr(driver, method)(statement, given).fetchall()
    except sqlite3.IntegrityError as error:
        raise IntegrityError(statement, None, error) from error
    except sqlite3.Error as error:
        raise OperationalError(statement, None, error) from error
    return found


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


def replacing(table: Table) -> Bulk:
    """Insert rows, each with all columns; a row with an existing key replaces the old one."""
    names, key = list(table.c.keys()), list(table.primary_key.columns.keys())
    given = _arrays(table, {name: name for name in names})
    each = sqlite.insert(table)
    every = postgresql.insert(table).from_select(names, select(*given.c))
    others = [name for name in names if name not in key]
    return Bulk(
        each.on_conflict_do_update(index_elements=key, set_={name: each.excluded[name] for name in others}),
        every.on_conflict_do_update(index_elements=key, set_={name: every.excluded[name] for name in others}),
    )


def updating(table: Table, key: tuple[str, ...], values: tuple[str, ...] = (), **fixed: Any) -> Bulk:
    """Update rows by key. Parameters are named like columns, prefixed with ``of_`` or ``new_``."""
    names = {**{name: f"of_{name}" for name in key}, **{name: f"new_{name}" for name in values}}
    given = _arrays(table, names)
    each = and_(true(), *(table.c[name] == bindparam(f"of_{name}") for name in key))
    joined = and_(true(), *(table.c[name] == given.c[name] for name in key))
    return Bulk(
        table.update().where(each).values({name: bindparam(f"new_{name}") for name in values} | fixed),
        table.update().where(joined).values({name: given.c[name] for name in values} | fixed),
    )


def deleting(table: Table, key: tuple[str, ...]) -> Bulk:
    """Delete rows by key. Parameters are named like columns, prefixed with ``of_``."""
    given = _arrays(table, {name: f"of_{name}" for name in key})
    each = and_(true(), *(table.c[name] == bindparam(f"of_{name}") for name in key))
    every = and_(true(), *(table.c[name] == given.c[name] for name in key))
    return Bulk(table.delete().where(each), table.delete().where(every))
