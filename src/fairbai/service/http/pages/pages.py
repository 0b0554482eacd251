"""Routes of the dashboard: its pages, the files they load, signing in and out."""

import gzip
import hashlib
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from fairbai.service.domain.refusals import Refusal
from fairbai.service.http import etags, sessions
from fairbai.service.http.pages import layout
from fairbai.service.service import Service
from fairbai.service.storage.sessions import end_session, open_session

STATIC = Path(__file__).with_name("static")
MEDIA = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
PLOTLY = "plotly.min.js"
EDGE = "edge.js"  # which pages of other sites may load
DAY = 86_400
MIN_COMPRESSED = 1_000  # bytes; compressing less is not worth it
MAX_NAME = 100  # characters; beyond its own limit the operating system would raise an error

# Nothing from other hosts and nothing inline. plotly.js complies because the pages load its styles from a file.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # "no-referrer" would make browsers send "Origin: null" with forms
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
SHARED = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}

router = APIRouter(include_in_schema=False)
page = partial(router.api_route, methods=["GET", "HEAD"])


class File(NamedTuple):
    """A file as it is sent: plain, compressed, and its ETag."""

    plain: bytes
    packed: bytes
    tag: str


def plotly_js() -> Path:
    """plotly.js inside the installed package, found without importing it (which takes a second)."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise ImportError("charts need plotly: pip install '.[service]' in a clone of the repository")
    return Path(spec.origin).parent / "package_data" / PLOTLY


@lru_cache(maxsize=64)
def _file(name: str) -> File:
    """A page or a file that pages load, read once per process so that all of them are the same version."""
    plain = layout.assemble(name).encode() if name in layout.TITLES else _path(name).read_bytes()
    packed = gzip.compress(plain, 6, mtime=0) if len(plain) > MIN_COMPRESSED else b""
    return File(plain, packed, f'"{hashlib.sha256(plain).hexdigest()[:32]}"')


def _path(name: str) -> Path:
    path = plotly_js() if name == PLOTLY else STATIC / name
    known = len(name) <= MAX_NAME and path.suffix in MEDIA and "/" not in name and "\\" not in name
    if not known or not path.is_file():
        raise HTTPException(404, "there is no such file")
    return path


async def send_file(request: Request, name: str, status: int = 200) -> Response:
    """A page, or a file that pages load."""
    file = await run_in_threadpool(_file, name)
    # pages and their modules must fit each other after an upgrade, so browsers ask every time whether they changed
    kept = f"private, max-age={DAY}" if name == PLOTLY else "no-cache"
    headers = {**HEADERS, "ETag": file.tag, "Cache-Control": kept, "Vary": "Accept-Encoding"}
    headers |= SHARED if name == EDGE else {}
    if status == 200 and etags.known(file.tag, request.headers.get("if-none-match")):
        return Response(status_code=304, headers=headers)
    body = file.plain
    if file.packed and "gzip" in request.headers.get("accept-encoding", ""):
        body, headers["Content-Encoding"] = file.packed, "gzip"
    return Response(body, status, headers, media_type=f"{MEDIA[Path(name).suffix]}; charset=utf-8")


# --- pages ------------------------------------------------------------------------------------------------------


@page("/")
async def home() -> Response:
    """The list of experiments is the home page."""
    return RedirectResponse("/experiments", 303)


@page("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """Scripts, styles and images."""
    return await send_file(request, name)


@page("/favicon.ico")
async def icon(request: Request) -> Response:
    """The icon browsers request by default."""
    return await send_file(request, "icon.svg")


@page("/plan")
async def plan(request: Request) -> Response:
    """The page that plans an experiment."""
    return await send_file(request, "plan.html")


@page("/experiments")
async def experiments(request: Request) -> Response:
    """The list of experiments."""
    return await send_file(request, "experiments.html")


@page("/experiments/{experiment}")
async def experiment(request: Request, experiment: str) -> Response:
    """One experiment; the page reads the id from its own address."""
    return await send_file(request, "experiment.html")


@page("/experiments/{experiment}/audit")
async def audit(request: Request, experiment: str) -> Response:
    """What was promised and what was delivered."""
    return await send_file(request, "audit.html")


@page("/docs")
async def docs(request: Request) -> Response:
    """What the words on the pages mean, and the calls of the API."""
    return await send_file(request, "docs.html")


async def not_found(request: Request) -> Response:
    """The page for an address that does not exist; the handler of 404 sends it to browsers."""
    return await send_file(request, "not-found.html", status=404)


# --- signing in and out -----------------------------------------------------------------------------------------


@page("/sign-in")
async def sign_in_form(request: Request) -> Response:
    """The sign-in form."""
    return await send_file(request, "sign-in.html")


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Check the key, and store the token of a new session in the cookie."""
    sessions.check_same_origin(dict(request.scope["headers"]))
    form = sessions.read_form(await request.body())
    given, following = form.get("key", "").strip(), sessions.local(form.get("next", "/"))
    service: Service = request.app.state.service
    try:
        key = await service.keyring.key(given, sessions.address_of(request.scope))
        request.app.state.sign_ins.take(key.id)
    except Refusal as refusal:
        if refusal.status not in (401, 429):
            raise
        told = {"wait": refusal.headers["Retry-After"]} if refusal.status == 429 else {"wrong": "1"}
        told = {"expired": "1"} if "expired_at" in refusal.extra else told
        return RedirectResponse(sessions.sign_in_page(following, **told), 303, HEADERS)
    request.scope["key"] = key.id  # for the access log
    token = await run_in_threadpool(open_session, service.database, key, service.settings.session_seconds)
    response = RedirectResponse(following, 303, {**HEADERS, "Cache-Control": "no-store"})
    response.set_cookie(value=token, **_cookie(request))
    return response


def _cookie(request: Request) -> dict[str, Any]:
    """The attributes of the cookie; a browser deletes one only under the same."""
    name = sessions.cookie_name(request.scope)
    secure = name == sessions.SECURE_COOKIE
    return {"key": name, "path": "/", "secure": secure, "httponly": True, "samesite": "strict"}


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """End the session, and delete the cookie; the key itself stays valid."""
    headers = dict(request.scope["headers"])
    sessions.check_same_origin(headers)
    if token := sessions.session_token(request.scope, headers):
        service: Service = request.app.state.service
        await run_in_threadpool(end_session, service.database, token)
        service.keyring.forget_session(token)
    response = RedirectResponse("/sign-in", 303, {**HEADERS, "Cache-Control": "no-store"})
    response.delete_cookie(**_cookie(request))
    return response
