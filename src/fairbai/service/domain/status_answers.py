"""What the service answers about one experiment: its status, its history, its charts, and a summary."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from fairbai.service.domain.answers import Answer, Goal, State, exact
from fairbai.service.domain.finals import EndedBy

Confidence = Annotated[
    float | None,
    Field(description="how sure it is that the recommendation is right, if one stops now; null: nothing is proved"),
]
Candidates = Annotated[
    list[str] | None, Field(description="the arms that are not excluded; null where `confidence` is")
]


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
        Field(min_length=2, max_length=2, description="of the mean, or of the average if there is one; null: no bound"),
    ]
    candidate: Annotated[bool | None, Field(description="whether it may still be the answer; null: nothing is proved")]
    average: NotRequired[
        Annotated[
            float | None,
            Field(description="with design_based: the estimated average over the experiment so far"),
        ]
    ]
    behind_leader: NotRequired[
        Annotated[
            list[float],
            Field(
                min_length=2,
                max_length=2,
                description="interval for the leader's average less that of this arm; all of them and the answer are "
                "right with probability 1 − delta, or 1 − 2 delta with a tolerance in percent",
            ),
        ]
    ]
    share: float
    floor: float
    ceiling: float
    available: NotRequired[
        Annotated[int, Field(description="trials in which it could be chosen, if some arm could not in all of them")]
    ]


@exact
class Effect(TypedDict):
    """What a level of a factor adds to the average combination; or a pair of levels, beyond what each of them adds."""

    factor: str
    level: str
    effect: Annotated[float | None, Field(description="null: nothing is known yet")]
    interval: Annotated[
        list[float | None],
        Field(min_length=2, max_length=2, description="holds for all effects at all times; null: no bound"),
    ]
    share: float
    floor: float


@exact
class Doubt(TypedDict):
    """What the rewards contradict the declared family by, or the trials the probabilities of their draws."""

    kind: Annotated[
        Literal["family", "fit", "sample_ratio"], Field(description="fit: means are not linear in the features")
    ]
    arm: Annotated[str | None, Field(description="null: all arms together")]
    reason: str
    trial: Annotated[int, Field(description="trials assigned when it was found")]
    after_decision: Annotated[bool, Field(description="found after the decision, whose `proved` it leaves as it was")]


@exact
class SampleRatio(TypedDict):
    """Whether arms come as often as they are drawn."""

    p_value: Annotated[float, Field(description="valid at all times, however often one looks")]
    level: Annotated[float, Field(description="the p-value at or below which it is a doubt")]
    mismatch: bool
    sentence: str


@exact
class Wait(TypedDict):
    """Which ticket rewards wait for, where tickets are counted in the order of assignment."""

    rewards: Annotated[int, Field(description="how many wait: they were told, and are not counted yet")]
    ticket: Annotated[int, Field(description="the number of the oldest ticket that is not counted")]
    arm: str
    reward: Annotated[float | None, Field(description="what its unit has earned so far; null: it has no reward")]
    since: Annotated[str | None, Field(description="when it was given out")]
    until: Annotated[str | None, Field(description="when it is counted at the latest")]
    counts_as: Annotated[float | None, Field(description="its reward then, if none comes before")]
    sentence: str


@exact
class VoidedThen(TypedDict):
    """Rewards that were voided in one call."""

    tickets: Annotated[int, Field(description="how many")]
    trial: Annotated[int, Field(description="trials assigned by then")]
    reason: str
    after_decision: Annotated[bool, Field(description="or after the end; it then changed nothing else")]
    told_before: Annotated[int, Field(description="how many of them had been told before the decision")]


@exact
class SwitchedOffThen(TypedDict):
    """An arm that was switched off."""

    arm: str
    trial: Annotated[int, Field(description="trials assigned by then")]
    reason: str


@exact
class Waiting(TypedDict):
    """Batches that wait until all of their policy count."""

    policies: int
    trials: int
    counted_at: Annotated[str, Field(description="when those of the first of these policies are counted")]


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
    waits: Annotated[
        Wait | None,
        Field(
            description="with design_based: the ticket that held rewards wait for; null: none waits, or it is decided"
        ),
    ]
    voided: Annotated[int, Field(description="rewards that were voided")]
    voids: Annotated[list[VoidedThen], Field(description="oldest first")]
    switched_off: Annotated[list[SwitchedOffThen], Field(description="arms that get no further tickets")]
    paused: Annotated[bool, Field(description="whether no tickets are given out until it is resumed")]
    arms: list[Arm]
    glr: float | None
    threshold: float | None
    progress: Annotated[
        float | None,
        Field(description="GLR over threshold, 1 once decided; null as in the list"),
    ]
    proved: Annotated[
        bool, Field(description="whether the error of the decision is; false if doubted, or ended without a decision")
    ]
    doubts: Annotated[list[Doubt], Field(description="oldest first; one before the decision makes `proved` false")]
    sample_ratio: Annotated[
        SampleRatio | None, Field(description="null where the stop does not rest on the probabilities of draws")
    ]
    hints: Annotated[list[str], Field(description="what would suit the rewards better, and what could not be tested")]
    closed: Annotated[bool, Field(description="whether it was ended by hand")]
    state: State
    sentence: Annotated[str, Field(description="how sure it is now, or what it ended with")]
    question: Annotated[str, Field(description="what is asked of the arms: goal, tolerance and control")]
    confidence: Confidence
    target_confidence: Annotated[float, Field(description="1 − delta: what a decision needs")]
    candidates: Candidates
    goal: Annotated[Goal, Field(description="max: higher is better; min: lower is better")]
    tolerance: Annotated[float | str | None, Field(description="a number, or percent of the best such as 10%")]
    control: str | None
    max_trials: int | None
    deadline: str | None
    decides_at: NotRequired[
        Annotated[str | None, Field(description="with cycles: when it may next decide; null once it has, or is closed")]
    ]
    enough: NotRequired[
        Annotated[bool, Field(description="with cycles: whether the evidence would be enough if it decided now")]
    ]
    effects: NotRequired[Annotated[list[Effect], Field(description="with factors: what every level adds")]]
    units: NotRequired[Annotated[int, Field(description="how many units are stored, each with its ticket")]]
    waiting: NotRequired[Annotated[Waiting, Field(description="batches that are not counted yet")]]
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
    confidence: NotRequired[Confidence]
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
        dict[str, dict[str, Any]],
        Field(description="shares, means, evidence and trials; with design_based, averages; with factors, effects"),
    ]


@exact
class LearningCost(TypedDict):
    """What trials of other arms than the best forwent so far, in the unit of the rewards."""

    estimate: Annotated[float, Field(description="trials times estimated gaps, over all arms")]
    low: Annotated[float | None, Field(description="the least that the intervals of the means allow")]
    high: Annotated[float | None, Field(description="the most that they allow; null while there is no limit")]
    floors: Annotated[float, Field(description="what the floors alone would forgo in as many trials")]


class Summary(TypedDict):
    """An experiment in a few words, and the numbers in them."""

    sentence: Annotated[str, Field(description="`headline`, `more`, and for which ticket rewards wait")]
    headline: Annotated[str, Field(description="the answer or, without one, the `sentence` of the status")]
    more: Annotated[str, Field(description="what else there is to say; may be empty")]
    state: State
    decided: bool
    ended_by: EndedBy | None
    best: Annotated[str | None, Field(description="as `recommendation` in the status")]
    confidence: Confidence
    target_confidence: Annotated[float, Field(description="1 − delta; a decision has it if `proved`")]
    candidates: Candidates
    proved: bool
    trials: int
    floors_met: Annotated[bool, Field(description="whether every arm has its floor now, to less than one trial")]
    fairness_trials: Annotated[float | None, Field(description="estimated cost of the floors; null until decided")]
    learning_cost: Annotated[
        LearningCost | None, Field(description="null before every arm has a reward, and where means may change")
    ]
