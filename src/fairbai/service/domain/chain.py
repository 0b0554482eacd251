"""The hashes that chain the events of an experiment: whoever keeps one can prove that nothing before it was changed.

The hash of an event is the SHA-256 of one line of JSON (the hash before it, or an empty text, then experiment,
sequence, time, kind, key and actor), a line feed, and the data of the event as it is stored.
"""

import hashlib
import re
from typing import NamedTuple, Self

from fairbai.service.domain.encoding import encode

FORM = re.compile("([0-9]{1,18}):([0-9a-f]{64})")


def hash_of(
    before: str | None,
    experiment: str,
    sequence: int,
    at: float,
    kind: str,
    key: str | None,
    actor: str | None,
    data: str,
) -> str:
    """The hash of an event; ``before`` is that of the event before it, None at the beginning of a chain."""
    # encode would give the same text in twice the time; ids, hashes and kinds have nothing to escape
    names = f"{'null' if key is None else encode(key)},{'null' if actor is None else encode(actor)}"
    line = f'["{before or ""}","{experiment}",{sequence},{at!r},"{kind}",{names}]'
    return hashlib.sha256(f"{line}\n{data}".encode()).hexdigest()


class Head(NamedTuple):
    """How far a log went at some time, and the hash of all that it had then."""

    sequence: int
    hash: str

    def __str__(self) -> str:
        """As clients see it."""
        return f"{self.sequence}:{self.hash}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Of its text."""
        found = FORM.fullmatch(text)
        if found is None:
            raise ValueError(f"a head must be SEQUENCE:HASH, as the service returns it, got {text!r}")
        return cls(int(found[1]), found[2])


def head_text(sequence: int, last: str | None) -> str | None:
    """The head of a log as clients see it; None if an earlier version wrote its last event."""
    return None if last is None else str(Head(sequence, last))
