"""The addresses of the pages, their files, and signing in and out."""

import gzip
import hashlib
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from fairbai.service.domain.refusals import Refusal
from fairbai.service.http import etags, sessions
from fairbai.service.service import Service

STATIC = Path(__file__).with_name("static")
MEDIA = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
PLOTLY = "plotly.min.js"
DAY = 86_400
SMALL = 1_000  # bytes that are not worth compressing
LONGEST_NAME = 100  # characters: systems have limits, and an error of their own beyond

# Nothing from another host and nothing inline. plotly.js keeps to it, because the pages bring its styles as a file.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # to this server only; without any, browsers would send the Origin of a form as null
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

router = APIRouter(include_in_schema=False)
page = partial(router.api_route, methods=["GET", "HEAD"])


class File(NamedTuple):
    """A file as it is sent."""

    plain: bytes
    packed: bytes
    tag: str


def plotly_js() -> Path:
    """plotly.js as the installed package has it, which takes a second to import and is not needed for this."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise ImportError("charts need plotly: pip install 'fairbai[service]'")
    return Path(spec.origin).parent / "package_data" / PLOTLY


@lru_cache(maxsize=64)
def _file(path: Path, changed: int) -> File:
    plain = path.read_bytes()
    packed = gzip.compress(plain, 6, mtime=0) if len(plain) > SMALL else b""
    return File(plain, packed, f'"{hashlib.sha256(plain).hexdigest()[:32]}"')


def _found(name: str) -> tuple[Path, File]:
    path = plotly_js() if name == PLOTLY else STATIC / name
    known = len(name) <= LONGEST_NAME and path.suffix in MEDIA and "/" not in name and "\\" not in name
    if not known or not path.is_file():
        raise HTTPException(404, "there is no such file")
    return path, _file(path, path.stat().st_mtime_ns)


async def send_file(request: Request, name: str) -> Response:
    """A file of the pages."""
    path, file = await run_in_threadpool(_found, name)
    # pages and their modules must fit each other after an upgrade, so browsers ask every time whether they changed
    kept = f"private, max-age={DAY}" if name == PLOTLY else "no-cache"
    headers = {**HEADERS, "ETag": file.tag, "Cache-Control": kept, "Vary": "Accept-Encoding"}
    if etags.known(file.tag, request.headers.get("if-none-match")):
        return Response(status_code=304, headers=headers)
    body = file.plain
    if file.packed and "gzip" in request.headers.get("accept-encoding", ""):
        body, headers["Content-Encoding"] = file.packed, "gzip"
    return Response(body, headers=headers, media_type=f"{MEDIA[path.suffix]}; charset=utf-8")


# --- pages ------------------------------------------------------------------------------------------------------


@page("/")
async def home() -> Response:
    """The list of experiments comes first."""
    return RedirectResponse("/experiments", 303)


@page("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """Modules, styles and pictures."""
    return await send_file(request, name)


@page("/favicon.ico")
async def icon(request: Request) -> Response:
    """What browsers ask for by themselves."""
    return await send_file(request, "icon.svg")


@page("/plan")
async def plan(request: Request) -> Response:
    """What an experiment will cost."""
    return await send_file(request, "plan.html")


@page("/experiments")
async def experiments(request: Request) -> Response:
    """All experiments."""
    return await send_file(request, "experiments.html")


@page("/experiments/{experiment}")
async def experiment(request: Request, experiment: str) -> Response:
    """One experiment; the page finds its id in its own address."""
    return await send_file(request, "experiment.html")


@page("/experiments/{experiment}/audit")
async def audit(request: Request, experiment: str) -> Response:
    """What was promised, and what was kept."""
    return await send_file(request, "audit.html")


# --- signing in and out -----------------------------------------------------------------------------------------


@page("/sign-in")
async def sign_in_form(request: Request) -> Response:
    """The form that takes a key."""
    return await send_file(request, "sign-in.html")


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Look the key up, and keep it in the cookie."""
    sessions.check_same_origin(dict(request.scope["headers"]))
    form = sessions.read_form(await request.body())
    key, following = form.get("key", "").strip(), sessions.local(form.get("next", "/"))
    service: Service = request.app.state.service
    address = request.client.host if request.client else ""
    try:
        await run_in_threadpool(service.keyring.role, key, address)
    except Refusal as refusal:
        if refusal.status not in (401, 429):
            raise
        told = {"wait": refusal.headers["Retry-After"]} if refusal.status == 429 else {"wrong": "1"}
        return RedirectResponse(sessions.sign_in_page(following, **told), 303, HEADERS)
    response = RedirectResponse(following, 303, {**HEADERS, "Cache-Control": "no-store"})
    response.set_cookie(
        sessions.COOKIE, key, path="/", secure=request.url.scheme == "https", httponly=True, samesite="strict"
    )
    return response


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """Forget the cookie; the key itself goes on being good."""
    sessions.check_same_origin(dict(request.scope["headers"]))
    response = RedirectResponse("/sign-in", 303, {**HEADERS, "Cache-Control": "no-store"})
    response.delete_cookie(sessions.COOKIE, path="/", httponly=True, samesite="strict")
    return response
