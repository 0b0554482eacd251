"""Deadlines: when an experiment ends that has not decided before."""

from datetime import UTC, datetime

from fairbai.service.domain.book import Book
from fairbai.service.domain.encoding import iso
from fairbai.service.domain.refusals import invalid

FORMAT = "an ISO 8601 time with its zone, such as 2030-05-01T12:00:00Z"
FIRST, LAST = datetime(2000, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


def normal_deadline(text: str) -> str:
    """A deadline as configurations have it: in UTC; a ValueError says what is wrong with one that cannot be read."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None or "T" not in text.upper():
        lacking = "" if found is None or found.tzinfo is not None else ", which has no zone"
        raise ValueError(f"must be {FORMAT}, got {text!r}{lacking}")
    if not FIRST < found.replace(tzinfo=UTC) < LAST:
        raise ValueError(f"must be in the future, and before the year 9999, got {text!r}")
    return iso(found.timestamp())


def check_deadline(book: Book, at: float) -> None:
    """Refuse a new experiment that would have no time to decide."""
    if book.deadline is None:
        return
    given = book.config["deadline"]
    if book.deadline <= at:
        raise invalid(f"deadline must be in the future, got {given}; it is {iso(at)} now")
    if book.cycles is not None and book.cycles.next > book.deadline:
        first = iso(book.cycles.next)
        raise invalid(
            f"deadline must not be before the first time at which the experiment may decide, which is {first} by its "
            f"cycle and min_duration, got {given}"
        )
