"""What clients may take of a server; see docs/exposing.md for what each limit is for."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Self


@dataclass(frozen=True)
class Limits:
    """Limits of one worker process. Bytes, seconds, and counts; all are positive.

    Attributes:
        head_bytes: The request line and the headers of a request, or what stands around the parts of its body.
        head_seconds: The time from the first byte, or from the connection, until the headers are complete.
        body_seconds: The time until the body is complete, plus what ``body_rate`` allows.
        body_rate: The least bytes per second of a long body.
        idle_seconds: How long a connection may wait for its next request.
        stall_seconds: How long a client may read nothing of its answer.
        connections: Open connections; fewer if the process may not open that many files.
        connections_per_address: Open connections of one address that is not a trusted proxy; fewer if there are fewer.
        pipelined: Requests that a connection sends before it has their answers.
        body_bytes: The body of a request.
        open_body_bytes: The body of a request that needs no key.
        bodies_bytes: All bodies that are being received, together.
        plans: Plans that are computed or wait to be.
        plans_per_key: Those of one key.
        exports_per_key: Exports of logs that one key has under way.
    """

    head_bytes: int = 32_768
    head_seconds: float = 10.0
    body_seconds: float = 10.0
    body_rate: float = 5_000.0
    idle_seconds: float = 20.0
    stall_seconds: float = 60.0
    connections: int = 4_000
    connections_per_address: int = 1_000
    pipelined: int = 100
    body_bytes: int = 2_000_000
    open_body_bytes: int = 8_192
    bodies_bytes: int = 64_000_000
    plans: int = 8
    plans_per_key: int = 4
    exports_per_key: int = 2

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < float("inf"):
                raise ValueError(f"{field.name} must be positive, got {value!r}")

    def changed(self, given: Iterable[str]) -> Self:
        """With other values, each given as ``name=value``."""
        kinds = {field.name: type(getattr(self, field.name)) for field in fields(self)}
        changes = {}
        for text in given:
            name, _, value = text.partition("=")
            if name not in kinds:
                raise ValueError(f"a limit must be one of {', '.join(kinds)}, got {name!r}")
            try:
                changes[name] = kinds[name](value)
            except ValueError:
                kind = "a whole number" if kinds[name] is int else "a number"
                raise ValueError(f"{name} must be {kind}, got {value!r}") from None
        return replace(self, **changes)
