"""Headers and body of an answer in one call of the operating system, which takes longer than making them."""

import asyncio
from typing import Any

MAX_JOINED = 65_536  # bytes that wait for the next turn of the event loop


class JoinedWrites:
    """A transport that joins what it is given in one turn of the event loop, and writes it in the next.

    Args:
        transport: Where it is written to, and what does everything else.
        loop: The event loop.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._waiting: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Write it soon; at once if there is much to write, so that the transport can say that it is too much."""
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)
        self._size += len(data)
        if self._size > MAX_JOINED:
            self._flush()

    def _flush(self) -> None:
        waiting, self._waiting, self._size = self._waiting, [], 0
        if waiting:
            self._transport.write(b"".join(waiting))

    def write_eof(self) -> None:
        """Write what waits, and then no more."""
        self._flush()
        self._transport.write_eof()

    def close(self) -> None:
        """Write what waits, and close."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
