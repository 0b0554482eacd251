"""The bodies of requests, with their limits, as OpenAPI shows them."""

import secrets
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from fairbai.experiment.doubts import RATIO_LEVEL
from fairbai.problems.short_forms import FAMILY_MISSING
from fairbai.service.domain.cycles import seconds
from fairbai.service.domain.deadlines import FORMAT
from fairbai.service.domain.flags import checked_values
from fairbai.service.domain.tickets import MAX_TICKET
from fairbai.service.domain.wording import SEED
from fairbai.service.http.factors import written_out
from fairbai.service.http.fields import (
    DAY,
    MAX_ARMS,
    MAX_LEASE,
    MAX_PLANNED,
    MAX_SEED,
    MAX_TICKETS,
    TOLERANCE,
    Deadline,
    Duration,
    Flag,
    Kind,
    Label,
    Rates,
    Retention,
    Reward,
    Tolerance,
    Unit,
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


class Experiment(Asking):
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
        AfterValidator(different),
    ] = Field(description="the labels of the arms; with factors, they are the combinations of the levels")
    factors: dict[Label, list[Label]] | None = Field(
        None, description="levels by factor: the arms are all combinations, and means are sums of effects of levels"
    )
    interactions: list[list[Label]] | None = Field(
        None, description="with factors: pairs of factors whose levels may strengthen or weaken each other"
    )
    delta: Annotated[float, Field(gt=0.0, lt=0.5)]
    rates: Rates = 0.0
    sampling: Kind | None = Field(None, description="fair_top_two if omitted; with design_based, posterior_fair")
    stopping: Kind = "mixture"
    settle: Settle = True
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
    enrol: Annotated[float, Field(gt=0.0, le=1.0)] = Field(
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
        return form if self.seed is not None else {**form, "seed": secrets.randbelow(MAX_SEED)}


class Plan(Asking):
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
        AfterValidator(different),
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

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"n": 1}, {"n": 20, "serve_winner": True}, {"unit": "user-7"}]}
    )

    n: Annotated[int, Field(ge=1, le=MAX_TICKETS), Whole] = 1
    serve_winner: bool = Field(
        False, description="after the stop, return the winner (or the arm that was ahead) instead of an error"
    )
    unit: Unit | None = Field(
        None, description="who the trial is for, such as a visitor: later it gets the same arm and the same ticket"
    )

    @model_validator(mode="after")
    def _one_trial(self) -> Self:
        if self.unit is not None and self.n != 1:
            raise wrong(f"n must be 1 with a unit, which has one trial, got {self.n}")
        return self


class Rewarded(Form):
    """A ticket and its reward."""

    ticket: Annotated[str, Field(min_length=1, max_length=MAX_TICKET)]
    reward: Reward


class Tell(Form):
    """Rewards; all of them are counted, or none."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"rewards": [{"ticket": "0-Qm8c0V2yLtA", "reward": 1.0}]}]}
    )

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
        None, description="sums of the squared rewards; for bounded rewards with design_based, and unknown variances"
    )
    policy: Annotated[int, Field(ge=0, le=2**53), Whole] | None = Field(
        None, description="the version of the policy that the arms were drawn from; for design_based"
    )
    seed: Annotated[str, Field(pattern=SEED)] | None = Field(
        None, description="the hash seed of that policy, to refuse batches of a history that was lost"
    )
    draws: Literal["random", "quota"] = Field(
        "random", description="how arms were chosen by the policy; design_based takes random draws only"
    )

    @model_validator(mode="after")
    def _nothing_is_left_out(self) -> Self:
        """An arm whose rewards are not told must not count as one without success."""
        for name, given in (("sums", self.sums), ("squares", self.squares)):
            for label, pulls in self.pulls.items():
                if given is not None and pulls > 0 and label not in given:
                    raise wrong(f"{name} must have an entry for every arm with pulls, got none for {label!r}")
        return self
