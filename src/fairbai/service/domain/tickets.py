"""What clients know tickets by: a number and a token, such as ``17-Qm8c0V2yLtA``.

The token comes from a random seed of the call that gave the ticket out, so that nobody can guess it. A history that was
lost (in a restore, or in a failover to a replica that lagged) gave out other tokens for the same numbers, so that its
tickets are recognized.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from binascii import a2b_base64
from typing import NamedTuple

from fairbai.service.domain.refusals import Refusal

MAX_DIGITS = 15
LENGTH = 11  # characters of a token
STANDARD = str.maketrans("-_", "+/")  # from the alphabet of base64 that is safe in addresses
MAX_TICKET = MAX_DIGITS + 1 + LENGTH


class Claim(NamedTuple):
    """A ticket as a client names it; earlier versions gave out bare numbers, without a token."""

    number: int
    token: int | None


def token_of(seed: bytes, experiment: str, number: int, arm: int) -> int:
    """The token of a ticket: the first 63 bits of a hash."""
    digest = hashlib.sha256(b"%b%b:%d:%d" % (seed, experiment.encode(), number, arm)).digest()
    return int.from_bytes(digest[:8]) >> 1


def shown(number: int, token: int | None) -> str:
    """A ticket as clients see it."""
    return str(number) if token is None else f"{number}-{urlsafe_b64encode(token.to_bytes(8))[:LENGTH].decode()}"


def read(ticket: str) -> Claim | None:
    """What ``shown`` wrote; None for any other text."""
    digits, dash, token = ticket.partition("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > MAX_DIGITS:
        return None
    try:
        found = Claim(int(digits), int.from_bytes(a2b_base64(f"{token.translate(STANDARD)}=")) if dash else None)
        return found if shown(*found) == ticket else None
    except (ValueError, OverflowError):
        return None


def same(given: int, stored: int) -> bool:
    """Whether two tokens are the same, in a time that does not depend on them."""
    return hmac.compare_digest(given.to_bytes(8), stored.to_bytes(8))


def lost(claim: Claim) -> Refusal:
    """410: this ticket was given out by a history that this server does not have."""
    return Refusal(
        410,
        "Ticket of a lost history",
        "This ticket was not given out by the history that this server has: the database was restored from a backup, "
        "or failed over to a replica that lagged, or the ticket was altered. Its reward is not counted",
        ticket=shown(*claim),
    )


def expired(claim: Claim) -> Refusal:
    """410: an earlier version gave it out, and its lease is over."""
    return Refusal(
        410,
        "Ticket expired",
        "An earlier version of the service gave out this ticket, without a token: it was valid until its lease ended",
        ticket=shown(*claim),
    )
