"""How people sign in: their cookie holds the token of a session, which other sites cannot use.

A session has the role and the project of the key that opened it, and ends with it at the latest.
"""

import hashlib
import hmac
import re
from urllib.parse import parse_qs, quote, urlsplit

from starlette.types import Scope

from fairbai.service.domain.refusals import Refusal, invalid
from fairbai.service.storage.keyring import Keyring
from fairbai.service.storage.keys import Key, unauthorized

COOKIE = "fairbai"
SECURE_COOKIE = "__Host-fairbai"  # which browsers take from, and send to, this host alone, and only by TLS
CSRF_HEADER = b"x-csrf-token"
KEY_HEADER = b"x-api-key"  # as OpenFeature's providers and many gateways send keys
PAGE = re.compile("/|/plan|/experiments(/[0-9a-f]{1,32}(/audit)?)?")
OPEN = re.compile("/healthz|/sign-in|/sign-out|/static/.*|/favicon.ico")
WATCHED = ("/readyz", "/metrics")  # which say how the service is, also if the database does not
# where a sign-in may lead: an address of this server that no browser reads as another host
LOCAL = re.compile(r"/(?!/)[A-Za-z0-9/_.~-]*(\?[A-Za-z0-9=&%_.~+-]*)?")

Headers = dict[bytes, bytes]


def cookie_name(scope: Scope) -> str:
    """The cookie of a session; a request by TLS neither gets nor heeds one that others could have set."""
    return SECURE_COOKIE if scope.get("scheme") == "https" else COOKIE


async def identify(keyring: Keyring, scope: Scope, headers: Headers) -> Key:
    """The key of who sent a request; raises a Refusal without a valid key or session, or without a CSRF token."""
    token, by_cookie = token_of(scope, headers)
    if not by_cookie:
        return await keyring.key(token, address_of(scope), scope["path"] in WATCHED)
    key = await keyring.session(token)
    check_csrf(scope["method"], headers, token)
    return key


def address_of(scope: Scope) -> str:
    """The address that a request came from."""
    return scope["client"][0] if scope.get("client") else ""


def token_of(scope: Scope, headers: Headers) -> tuple[str, bool]:
    """The key or session of a request, and whether it is one.

    The Authorization header takes precedence, then X-API-Key: a page may hold a cookie beside its key.
    """
    given = headers.get(b"authorization")
    if given is not None:
        scheme, _, token = given.decode("latin-1").partition(" ")
        if scheme.lower() == "bearer" and token:
            return token, False
    elif token := headers.get(KEY_HEADER, b"").decode("latin-1"):
        return token, False
    elif token := session_token(scope, headers):
        return token, True
    raise unauthorized("A request needs a key: the header 'Authorization: Bearer <key>' or 'X-API-Key: <key>'")


def session_token(scope: Scope, headers: Headers) -> str:
    """What the cookie of a session holds; empty if there is none."""
    wanted, parts = cookie_name(scope), headers.get(b"cookie", b"").decode("latin-1").split(";")
    return next((value for name, _, value in (part.strip().partition("=") for part in parts) if name == wanted), "")


def csrf_token(session: str) -> str:
    """What a page must send beside the cookie: only those who can read our answers know it."""
    return hmac.new(session.encode(), b"fairbai csrf", hashlib.sha256).hexdigest()


def check_csrf(method: str, headers: Headers, session: str) -> None:
    """Refuse a change that another site may have made the browser send."""
    given = headers.get(CSRF_HEADER, b"")
    if method not in ("GET", "HEAD") and not hmac.compare_digest(given, csrf_token(session).encode()):
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
