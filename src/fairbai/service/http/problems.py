"""Errors as responses: problem details of RFC 9457."""

from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from fairbai.service.domain.encoding import encode
from fairbai.service.domain.refusals import Refusal, failed, invalid
from fairbai.service.http.pages import pages
from fairbai.service.storage.failures import TROUBLE, of_database


def problem(refusal: Refusal) -> Response:
    """The response that tells a refusal."""
    body = encode(refusal.to_dict())
    headers = {"X-Content-Type-Options": "nosniff", **refusal.headers}
    return Response(body, refusal.status, headers, media_type="application/problem+json")


async def _refused(_: Request, error: Any) -> Response:
    return problem(error)


async def _disconnected(_: Request, error: Any) -> Response:
    return problem(invalid("The request ended before its body was complete"))


async def _not_valid(_: Request, error: Any) -> Response:
    first = error.errors()[0]
    return problem(invalid(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"))


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
    """Whether a browser asks for a page, and not a program for data."""
    return "text/html" in request.headers.get("accept", "")


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
