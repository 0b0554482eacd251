"""Answers that only HTTP has; ``domain/answers.py`` has those about experiments."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from fairbai.compiling.tier import Tier
from fairbai.service.domain.answers import exact


class Shape(BaseModel):
    """A JSON object with exactly these members."""

    model_config = ConfigDict(extra="forbid")


@exact
class Session(TypedDict):
    """The key that a request came with."""

    role: Literal["reader", "writer", "admin"]
    name: str
    csrf: Annotated[str, Field(description="send it as X-CSRF-Token with requests that use the cookie")]
    version: Annotated[str, Field(description="the version of fairbai")]
    demo: Annotated[str | None, Field(description="the id of the demo experiment, if there is one")]


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
    drift_proof: float | None = Field(description="with the stop design_based; null where it is not possible")


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
