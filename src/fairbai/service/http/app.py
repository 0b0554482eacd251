"""The ASGI application of a server."""

import asyncio
import gc
import logging
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import to_thread
from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from fairbai import __version__
from fairbai.service.http import accounts, dashboard, deleting, health, interventions, ofrep, openapi, routes, units
from fairbai.service.http.calls import admit
from fairbai.service.http.heavy import HeavyWork
from fairbai.service.http.middleware import AnswerRefusals, Authenticate, FastLane, LimitBody
from fairbai.service.http.observing import Observe
from fairbai.service.http.pages import pages
from fairbai.service.http.problems import HANDLERS
from fairbai.service.http.quotas import Quota
from fairbai.service.http.replay import Replays
from fairbai.service.http.shutdown import BoundedShutdown
from fairbai.service.http.streams import Streams, told_to_stop
from fairbai.service.service import Service
from fairbai.service.storage.failures import DatabaseError
from fairbai.service.storage.metrics import Metrics
from fairbai.service.storage.settings import ServerSettings

AWAY = 15.0  # seconds for which a worker that starts waits for the database
THREADS = 12  # for short reads; each that is busy takes the interpreter from requests for milliseconds
SIGN_INS = 5.0  # per second and key: each is a transaction of its own, beside those of the writer
SWITCH = 0.001  # seconds after which a busy thread lets others go on; an ask has several such turns
ROUTERS = (
    *(routes.router, interventions.router, units.router, ofrep.router, deleting.router, accounts.router),
    *(dashboard.router, pages.router, health.router),
)

log = logging.getLogger("fairbai.service")


class Application:
    """A server's ASGI application; it opens its database when it starts.

    Args:
        settings: The server's settings.
        own_process: Whether this process does nothing else.

    Attributes:
        fastapi: The application behind the middleware.
        service: The service, once it has started.
    """

    def __init__(self, settings: ServerSettings, own_process: bool = False) -> None:
        self._settings, self._own_process = settings, own_process
        self._metrics = Metrics()
        self.fastapi = FastAPI(
            title="fairbai",
            version=__version__,
            lifespan=lambda _: self.running(),
            dependencies=[Depends(admit)],
            redirect_slashes=False,
            docs_url=None,
            redoc_url=None,
        )
        self._routes: list[APIRoute] = []
        for router in ROUTERS:
            self.include(router)
        for error, handler in HANDLERS.items():
            self.fastapi.add_exception_handler(error, handler)
        self.fastapi.openapi = lambda: openapi.document(self.fastapi, self._routes)  # type: ignore[method-assign]
        self.fastapi.state.metrics = self._metrics
        self.fastapi.state.heavy = HeavyWork(settings.limits)
        self.fastapi.state.sign_ins = Quota(SIGN_INS)
        self._http = self._wrapped()

    def include(self, router: APIRouter) -> None:
        """Add the endpoints of a router."""
        self.fastapi.include_router(router)
        self._routes += [route for route in router.routes if isinstance(route, APIRoute)]
        self.fastapi.openapi_schema = None  # which is made again with them

    def _wrapped(self) -> ASGIApp:
        """The application in its middleware, from the inside out."""
        fast = (route for route in self._routes if route.endpoint in (routes.ask, routes.tell))
        (flag,) = (route for route in self._routes if route.endpoint is ofrep.evaluate)
        app: ASGIApp = FastLane(self.fastapi, fast, flag)
        app = LimitBody(app, self._settings.limits)
        app = Authenticate(app, lambda: self.service, Quota(self._settings.key_rate))
        app = AnswerRefusals(app, lambda: self.service)
        return Observe(app, self._metrics, self._settings.access_log)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or start and stop."""
        await (self._http if scope["type"] == "http" else self.fastapi)(scope, receive, send)

    async def _opened(self) -> Service:
        """The service; if the database is away when a worker is replaced, it is probably back soon."""
        give_up = time.monotonic() + AWAY
        while True:
            try:
                return Service(self._settings, self._metrics)
            except DatabaseError as error:
                if time.monotonic() > give_up or told_to_stop():
                    raise
                log.warning("%s; trying again", error)
            await asyncio.sleep(1.0)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The time between the start and the stop."""
        state, shutdown = self.fastapi.state, BoundedShutdown()
        self.service = state.service = await self._opened()
        to_thread.current_default_thread_limiter().total_tokens = THREADS
        state.streams = Streams(self.service.reader, self._settings.key_streams)
        state.replays = Replays(self.service.database)
        await self.service.start()
        if self._own_process:  # what was made until now stays: looking through it for garbage takes 100 ms
            gc.collect()
            gc.freeze()
            sys.setswitchinterval(SWITCH)
        try:
            yield
        finally:
            state.streams.close()
            await self.service.stop()
            shutdown.stopped()


def create_app(settings: ServerSettings) -> Application:
    """The application of one server."""
    return Application(settings)


def from_environment() -> Application:
    """The application of a worker process."""
    return Application(ServerSettings.from_environment(), own_process=True)
