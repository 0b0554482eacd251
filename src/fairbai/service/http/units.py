"""Calls about units, such as visitors. They are in bodies and never in addresses, which end up in logs of others."""

from typing import Annotated, Self

from fastapi import APIRouter, Request
from pydantic import ConfigDict, Field, model_validator
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from fairbai.service.domain import answers
from fairbai.service.domain.encoding import parse
from fairbai.service.http.calls import call
from fairbai.service.http.fields import MAX_TICKETS, Label, Reward, Unit, wrong
from fairbai.service.http.forms import Form
from fairbai.service.http.responses import QuickAnswer, json_answer
from fairbai.service.http.routes import service_of

router = APIRouter(prefix="/v1", tags=["units"])


class Earning(Form):
    """What a unit earned at once."""

    unit: Unit
    value: Reward
    event_id: Label = Field(description="the client's name for the event, which counts once")


class Earnings(Form):
    """What a unit earned, or a list of what units earned, of which those of unknown units are left out."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"unit": "user-7", "value": 19.9, "event_id": "order-4711"},
                {"rewards": [{"unit": "user-7", "value": 19.9, "event_id": "order-4711"}]},
            ]
        }
    )

    unit: Unit | None = None
    value: Reward | None = None
    event_id: Label | None = None
    rewards: Annotated[list[Earning], Field(min_length=1, max_length=MAX_TICKETS)] | None = None

    @model_validator(mode="after")
    def _one_or_many(self) -> Self:
        given = [member is not None for member in (self.unit, self.value, self.event_id)]
        if any(given) if self.rewards is not None else not all(given):
            raise wrong("either unit, value and event_id must be given, or rewards, a list of these")
        return self

    def listed(self) -> list[tuple[str, float, str]]:
        """Unit, value and id of every event."""
        if self.rewards is not None:
            return [(one.unit, one.value, one.event_id) for one in self.rewards]
        assert self.unit is not None
        assert self.value is not None
        assert self.event_id is not None
        return [(self.unit, self.value, self.event_id)]


class OneUnit(Form):
    """A unit."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"unit": "user-7"}]})

    unit: Unit


@router.post("/experiments/{experiment}/rewards", response_model=answers.Earned)
@call(role="writer", body=Earnings)
async def rewards(request: Request, experiment: str) -> Response:
    """What units earned, counted when `report_after` is over for each. Sending the same event again changes nothing."""
    form = parse(Earnings, await request.body())
    lenient = form.rewards is not None
    found = await service_of(request).visits.earn(experiment, form.listed(), lenient, request.scope["key"])
    return QuickAnswer(found)


@router.post("/experiments/{experiment}/units/erase", response_model=answers.Erased)
@call(body=OneUnit)
async def erase(request: Request, experiment: str) -> Response:
    """Forget who a unit was. Its trial and its rewards stay; if it comes again, it is new."""
    form, service = parse(OneUnit, await request.body()), service_of(request)
    erased = await service.visits.erase(experiment, form.unit, request.scope["key"])
    await run_in_threadpool(service.wiper.wipe)
    return json_answer({"erased": erased})
