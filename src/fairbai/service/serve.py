"""Starting a server."""

import tempfile
from collections.abc import Callable

import uvicorn

from fairbai.service.demo import KEY_NAME
from fairbai.service.storage import metrics
from fairbai.service.storage.database import Database, open_database
from fairbai.service.storage.keys import create_key, first_key, list_keys, revoke_key
from fairbai.service.storage.settings import ServerSettings
from fairbai.service.storage.upgrades import upgrade

STARTUP_TIMEOUT = 120  # seconds: a worker that compiles the kernels does not answer meanwhile
GRACE = 30  # seconds for open connections when the server stops; acknowledged data is on disk anyway
APP = "fairbai.service.http.app:from_environment"


def serve(settings: ServerSettings, host: str, port: int, workers: int, say: Callable[[str], None] = print) -> None:
    """Prepare the database, and serve until interrupted."""
    database = open_database(settings.database, settings.synchronous)
    try:
        if workers > 1 and database.is_sqlite:
            raise ValueError(
                f"workers must be 1 on SQLite, got {workers}: "
                "use PostgreSQL for more (--database postgresql://user@host/name)"
            )
        if settings.demo and workers > 1:
            raise ValueError(f"workers must be 1 with --demo, got {workers}")
        upgrade(database)
        first = first_key(database)
        demo = (first or demo_key(database)) if settings.demo else None
    finally:
        database.close()
    if first is not None:
        say(f"admin key (shown only once): {first}")
    if demo is not None:
        say(f"demo: open http://{_shown(host)}:{port}/ and sign in with {demo}")
    settings.to_environment()
    if workers == 1:  # needs no directory, and would leave it behind: uvicorn ends the process with a signal
        _run(host, port, workers)
        return
    with tempfile.TemporaryDirectory(prefix="fairbai-metrics-") as directory:
        metrics.share(directory)
        _run(host, port, workers)


def _run(host: str, port: int, workers: int) -> None:
    uvicorn.run(
        APP,
        factory=True,
        host=host,
        port=port,
        workers=workers,
        access_log=False,  # it costs as much as the requests, and proxies write one anyway
        server_header=False,
        timeout_worker_healthcheck=STARTUP_TIMEOUT,
        timeout_graceful_shutdown=GRACE,
    )


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
