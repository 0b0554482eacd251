"""Errors as responses: problem details of RFC 9457."""

from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from fairbai.service.domain.encoding import encode
from fairbai.service.domain.refusals import Refusal, failed, invalid
from fairbai.service.domain.wording import worded
from fairbai.service.http.pages import pages
from fairbai.service.http.tracing import request_id
from fairbai.service.storage.failures import TROUBLE, of_database

DATA = ("application/json", "application/problem+json")


def problem(refusal: Refusal) -> Response:
    """The response that tells a refusal."""
    name = request_id.get()
    body = encode({**refusal.to_dict(), **({"request_id": name} if name else {})})
    headers = {"X-Content-Type-Options": "nosniff", **refusal.headers}
    return Response(body, refusal.status, headers, media_type="application/problem+json")


async def _refused(request: Request, error: Any) -> Response:
    if error.status == 404 and _for_people(request):
        return await pages.not_found(request)
    return problem(error)


async def _disconnected(_: Request, error: Any) -> Response:
    return problem(invalid("The request ended before its body was complete"))


async def _not_valid(_: Request, error: Any) -> Response:
    first = error.errors()[0]
    (_, *where) = first["loc"]  # query, path or header, and the name there
    return problem(invalid(worded({**first, "loc": where}, {where[0]: None})))


async def _http(request: Request, error: Any) -> Response:
    if error.status_code == 404 and _for_people(request):
        return await pages.not_found(request)
    title = {404: "No such address", 405: "Method not allowed"}.get(error.status_code, "Refused")
    headers = dict(error.headers or {})
    # Starlette would name the methods of the first route only; pages are not in the document
    if error.status_code == 405 and (known := _methods(request)):
        headers["Allow"] = ", ".join(sorted(known))
    return problem(Refusal(error.status_code, title, str(error.detail), headers))


def _for_people(request: Request) -> bool:
    """Whether a browser asks for a page, and not a program for data: HTML is named, and JSON is not preferred."""
    if request.method not in ("GET", "HEAD"):
        return False
    wanted = {}
    for part in request.headers.get("accept", "").split(","):
        kind, *parameters = (text.strip().lower() for text in part.split(";"))
        wanted[kind] = next((_quality(text[2:]) for text in parameters if text.startswith("q=")), 1.0)
    html = wanted.get("text/html", 0.0)
    return html > 0.0 and html >= max(wanted.get(kind, 0.0) for kind in DATA)


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _methods(request: Request) -> set[str]:
    """The methods of an address."""
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
    ClientDisconnect: _disconnected,
    RequestValidationError: _not_valid,
    HTTPException: _http,
    **dict.fromkeys(TROUBLE, _no_database),
    Exception: _failed,
}
