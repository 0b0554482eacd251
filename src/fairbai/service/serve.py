"""Starting a server."""

import tempfile
from collections.abc import Callable

import uvicorn

from fairbai.service import metrics
from fairbai.service.database import open_database, upgrade
from fairbai.service.keys import first_key
from fairbai.service.settings import Settings

PATIENCE = 120  # seconds: a worker that compiles the kernels for the first time does not answer meanwhile
APP = "fairbai.service.app:from_environment"


def serve(settings: Settings, host: str, port: int, workers: int, say: Callable[[str], None] = print) -> None:
    """Prepare the database, and serve until interrupted."""
    database = open_database(settings.database, settings.synchronous)
    try:
        if workers > 1 and database.is_sqlite:
            raise ValueError(
                f"workers must be 1 on SQLite, where one process writes, got {workers}: "
                "use PostgreSQL for more (--database postgresql://user@host/name)"
            )
        upgrade(database)
        first = first_key(database)
    finally:
        database.close()
    if first is not None:
        say(f"admin key (it is shown only once): {first}")
    settings.to_environment()
    if workers == 1:  # which needs no directory, and would leave it behind: uvicorn ends it with the signal it got
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
        access_log=False,  # it would cost as much as the requests, and proxies write one anyway
        server_header=False,
        timeout_worker_healthcheck=PATIENCE,
    )
