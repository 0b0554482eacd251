"""Starting a server."""

import logging
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn

from fairbai.service.demo import KEY_NAME
from fairbai.service.http import lines
from fairbai.service.http.descriptors import raise_descriptors
from fairbai.service.http.supervisor import Supervisor
from fairbai.service.listening import bind
from fairbai.service.storage import metrics
from fairbai.service.storage.database import Database, open_database
from fairbai.service.storage.keys import create_key, first_key, list_keys, revoke_key
from fairbai.service.storage.settings import ServerSettings
from fairbai.service.storage.upgrades import upgrade
from fairbai.service.writing.handover import shared_directory

STARTUP_TIMEOUT = 120  # seconds: with FAIRBAI_JIT=wait a worker does not answer until the kernels are compiled
GRACE = 12  # seconds for open connections when the server stops; acknowledged data is on disk anyway
APP = "fairbai.service.http.app:from_environment"
PROTOCOL = "fairbai.service.http.protocol:LimitedProtocol"
NOT_STARTED = 3  # the exit code of uvicorn

log = logging.getLogger("fairbai.service")


def serve(settings: ServerSettings, host: str, port: int, workers: int, say: Callable[[str], None] = print) -> None:
    """Prepare the database, and serve until interrupted."""
    if settings.demo and workers > 1:
        raise ValueError(f"workers must be 1 with --demo, got {workers}")
    if workers > 1 and settings.database.startswith("sqlite"):
        raise ValueError(
            f"workers must be 1 on SQLite, got {workers}: "
            "use PostgreSQL for more (--database postgresql://user@host/name)"
        )
    sockets = bind(host, port)  # before anything is made that would be left behind where the port is taken
    try:
        _serve(settings, host, sockets, workers, say)
    finally:
        for one in sockets:
            one.close()


def _serve(
    settings: ServerSettings, host: str, sockets: list[socket.socket], workers: int, say: Callable[[str], None]
) -> None:
    first, demo = _prepare(settings)
    if first is not None:
        say(f"admin key (shown only once): {first}")
    settings.to_environment()
    port = sockets[0].getsockname()[1]
    if workers == 1:  # needs no directory, and would leave it behind: uvicorn ends the process with a signal
        _run_one(settings, sockets, lambda: _invite(say, host, port, demo))
        return
    with tempfile.TemporaryDirectory(prefix="fairbai-metrics-") as directory, shared_directory():
        metrics.share(directory)
        config = _config(settings, workers)
        log.info("listening on http://%s:%d", _shown(host), port)
        Supervisor(config, sockets).run()


def _prepare(settings: ServerSettings) -> tuple[str | None, str | None]:
    """Prepare the database; returns the first key, if it has just been made, and that of the demo."""
    database = open_database(settings.database, settings.synchronous)
    try:
        upgrade(database)
        if settings.demo:
            return None, demo_key(database)
        return first_key(database), None
    finally:
        database.close()


def _config(settings: ServerSettings, workers: int = 1) -> uvicorn.Config:
    """What uvicorn needs to know; from here on the log has its form."""
    config = uvicorn.Config(**_options(settings), workers=workers)
    log.info("a process may open %d files", raise_descriptors())
    return config


def _options(settings: ServerSettings) -> dict[str, Any]:
    return {
        "app": APP,
        "factory": True,
        "http": PROTOCOL,
        "ws": "none",
        "proxy_headers": bool(settings.trusted_proxies),
        "forwarded_allow_ips": settings.trusted_proxies,
        "timeout_keep_alive": settings.limits.idle_seconds,
        "log_config": lines.configuration(),
        "access_log": False,  # ours has routes and keys
        "server_header": False,
        "timeout_graceful_shutdown": GRACE,
        "timeout_worker_healthcheck": STARTUP_TIMEOUT,
    }


class _Server(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, and listen."""
        await super().startup(sockets)
        if self.started:
            self._listening()


def _run_one(settings: ServerSettings, sockets: list[socket.socket], listening: Callable[[], None]) -> None:
    """Serve in this process until Ctrl-C."""
    server = _Server(_config(settings), listening)
    with suppress(KeyboardInterrupt):
        server.run(sockets)
    if not server.started:
        sys.exit(NOT_STARTED)


def _invite(say: Callable[[str], None], host: str, port: int, key: str | None) -> None:
    """Say where the server listens, and where the demo can be seen, if there is one: from here on it can.

    The address has the key behind a #, which browsers do not send: the page fills it in.
    """
    log.info("listening on http://%s:%d", _shown(host), port)
    if key is not None:
        say(f"demo: open http://{_shown(host)}:{port}/sign-in#{key}")


@contextmanager
def temporary_database() -> Iterator[str]:
    """The URL of a database that is removed at the end, also if the process is told to end."""

    def end(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    def hang_up(number: int, frame: Any) -> None:  # the terminal was closed: uvicorn only knows the other signal
        signal.raise_signal(signal.SIGTERM)

    handlers = {signal.SIGTERM: end, signal.SIGHUP: hang_up} if hasattr(signal, "SIGHUP") else {signal.SIGTERM: end}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        with tempfile.TemporaryDirectory(prefix="fairbai-demo-") as folder:
            yield f"sqlite:///{Path(folder) / 'demo.db'}"
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _shown(host: str) -> str:
    """The host as a browser would open it."""
    if host in ("0.0.0.0", "::"):  # all addresses of this machine, which is not an address itself
        return "localhost"
    return f"[{host}]" if ":" in host else host


def demo_key(database: Database) -> str:
    """A key for the demo; the one of the last time is revoked."""
    for key in list_keys(database):
        if key["name"] == KEY_NAME and key["revoked_at"] is None:
            revoke_key(database, key["id"])
    return create_key(database, "admin", KEY_NAME)
