"""Replaying logs: what is stored must be exactly what the log implies."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, func, select

from fairbai.service.domain.asking import Ask
from fairbai.service.domain.book import new_book
from fairbai.service.domain.chain import Head
from fairbai.service.domain.earning import Earn
from fairbai.service.domain.edges import Batch, Publish, policy_key
from fairbai.service.domain.encoding import decode, encode
from fairbai.service.domain.interventions import Pause, Resume, SwitchOff, Void
from fairbai.service.domain.marks import Marks
from fairbai.service.domain.operation import Operation
from fairbai.service.domain.operations import Close, Expire, Look, Restore, Tell
from fairbai.service.domain.record import REVISION, revision_of
from fairbai.service.domain.tickets import Claim
from fairbai.service.domain.unit import Ticket, UnitOfWork
from fairbai.service.domain.units import Erase, Visit
from fairbai.service.reading.chains import Chain, Heads, missing
from fairbai.service.reading.earlier import count_differences
from fairbai.service.reading.tickets import CHUNK, ticket_differences, unit_differences
from fairbai.service.storage.database import Database
from fairbai.service.storage.deletions import PRESENT
from fairbai.service.storage.logs import recount, voided_tickets, whole_log
from fairbai.service.storage.schema import events, experiments, history, tickets


def verify(database: Database, heads: Heads | None = None) -> Iterator[tuple[str, list[str]]]:
    """Every experiment's id, and where its log and its state differ (nowhere, if all is well).

    Without ``heads`` that somebody has kept, it cannot see that the end of a log is missing, or an experiment.
    """
    kept = heads or {}
    with database.reader.connect() as connection:
        names = connection.execute(select(experiments.c.id).order_by(experiments.c.created_at)).scalars().all()
        lost = {name: missing(connection, name, kept[name]) for name in kept if name not in names}
    for name in names:
        with database.snapshot() as connection:
            if connection.execute(select(experiments.c.id).where(experiments.c.id == name, PRESENT)).first():
                yield name, verify_experiment(connection, name, kept=kept.get(name, ()))
    yield from lost.items()


def earlier_experiments(database: Database) -> list[str]:
    """The experiments of an earlier revision, of which only counts, sums and tickets are compared."""
    with database.reader.connect() as connection:
        rows = connection.execute(select(experiments).where(PRESENT).order_by(experiments.c.created_at)).all()
        return [row.id for row in rows if is_earlier(row)]


def verify_experiment(
    connection: Connection,
    experiment: str,
    progress: Callable[[int], None] = lambda checked: None,
    kept: Iterable[Head] = (),
) -> list[str]:
    """Replay the log of an experiment from its creation, and follow its hashes; returns the differences, in words.

    Of an experiment that was created under an earlier revision (see ``is_earlier``) only counts, sums and tickets are
    compared.

    Args:
        connection: Sees a snapshot of the database, so that the service can continue meanwhile.
        experiment: Its id.
        progress: Called with the number of events checked so far.
        kept: Heads of its log that somebody has kept.
    """
    row = connection.execute(select(experiments).where(experiments.c.id == experiment)).one()
    chain = Chain(row, whole_log(connection, experiment, row.version), kept)
    return _replayed(connection, row, iter(chain), progress) + chain.differences()


def _replayed(
    connection: Connection, row: Row[Any], log: Iterator[Row[Any]], progress: Callable[[int], None]
) -> list[str]:
    experiment = row.id
    first = next(log, None)
    if first is None or first.kind != "created":
        return [f"event 1 must be created, got {None if first is None else first.kind}"]
    if is_earlier(row):
        return count_differences(connection, row, log, progress)
    try:
        unit = _begun(experiment, first)
    except Exception as error:
        return [f"event 1 (created) cannot be replayed: {error}"]
    unit.logged = partial(recount, connection, experiment, unit.book.config)
    kept = _Kept(connection, experiment, voided_tickets(connection, experiment, row.version))
    differences = _compare_event(unit, first)
    for event in log:
        if differences:
            return differences  # everything after it would differ too
        if not unit.new_events:
            unit.at = event.at
            try:
                operation = _operation(experiment, event, unit.book.labels)
                operation.replayed = True
                operation.apply(unit)
            except Exception as error:
                return [f"event {event.sequence} ({event.kind}) cannot be replayed: {error}"]
        differences = _compare_event(unit, event)
        progress(event.sequence)
        kept.take(unit)
    if unit.new_events:
        differences.append(f"event {unit.new_events[0]['sequence']} ({unit.new_events[0]['kind']}) is missing")
    differences += _surplus(connection, unit) + _compare_state(unit, row) + kept.compared(unit)
    return differences + unit_differences(connection, experiment, unit.book.marks)


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


def _operation(experiment: str, event: Row[Any], labels: list[str]) -> Operation[Any]:
    """The operation that an event records, in an experiment with these arms."""
    data = decode(event.data)
    if event.kind == "asked" and "unit" in data:
        return Visit(experiment, None, None, data["serve_winner"], data["seed"], mark=data["unit"])
    if event.kind == "erased":
        return Erase(experiment, marks=Marks.read([data["units"], data["marks"]]))
    if event.kind == "asked":
        return Ask(experiment, event.key, data["n"], data["serve_winner"], data.get("seed"), data.get("available"))
    if event.kind == "earned":
        return Earn(experiment, event.key, logged=data)
    if event.kind == "told":
        claims = [Claim(number, None) for number in data["tickets"]]
        return Tell(experiment, None, list(zip(claims, data["rewards"], strict=True)), data.get("until"))
    if event.kind == "batch":
        return Batch(experiment, event.key, data["pulls"], data["sums"], data.get("squares"), data.get("policy"))
    if event.kind == "published":
        return Publish(experiment, None, data["trials"], seed=data.get("seed"), until=data.get("until"))
    if event.kind in ("expired", "counted"):
        return Expire(experiment, None, data["tickets"], data.get("until"))
    if event.kind == "summed" and "until" in data:
        return Look(experiment, until=data["until"])
    if event.kind in ("looked", "ended", "summed"):
        return Look(experiment)
    if event.kind == "closed":
        return Close(experiment)
    if event.kind == "restored":
        return Restore(experiment, stream=data["stream"])
    if event.kind in ("paused", "resumed"):
        return (Pause if event.kind == "paused" else Resume)(experiment)
    if event.kind == "switched_off":
        label = labels[data["arm"]]
        return SwitchOff(experiment, None, label, data["reason"])
    if event.kind == "voided":
        return Void(experiment, None, data["tickets"], data["reason"])
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
    again |= {"restores": unit.restores, "flag": unit.book.config.get("flag")}
    del again["progress"], again["confidence"]  # which are computed now and then, and not from the log
    return [f"{name} is {stored[name]!r}, replayed {value!r}" for name, value in again.items() if stored[name] != value]


class _Kept:
    """Compares what is stored beside the log.

    Tickets with a reward are final and need not stay in memory, but for those that are voided later.
    """

    def __init__(self, connection: Connection, experiment: str, voided: frozenset[int]) -> None:
        self._connection, self._experiment, self._voided = connection, experiment, voided
        self._points: dict[int, dict[str, Any]] = {}
        self._final: dict[int, Ticket] = {}
        self._wrong: list[str] = []  # the first ticket that differs
        self._summed = 0  # tickets that were counted in the order of assignment before this event

    def take(self, unit: UnitOfWork) -> None:
        """Take from a unit what a replayed event wrote."""
        self._points |= {point["trials"]: point for point in unit.new_points}
        for number in set(self._finished(unit)) - self._voided:
            self._final[number] = unit.tickets.pop(number)
        if len(self._final) >= CHUNK:
            self._compare_tickets(self._final)
            self._final = {}
        policies = policy_key(unit.experiment, 0)[:-1]  # batches may name any version of the policy
        unit.keyed = {key: data for key, data in unit.keyed.items() if key.startswith(policies)}
        for rows in (unit.new_tickets, unit.told, unit.held, unit.expired, unit.voided, unit.new_points):
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
