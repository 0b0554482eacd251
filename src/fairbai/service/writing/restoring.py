"""Restoring a backup: what was given out after it was made is lost, and every experiment's log says so."""

from collections import defaultdict
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from fairbai.service.domain.encoding import decode
from fairbai.service.domain.operation import Operation
from fairbai.service.domain.operations import Expire, Restore
from fairbai.service.storage import stamps
from fairbai.service.storage.backfill import fill
from fairbai.service.storage.copies import Counts, opened_backup, replace_tables
from fairbai.service.storage.database import Database
from fairbai.service.storage.deletions import PRESENT
from fairbai.service.storage.failures import TROUBLE, DatabaseError, explained
from fairbai.service.storage.schema import SCHEMA, experiments, tickets
from fairbai.service.storage.upgrades import changing_tables, migrate
from fairbai.service.writing.ledger import Ledger

AT_ONCE = 100  # experiments


def restore(file: Path, database: Database) -> Counts:
    """Fill an empty database from a backup, completely or not at all; returns how many rows each table has.

    Tickets of the backup stay valid, except for bare numbers, which the lost history may have given out again: those
    that wait expire. (Where rewards are counted at an age, they are counted as silent then.)
    """
    try:
        with opened_backup(file) as source, changing_tables(database) as target:
            counts = replace_tables(source, target, database)
            migrate(target, SCHEMA)
            fill(target)
            stamps.renewed(target)
            _mark(target, database)
    except TROUBLE as error:
        raise DatabaseError(explained(database.url, error)) from None
    return counts


def _mark(connection: Connection, database: Database) -> None:
    """Log the restore in every experiment."""
    bare = _bare(connection)
    names = connection.execute(select(experiments.c.id).where(PRESENT).order_by(experiments.c.id)).scalars().all()
    ledger = Ledger(database.writer)
    for start in range(0, len(names), AT_ONCE):
        marks: list[Operation[Any]] = []
        for name in names[start : start + AT_ONCE]:
            marks.append(Restore(name))
            if name in bare:
                marks.append(Expire(name, None, bare[name]))
        _, results = ledger.carry_out(connection, marks)
        for result in results:
            if isinstance(result, Exception):
                raise result


def _bare(connection: Connection) -> dict[str, list[int]]:
    """The tickets without a token that wait for a reward, in experiments where a lease ends that wait."""
    waiting = (
        select(tickets.c.experiment, tickets.c.number)
        .where(tickets.c.waiting, tickets.c.token.is_(None))
        .order_by(tickets.c.number)
    )
    found: dict[str, list[int]] = defaultdict(list)
    for experiment, number in connection.execute(waiting):
        found[experiment].append(number)
    configs = select(experiments.c.id, experiments.c.config).where(experiments.c.id.in_(list(found)))
    aged = [name for name, config in connection.execute(configs) if decode(config).get("report_after") is not None]
    return {name: numbers for name, numbers in found.items() if name not in aged}
