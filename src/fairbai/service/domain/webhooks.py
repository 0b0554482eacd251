"""Webhooks: what is announced, to which addresses, and how announcements are signed."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, Literal
from urllib.parse import urlsplit

from fairbai.service.domain.encoding import encode, iso

Kind = Literal["decision", "stop", "doubt", "deadline"]
Trust = Literal["name", "pattern"]

MAX_URL = 2_000
MIN_SECRET = 16  # characters
UNICAST = IPv6Network("2000::/3")  # the internet of IPv6; what is outside of it leads elsewhere
NAT64 = IPv6Network("64:ff9b::/96")  # where networks without IPv4 have its addresses
HOST = re.compile("[a-z0-9_.-]+|[0-9a-f:.]*:[0-9a-f:.]*")  # a name or an address, which nobody reads as another
PATTERN = re.compile(r"\*|(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|[0-9a-f:]*:[0-9a-f:.]*")


def checked_url(url: str) -> str:
    """The address of a webhook; a ValueError says what is wrong with it."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= MAX_URL
    named = HOST.fullmatch(host or "") is not None
    if not plain or not named or parts.scheme not in ("https", "http") or "@" in parts.netloc or parts.fragment:
        raise ValueError(
            f"webhook must be an address such as https://example.com/hook, without a user, got {url[:100]!r}"
        )
    return url


def checked_hosts(hosts: Sequence[str]) -> tuple[str, ...]:
    """Hosts to which webhooks may be sent: names, addresses, ``*.example.com``, or ``*`` for all public ones."""
    lowered = tuple(host.strip().lower().strip("[]") for host in hosts)
    for host in lowered:
        if not PATTERN.fullmatch(host):
            raise ValueError(f"a webhook host must be a name such as hooks.example.com or *.example.com, got {host!r}")
    return lowered


def trust(url: str, hosts: Sequence[str]) -> Trust | None:
    """Whether webhooks may go to an address: because of the name of its host, or only by a pattern; None: no."""
    host = (urlsplit(url).hostname or "").lower()
    if host in hosts:
        return "name"
    patterns = (pattern for pattern in hosts if pattern.startswith("*"))
    return "pattern" if any(pattern == "*" or host.endswith(pattern[1:]) for pattern in patterns) else None


def check_allowed(url: str, hosts: Sequence[str]) -> None:
    """A ValueError if webhooks may not be sent to an address, as far as its name tells."""
    found, parts = trust(url, hosts), urlsplit(url)
    if found is None:
        allowed = f"allows {', '.join(hosts)}" if hosts else "allows none (fairbai serve --webhook-host)"
        raise ValueError(f"webhook: the host {parts.hostname} is not allowed: this server {allowed}")
    if found == "pattern" and _is_private(parts.hostname or ""):
        raise ValueError(f"webhook: {parts.hostname} is not a public address, and is allowed by a pattern only")
    if found == "pattern" and parts.scheme != "https":
        raise ValueError(f"webhook must be an https address, as {parts.hostname} is allowed by a pattern only")


def _is_private(host: str) -> bool:
    """Whether a host is given as an address that is not public."""
    try:
        return not is_public(host)
    except ValueError:  # a name
        return False


def is_public(address: str) -> bool:
    """Whether an IP address is one of the internet, and not of this machine or a private network."""
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address):
        inner = IPv4Address(int(found) & 0xFFFFFFFF) if found in NAT64 else found.ipv4_mapped
        if inner is None:
            return found in UNICAST and found.is_global and found.sixtofour is None
        found = inner
    return found.is_global and not found.is_multicast


def delivery(experiment: str, config: dict[str, Any], kind: Kind, at: float, said: dict[str, Any]) -> dict[str, Any]:
    """The row of an announcement, which is due at once; ``said`` is what it says beside which experiment it is."""
    name = secrets.token_hex(16)
    body = {"delivery": name, "event": kind, "at": iso(at), "experiment": experiment, "name": config["name"], **said}
    return {
        "id": name,
        "experiment": experiment,
        "kind": kind,
        "url": config["webhook"],
        "body": encode(body),
        "at": at,
        "attempts": 0,
        "next_at": at,
        "delivered_at": None,
        "error": None,
    }


def signature(secret: str, body: str, at: int) -> str:
    """The header ``Fairbai-Signature`` of a body that is sent at this time."""
    mac = hmac.new(secret.encode(), f"{at}.{body}".encode(), hashlib.sha256)
    return f"t={at},v1={mac.hexdigest()}"
