"""Logs of an earlier revision: what was chosen and decided is taken from the log, and what follows is compared."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, func, select

from fairbai.problems.families import Family
from fairbai.service.domain.encoding import decode
from fairbai.service.domain.unit import Ticket
from fairbai.service.reading.tickets import ticket_differences
from fairbai.service.storage.schema import tickets


class _Counts:
    """What the events of a log add up to."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._family = Family.from_dict(config["family"])
        arms = len(config["arms"])
        self.assigned, self.observed, self.sums, self.expired = np.zeros((4, arms))
        self.late = 0
        self.tickets: dict[int, Ticket] = {}

    def take(self, kind: str, data: dict[str, Any]) -> None:
        """Count an event; those of other kinds change no count."""
        if kind == "asked":
            for number, arm in enumerate(data["arms"], data["first"]):
                self.assigned[arm] += 1.0
                self.tickets[number] = Ticket(arm, data["expires_at"], True, None)
        elif kind == "told":
            self._tell(data)
        elif kind == "batch":
            self.assigned += data["pulls"]
            self.observed += data["pulls"]
            self.sums += self._family.check_sums(np.array(data["pulls"], dtype=float), data["sums"])
        elif kind == "expired":
            for number, arm in zip(data["tickets"], data["arms"], strict=True):
                self.expired[arm] += 1.0
                self.tickets[number] = self.tickets[number]._replace(waiting=False)

    def _tell(self, data: dict[str, Any]) -> None:
        for number, arm, reward in zip(data["tickets"], data["arms"], data["rewards"], strict=True):
            self.observed[arm] += 1.0
            self.sums[arm] += self._family.statistic(reward)
            self.tickets[number] = self.tickets[number]._replace(waiting=False, reward=reward)
        for arm in data["expired"]:
            self.expired[arm] -= 1.0
        self.late += len(data["late"])

    def compared(self, state: dict[str, Any]) -> list[str]:
        """How the stored state differs, in words."""
        stored = {**state["identifier"]["state"], **state}
        replayed = {name: getattr(self, name).tolist() for name in ("assigned", "observed", "sums", "expired")}
        replayed |= {"late": self.late, "tickets": len(self.tickets)}
        different = (name for name in replayed if stored[name] != replayed[name])
        return [f"{name} is {stored[name]}, replayed {replayed[name]}" for name in different]


def count_differences(
    connection: Connection, row: Row[Any], log: Iterable[Row[Any]], progress: Callable[[int], None]
) -> list[str]:
    """Where the stored counts, sums and tickets differ from the log.

    Args:
        connection: Sees a snapshot of the database.
        row: The experiment.
        log: Its events after the first.
        progress: Called with the number of events checked so far.
    """
    counts = _Counts(decode(row.config))
    for event in log:
        try:
            counts.take(event.kind, decode(event.data))
        except Exception as error:
            return [f"event {event.sequence} ({event.kind}) cannot be replayed: {error}"]
        progress(event.sequence)
    found = counts.compared(decode(row.state)) + ticket_differences(connection, row.id, counts.tickets)
    statement = select(func.count()).select_from(tickets).where(tickets.c.experiment == row.id)
    number = connection.execute(statement).scalar_one()
    if number != len(counts.tickets):
        found.append(f"there are {number} tickets, replayed {len(counts.tickets)}")
    return found
