"""Calls for people who run experiments: pause, resume, switch an arm off, void wrong rewards, look at webhooks."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field
from sqlalchemy import Row
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from fairbai.service.domain import answers, interventions, operations
from fairbai.service.domain.encoding import decode, iso, parse
from fairbai.service.domain.tally import Tally
from fairbai.service.domain.tickets import Claim
from fairbai.service.http.answers import Deliveries, Delivery
from fairbai.service.http.calls import call
from fairbai.service.http.fields import MAX_TICKETS, Label
from fairbai.service.http.forms import Form
from fairbai.service.http.routes import json_answer, service_of
from fairbai.service.reading.reader import row_of
from fairbai.service.storage import deliveries
from fairbai.service.storage.database import Database
from fairbai.service.storage.logs import recount

router = APIRouter(prefix="/v1", tags=["interventions"])

Reason = Annotated[Label, Field(description="for the log and the audit")]


class SwitchOff(Form):
    """An arm that is broken."""

    arm: Label
    reason: Reason


class Void(Form):
    """Tickets whose rewards were wrong."""

    tickets: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=100)]], Field(min_length=1, max_length=MAX_TICKETS)
    ]
    reason: Reason


def actor_of(request: Request) -> str | None:
    """The id of the key that a request came with."""
    found: str | None = request.scope.get("key")
    return found


@router.post("/experiments/{experiment}/pause", response_model=answers.Paused)
async def pause(request: Request, experiment: str) -> Response:
    """Give out no tickets until it is resumed. Rewards are still counted, and may decide; deadlines pass."""
    operation = interventions.Pause(experiment, actor=actor_of(request))
    return json_answer(await service_of(request).writer.submit(operation))


@router.post("/experiments/{experiment}/resume", response_model=answers.Paused)
async def resume(request: Request, experiment: str) -> Response:
    """Give out tickets again."""
    operation = interventions.Resume(experiment, actor=actor_of(request))
    return json_answer(await service_of(request).writer.submit(operation))


@router.post("/experiments/{experiment}/switch-off", response_model=answers.SwitchedOff)
@call(body=SwitchOff)
async def switch_off(request: Request, experiment: str) -> Response:
    """Give out no further tickets of an arm. The answer is then the best of the others, which keep their floors."""
    form = parse(SwitchOff, await request.body())
    operation = interventions.SwitchOff(experiment, None, form.arm, form.reason, actor=actor_of(request))
    return json_answer(await service_of(request).writer.submit(operation))


@router.post("/experiments/{experiment}/void", response_model=answers.Voided)
@call(body=Void)
async def void(request: Request, experiment: str) -> Response:
    """Take rewards out that were wrong, all or none. After a decision it is recorded, and changes nothing else."""
    form = parse(Void, await request.body())
    service, claims = service_of(request), [_claimed(ticket) for ticket in form.tickets]
    numbers, tokens = [claim.number for claim in claims], [claim.token for claim in claims]
    before = await run_in_threadpool(_read_log, service.database, experiment, numbers)
    operation = interventions.Void(experiment, None, numbers, form.reason, tokens, before, actor=actor_of(request))
    return json_answer(await service.writer.submit(operation))


def _claimed(ticket: str) -> Claim:
    """A ticket as its client knows it, or its number, as it is in the export of the log."""
    claim = operations.read_ticket(ticket)
    if isinstance(claim, str):
        raise operations.no_such_ticket(ticket)
    return claim


def _read_log(database: Database, experiment: str, numbers: list[int]) -> Tally:
    """Read a log here, so that the writer, for whom everybody waits, has only the end of it to read."""
    row = row_of(database, experiment)
    with database.reader.connect() as connection:
        return recount(connection, experiment, decode(row.config), frozenset(numbers), row.version)


@router.get("/experiments/{experiment}/deliveries", response_model=Deliveries)
async def list_deliveries(
    request: Request, experiment: str, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Response:
    """The announcements to the webhook of an experiment, newest first, and what came of each."""
    database = service_of(request).database
    await run_in_threadpool(row_of, database, experiment)
    rows = await run_in_threadpool(deliveries.of_experiment, database, experiment, limit)
    return json_answer({"deliveries": [_delivery(row) for row in rows]})


def _delivery(row: Row[Any]) -> Delivery:
    times = {name: None if (at := getattr(row, name)) is None else iso(at) for name in ("next_at", "delivered_at")}
    return {
        "id": row.id,
        "event": row.kind,
        "at": iso(row.at),
        "attempts": row.attempts,
        "delivered_at": times["delivered_at"],
        "next_at": times["next_at"],
        "error": row.error,
    }
