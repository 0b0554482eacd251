"""The FastAPI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from fairbai import __version__
from fairbai.service.domain.refusals import Refusal, failed, invalid, unavailable
from fairbai.service.http import answers, forms
from fairbai.service.http.dashboard import router as dashboard
from fairbai.service.http.gate import Gate, problem
from fairbai.service.http.pages import pages
from fairbai.service.http.replay import Replays
from fairbai.service.http.routes import router
from fairbai.service.http.streams import Streams
from fairbai.service.service import Service
from fairbai.service.storage.failures import TROUBLE, DatabaseError, of_database
from fairbai.service.storage.metrics import Metrics
from fairbai.service.storage.settings import ServerSettings


class Application:
    """A server's ASGI application; it opens its database when it starts.

    Attributes:
        fastapi: The application behind the gate.
        service: The service, from the start on.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._metrics = Metrics()
        self.fastapi = FastAPI(
            title="fairbai",
            version=__version__,
            lifespan=lambda _: self.running(),
            redirect_slashes=False,
            docs_url=None,
            redoc_url=None,
        )
        self.fastapi.include_router(router)
        self.fastapi.include_router(dashboard)
        self.fastapi.include_router(pages.router)
        _add_health(self.fastapi, self._metrics)
        for error, handler in HANDLERS.items():
            self.fastapi.add_exception_handler(error, handler)
        self.fastapi.openapi = lambda: _openapi(self.fastapi)  # type: ignore[method-assign]
        self._gate = Gate(self.fastapi, lambda: self.service, self._metrics, settings.largest_body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or start and stop."""
        await self._gate(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The time between the start and the stop."""
        state = self.fastapi.state
        self.service = state.service = Service(self._settings, self._metrics)
        state.streams, state.replays = Streams(self.service.database), Replays(self.service.database)
        await self.service.start()
        try:
            yield
        finally:
            state.streams.close()
            await self.service.stop()


ABOUT = "Live experiments that find the best arm, with the share of every arm guaranteed."


def create_app(settings: ServerSettings) -> Application:
    """The application of one server."""
    return Application(settings)


def from_environment() -> Application:
    """The application of a worker process."""
    return create_app(ServerSettings.from_environment())


def _add_health(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/healthz", response_model=answers.Health, tags=["health"])
    async def healthz() -> dict[str, str]:
        """Whether the process lives; the only call that needs no key."""
        return {"status": "ok"}

    @app.get("/readyz", response_model=answers.Health, tags=["health"])
    async def readyz(request: Request) -> dict[str, str]:
        """Whether the database answers, and what is asked for can be written."""
        service: Service = request.app.state.service
        if not service.writer.alive:
            raise unavailable("nothing can be written: the service must be restarted")
        try:
            await run_in_threadpool(service.database.ping)
        except DatabaseError:
            raise unavailable("the database does not answer") from None
        return {"status": "ready"}

    @app.get("/metrics", response_class=PlainTextResponse, tags=["health"])
    async def prometheus() -> Response:
        """Figures for Prometheus."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


# --- errors -----------------------------------------------------------------------------------------------------


async def _refused(_: Request, error: Any) -> Response:
    return problem(error)


async def _not_valid(_: Request, error: Any) -> Response:
    first = error.errors()[0]
    return problem(invalid(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"))


async def _http(request: Request, error: Any) -> Response:
    if error.status_code == 404 and "text/html" in request.headers.get("accept", ""):
        return await pages.not_found(request)
    title = {404: "No such address", 405: "No such method"}.get(error.status_code, "Refused")
    headers = dict(error.headers or {})
    # Starlette would name the methods of the first route only; pages are not in the document
    if error.status_code == 405 and (known := _methods(request)):
        headers["Allow"] = ", ".join(sorted(known))
    return problem(Refusal(error.status_code, title, str(error.detail), headers))


def _methods(request: Request) -> set[str]:
    """The methods that an address has."""
    document = request.app.openapi()["paths"]
    path = request.url.path.split("/")
    return {
        method.upper()
        for known, methods in document.items()
        if len(parts := known.split("/")) == len(path)
        and all(part == given or part.startswith("{") for part, given in zip(parts, path, strict=True))
        for method in methods
    }


async def _no_database(request: Request, error: Any) -> Response:
    return problem(of_database(request.app.state.service.database.url, error))


async def _failed(_: Request, error: Any) -> Response:
    return problem(failed())


HANDLERS: dict[Any, Any] = {
    Refusal: _refused,
    RequestValidationError: _not_valid,
    HTTPException: _http,
    **dict.fromkeys(TROUBLE, _no_database),
    Exception: _failed,
}


# --- OpenAPI ----------------------------------------------------------------------------------------------------

ERRORS = {
    "401": "No key, or a wrong one",
    "403": "The role of the key does not allow it",
    "413": "The request is too large",
    "422": "The request is not what it should be",
    "429": "Too many wrong keys",
    "503": "Not now; it is safe to repeat the request",
}
ERRORS_OF_EXPERIMENTS = {"404": "No such experiment, or no such ticket", "409": "Not in this state of the experiment"}


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The document of all calls, with the forms that the routes parse themselves, and all errors."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes, description=ABOUT)
        components = document["components"]
        components["schemas"].pop("HTTPValidationError", None)  # ours are problems
        components["schemas"].pop("ValidationError", None)
        for form in (forms.Experiment, forms.Plan, forms.Ask, forms.Tell, forms.Batch, answers.Problem):
            schema = form.model_json_schema(ref_template="#/components/schemas/{model}")
            components["schemas"].update(schema.pop("$defs", {}))
            components["schemas"][form.__name__] = schema
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
        for path, calls in document["paths"].items():
            for method, call in calls.items():
                _add_errors(path, method, call)
        app.openapi_schema = document
    return app.openapi_schema


def _add_errors(path: str, method: str, call: dict[str, Any]) -> None:
    if path == "/healthz":
        call["security"] = []
        return
    errors = dict(ERRORS)
    if "{experiment}" in path:
        errors |= ERRORS_OF_EXPERIMENTS
    elif method == "post" and path != "/v1/plan":  # an Idempotency-Key that was used before
        errors["409"] = ERRORS_OF_EXPERIMENTS["409"]
    elif path == "/v1/experiments":  # `after` may name none
        errors["404"] = ERRORS_OF_EXPERIMENTS["404"]
    if method == "post" and path != "/v1/plan":
        errors["507"] = "The disk of the database is full"
    schema = {"$ref": "#/components/schemas/Problem"}
    for status, about in errors.items():
        call["responses"][status] = {"description": about, "content": {"application/problem+json": {"schema": schema}}}
