"""JSON and times as text: how the service writes them, and how it reads what clients send."""

import json
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from fairbai.service.domain.refusals import invalid

Model = TypeVar("Model", bound=BaseModel)

encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def decode(text: str) -> dict[str, Any]:
    """The object that ``encode`` wrote."""
    found: dict[str, Any] = json.loads(text)
    return found


def iso(at: float) -> str:
    """Seconds since 1970 as an ISO 8601 time in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse(form: type[Model], body: bytes) -> Model:
    """A request body as the given form; raises a Refusal that names the first invalid member."""
    try:
        return form.model_validate_json(body or b"{}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "body"
        raise invalid(f"{place}: {first['msg']}") from None
