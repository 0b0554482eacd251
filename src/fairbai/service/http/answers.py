"""Answers that only HTTP has; ``domain/answers.py`` has those about experiments."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from fairbai.compiling.tier import Tier
from fairbai.service.domain.answers import exact

Role = Literal["reader", "writer", "admin"]


class Shape(BaseModel):
    """A JSON object with exactly these members."""

    model_config = ConfigDict(extra="forbid")


@exact
class Session(TypedDict):
    """The key that a request came with."""

    key: Annotated[str, Field(description="its id")]
    role: Role
    name: str
    project: Annotated[str | None, Field(description="null: a server admin, who sees all projects")]
    csrf: Annotated[str, Field(description="send it as X-CSRF-Token with requests that use the cookie")]
    version: Annotated[str, Field(description="the version of fairbai")]
    demo: Annotated[str | None, Field(description="the id of the demo experiment, if there is one")]


@exact
class Key(TypedDict):
    """A key, without its secret."""

    id: str
    role: Role
    name: str
    project: Annotated[str | None, Field(description="null: a server admin, who sees all projects")]
    created_at: str
    expires_at: Annotated[str | None, Field(description="null: never")]
    used_at: Annotated[str | None, Field(description="the last use, to about a minute; null: not used yet")]
    revoked_at: str | None


@exact
class Keys(TypedDict):
    """Keys, oldest first."""

    keys: list[Key]


@exact
class CreatedKey(TypedDict):
    """A key that was just created."""

    key: Annotated[str, Field(description="in full: it is shown only once")]
    id: str


@exact
class Revoked(TypedDict):
    """A key that was revoked."""

    revoked: Annotated[str, Field(description="its id")]


@exact
class Project(TypedDict):
    """A project."""

    name: str


@exact
class Projects(TypedDict):
    """The projects that a key can see."""

    projects: list[Project]


@exact
class Deleted(TypedDict):
    """What is kept of an experiment that was deleted."""

    id: str
    project: str
    name: str
    deleted_at: str
    deleted_by: Annotated[str | None, Field(description="the id of a key; null: the server, after its retention")]
    events: Annotated[int, Field(description="how many its log had")]
    head: Annotated[str | None, Field(description="the hash of the last of them")]


@exact
class Deletions(TypedDict):
    """Deleted experiments, newest first."""

    deletions: list[Deleted]


@exact
class Delivery(TypedDict):
    """An announcement to a webhook."""

    id: str
    event: Literal["decision", "stop", "doubt", "deadline"]
    at: str
    attempts: int
    delivered_at: str | None
    next_at: Annotated[str | None, Field(description="of the next attempt; null: delivered, or given up")]
    error: Annotated[str | None, Field(description="of the last attempt")]


@exact
class Deliveries(TypedDict):
    """Announcements, newest first."""

    deliveries: list[Delivery]


class PlannedArm(Shape):
    """An arm of a plan."""

    arm: str
    mean: float
    floor: float
    ceiling: float
    share: float


class PlannedLevel(Shape):
    """A level of a factor."""

    factor: str
    level: str
    floor: float
    share: float


class PlannedTrials(Shape):
    """Expected trials, or days."""

    expected: float = Field(description="with the stop of the plan, which everything else belongs to")
    without_floors: float = Field(description="the same, if there were no floors")
    proved: float = Field(description="with the stop that is proved if traffic does not change")
    drift_proof: float | None = Field(description="with the stop design_based; null where it is not possible")
    heuristic: float = Field(description="with the paper's threshold, which is not proved")


class Quantiles(Shape):
    """How long single experiments take, in trials."""

    p10: float
    p50: float
    p90: float
    runs: int = Field(description="simulated experiments that this comes from; 0: an approximation")


class Price(Shape):
    """What the floors cost."""

    trials: float
    ratio: float


class PlannedRegret(Shape):
    """What trials of other arms than the best forgo, in the unit of the rewards."""

    until_decision: float
    floors: float = Field(description="of that what the floors alone forgo")


class Planned(Shape):
    """What an experiment will cost, about."""

    best: str
    allocation: list[PlannedArm]
    levels: list[PlannedLevel] | None = Field(None, description="with factors: every level of every factor")
    stop: Literal["proved", "drift_proof"] = Field(
        description="the stop of the plan: drift_proof for traffic that changes, else the one that ends first"
    )
    trials: PlannedTrials
    quantiles: Quantiles
    regret: PlannedRegret
    price: Price
    days: PlannedTrials | None
    stops: dict[str, dict[str, Any]] = Field(description="the stopping rules by the names in trials")
    figures: dict[str, dict[str, Any]] = Field(description="for plotly: price and allocation")
    proved_if: str = Field(description="the conditions of the proof of this experiment's answer")
    drifts: bool = Field(description="whether the experiment has the stop design_based, for traffic that changes")
    experiment: dict[str, Any] = Field(description="what to send to POST /v1/experiments, but for its name")


@exact
class Health(TypedDict):
    """The service is up."""

    status: Literal["ok"]


@exact
class Readiness(TypedDict):
    """The service works."""

    status: Literal["ready"]
    kernels: Annotated[Tier, Field(description="how the kernels run: compiled, as Python until they are, or always so")]


class Problem(BaseModel):
    """Problem details (RFC 9457). Some problems have more members."""

    title: str
    status: int
    detail: str
    request_id: Annotated[str | None, Field(description="what the server's log calls the request")] = None
