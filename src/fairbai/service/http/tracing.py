"""Every request has an id: in its answer, in errors, and in the lines of the log that it causes."""

import itertools
import re
import secrets
from contextvars import ContextVar

HEADER = b"x-request-id"
SOUND = re.compile(rb"[A-Za-z0-9._:+/=-]{1,100}")

request_id: ContextVar[str] = ContextVar("request_id", default="")

_process = secrets.token_hex(6)
_count = itertools.count(1)


def new_id() -> str:
    """An id that no other request has."""
    return f"{_process}-{next(_count):x}"


def id_of(headers: list[tuple[bytes, bytes]]) -> str:
    """The id that the client or a proxy gave to a request; a new one if there is none, or an unsound one."""
    for name, value in headers:
        if name == HEADER:
            return value.decode("ascii") if SOUND.fullmatch(value) else new_id()
    return new_id()
