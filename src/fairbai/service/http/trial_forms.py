"""The bodies of requests about trials: ask, tell, and batches of trials that others assigned."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from fairbai.service.domain.tickets import MAX_TICKET
from fairbai.service.domain.wording import SEED
from fairbai.service.http.fields import MAX_ARMS, MAX_TICKETS, Label, Reward, Unit, Whole, wrong
from fairbai.service.http.forms import Form


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
    available: Annotated[list[Label], Field(min_length=1, max_length=MAX_ARMS)] | None = Field(
        None, description="the arms that may be chosen, with the sampling rule virtual_queues; all by default"
    )

    @model_validator(mode="after")
    def _one_trial(self) -> Self:
        if self.unit is not None and self.n != 1:
            raise wrong(f"n must be 1 with a unit, which has one trial, got {self.n}")
        if self.unit is not None and self.available is not None:
            raise wrong("available must be left out with a unit, which keeps its arm")
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
