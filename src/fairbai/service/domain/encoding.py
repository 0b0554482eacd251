"""JSON and times as text: how the service writes them, and how it reads what clients send."""

import json
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from fairbai.service.domain.refusals import Refusal, invalid
from fairbai.service.domain.wording import worded

Model = TypeVar("Model", bound=BaseModel)

encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def decode(text: str) -> dict[str, Any]:
    """The object that ``encode`` wrote."""
    found: dict[str, Any] = json.loads(text)
    return found


def iso(at: float) -> str:
    """Seconds since 1970 as an ISO 8601 time in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def timestamp(text: str) -> float:
    """What ``iso`` wrote, in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


def parse(form: type[Model], body: bytes) -> Model:
    """A request body as the given form; raises a Refusal that names the first invalid member."""
    try:
        return form.model_validate_json(body or b"{}")
    except ValidationError as error:
        raise _wrong(form, error, body) from None


def _wrong(form: type[BaseModel], error: ValidationError, body: bytes) -> Refusal:
    first = error.errors(include_url=False)[0]
    sent = None if first["type"] == "json_invalid" else from_json(body or b"{}")
    members = [field.alias or name for name, field in form.model_fields.items()]
    return invalid(worded(first, sent, members))
