"""The list of experiments: filtered, sorted and paged."""

from typing import Any, Literal, cast

from sqlalchemy import ColumnElement, and_, case, func, not_, or_, select, true

from fairbai.service.domain.answers import List, Listed, State
from fairbai.service.domain.encoding import iso
from fairbai.service.domain.refusals import no_such_experiment
from fairbai.service.storage.database import Database
from fairbai.service.storage.deletions import PRESENT
from fairbai.service.storage.schema import experiments

Sort = Literal["created", "name", "trials", "progress"]
Outcome = Literal["open", "decided", "undecided"]

NAMES = (
    *("id", "project", "name", "created_at", "decided", "stopped", "closed"),
    *("recommendation", "ended_by", "confidence", "arms", "observed", "floors_kept", "paused"),
)
UNDECIDED_FOR_GOOD = and_(or_(experiments.c.closed, experiments.c.stopped), not_(experiments.c.decided))
PROGRESS = case((UNDECIDED_FOR_GOOD, None), else_=experiments.c.progress)  # towards a decision: there will be none
COLUMNS: list[ColumnElement[Any]] = [
    *(experiments.c[name] for name in NAMES),
    experiments.c.assigned.label("trials"),
    PROGRESS.label("progress"),
]

STATES: dict[str, ColumnElement[bool]] = {  # the first that holds, of closed, decided, stopped and running
    "closed": experiments.c.closed,
    "decided": and_(experiments.c.decided, not_(experiments.c.closed)),
    "stopped": and_(experiments.c.stopped, not_(or_(experiments.c.decided, experiments.c.closed))),
    "running": not_(or_(experiments.c.decided, experiments.c.stopped, experiments.c.closed)),
}
OUTCOMES: dict[str, ColumnElement[bool]] = {  # what an experiment has to show, whoever or whatever ended it
    "open": STATES["running"],
    "decided": experiments.c.decided == true(),
    "undecided": UNDECIDED_FOR_GOOD,
}
SORTS: dict[str, ColumnElement[Any]] = {
    "created": experiments.c.created_at,
    "name": func.lower(experiments.c.name),
    "trials": experiments.c.assigned,
    "progress": func.coalesce(PROGRESS, -1.0),
}


def listed(
    database: Database,
    limit: int,
    after: str | None = None,
    state: State | None = None,
    search: str = "",
    sort: Sort = "created",
    descending: bool = True,
    project: str | None = None,
    outcome: Outcome | None = None,
    flag: str | None = None,
) -> List:
    """One page of experiments, or of those of a project.

    ``after`` is the last id of the page before, in the same order.
    """
    by, key = SORTS[sort], experiments.c.id
    order = (by.desc(), key.desc()) if descending else (by, key)
    statement = select(*COLUMNS).where(PRESENT).order_by(*order).limit(limit + 1)
    own = true() if project is None else experiments.c.project == project
    statement = statement.where(own)
    if state is not None:
        statement = statement.where(STATES[state])
    if outcome is not None:
        statement = statement.where(OUTCOMES[outcome])
    if flag is not None:
        statement = statement.where(experiments.c.flag == flag)
    if search:
        statement = statement.where(experiments.c.name.icontains(search, autoescape=True))
    with database.reader.connect() as connection:
        if after is not None:
            found = connection.execute(select(by.label("value")).where(key == after, own)).one_or_none()
            if found is None:
                raise no_such_experiment(after)
            beyond, then = (by < found.value, key < after) if descending else (by > found.value, key > after)
            statement = statement.where(or_(beyond, and_(by == found.value, then)))
        rows = connection.execute(statement).all()
    lines = [_line(dict(row._mapping)) for row in rows[:limit]]
    return {"experiments": lines, "next": lines[-1]["id"] if len(rows) > limit else None}


def _line(row: dict[str, Any]) -> Listed:
    state = state_of(row["decided"], row["stopped"], row["closed"])
    return cast(Listed, {**row, "created_at": iso(row["created_at"]), "state": state})


def state_of(decided: bool, stopped: bool, closed: bool) -> State:
    """The state of an experiment in one word; "stopped" is one that ended by itself, without a decision."""
    return "closed" if closed else "decided" if decided else "stopped" if stopped else "running"
