"""How people sign in: their key is in a cookie, which other sites cannot use.

There is no table of sessions. The cookie holds the key itself, so revoking a key ends the session too, and roles mean
the same for people and programs.
"""

import hashlib
import hmac
import re
from urllib.parse import parse_qs, quote, urlsplit

from starlette.types import Scope

from fairbai.service.domain.refusals import Refusal, invalid
from fairbai.service.storage.keys import unauthorized

COOKIE = "fairbai"
CSRF_HEADER = b"x-csrf-token"
PAGE = re.compile("/|/plan|/experiments(/[0-9a-f]{1,32}(/audit)?)?")
OPEN = re.compile("/healthz|/sign-in|/sign-out|/static/.*|/favicon.ico")
# where a sign-in may lead: an address of this server that no browser reads as another host
LOCAL = re.compile(r"/(?!/)[A-Za-z0-9/_.~-]*(\?[A-Za-z0-9=&%_.~+-]*)?")

Headers = dict[bytes, bytes]


def token_of(headers: Headers) -> tuple[str, bool]:
    """The key of a request, and whether it came in the cookie; the Authorization header takes precedence."""
    given = headers.get(b"authorization")
    if given is not None:
        scheme, _, token = given.decode("latin-1").partition(" ")
        if scheme.lower() == "bearer" and token:
            return token, False
    elif token := _cookie(headers):
        return token, True
    raise unauthorized("The Authorization header must be 'Bearer <key>'")


def _cookie(headers: Headers) -> str:
    parts = headers.get(b"cookie", b"").decode("latin-1").split(";")
    return next((value for name, _, value in (part.strip().partition("=") for part in parts) if name == COOKIE), "")


def csrf_token(key: str) -> str:
    """What a page must send beside the cookie: only those who can read our answers know it."""
    return hmac.new(key.encode(), b"fairbai csrf", hashlib.sha256).hexdigest()


def check_csrf(method: str, headers: Headers, key: str) -> None:
    """Refuse a change that another site may have made the browser send."""
    given = headers.get(CSRF_HEADER, b"")
    if method not in ("GET", "HEAD") and not hmac.compare_digest(given, csrf_token(key).encode()):
        detail = "A request with the cookie needs the header X-CSRF-Token, which GET /v1/session returns"
        raise Refusal(403, "Session token missing", detail)


def check_same_origin(headers: Headers) -> None:
    """Refuse a form sent from another site, so that nobody is signed in or out against their will."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    foreign = False
    if site is not None:
        foreign = site != b"same-origin"
    elif origin is not None:  # the host only: a proxy may have changed the scheme
        foreign = urlsplit(origin.decode("latin-1")).netloc.encode("latin-1") != headers.get(b"host", b"")
    if foreign:
        raise Refusal(403, "Sent from another site", "The form must be sent from this server's page /sign-in")


def sign_in_first(refusal: Refusal, scope: Scope, headers: Headers) -> Refusal:
    """Redirect a browser without a valid key to the sign-in page instead of showing an error."""
    for_people = PAGE.fullmatch(scope["path"]) or b"text/html" in headers.get(b"accept", b"")
    if refusal.status != 401 or scope["method"] not in ("GET", "HEAD") or not for_people:
        return refusal
    query = scope.get("query_string", b"").decode("latin-1")
    return Refusal(303, "Sign in first", refusal.detail, {"Location": sign_in_page(scope["path"], query=query)})


def sign_in_page(following: str, query: str = "", **told: str) -> str:
    """The address of the sign-in page, with where it leads and what it says."""
    target = local(f"{following}?{query}" if query else following)
    given = {**told, **({"next": target} if target != "/" else {})}
    return "/sign-in" + ("?" if given else "") + "&".join(f"{name}={quote(text)}" for name, text in given.items())


def local(target: str) -> str:
    """The address if it is on this server, else the first page."""
    return target if LOCAL.fullmatch(target) else "/"


def read_form(body: bytes) -> dict[str, str]:
    """The fields of a form."""
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=10)
    except ValueError as error:
        raise invalid(f"The form cannot be read: {error}") from None
    return {name: values[0] for name, values in fields.items()}
