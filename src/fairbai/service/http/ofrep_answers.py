"""What the remote evaluation protocol of OpenFeature answers."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from fairbai.service.domain.answers import exact

Reason = Literal["STATIC", "TARGETING_MATCH", "SPLIT", "DISABLED", "UNKNOWN"]
Code = Literal["PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT", "GENERAL"]
Why = Literal["winner", "leader", "not_enrolled", "switched_off", "paused", "over", "not_assigned"]


@exact
class Metadata(TypedDict):
    """What else is known about an evaluation."""

    experiment: Annotated[str, Field(description="the id of the experiment behind the flag")]
    ticket: NotRequired[Annotated[str, Field(description="of the unit's trial; `winner` or `leader` after the end")]]
    why: NotRequired[Annotated[Why, Field(description="why the unit has no trial of its own")]]


@exact
class Evaluated(TypedDict):
    """A flag's value for a unit; without a value, the program uses its own default."""

    key: str
    value: NotRequired[Annotated[Any, Field(description="boolean, string, number or object")]]
    variant: Annotated[str, Field(description="the label of the arm; `default` without a value")]
    reason: Reason
    metadata: Metadata


@exact
class Failure(TypedDict):
    """Why a flag cannot be evaluated."""

    key: str
    errorCode: Code
    errorDetails: str


@exact
class NotFound(TypedDict):
    """There is no such flag."""

    key: str
    errorCode: Literal["FLAG_NOT_FOUND"]
    errorDetails: str


@exact
class BulkFailure(TypedDict):
    """Why no flag can be evaluated."""

    errorCode: Code | Literal["FLAG_NOT_FOUND"]
    errorDetails: str


@exact
class EvaluatedFlags(TypedDict):
    """All flags."""

    flags: list[Evaluated | Failure]
