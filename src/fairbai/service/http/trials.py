"""Ask and tell: from the bytes of a request to the bytes of the answer."""

from fairbai.service.domain import operations
from fairbai.service.domain.encoding import encode, iso, parse
from fairbai.service.domain.refusals import invalid
from fairbai.service.http import forms
from fairbai.service.writing.writer import Writer

MAX_KEY = 200  # characters of an Idempotency-Key


def checked_key(key: str | None) -> str | None:
    """An Idempotency-Key that can be kept."""
    if key is not None and not (1 <= len(key) <= MAX_KEY and key.isascii() and key.isprintable() and " " not in key):
        raise invalid(f"Idempotency-Key must be 1 to {MAX_KEY} visible ASCII characters")
    return key


async def ask(writer: Writer, experiment: str, body: bytes, key: str | None) -> str:
    """Tickets for the next trials, as JSON."""
    form = parse(forms.Ask, body)
    name = None if checked_key(key) is None else f"{experiment}:ask:{key}"
    answer = await writer.submit(operations.Ask(experiment, name, form.n, form.serve_winner))
    if answer["expires_at"] is not None:
        answer["expires_at"] = iso(answer["expires_at"])
    return encode(answer)


async def tell(writer: Writer, experiment: str, body: bytes, key: str | None) -> str:
    """Take rewards; tickets are what makes the call safe to repeat, so it needs no key."""
    form = parse(forms.Tell, body)
    rewards = [(_number(told.ticket), told.reward) for told in form.rewards]
    return encode(await writer.submit(operations.Tell(experiment, None, rewards)))


def _number(ticket: str) -> int | None:
    """The number of a ticket; None for that of the winner."""
    if ticket == operations.WINNER:
        return None
    if not ticket.isascii() or not ticket.isdigit() or len(ticket) > 15 or str(int(ticket)) != ticket:
        raise operations.no_such_ticket(ticket)
    return int(ticket)
