"""JSON and times as text: how the service writes them, and how it reads what clients send."""

import json
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from fairbai.service.domain.refusals import Refusal, invalid
from fairbai.service.domain.wording import worded

Model = TypeVar("Model", bound=BaseModel)

MAX_PARTS = 20_000  # commas and opening brackets of a body: 2,000 rewards have 8,000; reading takes at most 50 ms

SEAL = ',"digest":"'
encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def decode(text: str) -> dict[str, Any]:
    """The object that ``encode`` wrote."""
    found: dict[str, Any] = json.loads(text)
    return found


def sealed(text: str) -> str:
    """The object that ``encode`` wrote, with a digest of it as its last member.

    It protects against accidents, and not against somebody who wants to deceive: for that there is the log's chain.
    """
    return f'{text[:-1]}{SEAL}{sha256(text.encode()).hexdigest()}"}}'


def unsealed(text: str) -> dict[str, Any]:
    """The object in what ``sealed`` wrote, or a ValueError; those of earlier versions have no digest."""
    found = decode(text)
    if "digest" in found and sealed(f"{text.rpartition(SEAL)[0]}}}") != text:
        raise ValueError("the digest is of another text")
    found.pop("digest", None)
    return found


@lru_cache(maxsize=16)  # what shares a transaction has the same time
def iso(at: float) -> str:
    """Seconds since 1970 as an ISO 8601 time in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def timestamp(text: str) -> float:
    """What ``iso`` wrote, in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


def parse(form: type[Model], body: bytes) -> Model:
    """A request body as the given form; raises a Refusal that names the first invalid member."""
    check_parts(body)
    try:
        return form.model_validate_json(body or b"{}")
    except ValidationError as error:
        raise _wrong(form, error, body) from None


def check_parts(body: bytes) -> None:
    """Refuse a body that would take long to read, and others would wait: that depends on its values, not its bytes.

    Every value but the first follows a comma or an opening bracket. Those within texts are counted too.
    """
    if len(body) > MAX_PARTS and sum(map(body.count, (b",", b"[", b"{"))) > MAX_PARTS:
        detail = f"The body of a request may have at most {MAX_PARTS:,} commas and opening brackets; send it in parts"
        raise Refusal(413, "Request too large", detail)


def _wrong(form: type[BaseModel], error: ValidationError, body: bytes) -> Refusal:
    first = error.errors(include_url=False)[0]
    sent = None if first["type"] == "json_invalid" else from_json(body or b"{}")
    members = [field.alias or name for name, field in form.model_fields.items()]
    return invalid(worded(first, sent, members))
