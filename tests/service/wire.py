"""A service in this process that listens on a socket, as `fairbai serve` does, and raw connections to it."""

from __future__ import annotations

import asyncio
import http.client
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from fairbai.service.http.protocol import LimitedProtocol
from fairbai.service.storage.limits import Limits
from fairbai.service.storage.settings import VARIABLE, ServerSettings
from tests.service.running import Local, address, running

OK = b"GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"


class Wire:
    """A listening service."""

    def __init__(self, client: Local, port: int) -> None:
        self.client, self.port = client, port
        self._open: list[socket.socket] = []

    def connect(self, sent: bytes = b"") -> socket.socket:
        """A connection on which something was sent."""
        found = socket.create_connection(("127.0.0.1", self.port), timeout=60.0)
        self._open.append(found)
        found.sendall(sent)
        return found

    def answer(self, sent: bytes) -> bytes:
        """Everything that a connection is answered until it is closed."""
        return read(self.connect(sent))

    def close(self) -> None:
        """Close all connections."""
        for one in self._open:
            one.close()


def read(connection: socket.socket) -> bytes:
    """What comes until the connection is closed, from either side."""
    found = b""
    while True:
        try:
            part = connection.recv(65_536)
        except ConnectionError:
            return found
        if not part:
            return found
        found += part


def status(connection: socket.socket) -> int:
    """The status of the next answer, which is read whole."""
    found = http.client.HTTPResponse(connection)
    found.begin()
    found.read()
    found.close()
    return found.status


@contextmanager
def listening(folder: Path, trusted_proxies: str = "", role: str = "admin", **limits: Any) -> Iterator[Wire]:
    """A service with limits."""
    before = os.environ.get(VARIABLE)
    given = Limits(**limits)
    ServerSettings(limits=given, trusted_proxies=trusted_proxies).to_environment()
    try:
        with running(address(folder), role=role, limits=given) as client:
            config = uvicorn.Config(
                client.app,  # type: ignore[arg-type]
                http=LimitedProtocol,
                ws="none",
                log_config=None,
                proxy_headers=bool(trusted_proxies),
                forwarded_allow_ips=trusted_proxies,
                timeout_keep_alive=given.idle_seconds,  # type: ignore[arg-type]
            )
            server = client.wait(_listen(config))
            wire = Wire(client, server.sockets[0].getsockname()[1])
            try:
                yield wire
            finally:
                wire.close()
                client.wait(_stop(server))
    finally:
        os.environ.pop(VARIABLE)
        if before is not None:
            os.environ[VARIABLE] = before


async def _listen(config: uvicorn.Config) -> asyncio.Server:
    config.load()
    state, loop = ServerState(), asyncio.get_running_loop()
    return await loop.create_server(lambda: LimitedProtocol(config, state, {}), "127.0.0.1", 0)


async def _stop(server: asyncio.Server) -> None:
    server.close()
    await asyncio.sleep(0.05)  # for the connections that were just closed
