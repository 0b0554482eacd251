"""Connections to PostgreSQL that give up: a server that is frozen, or a network that swallows everything, says nothing.

Timeouts of PostgreSQL run in the server, which may be what is frozen, and TCP only notices a machine that is gone. So
every call has a deadline on this side. After it the connection is closed, because an answer may still arrive on it; a
commit whose answer is missing may have happened, and may be repeated as all operations may be.
"""

import time
from collections.abc import Generator
from typing import Any

import psycopg

DEADLINE = 10.0  # seconds for one call
CONNECT_AGAIN = 2  # seconds to connect to a server that has just not answered; psycopg allows no less


class DeadlineConnection(psycopg.Connection[Any]):
    """A connection whose calls fail if the server does not answer them in time.

    Attributes:
        deadline: Seconds for each call.
        suspect: Whether the last call of all connections was not answered.
    """

    deadline = DEADLINE
    suspect = False

    @classmethod
    def connect(cls, conninfo: str = "", **options: Any) -> Any:
        """Connect; soon after a call without an answer only briefly, so that callers do not wait twice."""
        if DeadlineConnection.suspect:
            options["connect_timeout"] = CONNECT_AGAIN
        try:
            return super().connect(conninfo, **options)
        except psycopg.errors.ConnectionTimeout:
            DeadlineConnection.suspect = True
            raise

    def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        """Wait for the answer to a call; psycopg does so for everything that it sends."""
        return super().wait(self._limited(gen), *args, **options)

    def _limited(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """What a generator of psycopg yields and is sent; it is sent nothing, ten times a second, while it waits."""
        end = time.monotonic() + self.deadline
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > end:
                    DeadlineConnection.suspect = True
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"the database did not answer within {self.deadline:g} seconds")
                wanted = gen.send(ready)
        except StopIteration as found:
            DeadlineConnection.suspect = False
            return found.value
