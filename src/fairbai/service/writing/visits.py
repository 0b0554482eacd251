"""Units come, most of them again: those that need no trial are answered by reading, and the writer does the rest.

Units that come at the same time are looked up together, on a connection of their own. That one is not there is never
the last word: the writer compares it with those that came since, in the transaction that would assign it.
"""

import asyncio
import json
from collections import defaultdict
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, bindparam, select
from sqlalchemy.exc import DBAPIError

from fairbai.service.domain import answers
from fairbai.service.domain.earning import Earn, Earning
from fairbai.service.domain.encoding import decode
from fairbai.service.domain.refusals import no_such_experiment
from fairbai.service.domain.unit import Ticket
from fairbai.service.domain.units import Erase, Standing, Terms, UnitName, Visit, settled
from fairbai.service.storage.bulk import Chosen
from fairbai.service.storage.database import Database
from fairbai.service.storage.deletions import PRESENT
from fairbai.service.storage.keyring import Lookups
from fairbai.service.storage.schema import experiments, tickets, units
from fairbai.service.writing.writer import Writer

MAX_REMEMBERED = 1_000  # experiments

STANDING = tuple(experiments.c[name] for name in ("decided", "ended_by", "recommendation", "switched_off"))
NOW = Chosen(select(experiments.c.id, *STANDING).where(PRESENT), experiments.c.id)
CONFIG = Chosen(select(experiments.c.config).where(PRESENT), experiments.c.id)
SHOWN = tuple(tickets.c[name] for name in ("arm", "expires_at", "waiting", "reward", "probability", "token"))


def _known(chosen: ColumnElement[bool]) -> Select[Any]:
    """The version of an experiment and, of the chosen units, those that came before; without one, a row of nulls."""
    own = (tickets.c.experiment == units.c.experiment) & (tickets.c.number == units.c.number)
    return (
        select(experiments.c.version, units.c.hash, units.c.number, *STANDING, *SHOWN)
        .select_from(experiments)
        .outerjoin(units, (units.c.experiment == experiments.c.id) & chosen)
        .outerjoin(tickets, own)
        .where(experiments.c.id == bindparam("of_experiment"), PRESENT)
    )


KNOWN = Chosen(_known, units.c.hash)


class Known(NamedTuple):
    """A unit that came before, and how far its experiment is."""

    now: Standing
    number: int
    ticket: Ticket

    def settled(self, terms: Terms, name: UnitName) -> answers.Assigned:
        """What it gets, which is never a new trial."""
        found = settled(terms, self.now, name.point, self.number, self.ticket)
        assert found is not None
        return found


class Missed(NamedTuple):
    """A unit that is not there, at a version of its experiment."""

    version: int


class Visits:
    """Assigns units. Used in one event loop only.

    Args:
        database: Where they are.
        writer: Assigns those that are new.
        key: What they are hashed with.
    """

    def __init__(self, database: Database, writer: Writer, key: bytes) -> None:
        self._database, self._writer, self._key = database, writer, key
        self._units = Lookups[Known | Missed](self._find_units, remembers=False)
        self._standings = Lookups[Standing](self._find_standings, remembers=False)
        self._terms: dict[str, Terms] = {}
        self._over: set[str] = set()  # experiments that have a winner
        self._connection: Connection | None = None

    def name(self, experiment: str, unit: str) -> UnitName:
        """What is known of a unit: nobody else needs to see more of it."""
        return UnitName.of(self._key, experiment, unit)

    async def assign(
        self, experiment: str, unit: str, serve_winner: bool = False, actor: str | None = None
    ) -> answers.Assigned:
        """What a unit gets; a Refusal if it needs a trial and there is none."""
        name = self.name(experiment, unit)
        known = await self._without_trial(experiment, name)
        if not isinstance(known, Missed):
            return known
        visit = Visit(experiment, None, name, serve_winner, missed=known.version, actor=actor)
        found = await self._writer.submit(visit)
        if found["reason"] == "winner":
            self._over.add(experiment)
        return found

    async def known(self, experiment: str, unit: str) -> answers.Assigned | None:
        """What a unit gets that needs no trial; None if it needs one, which it is not given here."""
        name = self.name(experiment, unit)
        known = await self._without_trial(experiment, name)
        return await self._as_new(experiment, name) if isinstance(known, Missed) else known

    async def _without_trial(self, experiment: str, name: UnitName) -> answers.Assigned | Missed:
        """What a unit gets, if reading is enough to tell."""
        terms = self._terms.get(experiment) or await self._read_terms(experiment)
        known = await self._units.look_up(f"{experiment}:{name.hash}")
        if known is None:
            raise no_such_experiment(experiment)
        if isinstance(known, Known):
            return known.settled(terms, name)
        if name.point < terms.enrol and experiment not in self._over:
            return known
        return await self._as_new(experiment, name) or known

    async def _as_new(self, experiment: str, name: UnitName) -> answers.Assigned | None:
        """What a unit gets that has never come; None if it is a trial."""
        terms = self._terms.get(experiment) or await self._read_terms(experiment)
        now = await self._standings.look_up(experiment)
        if now is None:
            raise no_such_experiment(experiment)
        return settled(terms, now, name.point)

    async def _read_terms(self, experiment: str) -> Terms:
        configs = await asyncio.to_thread(self._read_config, experiment)
        if not configs:
            raise no_such_experiment(experiment)
        if len(self._terms) >= MAX_REMEMBERED:
            self._terms.clear()
            self._over.clear()
        terms = self._terms[experiment] = Terms.of(decode(configs[0][0]))
        return terms

    async def earn(
        self, experiment: str, earned: list[tuple[str, float, str]], lenient: bool = False, actor: str | None = None
    ) -> answers.Earned:
        """Add what units have earned: unit, value, and id of the event; skip units that are not known if lenient."""
        earnings = [
            Earning(self.name(experiment, unit), value, f"{experiment}:earn:{event}") for unit, value, event in earned
        ]
        return await self._writer.submit(Earn(experiment, None, earnings, lenient, actor=actor))

    async def erase(self, experiment: str, unit: str, actor: str | None = None) -> int:
        """Forget who a unit was; returns how many were stored: 0 or 1."""
        name = self.name(experiment, unit)
        return await self._writer.submit(Erase(experiment, None, [name.hash], actor=actor))

    def close(self) -> None:
        """Return the connection to the pool."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # --- in a thread --------------------------------------------------------------------------------------------

    def _read_config(self, experiment: str) -> list[Any]:
        with self._database.reader.connect() as connection:
            return CONFIG.run(connection, [experiment])

    def _find_standings(self, names: list[str]) -> dict[str, Standing]:
        with self._database.reader.connect() as connection:
            return {name: _standing(*now) for name, *now in NOW.run(connection, names)}

    def _find_units(self, names: list[str]) -> dict[str, Known | Missed]:
        wanted = defaultdict(list)
        for name in names:
            experiment, _, unit = name.partition(":")
            wanted[experiment].append(unit)
        found: dict[str, Known | Missed] = {}
        for experiment, hashes in wanted.items():
            rows = self._known(experiment, hashes)
            if rows:
                found |= dict.fromkeys((f"{experiment}:{unit}" for unit in hashes), Missed(rows[0][0]))
            for _, unit, number, *rest in rows:
                if unit is not None:
                    found[f"{experiment}:{unit}"] = Known(_standing(*rest[:4]), number, Ticket(*rest[4:]))
        return found

    def _known(self, experiment: str, hashes: list[str]) -> list[Any]:
        """One statement, which is a transaction of its own; again if the connection was lost meanwhile."""
        self._database.check_file()  # which the pool does for others
        kept = self._connection is not None
        try:
            if self._connection is None:
                self._connection = self._database.reader.connect().execution_options(isolation_level="AUTOCOMMIT")
            return KNOWN.run(self._connection, hashes, of_experiment=experiment)
        except BaseException as error:
            if self._connection is not None:
                self._connection.invalidate()
            self.close()
            if not kept or not isinstance(error, DBAPIError):
                raise
        return self._known(experiment, hashes)


def _standing(decided: bool, ended_by: str | None, recommendation: str | None, switched_off: str | None) -> Standing:
    over = decided and ended_by is not None
    return Standing(recommendation if over else None, () if switched_off is None else json.loads(switched_off))
