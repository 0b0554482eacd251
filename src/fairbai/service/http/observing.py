"""What is kept of every request: its id, a count of it, and a line in the access log."""

import logging
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairbai.service.http.tracing import HEADER, id_of, request_id
from fairbai.service.storage.metrics import Metrics

MAX_PATH = 200  # characters of a path in the log

access = logging.getLogger("fairbai.access")


class Observe:
    """Gives every request an id, counts and times it by route and status, and logs it if wanted.

    Args:
        app: The application.
        metrics: Where requests are counted.
        logs: Whether requests are logged.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, logs: bool) -> None:
        self._app, self._metrics, self._logs = app, metrics, logs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and note how it ended."""
        began, status = time.perf_counter(), 500
        name = id_of(scope["headers"])
        request_id.set(name)

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (HEADER, name.encode())]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            seconds = time.perf_counter() - began
            method, route = _named(scope, status)
            self._metrics.count(method, route, status, seconds)
            if self._logs:
                _write(scope, route, status, seconds)


def _named(scope: Scope, status: int) -> tuple[str, str]:
    """The method and route of a request; text that the client made up is not kept."""
    route: Any = scope.get("route")
    if route is None:  # no such address
        return "other", "none"
    return ("other" if status == 405 else scope["method"]), route.path


def _write(scope: Scope, route: str, status: int, seconds: float) -> None:
    """Log a request: never its query or its headers, which may have secrets."""
    client = scope.get("client")
    fields = {
        "method": scope["method"][:20],
        "route": route,
        "path": scope["path"][:MAX_PATH],
        "status": status,
        "milliseconds": round(seconds * 1e3, 3),
        "key": scope.get("key") or "-",
        "address": client[0] if client else "-",
    }
    access.info("request", extra={"fields": fields})
