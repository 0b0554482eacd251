"""Which ticket rewards wait for, where tickets are counted in the order of assignment, and until when."""

from typing import Any

from sqlalchemy import select

from fairbai.service.domain.book import Book
from fairbai.service.domain.encoding import iso
from fairbai.service.domain.status_answers import Wait
from fairbai.service.reading.words import count, moment
from fairbai.service.storage.database import Database
from fairbai.service.storage.schema import tickets

COLUMNS = (tickets.c.arm, tickets.c.expires_at, tickets.c.waiting, tickets.c.reward)


def waited_for(database: Database, experiment: str, book: Book) -> Wait | None:
    """The oldest ticket that is not counted, if rewards wait for it; None after the decision, when none is evidence."""
    if not book.drawn or not book.held or book.decided or book.stopped:
        return None
    own = (tickets.c.experiment == experiment, tickets.c.number == book.summed)
    with database.reader.connect() as connection:
        ticket = connection.execute(select(*COLUMNS).where(*own)).one_or_none()
    rewards = book.held - int(ticket is not None and ticket.reward is not None)
    return None if ticket is None or not ticket.waiting or not rewards else _wait(ticket, book, rewards)


def _wait(ticket: Any, book: Book, rewards: int) -> Wait:
    end, age = ticket.expires_at, book.report_after
    since = None if end is None or age is None else iso(end - age)
    found: Wait = {
        "rewards": rewards,
        "ticket": book.summed,
        "arm": book.labels[ticket.arm],
        "reward": ticket.reward,
        "since": since,
        "until": None if end is None else iso(end),
        "counts_as": book.silence if ticket.reward is None else ticket.reward,
        "sentence": "",
    }
    return {**found, "sentence": _sentence(found)}


def _sentence(wait: Wait) -> str:
    waiting = f"{count(wait['rewards'], 'reward')} wait{'s' if wait['rewards'] == 1 else ''}"
    ticket = f"ticket {wait['ticket']}"
    if wait["reward"] is not None:  # of a unit, which may earn more
        return f"{waiting} for {ticket}, which may earn more until {moment(wait['until'] or '')}."
    since = "" if wait["since"] is None else f" since {moment(wait['since'])}"
    until = "its reward ends the wait"
    if wait["until"] is not None and wait["counts_as"] is not None:
        until = f"it is counted as {wait['counts_as']:g} on {moment(wait['until'])}"
    return f"{waiting} for {ticket}, which has had no reward{since}; {until}."
