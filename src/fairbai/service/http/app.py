"""The ASGI application of a server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from fairbai import __version__
from fairbai.service.http import dashboard, health, openapi, routes
from fairbai.service.http.calls import admit
from fairbai.service.http.middleware import AnswerRefusals, Authenticate, CountRequests, FastLane, LimitBody
from fairbai.service.http.pages import pages
from fairbai.service.http.problems import HANDLERS
from fairbai.service.http.replay import Replays
from fairbai.service.http.streams import Streams
from fairbai.service.service import Service
from fairbai.service.storage.metrics import Metrics
from fairbai.service.storage.settings import ServerSettings

ROUTERS = (routes.router, dashboard.router, pages.router, health.router)


class Application:
    """A server's ASGI application; it opens its database when it starts.

    Attributes:
        fastapi: The application behind the middleware.
        service: The service, once it has started.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
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
        self._http = self._wrapped()

    def include(self, router: APIRouter) -> None:
        """Add the endpoints of a router."""
        self.fastapi.include_router(router)
        self._routes += [route for route in router.routes if isinstance(route, APIRoute)]
        self.fastapi.openapi_schema = None  # which is made again with them

    def _wrapped(self) -> ASGIApp:
        """The application in its middleware, from the inside out."""
        fast = (route for route in self._routes if route.endpoint in (routes.ask, routes.tell))
        app: ASGIApp = FastLane(self.fastapi, fast)
        app = LimitBody(app, self._settings.largest_body)
        app = Authenticate(app, lambda: self.service)
        app = AnswerRefusals(app, lambda: self.service)
        return CountRequests(app, self._metrics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or start and stop."""
        await (self._http if scope["type"] == "http" else self.fastapi)(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The time between the start and the stop."""
        state = self.fastapi.state
        self.service = state.service = Service(self._settings, self._metrics)
        state.streams, state.replays = Streams(self.service.reader), Replays(self.service.database)
        await self.service.start()
        try:
            yield
        finally:
            state.streams.close()
            await self.service.stop()


def create_app(settings: ServerSettings) -> Application:
    """The application of one server."""
    return Application(settings)


def from_environment() -> Application:
    """The application of a worker process."""
    return create_app(ServerSettings.from_environment())
