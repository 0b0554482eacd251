"""Which experiment a flag stands for, and which value each of its arms."""

import asyncio
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from sqlalchemy import func, select

from fairbai.service.domain.encoding import decode
from fairbai.service.domain.flags import AN_ID, value_of
from fairbai.service.domain.wording import FLAG
from fairbai.service.storage.database import Database
from fairbai.service.storage.deletions import PRESENT
from fairbai.service.storage.projects import DEFAULT_PROJECT
from fairbai.service.storage.schema import FLAGGED, experiments

SECONDS = 1.0  # for which a worker remembers a flag, and does not see an experiment that another worker has created
MAX_REMEMBERED = 10_000
MAX_FLAGS = 100  # that are evaluated at once: the newest

COLUMNS = (experiments.c.id, experiments.c.flag, experiments.c.config)
NAMED = re.compile(FLAG)


class Flag(NamedTuple):
    """An experiment as a flag.

    Attributes:
        key: By which it was found: its flag, or its id.
        experiment: Its id.
        values: One per arm, by label.
        control: The arm in use, if it was created with one.
        bulk: Whether the evaluation of all flags at once assigns units to it.
    """

    key: str
    experiment: str
    values: dict[str, Any]
    control: str | None
    bulk: bool

    @classmethod
    def of(cls, key: str, experiment: str, config: dict[str, Any]) -> Self:
        """Of the configuration of an experiment."""
        values = {arm: value_of(config, arm) for arm in config["arms"]}
        return cls(key, experiment, values, config.get("control"), config.get("bulk", False))


class Flags:
    """Finds flags, and remembers them for a moment. Used in one event loop only.

    Args:
        database: Where the experiments are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[tuple[str | None, str | None], tuple[float, list[Flag]]] = {}

    async def find(self, project: str | None, key: str) -> Flag | None:
        """The newest experiment of a project with a flag, or the one with this id.

        Without a project, the flags are those of the default project, and ids those of all projects.
        """
        found = await self._remembered(project, key, lambda: self._one(project, key))
        return found[0] if found else None

    async def all(self, project: str | None) -> list[Flag]:
        """The flags of a project, or of the default project: for each, the newest experiment that has it."""
        return await self._remembered(project, None, lambda: self._newest(project or DEFAULT_PROJECT))

    def forget(self) -> None:
        """Look all flags up again: there is a new one, or one less."""
        self._known.clear()

    async def _remembered(self, project: str | None, key: str | None, read: Callable[[], list[Flag]]) -> list[Flag]:
        until, found = self._known.get((project, key), (0.0, []))
        if time.monotonic() >= until:
            found = await asyncio.to_thread(read)
            if len(self._known) >= MAX_REMEMBERED:
                self._known.clear()
            self._known[project, key] = time.monotonic() + SECONDS, found
        return found

    def _one(self, project: str | None, key: str) -> list[Flag]:
        """A flag, by its name or by the id of its experiment; no database sees text that cannot be one."""
        if AN_ID.fullmatch(key):
            chosen = select(*COLUMNS).where(experiments.c.id == key, PRESENT)
            chosen = chosen if project is None else chosen.where(experiments.c.project == project)
        elif NAMED.fullmatch(key):
            own = (experiments.c.project == (project or DEFAULT_PROJECT), experiments.c.flag == key)
            chosen = select(*COLUMNS).where(*own).order_by(experiments.c.created_at.desc()).limit(1)
        else:
            return []
        with self._database.reader.connect() as connection:
            return [Flag.of(key, row.id, decode(row.config)) for row in connection.execute(chosen)]

    def _newest(self, project: str) -> list[Flag]:
        own = (experiments.c.project == project, FLAGGED)
        newest = (
            select(experiments.c.flag, func.max(experiments.c.created_at).label("at"))
            .where(*own)
            .group_by(experiments.c.flag)
            .order_by(func.max(experiments.c.created_at).desc())
            .limit(MAX_FLAGS)
            .subquery()
        )
        same = (experiments.c.flag == newest.c.flag) & (experiments.c.created_at == newest.c.at)
        statement = select(*COLUMNS).join(newest, same).where(*own).order_by(experiments.c.flag)
        with self._database.reader.connect() as connection:
            return [Flag.of(row.flag, row.id, decode(row.config)) for row in connection.execute(statement)]
