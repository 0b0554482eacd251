"""Ask and tell: from the text of a request to an operation."""

from fairbai.service.domain import operations
from fairbai.service.domain.refusals import invalid

MAX_KEY = 200  # characters of an Idempotency-Key


def checked_key(key: str | None) -> str | None:
    """An Idempotency-Key that can be stored."""
    if key is not None and not (1 <= len(key) <= MAX_KEY and key.isascii() and key.isprintable() and " " not in key):
        raise invalid(f"Idempotency-Key must be 1 to {MAX_KEY} visible ASCII characters")
    return key


def ticket_number(ticket: str) -> int | str:
    """The number of a ticket; its name if it was given out after the stop."""
    if ticket in (operations.WINNER, operations.LEADER):
        return ticket
    if not ticket.isascii() or not ticket.isdigit() or len(ticket) > 15 or str(int(ticket)) != ticket:
        raise operations.no_such_ticket(ticket)
    return int(ticket)
