"""Replaying logs: what is stored must be exactly what the log implies."""

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Connection, Row, func, select

from fairbai.service.domain.book import REVISION, new_book, revision_of
from fairbai.service.domain.encoding import decode, encode
from fairbai.service.domain.operations import Ask, Batch, Close, Expire, Look, Operation, Publish, Tell, policy_key
from fairbai.service.domain.unit import Ticket, UnitOfWork
from fairbai.service.reading.earlier import count_differences
from fairbai.service.reading.tickets import CHUNK, ticket_differences
from fairbai.service.storage.database import Database
from fairbai.service.storage.logs import whole_log
from fairbai.service.storage.schema import events, experiments, history, tickets


def verify(database: Database) -> Iterator[tuple[str, list[str]]]:
    """Every experiment's id, and where its log and its state differ (nowhere, if all is well)."""
    with database.reader.connect() as connection:
        names = connection.execute(select(experiments.c.id).order_by(experiments.c.created_at)).scalars().all()
    for name in names:
        with database.snapshot() as connection:
            yield name, verify_experiment(connection, name)


def earlier_experiments(database: Database) -> list[str]:
    """The experiments of an earlier revision, of which only counts, sums and tickets are compared."""
    with database.reader.connect() as connection:
        rows = connection.execute(select(experiments).order_by(experiments.c.created_at)).all()
        return [row.id for row in rows if is_earlier(row)]


def verify_experiment(
    connection: Connection, experiment: str, progress: Callable[[int], None] = lambda checked: None
) -> list[str]:
    """Replay the log of an experiment from its creation; returns the differences, in words.

    Of an experiment that was created under an earlier revision (see ``is_earlier``) only counts, sums and tickets are
    compared.

    Args:
        connection: Sees a snapshot of the database, so that the service can continue meanwhile.
        experiment: Its id.
        progress: Called with the number of events checked so far.
    """
    row = connection.execute(select(experiments).where(experiments.c.id == experiment)).one()
    log = whole_log(connection, experiment, row.version)
    first = next(log, None)
    if first is None or first.kind != "created":
        return [f"event 1 must be created, got {None if first is None else first.kind}"]
    if is_earlier(row):
        return count_differences(connection, row, log, progress)
    try:
        unit = _begun(experiment, first)
    except Exception as error:
        return [f"event 1 (created) cannot be replayed: {error}"]
    kept = _Kept(connection, experiment)
    differences = _compare_event(unit, first)
    for event in log:
        if differences:
            return differences  # everything after it would differ too
        if not unit.new_events:
            unit.at = event.at
            try:
                _operation(experiment, event).apply(unit)
            except Exception as error:
                return [f"event {event.sequence} ({event.kind}) cannot be replayed: {error}"]
        differences = _compare_event(unit, event)
        progress(event.sequence)
        kept.take(unit)
    if unit.new_events:
        differences.append(f"event {unit.new_events[0]['sequence']} ({unit.new_events[0]['kind']}) is missing")
    return differences + _surplus(connection, unit) + _compare_state(unit, row) + kept.compared(unit)


def is_earlier(row: Row[Any]) -> bool:
    """Whether an experiment was created when arms were chosen or evidence was computed in another way.

    A state that cannot be read does not say so; it is then compared as one of this revision, and found to differ.
    """
    try:
        return revision_of(decode(row.state)) < REVISION
    except ValueError:
        return False


def _begun(experiment: str, created: Row[Any]) -> UnitOfWork:
    unit = UnitOfWork(experiment, new_book(decode(created.data)), created.at)
    unit.create()
    return unit


def _operation(experiment: str, event: Row[Any]) -> Operation[Any]:
    """The operation that an event records."""
    data = decode(event.data)
    if event.kind == "asked":
        return Ask(experiment, event.key, data["n"], data["serve_winner"])
    if event.kind == "told":
        return Tell(experiment, None, list(zip(data["tickets"], data["rewards"], strict=True)))
    if event.kind == "batch":
        return Batch(experiment, event.key, data["pulls"], data["sums"], data.get("squares"), data.get("policy"))
    if event.kind == "published":
        return Publish(experiment, None, data["trials"])
    if event.kind in ("expired", "counted"):
        return Expire(experiment, None, data["tickets"])
    if event.kind == "looked":
        return Look(experiment)
    if event.kind == "closed":
        return Close(experiment)
    raise ValueError(f"kind must be one that starts an operation, got {event.kind!r}")


def _compare_event(unit: UnitOfWork, event: Row[Any]) -> list[str]:
    """Compare the oldest event of the replay with the one in the log, and remove it."""
    if not unit.new_events:
        return [f"event {event.sequence} ({event.kind}) has no effect when replayed"]
    again = unit.new_events.pop(0)
    stored = dict(event._mapping)
    return [
        f"event {event.sequence}: {name} is {stored[name]!r}, replayed {again[name]!r}"
        for name in ("sequence", "kind", "key", "data")
        if stored[name] != again[name]
    ]


def _surplus(connection: Connection, unit: UnitOfWork) -> list[str]:
    """Rows that are not in the log."""
    counted = {"events": (events, unit.book.version), "tickets": (tickets, unit.book.tickets)}
    result = []
    for name, (table, expected) in counted.items():
        statement = select(func.count()).select_from(table).where(table.c.experiment == unit.experiment)
        found = connection.execute(statement).scalar_one()
        if found != expected:
            result.append(f"there are {found} {name}, replayed {expected}")
    return result


def _compare_state(unit: UnitOfWork, row: Row[Any]) -> list[str]:
    stored = dict(row._mapping)
    again = {"config": encode(unit.book.config), "name": unit.book.config["name"], **unit.book.row()}
    del again["progress"]  # which is computed now and then, and not from the log
    return [f"{name} is {stored[name]!r}, replayed {value!r}" for name, value in again.items() if stored[name] != value]


class _Kept:
    """Compares what is stored beside the log. Tickets with a reward are final and need not stay in memory."""

    def __init__(self, connection: Connection, experiment: str) -> None:
        self._connection, self._experiment = connection, experiment
        self._points: dict[int, dict[str, Any]] = {}
        self._final: dict[int, Ticket] = {}
        self._wrong: list[str] = []  # the first ticket that differs
        self._summed = 0  # tickets that were counted in the order of assignment before this event

    def take(self, unit: UnitOfWork) -> None:
        """Take from a unit what a replayed event wrote."""
        self._points |= {point["trials"]: point for point in unit.new_points}
        for number in self._finished(unit):
            self._final[number] = unit.tickets.pop(number)
        if len(self._final) >= CHUNK:
            self._compare_tickets(self._final)
            self._final = {}
        policies = policy_key(unit.experiment, 0)[:-1]  # batches may name any version of the policy
        unit.keyed = {key: data for key, data in unit.keyed.items() if key.startswith(policies)}
        for rows in (unit.new_tickets, unit.told, unit.held, unit.expired, unit.new_points):
            rows.clear()

    def _finished(self, unit: UnitOfWork) -> Iterator[int]:
        """The tickets that this event made final; those that are counted in order must wait for their turn."""
        book = unit.book
        yield from (row["of_number"] for row in unit.told if not book.drawn or row["of_number"] < self._summed)
        counted = range(self._summed, book.summed)
        self._summed = book.summed
        yield from (number for number in counted if unit.tickets[number].reward is not None)

    def compared(self, unit: UnitOfWork) -> list[str]:
        """The differences, at the end of the log."""
        self._compare_tickets(self._final)
        self._compare_tickets(unit.tickets)
        statement = select(history).where(history.c.experiment == self._experiment)
        stored = {row.trials: dict(row._mapping) for row in self._connection.execute(statement)}
        return self._wrong + ([] if stored == self._points else ["the points of the history differ"])

    def _compare_tickets(self, replayed: dict[int, Ticket]) -> None:
        self._wrong = self._wrong or ticket_differences(self._connection, self._experiment, replayed)
