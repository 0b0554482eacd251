"""The rows of a transaction: reading what operations need, and writing what they changed."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, bindparam, false, select, true

from fairbai.service.domain.encoding import decode
from fairbai.service.domain.newcomers import StoredUnit
from fairbai.service.domain.unit import Ticket, UnitOfWork
from fairbai.service.storage.bulk import Chosen, deleting, inserting, replacing, updating
from fairbai.service.storage.schema import deliveries, events, experiments, history, tickets, units

CHANGING = (
    *("version", "state", "decided", "stopped", "closed", "recommendation", "assigned", "observed"),
    *("progress", "confidence", "ended_by", "floors_kept", "looks_at", "head", "restores", "paused"),
    "switched_off",
)

INSERT_EVENTS, INSERT_TICKETS, INSERT_POINTS = inserting(events), inserting(tickets), replacing(history)
UPDATE_TOLD = updating(tickets, ("experiment", "number"), ("reward",), waiting=false())
UPDATE_HELD = updating(tickets, ("experiment", "number"), ("reward",))
UPDATE_EXPIRED = updating(tickets, ("experiment", "number"), waiting=false())
UPDATE_VOIDED = updating(tickets, ("experiment", "number"), ("reward", "waiting"), voided=true())
INSERT_UNITS, DELETE_UNITS = inserting(units), deleting(units, ("experiment", "hash"))
INSERT_DELIVERIES = inserting(deliveries)
UPDATE_EXPERIMENTS = updating(experiments, ("id",), CHANGING)
OWN_TICKETS = select(*(tickets.c[name] for name in ("number", *Ticket._fields))).where(
    tickets.c.experiment == bindparam("of_experiment")
)
TICKETS = Chosen(OWN_TICKETS, tickets.c.number)
UNITS = Chosen(
    select(units.c.hash, units.c.number, units.c.salt).where(units.c.experiment == bindparam("of_experiment")),
    units.c.hash,
)
FOLLOWING = OWN_TICKETS.where(tickets.c.number >= bindparam("first"), tickets.c.number < bindparam("end"))
MAX_FOLLOWING = 500  # tickets to read at a time
KEYED = Chosen(select(events.c.key, events.c.data).where(events.c.key.is_not(None)), events.c.key)


# --- reading ----------------------------------------------------------------------------------------------------


def read_tickets(connection: Connection, unit: UnitOfWork, numbers: set[int]) -> None:
    """Read tickets, by their numbers."""
    unit.tickets |= _tickets(TICKETS.run(connection, numbers, of_experiment=unit.experiment))


def read_units(connection: Connection, unit: UnitOfWork, hashes: set[str]) -> None:
    """Read units, by their hashes."""
    for name, number, salt in UNITS.run(connection, hashes, of_experiment=unit.experiment):
        unit.units[name] = StoredUnit(number, salt)


def _tickets(rows: Iterable[Any]) -> dict[int, Ticket]:
    return {
        number: Ticket(arm, expires_at, bool(waiting), reward, probability, token, bool(voided))
        for number, arm, expires_at, waiting, reward, probability, token, voided in rows
    }


def following(connection: Connection, experiment: str, first: int) -> dict[int, Ticket]:
    """Stored tickets from a number on."""
    some = {"of_experiment": experiment, "first": first, "end": first + MAX_FOLLOWING}
    return _tickets(connection.execute(FOLLOWING, some))


def read_keyed(connection: Connection, unit: UnitOfWork, keys: set[str]) -> None:
    """Read events, by the names that clients gave them."""
    for key, data in KEYED.run(connection, keys):
        unit.keyed[key] = decode(data)


# --- writing ----------------------------------------------------------------------------------------------------


def write(connection: Connection, units: Iterable[UnitOfWork]) -> None:
    """Write events, tickets, units and the states of experiments."""
    changed = [unit for unit in units if unit.new_events]
    if not changed:
        return
    for statement, name in (
        (INSERT_EVENTS, "new_events"),
        (INSERT_TICKETS, "new_tickets"),
        (DELETE_UNITS, "erased"),
        (INSERT_UNITS, "new_units"),
        (UPDATE_HELD, "held"),
        (UPDATE_TOLD, "told"),
        (UPDATE_EXPIRED, "expired"),
        (UPDATE_VOIDED, "voided"),
        (INSERT_DELIVERIES, "deliveries"),
        (INSERT_POINTS, "new_points"),
    ):
        rows = [row for unit in changed for row in getattr(unit, name)]
        statement.run(connection, _last(rows) if name == "held" else rows)
    UPDATE_EXPERIMENTS.run(connection, [_row(unit) for unit in changed])


def _last(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last row of every ticket: one statement for all must not have two of them."""
    return list({(row["of_experiment"], row["of_number"]): row for row in rows}.values())


def _row(unit: UnitOfWork) -> dict[str, Any]:
    row = {**unit.book.row(), "head": unit.book.head, "restores": unit.restores}
    return {"of_id": unit.experiment, **{f"new_{name}": row[name] for name in CHANGING}}
