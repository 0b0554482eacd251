"""What the service answers about the guarantees of experiments."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from fairbai.service.domain.answers import State, exact
from fairbai.service.domain.finals import EndedBy
from fairbai.service.domain.status_answers import Candidates, Confidence, Doubt


@exact
class Promise(TypedDict):
    """What is guaranteed."""

    delta: float
    proved: Annotated[bool, Field(description="as in the status")]
    shares: Annotated[Literal["every trial", "the stop"], Field(description="when the shares are guaranteed")]
    sentences: list[str]


@exact
class AuditedArm(TypedDict):
    """One arm of an audit; `missing` and what follows it are in trials."""

    arm: str
    assigned: int
    observed: int
    mean: float | None
    share: float
    floor: float
    ceiling: float
    available: NotRequired[
        Annotated[int, Field(description="trials in which it could be chosen, if some arm could not in all of them")]
    ]
    missing: Annotated[
        float, Field(description="trials that the arm lacks now for its floor, of those in which it was available")
    ]
    behind: Annotated[
        float | None, Field(description="furthest behind the floor before the decision; null: not tracked")
    ]
    behind_allowed: Annotated[float | None, Field(description="the proved bound on `behind`; null: there is none")]
    above: Annotated[
        float | None, Field(description="furthest above the ceiling before the decision; null: not tracked")
    ]
    above_allowed: Annotated[float | None, Field(description="the proved bound on `above`; null: there is none")]


@exact
class AuditedGroup(TypedDict):
    """A group of arms with a floor or a ceiling; `behind` and what follows it are in trials, as for an arm."""

    arms: list[str]
    floor: float
    ceiling: Annotated[float, Field(description="1: there is none")]
    share: float
    behind: float
    behind_allowed: float | None
    above: Annotated[float | None, Field(description="null: no group has a ceiling")]
    above_allowed: float | None


@exact
class Replayed(TypedDict):
    """The last replay of a log; of an ``earlier`` revision, only counts, sums and tickets are compared."""

    checked: int
    of: int
    differences: list[str]
    earlier: bool
    seconds: float
    at: str


@exact
class Audit(TypedDict):
    """What was guaranteed, and whether it was kept."""

    id: str
    name: str
    state: State
    created_at: str
    version: int
    library: str
    trials: int
    observed: int
    decided_after: int | None
    recommendation: str | None
    ended_by: EndedBy | None
    paused: bool
    confidence: Confidence
    candidates: Candidates
    question: str
    promise: Promise
    settings: dict[str, Any]
    arms: list[AuditedArm]
    groups: list[AuditedGroup]
    kept: Annotated[bool | None, Field(description="null while the only guarantees are for the stop")]
    verdict: Annotated[str, Field(description="`kept` in words")]
    findings: list[str]
    doubts: list[Doubt]
    replay: Annotated[Replayed | None, Field(description="null if this worker has not replayed the log")]
