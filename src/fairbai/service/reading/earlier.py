"""Logs of an earlier revision: what was chosen and decided is taken from the log, and what follows is compared."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, func, select

from fairbai.problems.families import Family
from fairbai.service.domain.asking import asked_tickets
from fairbai.service.domain.configs import is_drawn
from fairbai.service.domain.encoding import decode
from fairbai.service.domain.unit import Ticket
from fairbai.service.reading.tickets import ticket_differences
from fairbai.service.storage.schema import tickets


class _Counts:
    """What the events of a log add up to, if rewards are counted when they are told."""

    def __init__(self, experiment: str, config: dict[str, Any]) -> None:
        self._experiment = experiment
        self._family = Family.from_dict(config["family"]).for_goal(config.get("goal", "max"))
        self._silence: float | None = config.get("silence")
        arms = len(config["arms"])
        self.assigned, self.observed, self.sums, self.expired = np.zeros((4, arms))
        self.late = 0
        self.tickets: dict[int, Ticket] = {}

    def take(self, kind: str, data: dict[str, Any]) -> None:
        """Count an event; those of other kinds change no count."""
        if kind == "asked":
            given = asked_tickets(self._experiment, data)
            self.tickets |= given
            for ticket in given.values():
                self.assigned[ticket.arm] += 1.0
        elif kind == "told":
            self.late += len(data["late"])
            self.tell(data)
        elif kind == "counted":
            self.count(data)
        elif kind == "batch":
            self.assigned += data["pulls"]
            self.observed += data["pulls"]
            pulls = np.array(data["pulls"], dtype=float)
            self.sums += self._family.turned(self._family.check_sums(pulls, data["sums"]), pulls)
        elif kind == "expired":
            for number, arm in zip(data["tickets"], data["arms"], strict=True):
                self.expired[arm] += 1.0
                self.close(number)

    def tell(self, data: dict[str, Any]) -> None:
        """Rewards that were told."""
        for number, arm, reward in zip(data["tickets"], data["arms"], data["rewards"], strict=True):
            self.observe(arm, reward)
            self.close(number, reward)
        for arm in data["expired"]:
            self.expired[arm] -= 1.0

    def count(self, data: dict[str, Any]) -> None:
        """Tickets that came of age."""

    def observe(self, arm: int, reward: float) -> None:
        """Count a reward."""
        self.observed[arm] += 1.0
        self.sums[arm] += self._family.value(reward)

    def close(self, number: int, reward: float | None = None) -> None:
        """Wait for no reward of a ticket; it has one if it was told before."""
        ticket = self.tickets[number]
        self.tickets[number] = ticket._replace(waiting=False, reward=ticket.reward if reward is None else reward)

    def compared(self, state: dict[str, Any]) -> list[str]:
        """How the stored state differs, in words."""
        stored = {**state["identifier"]["state"], **state}
        replayed = {name: getattr(self, name).tolist() for name in ("assigned", "observed", "sums", "expired")}
        replayed |= {"late": self.late, "tickets": len(self.tickets)}
        different = (name for name in replayed if stored[name] != replayed[name])
        return [f"{name} is {stored[name]}, replayed {replayed[name]}" for name in different]


class _Aged(_Counts):
    """The same, if rewards are counted at a fixed age."""

    def tell(self, data: dict[str, Any]) -> None:
        """Rewards are kept; those that came too late count as if they had not come."""
        for number, reward in zip(data["tickets"], data["rewards"], strict=True):
            if number not in data["late"] or not self.tickets[number].waiting:
                self.tickets[number] = self.tickets[number]._replace(reward=reward)

    def count(self, data: dict[str, Any]) -> None:
        """A ticket that is silent has no reward, or that of silence."""
        for number, arm, reward in zip(data["tickets"], data["arms"], data["rewards"], strict=True):
            if reward is None:
                self.expired[arm] += 1.0
            else:
                self.observe(arm, reward)
            self.close(number)


class _Ordered(_Counts):
    """The same, if rewards are counted in the order of assignment."""

    _summed = 0
    _behind = False  # whether ready tickets were left to an event "summed"

    def take(self, kind: str, data: dict[str, Any]) -> None:
        """Go on with those that were left, too."""
        super().take(kind, data)
        if kind == "summed":
            self._behind = False
        if kind in ("told", "counted", "summed") and not self._behind:
            self._count_ready(data.get("until"))

    def tell(self, data: dict[str, Any]) -> None:
        """A reward closes its ticket, unless its silence has done so and is not counted yet."""
        for number, reward in zip(data["tickets"], data["rewards"], strict=True):
            if number not in data["late"] or number < self._summed:
                self.close(number, reward)

    def count(self, data: dict[str, Any]) -> None:
        """Silence closes a ticket."""
        for number in data["tickets"]:
            self.close(number)

    def _count_ready(self, until: int | None) -> None:
        while (ticket := self.tickets.get(self._summed)) is not None and not ticket.waiting:
            if self._summed == until:
                self._behind = True
                return
            reward = self._silence if ticket.reward is None else ticket.reward
            assert reward is not None
            self.observe(ticket.arm, reward)
            self._summed += 1


def _counts_of(experiment: str, config: dict[str, Any]) -> _Counts:
    if is_drawn(config):
        return _Ordered(experiment, config)
    return (_Counts if config.get("report_after") is None else _Aged)(experiment, config)


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
    counts = _counts_of(row.id, decode(row.config))
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
