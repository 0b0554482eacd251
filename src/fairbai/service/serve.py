"""Starting a server."""

import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.config import LOGGING_CONFIG

from fairbai.service.demo import KEY_NAME
from fairbai.service.storage import metrics
from fairbai.service.storage.database import Database, open_database
from fairbai.service.storage.keys import create_key, first_key, list_keys, revoke_key
from fairbai.service.storage.settings import ServerSettings
from fairbai.service.storage.upgrades import upgrade

STARTUP_TIMEOUT = 120  # seconds: with FAIRBAI_JIT=wait a worker does not answer until the kernels are compiled
GRACE = 30  # seconds for open connections when the server stops; acknowledged data is on disk anyway
APP = "fairbai.service.http.app:from_environment"
NOT_STARTED = 3  # the exit code of uvicorn
OURS: dict[str, Any] = {"fairbai": {"handlers": ["default"], "level": "INFO", "propagate": False}}
LOGGING: dict[str, Any] = {**LOGGING_CONFIG, "loggers": {**LOGGING_CONFIG["loggers"], **OURS}}


def serve(settings: ServerSettings, host: str, port: int, workers: int, say: Callable[[str], None] = print) -> None:
    """Prepare the database, and serve until interrupted."""
    if settings.demo and workers > 1:
        raise ValueError(f"workers must be 1 with --demo, got {workers}")
    database = open_database(settings.database, settings.synchronous)
    try:
        if workers > 1 and database.is_sqlite:
            raise ValueError(
                f"workers must be 1 on SQLite, got {workers}: "
                "use PostgreSQL for more (--database postgresql://user@host/name)"
            )
        upgrade(database)
        first = None if settings.demo else first_key(database)
        demo = demo_key(database) if settings.demo else None
    finally:
        database.close()
    if first is not None:
        say(f"admin key (shown only once): {first}")
    settings.to_environment()
    if workers == 1:  # needs no directory, and would leave it behind: uvicorn ends the process with a signal
        _run_one(host, port, lambda: _invite(say, host, port, demo))
        return
    with tempfile.TemporaryDirectory(prefix="fairbai-metrics-") as directory:
        metrics.share(directory)
        uvicorn.run(**_options(host, port), workers=workers, timeout_worker_healthcheck=STARTUP_TIMEOUT)


def _options(host: str, port: int) -> dict[str, Any]:
    return {
        "app": APP,
        "factory": True,
        "host": host,
        "port": port,
        "log_config": LOGGING,
        "access_log": False,  # it costs as much as the requests, and proxies write one anyway
        "server_header": False,
        "timeout_graceful_shutdown": GRACE,
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


def _run_one(host: str, port: int, listening: Callable[[], None]) -> None:
    """Serve in this process until Ctrl-C."""
    server = _Server(uvicorn.Config(**_options(host, port)), listening)
    with suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        sys.exit(NOT_STARTED)


def _invite(say: Callable[[str], None], host: str, port: int, key: str | None) -> None:
    """Say where the demo can be seen, if there is one: from here on it can."""
    if key is not None:
        say(f"demo: open http://{_shown(host)}:{port}/ and sign in with {key}")


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
