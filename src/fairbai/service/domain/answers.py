"""What the service answers about experiments: checked by mypy where it is made, and shown by OpenAPI."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from fairbai.service.domain.finals import EndedBy

State = Literal["running", "decided", "stopped", "closed"]

Goal = Literal["max", "min"]
Earnings = Literal["sum", "last", "max"]
UnitReason = Literal["assigned", "returning", "winner", "leader", "not_enrolled", "switched_off"]
Head = Annotated[
    str | None,
    Field(
        description="number and hash of the last event of the log: keep it for `fairbai verify --head`; "
        "null if an earlier version wrote that event"
    ),
]

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
    ended_by: Annotated[EndedBy | None, Field(description="why no more tickets are given out; null while they are")]


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
    reason: NotRequired[
        Annotated[
            UnitReason,
            Field(
                description="with `unit`: why it gets this; without a ticket if it is not enrolled, or if its arm is "
                "switched off"
            ),
        ]
    ]


class Assigned(TypedDict):
    """What a unit gets: one trial for good, or an arm without a trial, or neither."""

    ticket: str | None
    arm: str | None
    probability: NotRequired[float | None]
    expires_at: str | None
    reason: UnitReason


@exact
class Closed(Answer):
    """Where an experiment stands at its end."""

    head: Head


@exact
class Reported(Closed):
    """How much of a batch was counted."""

    accepted: int
    counted: int


@exact
class Batched(Reported):
    """How much of a batch was counted, and when it counts."""

    counted_at: Annotated[
        str | None,
        Field(description="with design_based: when it counts, with all batches of its policy; null: at once"),
    ]


@exact
class Told(Reported):
    """How many rewards were counted."""

    late: int


@exact
class Earned(Told):
    """How many earnings were added to what is counted when the window of their units is over."""

    ignored: Annotated[
        int,
        Field(
            description="of units that are not enrolled, came in a pause or after the end, "
            "see the winner, or whose arm is switched off"
        ),
    ]
    unknown: Annotated[int, Field(description="in a list: of units that never asked, or were erased")]


@exact
class Erased(TypedDict):
    """How many units were erased: 0 if the unit is not stored."""

    erased: int


@exact
class Voided(Answer):
    """How many rewards were voided now."""

    voided: int


@exact
class Paused(Answer):
    """Whether tickets are given out."""

    paused: bool


@exact
class SwitchedOff(Answer):
    """The arms that are switched off."""

    switched_off: list[str]


@exact
class Policy(TypedDict):
    """Shares for the next trials."""

    version: int
    trials: int
    seconds: Annotated[float, Field(description="how long a policy stays the same, unless the experiment decides")]
    until: Annotated[str, Field(description="when the next one is published")]
    arms: Annotated[list[str], Field(description="in the order in which units are assigned by a hash")]
    probabilities: dict[str, float]
    seed: Annotated[str, Field(description="of the hash by which edges assign units; 32 hexadecimal digits")]
    counted_at: NotRequired[
        Annotated[str, Field(description="with design_based: when its batches count, all at once; later ones do not")]
    ]


@exact
class Proof(TypedDict):
    """How far the log of an experiment goes."""

    head: Head


# --- experiments ------------------------------------------------------------------------------------------------


@exact
class Created(TypedDict):
    """A new experiment with all its settings."""

    id: str
    name: str
    arms: list[str]
    delta: float
    family: dict[str, Any]
    floors: dict[str, Any]
    sampling: dict[str, Any]
    stopping: dict[str, Any]
    settle: bool | dict[str, Any]
    seed: int
    lease: float | None
    report_after: NotRequired[float]
    silence: NotRequired[float | None]
    sample_ratio: NotRequired[Annotated[float, Field(description="the level of the sample-ratio check")]]
    cycle: NotRequired[str]
    min_duration: NotRequired[str]
    tolerance: NotRequired[float | str]
    goal: NotRequired[Goal]
    control: NotRequired[str]
    max_trials: NotRequired[int]
    deadline: NotRequired[Annotated[str, Field(description="in UTC")]]
    retention: NotRequired[str]
    webhook: NotRequired[str]
    after_stop: NotRequired[Literal["stay", "move"]]
    enrol: NotRequired[float]
    earnings: NotRequired[Earnings]
    unit_retention: NotRequired[str]
    flag: NotRequired[str]
    values: NotRequired[dict[str, Any]]
    bulk: NotRequired[bool]


@exact
class Listed(Answer):
    """One row of the list."""

    id: str
    project: str
    name: str
    created_at: str
    closed: bool
    state: State
    arms: int
    trials: int
    observed: int
    progress: Annotated[
        float | None,
        Field(
            description="from 0 to 1 (decided); null until every arm has a reward, and after an end without a decision"
        ),
    ]
    confidence: Annotated[
        float | None, Field(description="as in the status, at most 5 % of the trials ago; null: nothing is proved")
    ]
    floors_kept: Annotated[bool | None, Field(description="null while the only guarantees are for the stop")]
    paused: bool


@exact
class List(TypedDict):
    """One page of the list."""

    experiments: list[Listed]
    next: Annotated[str | None, Field(description="pass it as `after` to get the next page")]
