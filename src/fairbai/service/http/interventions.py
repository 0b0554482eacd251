"""Calls for people who run experiments: pause, resume, switch an arm off, void wrong rewards, look at webhooks."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field
from sqlalchemy import Row
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from fairbai.service.domain import answers, interventions, operations
from fairbai.service.domain.encoding import decode, iso, parse
from fairbai.service.domain.refusals import Refusal, unavailable
from fairbai.service.domain.tally import LogChangedError, Tally
from fairbai.service.domain.tickets import Claim
from fairbai.service.http.answers import Deliveries, Delivery
from fairbai.service.http.calls import call
from fairbai.service.http.fields import MAX_TICKETS, Label
from fairbai.service.http.forms import Form
from fairbai.service.http.heavy import heavy_of
from fairbai.service.http.responses import json_answer
from fairbai.service.http.routes import service_of
from fairbai.service.reading.reader import row_of
from fairbai.service.storage import deliveries
from fairbai.service.storage.database import Database
from fairbai.service.storage.logs import recount

router = APIRouter(prefix="/v1", tags=["interventions"])

PASSES = 3  # over a log: each but the first reads only what was appended during the one before it
ATTEMPTS = 5  # to void

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
    heavy, actor = heavy_of(request), actor_of(request)

    async def attempt() -> answers.Voided:
        before = await heavy.run(lambda: _read_log(service.database, experiment, numbers))
        operation = interventions.Void(experiment, None, numbers, form.reason, tokens, before, actor=actor)
        return await service.writer.submit(operation)

    async with heavy.alone(experiment):  # of several at once, each but the first would read in vain
        return json_answer(await _again_if_outdated(attempt))


async def _again_if_outdated(attempt: Callable[[], Awaitable[answers.Voided]]) -> answers.Voided:
    """What a void returns; another worker may void, too."""
    for _ in range(ATTEMPTS - 1):
        try:
            return await attempt()
        except Refusal as refusal:
            if refusal.detail != interventions.OUTDATED:
                raise
    return await attempt()


def _claimed(ticket: str) -> Claim:
    """A ticket as its client knows it, or its number, as it is in the export of the log."""
    claim = operations.read_ticket(ticket)
    if isinstance(claim, str):
        raise operations.no_such_ticket(ticket)
    return claim


def _read_log(database: Database, experiment: str, numbers: list[int]) -> Tally:
    """Read a log here, so that the writer, for whom everybody waits, has only the end of it to read."""
    tally = None
    for _ in range(PASSES):
        row = row_of(database, experiment)
        try:
            with database.reader.connect() as connection:
                tally = recount(connection, experiment, decode(row.config), frozenset(numbers), row.version, tally)
        except LogChangedError:
            raise unavailable(interventions.OUTDATED) from None
    assert tally is not None
    return tally


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
