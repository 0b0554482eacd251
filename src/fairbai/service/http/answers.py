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
    settle: bool | dict[str, Any]
    seed: int
    lease: float | None


class Listed(Answer):
    """A line of the list."""

    id: str
    name: str
    created_at: str
    closed: bool
    state: Literal["running", "decided", "closed"]
    arms: int
    trials: int
    observed: int
    progress: float | None = Field(description="from 0 to 1, the decision; null before every arm has a reward")
    floors_kept: bool | None = Field(description="null as long as all that is promised is for the stop")


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
    ceiling: float


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
    progress: float | None = Field(description="the GLR over its threshold, 1 when decided; null before all rewards")
    proved: bool
    closed: bool
    expected_trials_to_go: float | None = Field(description="null as long as it is too early to say")


class Ticket(Shape):
    """A trial to make."""

    ticket: str
    arm: str


class Asked(Shape):
    """Trials to make."""

    tickets: list[Ticket]
    expires_at: str | None
    winner: bool


class Reported(Answer):
    """What became of a batch."""

    accepted: int
    counted: int


class Told(Reported):
    """What became of rewards."""

    late: int


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
    without_floors: float = Field(description="with the proved rule, if there were no floors")


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


class Planned(Shape):
    """What an experiment will cost, about."""

    best: str
    allocation: list[PlannedArm]
    trials: PlannedTrials
    quantiles: Quantiles
    price: Price
    days: PlannedTrials | None
    figures: dict[str, dict[str, Any]] = Field(description="for plotly: price and allocation")
    experiment: dict[str, Any] = Field(description="what to send to POST /v1/experiments, but for its name")


class Figures(Shape):
    """Charts, as plotly takes them."""

    version: int
    figures: dict[str, dict[str, Any]] = Field(description="shares, means, evidence and trials")


class Summary(Shape):
    """An experiment in a sentence, and the numbers in it."""

    sentence: str
    state: Literal["running", "decided", "closed"]
    best: str | None
    confidence: float
    proved: bool
    trials: int
    floors_met: bool = Field(description="whether every arm has its floor now, to less than one trial")
    fairness_trials: float | None = Field(description="about what the floors cost; null before the decision")


class Promise(Shape):
    """What is promised."""

    delta: float
    proved: bool
    shares: Literal["every trial", "the stop"] = Field(description="what the promise of shares is for")
    sentences: list[str]


class AuditedArm(Shape):
    """An arm of an audit; all but the first numbers are trials."""

    arm: str
    assigned: int
    observed: int
    mean: float | None
    share: float
    floor: float
    ceiling: float
    missing: float = Field(description="for the floor, now")
    behind: float | None = Field(description="the floor, at most, at any time before the decision; null: not watched")
    behind_allowed: float | None = Field(description="what the rule is proved to stay within; null: nothing is")
    above: float | None = Field(description="the ceiling, in the same sense")
    above_allowed: float | None


class AuditedGroup(Shape):
    """A group of arms with a floor."""

    arms: list[str]
    floor: float
    share: float
    behind: float
    behind_allowed: float | None


class Replayed(Shape):
    """The last replay of a log."""

    checked: int
    of: int
    differences: list[str]
    seconds: float
    at: str


class Audit(Shape):
    """What was promised, and what was kept of it."""

    id: str
    name: str
    state: Literal["running", "decided", "closed"]
    created_at: str
    version: int
    library: str
    trials: int
    observed: int
    decided_after: int | None
    recommendation: str | None
    promise: Promise
    settings: dict[str, Any]
    arms: list[AuditedArm]
    groups: list[AuditedGroup]
    kept: bool | None = Field(description="null as long as all that is promised is for the stop")
    verdict: str = Field(description="the same in words")
    findings: list[str]
    replay: Replayed | None = Field(description="null where this worker has not replayed it")


class Health(Shape):
    """That all is well."""

    status: Literal["ok", "ready"]


class Problem(BaseModel):
    """What went wrong: the problem details of RFC 9457. Some problems have more members."""

    title: str
    status: int
    detail: str
