"""What every request passes: its key, its size, and the count of it."""

import logging
import re
import time
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairbai.service.domain.encoding import encode
from fairbai.service.domain.refusals import Refusal, failed, invalid, no_such_experiment
from fairbai.service.http import sessions, trials
from fairbai.service.service import Service
from fairbai.service.storage.failures import TROUBLE, of_database
from fairbai.service.storage.keys import ROLES
from fairbai.service.storage.metrics import Metrics

FOR_WRITERS = ("/ask", "/tell", "/batches")
FOR_READERS = ("/v1/plan",)  # which changes nothing
PREFIX = "/v1/experiments/"
ID = re.compile("[0-9a-f]{1,32}")
DIRECT = {"ask": trials.ask, "tell": trials.tell}
"""Nearly all requests are these. They are answered here, by the same functions as behind FastAPI, because the way
through it takes longer than all the rest."""

log = logging.getLogger("fairbai.service")


class Gate:
    """An ASGI application around another: 401, 403, 413 and 429 are answered here, and so are ask and tell.

    Args:
        app: The other application.
        service: The service, once it has started.
        metrics: Where requests are counted.
        largest_body: Bytes of a request.
    """

    def __init__(self, app: ASGIApp, service: Callable[[], Service], metrics: Metrics, largest_body: int) -> None:
        self._app = app
        self._service = service
        self._metrics = metrics
        self._largest_body = largest_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, method, path = time.perf_counter(), 500, scope["method"], scope["path"]

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        experiment, _, call = path[len(PREFIX) :].partition("/") if path.startswith(PREFIX) else ("", "", "")
        direct = method == "POST" and call in DIRECT
        try:
            headers = dict(scope["headers"])
            await self._check_role(scope, headers)
            if experiment and not ID.fullmatch(experiment):  # a database may not even take it as text
                raise no_such_experiment(experiment)
            limited = self._limited(receive, headers)
            if direct:
                key = headers.get(b"idempotency-key")
                name = None if key is None else key.decode("latin-1")
                answer = await DIRECT[call](self._service().writer, experiment, await _body(limited), name)
                await _answer(answer, counted)
            else:
                await self._app(scope, limited, counted)
        except Refusal as refusal:
            await problem(refusal)(scope, receive, counted)
        except TROUBLE as error:  # of the keys
            await problem(of_database(self._service().database.url, error))(scope, receive, counted)
        except Exception:
            if not direct:  # FastAPI has answered already
                raise
            log.exception("%s failed", call)
            await problem(failed())(scope, receive, counted)
        finally:
            self._count(scope, f"{PREFIX}{{experiment}}/{call}" if direct else None, status, began)

    def _count(self, scope: Scope, path: str | None, status: int, began: float) -> None:
        method: str = scope["method"]
        route: Any = scope.get("route")
        if path is None and route is None:  # no such address; the client's own words are not kept
            method, path = "other", "none"
        elif status == 405:  # the method is the client's own word too
            method = "other"
        self._metrics.count(method, path or route.path, status, time.perf_counter() - began)

    async def _check_role(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        path = scope["path"]
        if not path.startswith(PREFIX) and sessions.OPEN.fullmatch(path):
            return
        keyring = self._service().keyring
        try:
            token, by_cookie = sessions.token_of(headers)
            role = keyring.recall(token)
            if role is None:
                address = scope["client"][0] if scope.get("client") else ""
                role = await run_in_threadpool(keyring.role, token, address)
        except Refusal as refusal:
            raise sessions.sign_in_first(refusal, scope) from None
        if by_cookie:
            sessions.check_csrf(scope["method"], headers, token)
        needed = _needed(scope["method"], path)
        if ROLES.index(role) < ROLES.index(needed):
            raise Refusal(403, "The key may not do this", f"a key of role {needed} is needed, got one of role {role}")

    def _limited(self, receive: Receive, headers: dict[bytes, bytes]) -> Receive:
        """``receive``, which refuses bodies that are too large."""
        stated = headers.get(b"content-length")
        if stated is not None and b"transfer-encoding" not in headers:  # which would count, and not the length
            if not stated.isdigit() or int(stated) > self._largest_body:
                raise self._too_large()
            return receive  # the server reads no more than was stated
        got = 0

        async def limited() -> Message:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            if got > self._largest_body:
                raise self._too_large()
            return message

        return limited

    def _too_large(self) -> Refusal:
        return Refusal(413, "The request is too large", f"a request must have at most {self._largest_body} bytes")


def _needed(method: str, path: str) -> str:
    if method in ("GET", "HEAD", "OPTIONS") or path in FOR_READERS:
        return "reader"
    return "writer" if path.endswith(FOR_WRITERS) else "admin"


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":  # half a request must not be taken for a whole one
            raise invalid("the request ended before its body")
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


async def _answer(text: str, send: Send) -> None:
    body = text.encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def problem(refusal: Refusal) -> Response:
    """The answer of RFC 9457."""
    body = encode(refusal.to_dict())
    headers = {"X-Content-Type-Options": "nosniff", **refusal.headers}
    return Response(body, refusal.status, headers, media_type="application/problem+json")
