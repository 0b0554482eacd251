"""Comparing stored tickets and units with those that the log implies."""

from sqlalchemy import Connection, select

from fairbai.service.domain.marks import Marks, mark_of
from fairbai.service.domain.unit import Ticket
from fairbai.service.storage.schema import tickets, units

CHUNK = 1_000  # tickets to read at a time


def ticket_differences(connection: Connection, experiment: str, replayed: dict[int, Ticket]) -> list[str]:
    """The first ticket that differs, in words, or nothing."""
    columns = [tickets.c[name] for name in ("number", *Ticket._fields)]
    numbers = sorted(replayed)
    for start in range(0, len(numbers), CHUNK):
        chunk = numbers[start : start + CHUNK]
        statement = select(*columns).where(tickets.c.experiment == experiment, tickets.c.number.in_(chunk))
        stored = {number: Ticket(*rest) for number, *rest in connection.execute(statement)}
        for number in chunk:
            if stored.get(number) != replayed[number]:
                return [f"ticket {number} is {stored.get(number)}, replayed {replayed[number]}"]
    return []


def unit_differences(connection: Connection, experiment: str, replayed: Marks) -> list[str]:
    """Whether other units are stored than the log implies, or with other tickets; the log does not know whose."""
    stored = Marks()
    statement = select(units.c.hash, units.c.number, units.c.salt).where(units.c.experiment == experiment)
    with connection.execute(statement.execution_options(yield_per=CHUNK)) as rows:
        for name, number, salt in rows:
            stored.add(mark_of(name, number, salt))
    if stored.count != replayed.count:
        return [f"there are {stored.count} units, replayed {replayed.count}"]
    return [] if stored.total == replayed.total else ["a unit has another ticket than the log gave it"]
