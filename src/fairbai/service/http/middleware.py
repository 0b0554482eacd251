"""What every request passes on its way in, one job per class; ``app.py`` puts them in order."""

import logging
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairbai.service.domain.refusals import Refusal, failed, invalid
from fairbai.service.http import sessions
from fairbai.service.http.calls import ID, PREFIX, check_role
from fairbai.service.http.problems import problem
from fairbai.service.service import Service
from fairbai.service.storage.failures import TROUBLE, of_database
from fairbai.service.storage.metrics import Metrics

log = logging.getLogger("fairbai.service")

GetService = Callable[[], Service]


class CountRequests:
    """Counts and times requests, by route and status."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count how it ended."""
        began, status = time.perf_counter(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, counted)
        finally:
            method, path = _named(scope, status)
            self._metrics.count(method, path, status, time.perf_counter() - began)


def _named(scope: Scope, status: int) -> tuple[str, str]:
    """The method and route of a request; text that the client made up is not kept."""
    route: Any = scope.get("route")
    if route is None:  # no such address
        return "other", "none"
    return ("other" if status == 405 else scope["method"]), route.path


class AnswerRefusals:
    """Turns refusals, and failures of the database, into responses; FastAPI has done so with its own."""

    def __init__(self, app: ASGIApp, service: GetService) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and answer it if it is refused."""
        try:
            await self._app(scope, receive, send)
        except Refusal as refusal:
            await problem(refusal)(scope, receive, send)
        except TROUBLE as error:
            await problem(of_database(self._service().database.url, error))(scope, receive, send)


class Authenticate:
    """Finds the role of the key that a request came with, as ``scope["role"]``; None at addresses open to everybody."""

    def __init__(self, app: ASGIApp, service: GetService) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its role; refuse it without a valid key."""
        path: str = scope["path"]
        is_open = not path.startswith(PREFIX) and sessions.OPEN.fullmatch(path)
        scope["role"] = None if is_open else await self._role(scope)
        await self._app(scope, receive, send)

    async def _role(self, scope: Scope) -> str:
        keyring, headers = self._service().keyring, dict(scope["headers"])
        try:
            token, by_cookie = sessions.token_of(headers)
            role = keyring.recall(token)
            if role is None:
                address = scope["client"][0] if scope.get("client") else ""
                role = await run_in_threadpool(keyring.role, token, address)
        except Refusal as refusal:
            raise sessions.sign_in_first(refusal, scope, headers) from None
        if by_cookie:
            sessions.check_csrf(scope["method"], headers, token)
        return role


class LimitBody:
    """Refuses bodies of more than ``max_bytes``."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app, self._max_bytes = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with a limit to what can be received."""
        headers = dict(scope["headers"])
        stated = headers.get(b"content-length")
        if stated is None or b"transfer-encoding" in headers:  # which would count, and not the length
            await self._app(scope, self._limited(receive), send)
            return
        if not stated.isdigit() or int(stated) > self._max_bytes:
            raise self._too_large()
        await self._app(scope, receive, send)  # the server reads no more than was stated

    def _limited(self, receive: Receive) -> Receive:
        got = 0

        async def limited() -> Message:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            if got > self._max_bytes:
                raise self._too_large()
            return message

        return limited

    def _too_large(self) -> Refusal:
        return Refusal(413, "Request too large", f"A request may have at most {self._max_bytes:,} bytes")


class FastLane:
    """Calls a few endpoints of the application directly: most requests go there, and FastAPI's way takes longer.

    Args:
        app: The application.
        routes: POST routes at ``/v1/experiments/{experiment}/<name>`` that need nothing but the request and the id.
    """

    def __init__(self, app: FastAPI, routes: Iterable[APIRoute]) -> None:
        self._app = app
        self._routes = {route.path.rpartition("/")[2]: route for route in routes}
        self._path = re.compile(f"{PREFIX}({ID.pattern})/({'|'.join(self._routes)})")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call an endpoint, or pass the request on."""
        found = self._path.fullmatch(scope["path"]) if scope["method"] == "POST" else None
        if found is None:
            await self._app(scope, receive, send)
            return
        experiment, name = found.groups()
        route = scope["route"] = self._routes[name]
        scope["app"] = self._app
        check_role(route.endpoint, "POST", scope["role"])
        try:
            response = await route.endpoint(QuickRequest(scope, receive), experiment)
        except (Refusal, *TROUBLE):
            raise
        except ClientDisconnect:  # half a request must not be taken for a whole one
            raise invalid("The request ended before its body was complete") from None
        except Exception:
            log.exception("%s failed", name)
            raise failed() from None
        await response(scope, receive, send)


class QuickRequest(Request):
    """A request whose body is read without the generality of Starlette's, in a fifth of the time."""

    async def body(self) -> bytes:
        """The whole body."""
        body, more = b"", True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            body += message.get("body", b"")
            more = message.get("more_body", False)
        return body
