"""Comparing stored tickets with those that the log implies."""

from sqlalchemy import Connection, select

from fairbai.service.domain.unit import Ticket
from fairbai.service.storage.schema import tickets

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
