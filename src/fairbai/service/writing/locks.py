"""Locking the rows of experiments, which another worker may hold and then freeze.

A transaction waits for the locks of others, for a bounded time. Who has waited in vain does not wait again for a while:
it leaves out the experiments that are still locked, so that they do not hold up the others. PostgreSQL ends the
transaction of a worker that is frozen, and with it its locks (``TIMEOUTS`` in ``database.py``).
"""

import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from fairbai.service.domain.refusals import Refusal, unavailable
from fairbai.service.storage.bulk import Chosen
from fairbai.service.storage.deletions import PRESENT
from fairbai.service.storage.schema import experiments
from fairbai.service.storage.stamps import INCARNATION, REVISION

WARY = 10.0  # seconds after a wait in vain
LOCK_TIMEOUT = "55P03"  # the code of PostgreSQL

ROWS = (
    select(*(experiments.c[name] for name in ("id", "version", "head", "restores")), REVISION, INCARNATION)
    .where(PRESENT)
    .order_by(experiments.c.id)  # so that two transactions cannot deadlock
)
EXISTING = Chosen(select(experiments.c.id).where(PRESENT), experiments.c.id)
LOCKED = Chosen(ROWS.with_for_update(), experiments.c.id)
IF_FREE = Chosen(ROWS.with_for_update(skip_locked=True), experiments.c.id)


class Locks:
    """The locks of a ledger."""

    def __init__(self) -> None:
        self._wary: dict[str, float] = {}

    def take(self, connection: Connection, names: Iterable[str]) -> tuple[list[Any], set[str]]:
        """Lock experiments; returns their rows, and the names of those that others have held for too long."""
        names = list(names)
        wary = [name for name in names if self._wary.get(name, 0.0) > time.monotonic()]
        found = LOCKED.run(connection, [name for name in names if name not in wary])
        if not wary:
            return found, set()
        free = IF_FREE.run(connection, wary)
        missing = set(wary) - {row[0] for row in free}
        return found + free, {name for (name,) in EXISTING.run(connection, missing)}

    def waited_in_vain(self, error: DBAPIError, names: Iterable[str]) -> bool:
        """Whether an error is that somebody else holds one of these experiments, for which nobody waits any more."""
        if getattr(error.orig, "sqlstate", None) != LOCK_TIMEOUT:
            return False
        now = time.monotonic()
        self._wary = {name: until for name, until in self._wary.items() if until > now}
        self._wary |= dict.fromkeys(names, now + WARY)
        return True


def held() -> Refusal:
    """503: another worker has locked the experiment."""
    return unavailable("Another worker keeps this experiment locked; it is safe to repeat the request")
