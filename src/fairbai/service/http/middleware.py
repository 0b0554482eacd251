"""What every request passes on its way in, one job per class; ``app.py`` puts them in order."""

import logging
import re
from collections.abc import Callable, Iterable

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairbai.service.domain.refusals import Refusal, failed, invalid, unavailable
from fairbai.service.http import sessions
from fairbai.service.http.calls import ID, PREFIX, check_project, check_role
from fairbai.service.http.problems import problem
from fairbai.service.http.quotas import Quota
from fairbai.service.service import Service
from fairbai.service.storage.failures import TROUBLE, of_database
from fairbai.service.storage.keys import Key
from fairbai.service.storage.limits import Limits

log = logging.getLogger("fairbai.service")

SMALL = 65_536  # bytes of a body that is not counted: uvicorn keeps as much of every request
MAX_DIGITS = 18  # of a length; Python takes long to read longer ones

GetService = Callable[[], Service]


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
    """Finds who sent a request: the id of their key, its role and its project, as members of the scope.

    All are None at addresses open to everybody. The project of a server admin is None, too.
    """

    def __init__(self, app: ASGIApp, service: GetService, quota: Quota) -> None:
        self._app, self._service, self._quota = app, service, quota

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its role; refuse it without a valid key, or if the key sends too many."""
        path: str = scope["path"]
        scope["key"] = scope["role"] = scope["project"] = None
        if path.startswith(PREFIX) or not sessions.OPEN.fullmatch(path):
            key = await self._identify(scope)
            scope["key"], scope["role"], scope["project"] = key.id, key.role, key.project
            self._quota.take(key.id)
        await self._app(scope, receive, send)

    async def _identify(self, scope: Scope) -> Key:
        headers = dict(scope["headers"])
        try:
            return await sessions.identify(self._service().keyring, scope, headers)
        except Refusal as refusal:
            raise sessions.sign_in_first(refusal, scope, headers) from None


class LimitBody:
    """Refuses bodies that are too large, or too large together; they are kept in memory until they are complete."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits
        self._held = 0  # bytes of bodies that are being received

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with a limit to what can be received."""
        headers = dict(scope["headers"])
        most = self._limits.open_body_bytes if scope["role"] is None else self._limits.body_bytes
        stated = headers.get(b"content-length")
        exact = stated is not None and b"transfer-encoding" not in headers  # which would count, and not the length
        if stated is not None and exact:
            if not stated.isdigit() or len(stated) > MAX_DIGITS or int(stated) > most:
                raise _too_large(most)
            if int(stated) <= SMALL:
                await self._app(scope, receive, send)  # the server reads no more than was stated
                return
        limited = _Limited(receive, most, self._hold)
        try:
            await self._app(scope, limited, send)
        finally:
            self._held -= limited.got

    def _hold(self, size: int) -> None:
        if self._held + size > self._limits.bodies_bytes:
            raise unavailable("Too many large requests are being received")
        self._held += size


class _Limited:
    """What a request can receive."""

    def __init__(self, receive: Receive, most: int, hold: Callable[[int], None]) -> None:
        self._receive, self._most, self._hold = receive, most, hold
        self.got = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        size = len(message.get("body", b""))
        if self.got + size > self._most:
            raise _too_large(self._most)
        self._hold(size)
        self.got += size
        return message


def _too_large(most: int) -> Refusal:
    return Refusal(413, "Request too large", f"A request here may have at most {most:,} bytes")


class FastLane:
    """Calls a few endpoints of the application directly: most requests go there, and FastAPI's way takes longer.

    Args:
        app: The application.
        routes: POST routes at ``/v1/experiments/{experiment}/<name>`` that need nothing but the request and the id.
        flag: The POST route that evaluates a flag; without a query it needs nothing but the request and the key.
    """

    def __init__(self, app: FastAPI, routes: Iterable[APIRoute], flag: APIRoute) -> None:
        self._app = app
        self._routes = {route.path.rpartition("/")[2]: route for route in routes}
        self._path = re.compile(f"{PREFIX}({ID.pattern})/({'|'.join(self._routes)})")
        self._flag, self._flags = flag, flag.path.removesuffix("{key}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call an endpoint, or pass the request on."""
        path: str = scope["path"]
        found = self._path.fullmatch(path) if scope["method"] == "POST" else None
        scope["app"] = self._app
        if found is not None:
            given, name = found.groups()
            route = self._routes[name]
            check_role(route.endpoint, "POST", scope["role"])
            await check_project(scope, given)
        elif scope["method"] == "POST" and path.startswith(self._flags) and not scope.get("query_string"):
            given, route = path.removeprefix(self._flags), self._flag
            check_role(route.endpoint, "POST", scope["role"])
        else:
            await self._app(scope, receive, send)
            return
        scope["route"] = route
        try:
            response = await route.endpoint(QuickRequest(scope, receive), given)
        except (Refusal, *TROUBLE):
            raise
        except ClientDisconnect:  # half a request must not be taken for a whole one
            raise invalid("The request ended before its body was complete") from None
        except Exception:
            log.exception("%s failed", route.name)
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
