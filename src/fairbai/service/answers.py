"""What answers hold; OpenAPI shows it. The service writes them by hand, and the tests compare."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    """A JSON object with exactly these members."""

    model_config = ConfigDict(extra="forbid")


class Answer(Shape):
    """Where an experiment stands."""

    decided: bool
    stopped: bool
    recommendation: str | None = Field(description="null before every arm has a reward")


class Created(Shape):
    """An experiment, as it was begun."""

    id: str
    name: str
    arms: list[str]
    delta: float
    family: dict[str, Any]
    rates: dict[str, Any]
    sampling: dict[str, Any]
    stopping: dict[str, Any]
    settle: bool
    seed: int
    lease: float | None


class Listed(Answer):
    """A line of the list."""

    id: str
    name: str
    created_at: str
    closed: bool
    assigned: int
    observed: int


class List(Shape):
    """A page of the list."""

    experiments: list[Listed]
    next: str | None = Field(description="what to give as `after` for the following page")


class Arm(Shape):
    """An arm of a status."""

    arm: str
    assigned: int
    observed: int
    pending: int
    mean: float | None
    interval: list[float | None] = Field(min_length=2, max_length=2)
    share: float
    floor: float


class Status(Answer):
    """All that is known of an experiment."""

    id: str
    name: str
    created_at: str
    version: int
    config: dict[str, Any]
    trials: int
    observed: int
    pending: int
    expired: int
    late: int
    arms: list[Arm]
    glr: float | None
    threshold: float | None
    proved: bool
    closed: bool
    expected_trials_to_go: float | None


class Ticket(Shape):
    """A trial to make."""

    ticket: str
    arm: str


class Asked(Shape):
    """Trials to make."""

    tickets: list[Ticket]
    expires_at: str | None
    winner: bool


class Told(Answer):
    """What became of rewards."""

    accepted: int
    counted: int
    late: int


class Reported(Answer):
    """What became of a batch."""

    accepted: int
    counted: int


class Policy(Shape):
    """Shares for the next trials."""

    version: int
    trials: int
    seconds: float
    probabilities: dict[str, float]


class Point(Shape):
    """A point of the history."""

    trials: int
    at: str
    observed: int
    shares: list[float]
    means: list[float | None]
    glr: float | None
    threshold: float | None


class History(Shape):
    """How an experiment went."""

    arms: list[str]
    points: list[Point]


class Session(Shape):
    """Whose key a request had."""

    role: Literal["reader", "writer", "admin"]
    name: str
    csrf: str = Field(description="the header X-CSRF-Token of requests that change something by the cookie")
    version: str = Field(description="of fairbai")
    demo: str | None = Field(description="the id of the experiment that plays by itself")


class PlannedArm(Shape):
    """An arm of a plan."""

    arm: str
    mean: float
    floor: float
    ceiling: float
    share: float


class PlannedTrials(Shape):
    """Expected trials, or days."""

    heuristic: float
    proved: float
    unfair: float = Field(description="with the proved rule, without floors")


class Price(Shape):
    """What the floors cost."""

    trials: float
    ratio: float


class Planned(Shape):
    """What an experiment will cost, about."""

    best: str
    allocation: list[PlannedArm]
    trials: PlannedTrials
    price: Price
    days: PlannedTrials | None
    figures: dict[str, dict[str, Any]] = Field(description="for plotly: price and allocation")
    experiment: dict[str, Any] = Field(description="what to send to POST /v1/experiments, but for its name")


class Health(Shape):
    """That all is well."""

    status: Literal["ok", "ready"]


class Problem(BaseModel):
    """What went wrong: the problem details of RFC 9457. Some problems have more members."""

    title: str
    status: int
    detail: str
