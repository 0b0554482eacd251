"""What every request passes: its key, its size, and the count of it."""

import time
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairbai.service.book import encode
from fairbai.service.keys import ROLES, Keyring, unauthorized
from fairbai.service.metrics import Metrics
from fairbai.service.refusals import Refusal

FOR_WRITERS = ("/ask", "/tell", "/batches")
OPEN = ("/healthz",)


class Gate:
    """An ASGI middleware: 401, 403, 413 and 429 are answered here."""

    def __init__(self, app: ASGIApp, keyring: Any, metrics: Metrics, largest_body: int) -> None:
        self._app = app
        self._keyring = keyring  # a function: the keyring exists when the server has started
        self._metrics = metrics
        self._largest_body = largest_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            headers = dict(scope["headers"])
            await self._check_role(scope, headers)
            limited = self._limited(receive, headers)
        except Refusal as refusal:
            await problem(refusal)(scope, receive, counted)
        else:
            await self._app(scope, limited, counted)
        finally:
            route = scope.get("route")  # none where there is no such address; the client's own words are not kept
            method, path = ("other", "none") if route is None else (scope["method"], route.path)
            self._metrics.count(method, path, status, time.perf_counter() - began)

    async def _check_role(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        path = scope["path"]
        if path in OPEN:
            return
        keyring: Keyring = self._keyring()
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise unauthorized("the header Authorization must be 'Bearer <key>'")
        role = keyring.recall(token)
        if role is None:
            address = scope["client"][0] if scope.get("client") else ""
            role = await run_in_threadpool(keyring.role, token, address)
        needed = _needed(scope["method"], path)
        if ROLES.index(role) < ROLES.index(needed):
            raise Refusal(403, "The key may not do this", f"a key of role {needed} is needed, got one of role {role}")

    def _limited(self, receive: Receive, headers: dict[bytes, bytes]) -> Receive:
        """``receive``, which refuses bodies that are too large."""
        stated = headers.get(b"content-length")
        if stated is not None:
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
    if method in ("GET", "HEAD", "OPTIONS"):
        return "reader"
    return "writer" if path.endswith(FOR_WRITERS) else "admin"


def problem(refusal: Refusal) -> Response:
    """The answer of RFC 9457."""
    body = encode(refusal.to_dict())
    return Response(body, refusal.status, refusal.headers, media_type="application/problem+json")
