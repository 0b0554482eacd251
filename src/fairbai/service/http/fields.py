"""Members that requests have in common, with their limits and what is said about wrong ones."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, PlainValidator, Tag, WithJsonSchema
from pydantic_core import PydanticCustomError

from fairbai.problems.checks import fraction
from fairbai.problems.question import Question
from fairbai.service.domain.cycles import PATTERN, as_duration, checked_retention, in_seconds, seconds
from fairbai.service.domain.deadlines import normal_deadline
from fairbai.service.domain.flags import checked_flag
from fairbai.service.domain.webhooks import MAX_URL, checked_url
from fairbai.service.domain.wording import FLAG, PATTERNS, PRINTABLE

MAX_ARMS = 1_000
MAX_PLANNED = 100  # arms of a plan, which is answered while the user edits it
MAX_TICKETS = 2_000  # in one call; fewer where there are many arms: see domain/costs.py
MAX_LABEL = 200
MAX_UNIT = 500
MAX_REWARD = 1e100
DAY = 86_400.0
MAX_LEASE = 366 * DAY
MAX_SEED = 2**53 - 1  # what every JSON reader represents exactly

Label = Annotated[str, Field(min_length=1, max_length=MAX_LABEL, pattern=PRINTABLE)]
Unit = Annotated[str, Field(min_length=1, max_length=MAX_UNIT)]  # any text: it is hashed
Reward = Annotated[float, Field(ge=-MAX_REWARD, le=MAX_REWARD, allow_inf_nan=False)]
Whole = BeforeValidator(lambda value: _whole(value))  # after the bounds, or the schema would lack them
_named = {"required": ["kind"], "properties": {"kind": {"type": "string"}}}
KIND = 'the name of a kind, or an object with "kind" and its parameters'
Kind = Annotated[
    Annotated[str, Field(max_length=50), Tag("name")]
    | Annotated[
        dict[str, Any], Field(json_schema_extra=_named), AfterValidator(lambda form: _of_kind(form)), Tag("parameters")
    ],
    Discriminator(
        lambda value: {str: "name", dict: "parameters"}.get(type(value)),
        custom_error_type="kind",
        custom_error_message=f"must be {KIND}",
    ),
]
SPAN = {"type": "string", "pattern": PATTERN}
_span = (
    BeforeValidator(lambda value: _duration(value)),
    WithJsonSchema({"anyOf": [SPAN, {"type": "integer", "minimum": 1, "maximum": MAX_LEASE}]}),
)
Duration = Annotated[str, Field(pattern=PATTERN), AfterValidator(lambda value: _within_a_year(value)), *_span]
Retention = Annotated[str, Field(pattern=PATTERN), AfterValidator(checked_retention), *_span]
Seconds = Annotated[
    float,
    Field(gt=0.0, le=MAX_LEASE, allow_inf_nan=False),
    BeforeValidator(in_seconds),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": MAX_LEASE}, SPAN]}),
]
Flag = Annotated[str, Field(pattern=FLAG), AfterValidator(checked_flag)]
Webhook = Annotated[str, Field(max_length=MAX_URL), AfterValidator(checked_url)]
PERCENT = {"type": "string", "pattern": r"^[0-9]{1,2}(\.[0-9]{1,9})? ?%$"}


def _or_percent(**limits: float) -> Any:
    """For numbers that may be percentages such as "12%"; ``limits`` are those of JSON Schema."""
    return (BeforeValidator(fraction), WithJsonSchema({"anyOf": [{"type": "number", **limits}, PERCENT]}))


Mean = Annotated[Reward, *_or_percent(minimum=-MAX_REWARD, maximum=MAX_REWARD)]
Delta = Annotated[float, Field(gt=0.0, lt=0.5), *_or_percent(exclusiveMinimum=0.0, exclusiveMaximum=0.5)]
Floor = Annotated[float, Field(ge=0.0, le=1.0), *_or_percent(minimum=0.0, maximum=1.0)]
FLOORS = "one floor for all arms, one per arm, floors by label (with factors: by factor), or a kind with its parameters"
SHARE = {"anyOf": [{"type": "number", "minimum": 0.0, "maximum": 1.0}, PERCENT]}
BY_LABEL = {  # levels of factors are written out before the check
    "type": "object",
    "additionalProperties": {"anyOf": [SHARE, {"type": "object", "additionalProperties": SHARE}]},
}
Floors = Annotated[
    Annotated[Floor, Tag("number")]
    | Annotated[list[Floor], Field(max_length=MAX_ARMS), Tag("list")]
    | Annotated[dict[Label, Floor], WithJsonSchema(BY_LABEL), Tag("labels")]
    | Annotated[Kind, Tag("kind")],
    Discriminator(lambda value: _tag(value), custom_error_type="floors", custom_error_message=f"must be {FLOORS}"),
    Field(description=FLOORS),
]


TOLERANCE = "a positive number in the unit of the rewards, or percent of the best such as 10%"
Tolerance = Annotated[
    float | str,
    PlainValidator(lambda value: _tolerance(value)),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_REWARD},
                {"type": "string", "pattern": r"^[0-9]{1,2}(\.[0-9]{1,6})? ?%$"},
            ]
        }
    ),
]
Deadline = Annotated[
    str,
    Field(max_length=40),
    AfterValidator(lambda value: _deadline(value)),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


def wrong(message: str) -> PydanticCustomError:
    """An error in our own words: a sentence, or what a member "must" be, which is told with its name and value."""
    return PydanticCustomError("wrong", "{message}", {"message": message})


def _tolerance(value: Any) -> Any:
    given = float(value) if type(value) is int and abs(value) <= MAX_REWARD else value
    try:
        if type(given) is float and given > MAX_REWARD:
            raise ValueError
        if type(given) in (float, str):
            return Question(tolerance=given).tolerance
    except ValueError:
        pass
    raise wrong(f"must be {TOLERANCE}")


def _deadline(value: str) -> str:
    try:
        return normal_deadline(value)
    except ValueError as error:
        raise wrong(f"deadline {error}") from None


def _whole(value: Any) -> Any:
    """In JSON, 1.0 is a whole number too."""
    return int(value) if type(value) is float and value.is_integer() else value


def _duration(value: Any) -> Any:
    found = as_duration(value)
    if isinstance(found, int | float):
        raise wrong(f"must be {PATTERNS[PATTERN]}")
    return found


def _within_a_year(duration: str) -> str:
    if seconds(duration) > MAX_LEASE:
        raise wrong("must be at most 366d")
    return duration


def _tag(floors: Any) -> str | None:
    """Which of the forms of floors a value is meant to be, so that an error is about that form."""
    if isinstance(floors, dict):
        return "kind" if isinstance(floors.get("kind"), str) else "labels"
    floors = fraction(floors)
    tags = {float: "number", int: "number", list: "list", str: "kind"}
    return tags.get(type(floors))


def _of_kind(form: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(form.get("kind"), str):
        raise wrong(f"must be {KIND}")
    return form


def kind_of(form: Any) -> Any:
    """The name of a family or rule in its long or short form."""
    return form.get("kind") if isinstance(form, dict) else form


def different(labels: list[str]) -> list[str]:
    """Labels, if no two are the same."""
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise wrong(f"arms must have different labels, got {twice!r} twice")
    return labels
