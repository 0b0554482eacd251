"""The open connections of a worker: how many there are, and which have taken too long."""

import asyncio
import ipaddress
import logging
import time
from collections import Counter
from functools import lru_cache
from typing import Protocol
from weakref import WeakKeyDictionary

from uvicorn.server import ServerState

from fairbai.service.http.descriptors import affordable, raise_descriptors
from fairbai.service.storage.settings import ServerSettings

EVERY = 1.0  # seconds between two looks at all connections, at most
QUIET = 10.0  # seconds between two lines in the log about refused connections

log = logging.getLogger("fairbai.service")


class Connection(Protocol):
    """What can take too long."""

    def end_if_overdue(self, now: float) -> None:
        """Close it if it has taken too long."""


class Connections:
    """The connections of a worker.

    Args:
        settings: The server's settings.
        loop: The event loop.

    Attributes:
        limits: Those of the settings.
        most: How many connections may be open.
        most_per_address: How many of one address that is not a trusted proxy; where files are few, as much fewer, so
            that no address takes all of them.
    """

    def __init__(self, settings: ServerSettings, loop: asyncio.AbstractEventLoop) -> None:
        self.limits = settings.limits
        self.most = affordable(self.limits.connections, raise_descriptors())
        share = self.most / self.limits.connections
        self.most_per_address = max(1, int(share * self.limits.connections_per_address))
        self._loop = loop
        self._proxies = settings.proxies()
        self._open: set[Connection] = set()
        self._per_address: Counter[str] = Counter()
        self._is_proxy = lru_cache(maxsize=10_000)(self._look_up)
        self._watching, self._due, self._was_late = False, 0.0, False
        self._met: set[Connection] = set()  # at the last look
        self._refused, self._said = 0, -QUIET
        self._every = min(EVERY, self.limits.head_seconds / 4, self.limits.body_seconds / 4)
        log.info(
            "at most %d connections, and %d per address that is not a trusted proxy",
            self.most,
            self.most_per_address,
        )

    def admit(self, connection: Connection, address: str) -> str | None:
        """Count a connection; returns why it must be closed, if there are too many."""
        reason, name = None, _network(address)
        if len(self._open) >= self.most:
            reason = f"the server has {self.most} connections, and accepts no more"
        elif self._per_address[name] >= self.most_per_address and not self._is_proxy(address):
            reason = f"{address} has {self._per_address[name]} connections, and may have no more"
        if reason is not None:
            self._say(reason)
            return reason
        self._open.add(connection)
        self._per_address[name] += 1
        if not self._watching:
            self._watch_again()
        return None

    def forget(self, connection: Connection, address: str) -> None:
        """Count a connection no longer."""
        if connection in self._open:
            self._open.remove(connection)
            name = _network(address)
            self._per_address[name] -= 1
            if not self._per_address[name]:
                del self._per_address[name]

    def _watch(self) -> None:
        now = self._loop.time()
        late = now - self._due > self._every
        met, self._met = self._met, set(self._open)
        if not late or self._was_late:  # first read what came in time, while this server was held up
            for connection in met & self._met:  # what others sent has perhaps not been read yet
                try:
                    connection.end_if_overdue(now)
                except Exception:  # whatever it is, the limits hold for others
                    log.exception("a connection whose time may be over")
        self._was_late = late
        self._watching = False
        if self._open:
            self._watch_again()

    def _watch_again(self) -> None:
        self._watching, self._due = True, self._loop.time() + self._every
        self._loop.call_at(self._due, self._watch)

    def _look_up(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:  # a socket of another kind
            return True
        return any(found in network for network in self._proxies)

    def _say(self, reason: str) -> None:
        """Log refusals, though not each of them."""
        self._refused += 1
        if time.monotonic() - self._said >= QUIET:
            log.warning("%d connections refused: %s", self._refused, reason)
            self._refused, self._said = 0, time.monotonic()


@lru_cache(maxsize=10_000)
def _network(address: str) -> str:
    """What counts as one address: of IPv6 the network of a customer, who can take any address in it."""
    if ":" not in address:
        return address
    return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))


_known: WeakKeyDictionary[ServerState, Connections] = WeakKeyDictionary()


def connections_of(state: ServerState, loop: asyncio.AbstractEventLoop) -> Connections:
    """The connections of a server, whose settings are those of its process."""
    found = _known.get(state)
    if found is None:
        found = _known[state] = Connections(ServerSettings.from_environment(), loop)
    return found
