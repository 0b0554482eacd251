"""The bodies of requests, with their limits, as OpenAPI shows them."""

import secrets
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from fairbai.problems.short_forms import FAMILY_MISSING
from fairbai.service.domain.cycles import PATTERN, seconds

MAX_ARMS = 1_000
MAX_PLANNED = 100  # arms of a plan, which is answered while the user edits it
MAX_TICKETS = 10_000  # in one call
MAX_LABEL = 200
MAX_REWARD = 1e100
DAY = 86_400.0
MAX_LEASE = 366 * DAY
MAX_SEED = 2**53 - 1  # what every JSON reader represents exactly

# printable text: some databases and terminals reject control characters
Label = Annotated[str, Field(min_length=1, max_length=MAX_LABEL, pattern=r"^[^\x00-\x1f\x7f]+$")]
Reward = Annotated[float, Field(ge=-MAX_REWARD, le=MAX_REWARD, allow_inf_nan=False)]
Whole = BeforeValidator(lambda value: _whole(value))  # after the bounds, or the schema would lack them
_named = {"required": ["kind"], "properties": {"kind": {"type": "string"}}}
Kind = Annotated[str, Field(max_length=50)] | Annotated[dict[str, Any], Field(json_schema_extra=_named)]
Duration = Annotated[str, Field(pattern=PATTERN), AfterValidator(lambda value: _within_a_year(value))]
Floor = Annotated[float, Field(ge=0.0, le=1.0)]
RATES = "one floor for all arms, one per arm, floors by label, or a kind with its parameters"
Rates = Annotated[
    Annotated[Floor, Tag("number")]
    | Annotated[list[Floor], Field(max_length=MAX_ARMS), Tag("list")]
    | Annotated[dict[Label, Floor], Tag("labels")]
    | Annotated[Kind, Tag("kind")],
    Discriminator(lambda value: _tag(value), custom_error_type="rates", custom_error_message=f"must be {RATES}"),
    Field(description=RATES),
]


def _whole(value: Any) -> Any:
    """In JSON, 1.0 is a whole number too."""
    return int(value) if type(value) is float and value.is_integer() else value


def _within_a_year(duration: str) -> str:
    if seconds(duration) > MAX_LEASE:
        raise ValueError(f"a duration must be at most 366d, got {duration}")
    return duration


def _tag(rates: Any) -> str | None:
    """Which of the forms of rates a value is meant to be, so that an error is about that form."""
    if isinstance(rates, dict):
        return "kind" if isinstance(rates.get("kind"), str) else "labels"
    tags = {float: "number", int: "number", list: "list", str: "kind"}
    return tags.get(type(rates))


def kind_of(form: Any) -> Any:
    """The name of a family or rule in its long or short form."""
    return form.get("kind") if isinstance(form, dict) else form


def _different(labels: list[str]) -> list[str]:
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"arms must have different labels, got {twice!r} twice")
    return labels


class Form(BaseModel):
    """A JSON object with exactly these members and types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ForOneFamily(Form):
    """A form that names the reward family: an answer is proved for this family, so there is no default."""

    family: Kind

    @model_validator(mode="before")
    @classmethod
    def _check_family(cls, form: Any) -> Any:
        if isinstance(form, dict) and form.get("family") is None:
            raise PydanticCustomError("missing", FAMILY_MISSING)
        return form


class Settling(Form):
    """How to settle learned floors."""

    margin: Annotated[float, Field(ge=0.0, le=1e300, allow_inf_nan=False)] = Field(
        0.0, description="how many standard errors to raise each floor by"
    )
    learn: bool = Field(True, description="whether rewards after the decision still update the floors")


class Experiment(ForOneFamily):
    """A new experiment. Families, rates and rules are named as in the Python library."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "checkout button",
                    "arms": ["green", "blue", "red"],
                    "delta": 0.05,
                    "family": "bernoulli",
                    "rates": 0.1,
                    "lease": 3600,
                }
            ]
        }
    )

    name: Label
    arms: Annotated[
        list[Label],
        Field(min_length=2, max_length=MAX_ARMS, json_schema_extra={"uniqueItems": True}),
        AfterValidator(_different),
    ]
    delta: Annotated[float, Field(gt=0.0, lt=0.5)]
    rates: Rates = 0.0
    sampling: Kind | None = Field(None, description="fair_top_two if omitted; with design_based, posterior_fair")
    stopping: Kind = "mixture"
    settle: bool | Settling = True
    seed: Annotated[int, Field(ge=0, le=MAX_SEED), Whole] | None = Field(None, description="random if omitted")
    lease: Annotated[float, Field(gt=0.0, le=MAX_LEASE, allow_inf_nan=False)] | None = Field(
        DAY, description="seconds until a ticket without a reward expires; null: never"
    )
    report_after: Annotated[float, Field(gt=0.0, le=MAX_LEASE, allow_inf_nan=False)] | None = Field(
        None, description="age in seconds at which the reward of a ticket is counted, instead of lease; null: when told"
    )
    silence: Reward | None = Field(
        None, description="with report_after: the reward of a ticket that is silent at that age; null: it is lost"
    )  # with design_based and Bernoulli rewards, a day and 0 by default: see config

    cycle: Duration | None = Field(
        None, description="decide only at the end of whole cycles since the creation, such as 7d: s, m, h, d or w"
    )
    min_duration: Duration | None = Field(None, description="decide nothing before, such as 14d")

    @property
    def _drawn(self) -> bool:
        return bool(kind_of(self.stopping) == "design_based")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        """Either a lease or a fixed age."""
        if self.report_after is None and self.lease is not None and "lease" in self.model_fields_set and self._drawn:
            raise ValueError(
                "stopping rule design_based counts every ticket, a silent one too, so that none can expire: give "
                "report_after and silence instead of lease"
            )
        if self.report_after is not None and self.lease is not None and "lease" in self.model_fields_set:
            raise ValueError("report_after takes the place of lease: give one of them")
        if self.silence is not None and self.report_after is None and not self._drawn:
            raise ValueError("silence needs report_after, the age at which a ticket counts as silent")
        return self

    def config(self) -> dict[str, Any]:
        """All settings, with a random seed if none was given."""
        late = {"report_after", "silence"}
        form = self.model_dump(exclude=late if self.report_after is None and not self._drawn else None)
        if self._drawn and kind_of(self.family) == "bernoulli":  # no reward is most likely no success
            form["report_after"] = DAY if self.report_after is None else self.report_after
            form["silence"] = 0.0 if self.silence is None else self.silence
        if form.get("report_after") is not None:
            form["lease"] = None
        for name in ("cycle", "min_duration"):
            if form[name] is None:
                del form[name]
        return form if self.seed is not None else {**form, "seed": secrets.randbelow(MAX_SEED)}


class Plan(ForOneFamily):
    """What you expect of an experiment: the means, or the smallest difference worth detecting."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "arms": ["green", "blue", "red"],
                    "means": [0.1, 0.12, 0.1],
                    "delta": 0.05,
                    "family": "bernoulli",
                    "rates": {"green": 0.1, "blue": 0.3},
                    "daily": 5000,
                },
                {"arms": ["a", "b"], "difference": 0.02, "baseline": 0.1, "delta": 0.05, "family": "bernoulli"},
            ]
        }
    )

    arms: Annotated[
        list[Label],
        Field(min_length=2, max_length=MAX_PLANNED, json_schema_extra={"uniqueItems": True}),
        AfterValidator(_different),
    ]
    means: Annotated[list[Reward], Field(min_length=2, max_length=MAX_PLANNED)] | None = None
    difference: Annotated[Reward, Field(gt=0.0)] | None = Field(
        None, description="how much better the last arm is than all others; instead of means"
    )
    baseline: Reward | None = Field(None, description="the mean of the other arms; with difference")
    delta: Annotated[float, Field(gt=0.0, lt=0.5)]
    rates: Rates = 0.0
    daily: Annotated[float, Field(ge=1e-6, le=1e12, allow_inf_nan=False)] | None = Field(
        None, description="trials per day, to express the duration in days"
    )
    drifts: bool | None = Field(
        None,
        description="whether traffic changes over time, which needs the stop design_based; null: yes, where possible",
    )


class Ask(Form):
    """Tickets for the next n trials."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"n": 1}, {"n": 20, "serve_winner": True}]})

    n: Annotated[int, Field(ge=1, le=MAX_TICKETS), Whole] = 1
    serve_winner: bool = Field(
        False, description="after the stop, return the winner (or the arm that was ahead) instead of an error"
    )


class Rewarded(Form):
    """A ticket and its reward."""

    ticket: Annotated[str, Field(min_length=1, max_length=20)]
    reward: Reward


class Tell(Form):
    """Rewards; all of them are counted, or none."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rewards": [{"ticket": "0", "reward": 1.0}]}]})

    rewards: Annotated[list[Rewarded], Field(min_length=1, max_length=MAX_TICKETS)]


class Batch(Form):
    """Trials that an edge node assigned itself: the number of trials and the sum of rewards per arm."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "batch": "node-7/2025-05-01T10:00",
                    "pulls": {"green": 700, "blue": 300},
                    "sums": {"green": 71.0, "blue": 24.0},
                }
            ]
        }
    )

    batch: Label = Field(description="the client's name for it; sending the same batch again changes nothing")
    pulls: Annotated[dict[str, Annotated[int, Field(ge=0, le=2**53), Whole]], Field(min_length=1, max_length=MAX_ARMS)]
    sums: Annotated[dict[str, Reward], Field(max_length=MAX_ARMS)]
    squares: Annotated[dict[str, Reward], Field(max_length=MAX_ARMS)] | None = Field(
        None, description="sums of the squared rewards; for bounded rewards with design_based"
    )
    policy: Annotated[int, Field(ge=0, le=2**53), Whole] | None = Field(
        None, description="the version of the policy that the arms were drawn from; for design_based"
    )
    draws: Literal["random", "quota"] = Field(
        "random", description="how arms were chosen by the policy; design_based takes random draws only"
    )
