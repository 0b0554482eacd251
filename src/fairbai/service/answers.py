"""What answers hold, for the OpenAPI document; the service writes them without these classes, and tests compare."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Form(BaseModel):
    """A JSON object with exactly these members."""

    model_config = ConfigDict(extra="forbid")


class Created(Form):
    """An experiment as it was begun, with all defaults filled in."""

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


class Verdict(Form):
    """How an experiment stands."""

    decided: bool = Field(description="whether the answer was found")
    stopped: bool = Field(description="whether no more arms are given out")
    recommendation: str | None = Field(description="the best arm so far")


class Listed(Verdict):
    """An experiment in a list."""

    id: str
    name: str
    created_at: str
    closed: bool
    assigned: int
    observed: int


class Experiments(Form):
    """A page of the list."""

    experiments: list[Listed]
    next: str | None = Field(description="`after` of the next page; null on the last one")


class Arm(Form):
    """What is known of an arm."""

    arm: str
    assigned: int
    observed: int
    pending: int
    mean: float | None
    interval: list[float | None] = Field(description="holds at all times at once; null where there is no bound")
    share: float
    floor: float


class Status(Verdict):
    """All that is known of an experiment."""

    id: str
    name: str
    created_at: str
    version: int = Field(description="how many events its log has")
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


class Ticket(Form):
    """A trial that was given out."""

    ticket: str
    arm: str


class Tickets(Form):
    """Trials that were given out."""

    tickets: list[Ticket]
    expires_at: str | None = Field(description="when their rewards are no longer waited for")
    winner: bool = Field(description="whether these are the winner, after the stop")


class Taken(Verdict):
    """Rewards that were taken."""

    accepted: int
    counted: int = Field(description="those that were new")
    late: int


class Counted(Verdict):
    """A batch that was taken."""

    accepted: int
    counted: int


class Policy(Form):
    """Shares of the next trials."""

    version: int
    trials: int
    seconds: float
    probabilities: dict[str, float]


class Point(Form):
    """An experiment at some time."""

    trials: int
    at: str
    observed: int
    shares: list[float]
    means: list[float | None]
    glr: float | None
    threshold: float | None


class History(Form):
    """An experiment over time."""

    arms: list[str]
    points: list[Point]


class Problem(BaseModel):
    """Why a request was refused, as in RFC 9457; some have further members."""

    title: str
    status: int
    detail: str


class Health(Form):
    """How a server is."""

    status: str
