"""What the service answers about experiments: checked by mypy where it is made, and shown by OpenAPI."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

State = Literal["running", "decided", "closed"]

exact = with_config(ConfigDict(extra="forbid"))  # in OpenAPI: no further members


@exact
class Answer(TypedDict):
    """Where an experiment stands."""

    decided: bool
    stopped: bool
    recommendation: Annotated[
        str | None,
        Field(
            description="the answer once decided, before that the arm that is ahead; null until every arm has a reward"
        ),
    ]


# --- trials -----------------------------------------------------------------------------------------------------


@exact
class Ticket(TypedDict):
    """One trial to run."""

    ticket: str
    arm: str
    probability: NotRequired[
        Annotated[
            float | None,
            Field(description="with which the arm was drawn; with design_based only, and null after the decision"),
        ]
    ]


@exact
class Asked(TypedDict):
    """The trials to run next."""

    tickets: list[Ticket]
    expires_at: str | None
    winner: Annotated[bool, Field(description="whether these are tickets of the winner: decided and stopped")]


@exact
class Reported(Answer):
    """How much of a batch was counted."""

    accepted: int
    counted: int


@exact
class Told(Reported):
    """How many rewards were counted."""

    late: int


@exact
class Policy(TypedDict):
    """Shares for the next trials."""

    version: int
    trials: int
    seconds: float
    probabilities: dict[str, float]


# --- experiments ------------------------------------------------------------------------------------------------


@exact
class Created(TypedDict):
    """A new experiment with all its settings."""

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
    report_after: NotRequired[float]
    silence: NotRequired[float | None]
    cycle: NotRequired[str]
    min_duration: NotRequired[str]


@exact
class Listed(Answer):
    """One row of the list."""

    id: str
    name: str
    created_at: str
    closed: bool
    state: State
    arms: int
    trials: int
    observed: int
    progress: Annotated[
        float | None,
        Field(description="from 0 to 1 (decided); null until every arm has a reward, and if closed without a decision"),
    ]
    floors_kept: Annotated[bool | None, Field(description="null while the only guarantees are for the stop")]


@exact
class List(TypedDict):
    """One page of the list."""

    experiments: list[Listed]
    next: Annotated[str | None, Field(description="pass it as `after` to get the next page")]


@exact
class Arm(TypedDict):
    """One arm of a status."""

    arm: str
    assigned: int
    observed: int
    pending: int
    mean: float | None
    interval: Annotated[
        list[float | None],
        Field(min_length=2, max_length=2, description="of the mean; of the average if there is one"),
    ]
    average: NotRequired[
        Annotated[
            float | None,
            Field(description="with design_based: the estimated average over the experiment so far"),
        ]
    ]
    behind_leader: NotRequired[
        Annotated[
            list[float],
            Field(min_length=2, max_length=2, description="interval for the leader's average less that of this arm"),
        ]
    ]
    share: float
    floor: float
    ceiling: float


@exact
class Doubt(TypedDict):
    """What the rewards contradict the declared family by."""

    kind: Literal["family"]
    arm: Annotated[str | None, Field(description="null: all arms together")]
    reason: str
    trial: Annotated[int, Field(description="trials assigned when it was found")]
    after_decision: Annotated[bool, Field(description="found after the decision, whose `proved` it leaves as it was")]


@exact
class Status(Answer):
    """Everything that is known about an experiment."""

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
    held: Annotated[int, Field(description="rewards that were told and are not counted yet: those of `report_after`")]
    arms: list[Arm]
    glr: float | None
    threshold: float | None
    progress: Annotated[
        float | None,
        Field(description="GLR over threshold, 1 once decided; null as in the list"),
    ]
    proved: Annotated[
        bool, Field(description="whether the error of the decision is; false if doubted, or closed without a decision")
    ]
    doubts: Annotated[list[Doubt], Field(description="oldest first; one before the decision makes `proved` false")]
    hints: Annotated[list[str], Field(description="what would suit the rewards better, and what could not be tested")]
    closed: Annotated[bool, Field(description="whether it was ended by hand")]
    decides_at: NotRequired[
        Annotated[str | None, Field(description="with cycles: when it may next decide; null once it has, or is closed")]
    ]
    enough: NotRequired[
        Annotated[bool, Field(description="with cycles: whether the evidence would be enough if it decided now")]
    ]
    estimand: NotRequired[Annotated[str, Field(description="what the answer is about, if means may drift")]]
    expected_trials_to_go: Annotated[float | None, Field(description="null while it is too early to tell")]


@exact
class Point(TypedDict):
    """One point of the history."""

    trials: int
    at: str
    observed: int
    shares: list[float]
    means: list[float | None]
    glr: float | None
    threshold: float | None
    averages: NotRequired[
        Annotated[list[float | None], Field(description="with design_based: of each arm over the experiment so far")]
    ]
    bands: NotRequired[Annotated[list[list[float]], Field(description="an interval for each of these averages")]]


@exact
class History(TypedDict):
    """An experiment over time."""

    arms: list[str]
    points: list[Point]


# --- the dashboard ----------------------------------------------------------------------------------------------


@exact
class Figures(TypedDict):
    """Charts as plotly takes them."""

    version: int
    figures: Annotated[
        dict[str, dict[str, Any]], Field(description="shares, means, evidence and trials; with design_based, averages")
    ]


@exact
class Summary(TypedDict):
    """An experiment in one sentence, and the numbers in it."""

    sentence: str
    state: State
    decided: bool
    best: Annotated[str | None, Field(description="as `recommendation` in the status")]
    target_confidence: Annotated[
        float, Field(description="1 − delta; a decision has it if `proved`, nothing else does")
    ]
    proved: bool
    trials: int
    floors_met: Annotated[bool, Field(description="whether every arm has its floor now, to less than one trial")]
    fairness_trials: Annotated[float | None, Field(description="estimated cost of the floors; null until decided")]


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
    missing: Annotated[float, Field(description="trials that the arm lacks for its floor now")]
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
    """A group of arms with a floor."""

    arms: list[str]
    floor: float
    share: float
    behind: float
    behind_allowed: float | None


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
    promise: Promise
    settings: dict[str, Any]
    arms: list[AuditedArm]
    groups: list[AuditedGroup]
    kept: Annotated[bool | None, Field(description="null while the only guarantees are for the stop")]
    verdict: Annotated[str, Field(description="`kept` in words")]
    findings: list[str]
    doubts: list[Doubt]
    replay: Annotated[Replayed | None, Field(description="null if this worker has not replayed the log")]
