"""The bodies of requests, with their limits, as OpenAPI shows them."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from fairbai.experiment.defaults import drawn_seed
from fairbai.experiment.doubts import RATIO_LEVEL
from fairbai.problems.short_forms import FAMILY_MISSING
from fairbai.service.domain.cycles import seconds
from fairbai.service.domain.deadlines import FORMAT
from fairbai.service.domain.flags import checked_values
from fairbai.service.http.factors import written_out
from fairbai.service.http.fields import (
    DAY,
    MAX_ARMS,
    MAX_PLANNED,
    MAX_SEED,
    TOLERANCE,
    Deadline,
    Delta,
    Duration,
    Flag,
    Floor,
    Floors,
    Kind,
    Label,
    Mean,
    Retention,
    Reward,
    Seconds,
    Tolerance,
    Webhook,
    Whole,
    different,
    kind_of,
    wrong,
)


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
            raise wrong(FAMILY_MISSING.replace("None", "null"))
        return form


class Asking(ForOneFamily):
    """A form that says what is asked of the arms."""

    tolerance: Tolerance | None = Field(None, description=f"how far from the best the answer may be: {TOLERANCE}")
    goal: Literal["max", "min"] = Field("max", description="min if lower is better, such as latency or cost")
    control: Label | None = Field(
        None, description="the arm in use: the answer is an arm that is better than it, or itself; needs a tolerance"
    )

    def question(self) -> dict[str, Any]:
        """What is not as usual."""
        return {
            **({} if self.tolerance is None else {"tolerance": self.tolerance}),
            **({} if self.goal == "max" else {"goal": self.goal}),
            **({} if self.control is None else {"control": self.control}),
        }


class Settling(Form):
    """How to settle learned floors."""

    margin: Annotated[float, Field(ge=0.0, le=1e300, allow_inf_nan=False)] = Field(
        0.0, description="how many standard errors to raise each floor by"
    )
    learn: bool = Field(True, description="whether rewards after the decision still update the floors")


Settle = Annotated[
    Annotated[bool, Tag("switch")] | Annotated[Settling, Tag("parameters")],
    Discriminator(
        lambda value: "switch" if isinstance(value, bool) else "parameters" if _settles(value) else None,
        custom_error_type="settle",
        custom_error_message="must be true, false, or an object with margin and learn",
    ),
]


def _settles(value: Any) -> bool:
    return isinstance(value, dict | Settling)


USUAL_OF_UNITS = {"after_stop": "stay", "enrol": 1.0}


Factors = Annotated[
    dict[Label, list[Label]] | None,
    Field(description="levels by factor: the arms are all combinations, and means are sums of effects of levels"),
]
Interactions = Annotated[
    list[list[Label]] | None,
    Field(description="with factors: pairs of factors whose levels may strengthen or weaken each other"),
]


def _arms_or_factors(examples: list[dict[str, Any]]) -> Callable[[dict[str, Any]], None]:
    """What the schema of a form with arms also says: factors may take their place, and ``rates`` that of floors."""

    def change(schema: dict[str, Any]) -> None:
        schema["required"].remove("arms")
        rates = {**schema["properties"]["floors"], "description": "another name of floors, for those that are learned"}
        schema["properties"]["rates"] = {name: value for name, value in rates.items() if name != "default"}
        with_factors = {"required": ["factors"], "properties": {"factors": {"type": "object"}}}
        schema |= {"anyOf": [{"required": ["arms"]}, with_factors], "not": {"required": ["floors", "rates"]}}
        schema["examples"] = examples

    return change


class Experiment(Asking):
    """A new experiment. Families, floors and rules are named as in the Python library."""

    model_config = ConfigDict(
        json_schema_extra=_arms_or_factors(
            [
                {
                    "name": "checkout button",
                    "arms": ["green", "blue", "red"],
                    "delta": 0.05,
                    "family": "bernoulli",
                    "floors": 0.1,
                    "lease": 3600,
                },
                {
                    "name": "landing page",
                    "factors": {"headline": ["old", "new"], "button": ["buy", "try"]},
                    "delta": 0.05,
                    "family": {"kind": "gaussian", "variance": 0.25},
                    "floors": {"headline": 0.2, "button": {"try": 0.4}},
                },
            ]
        )
    )

    name: Label
    arms: Annotated[
        list[Label],
        Field(min_length=2, max_length=MAX_ARMS, json_schema_extra={"uniqueItems": True}),
        AfterValidator(different),
    ] = Field(description="the labels of the arms; with factors, they are the combinations of the levels")
    factors: Factors = None
    interactions: Interactions = None
    delta: Delta
    floors: Floors = 0.0
    sampling: Kind | None = Field(None, description="fair_top_two if omitted; with design_based, posterior_fair")
    stopping: Kind = "mixture"
    settle: Settle = True
    seed: Annotated[int, Field(ge=0, le=MAX_SEED), Whole] | None = Field(None, description="random if omitted")
    lease: Seconds | None = Field(
        DAY, description="seconds, or a duration such as 12h, until a ticket without a reward expires; null: never"
    )
    report_after: Seconds | None = Field(
        None,
        description="age in seconds, or a duration such as 7d, at which the reward of a ticket is counted, instead of "
        "lease; null: when told",
    )
    silence: Reward | None = Field(
        None, description="with report_after: the reward of a ticket that is silent at that age; null: it is lost"
    )  # with design_based and Bernoulli rewards, a day and 0 by default: see config

    cycle: Duration | None = Field(
        None, description="decide only at the end of whole cycles since the creation, such as 7d: s, m, h, d or w"
    )
    min_duration: Duration | None = Field(None, description="decide nothing before, such as 14d")
    max_trials: Annotated[int, Field(ge=2, le=2**53), Whole] | None = Field(
        None, description="the most tickets that are given out, decided or not"
    )
    deadline: Deadline | None = Field(None, description=f"when it ends, decided or not: {FORMAT}")
    retention: Retention | None = Field(
        None, description="how long after its end it is kept, such as 365d; null: what the server is set to"
    )
    webhook: Webhook | None = Field(
        None, description="an https address that is told of the decision, the stop, the first doubt and the deadline"
    )
    after_stop: Literal["stay", "move"] = Field(
        "stay", description="what units that came before get after the stop: their arm, or the winner"
    )
    enrol: Annotated[Floor, Field(gt=0.0)] = Field(
        1.0, description="the share of the units that take part; the others get no arm, and count nothing"
    )
    earnings: Literal["sum", "last", "max"] | None = Field(
        None, description="what a unit that earns several times has earned; null: max for 0/1 rewards, else sum"
    )
    unit_retention: Retention | None = Field(
        None, description="how long after its assignment a unit is stored, such as 90d; null: what the server is set to"
    )
    flag: Flag | None = Field(
        None,
        description="the key by which OpenFeature evaluates it; no other running experiment has it; null: its id",
    )
    values: dict[Label, Any] | None = Field(
        None,
        description="what OpenFeature returns for each arm: boolean, string, number or object; null: its label",
    )
    bulk: bool = Field(False, description="whether evaluating all flags at once assigns units to it; needs a flag")

    @model_validator(mode="before")
    @classmethod
    def _write_out(cls, form: Any) -> Any:
        return written_out(form)

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
        if self.earnings is not None and self.report_after is None and not self._drawn:
            raise ValueError("earnings needs report_after, the time within which a unit may earn")
        window = DAY if self.report_after is None and self._drawn else self.report_after
        if self.unit_retention is not None and window is not None and seconds(self.unit_retention) < window:
            raise ValueError("unit_retention must not be shorter than report_after, within which units may earn")
        return self

    @model_validator(mode="after")
    def _flag(self) -> Self:
        """A value per arm, and a flag if it is one of all flags."""
        if self.values is not None:
            self.values = checked_values(self.values, self.arms)
        if self.bulk and self.flag is None:
            raise ValueError("bulk needs a flag: the evaluation of all flags at once is of those that have a key")
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
        form |= {"sample_ratio": RATIO_LEVEL} if self._drawn else {}
        absent = {"cycle", "min_duration", "max_trials", "deadline", "tolerance", "control", "retention", "webhook"}
        absent |= {"factors", "interactions", "earnings", "unit_retention", "flag", "values"}
        usual = {name for name in absent if form[name] is None} | ({"goal"} if self.goal == "max" else set())
        usual |= {name for name, value in USUAL_OF_UNITS.items() if form[name] == value}
        usual |= set() if self.bulk else {"bulk"}
        form = {name: value for name, value in form.items() if name not in usual}
        return form if self.seed is not None else {**form, "seed": drawn_seed()}


class Plan(Asking):
    """What you expect of an experiment: the means, or the smallest difference worth detecting."""

    model_config = ConfigDict(
        json_schema_extra=_arms_or_factors(
            [
                {
                    "arms": ["green", "blue", "red"],
                    "means": [0.1, 0.12, 0.1],
                    "delta": 0.05,
                    "family": "bernoulli",
                    "floors": {"green": 0.1, "blue": 0.3},
                    "daily": 5000,
                },
                {"arms": ["a", "b"], "difference": 0.02, "baseline": 0.1, "delta": 0.05, "family": "bernoulli"},
            ]
        )
    )

    arms: Annotated[
        list[Label],
        Field(min_length=2, max_length=MAX_PLANNED, json_schema_extra={"uniqueItems": True}),
        AfterValidator(different),
    ]
    factors: Factors = None
    interactions: Interactions = None
    means: Annotated[list[Mean], Field(min_length=2, max_length=MAX_PLANNED)] | None = None
    effects: dict[Label, dict[Label, Mean]] | None = Field(
        None, description="with factors, instead of means: what each level adds to the baseline, by factor and level"
    )
    difference: Annotated[Mean, Field(gt=0.0)] | None = Field(
        None, description="how much better the last arm is than all others; instead of means"
    )
    baseline: Mean | None = Field(
        None, description="the mean of the other arms; with effects, that of levels that add nothing"
    )
    delta: Delta
    floors: Floors = 0.0
    daily: Annotated[float, Field(ge=1e-6, le=1e12, allow_inf_nan=False)] | None = Field(
        None, description="trials per day, to express the duration in days"
    )
    drifts: bool | None = Field(
        None,
        description="whether traffic changes over time, which needs the stop design_based; null: yes, where possible",
    )

    @model_validator(mode="before")
    @classmethod
    def _write_out(cls, form: Any) -> Any:
        found = written_out(form)
        if isinstance(form, dict) and "stopping" not in form:
            found.pop("stopping", None)  # the plan tunes it
        return found
