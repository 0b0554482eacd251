"""OpenFeature's remote evaluation protocol (OFREP): an experiment is a flag, and a targeting key is a unit.

Programs in any language evaluate flags with the SDKs of OpenFeature. A unit that is evaluated for the first time is
assigned, as by ``ask``, and gets the same variant ever after. docs/howto/openfeature.md explains the choices.
"""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from pydantic import ConfigDict, Field
from pydantic_core import from_json
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from fairbai.service.domain.encoding import check_parts, encode
from fairbai.service.domain.refusals import Refusal, failed
from fairbai.service.http import etags
from fairbai.service.http.accounts import InProject, chosen_project
from fairbai.service.http.calls import call
from fairbai.service.http.fields import MAX_UNIT
from fairbai.service.http.forms import Form
from fairbai.service.http.ofrep_answers import (
    BulkFailure,
    Code,
    Evaluated,
    EvaluatedFlags,
    Failure,
    Metadata,
    NotFound,
    Reason,
    Why,
)
from fairbai.service.http.responses import QuickAnswer, json_answer
from fairbai.service.http.routes import service_of
from fairbai.service.reading.flags import Flag
from fairbai.service.storage.failures import TROUBLE

CODE_DEFAULT = "default"  # the variant where the program's own default is used: some clients need one
REASONS: dict[Why, Reason] = {"not_enrolled": "SPLIT", "winner": "STATIC", "leader": "STATIC"}  # else DISABLED
Responses = dict[int | str, dict[str, Any]]
ONE_FAILS: Responses = {400: {"model": Failure}, 404: {"model": NotFound}, 500: {"model": Failure}}
ALL_FAIL: Responses = {304: {}, **{code: {"model": BulkFailure} for code in (400, 404, 500)}}

router = APIRouter(prefix="/ofrep/v1/evaluate/flags", tags=["OpenFeature"])
log = logging.getLogger("fairbai.service")


class Context(Form):
    """Who a flag is evaluated for. Other members are allowed, and not used."""

    model_config = ConfigDict(extra="allow")

    unit: Annotated[
        str, Field(alias="targetingKey", min_length=1, max_length=MAX_UNIT, description="the unit, such as a visitor")
    ]


class Evaluation(Form):
    """A flag, or all of them, to evaluate."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [{"context": {"targetingKey": "user-7"}}]})

    context: Context


class WrongContextError(Exception):
    """A request without a unit."""

    def __init__(self, code: Code, detail: str) -> None:
        super().__init__(detail)
        self.code: Code = code


# --- the two calls ----------------------------------------------------------------------------------------------


@router.post("", response_model=EvaluatedFlags, responses=ALL_FAIL)
@call(role="writer", body=Evaluation)
async def evaluate_all(
    request: Request, project: InProject = None, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """All flags of a project for a unit. It is assigned to the experiments with ``bulk`` only."""
    return await _answering(_all(request, project, if_none_match))


@router.post("/{key}", response_model=Evaluated, responses=ONE_FAILS)
@call(role="writer", body=Evaluation)
async def evaluate(request: Request, key: str, project: InProject = None) -> Response:
    """One flag for a unit, which is assigned if it is new."""
    return await _answering(_one(request, key, project), key)


async def _one(request: Request, key: str, project: str | None) -> Response:
    unit = unit_of(await request.body())
    flag = await service_of(request).flags.find(await chosen_project(request, project), key)
    if flag is None:
        raise Refusal(404, "No such flag", f"No experiment has the flag {key!r}")
    return QuickAnswer(await _evaluated(request, flag, unit, assigns=True))


async def _all(request: Request, project: str | None, if_none_match: str | None) -> Response:
    unit = unit_of(await request.body())
    flags = await service_of(request).flags.all(await chosen_project(request, project))
    found = await asyncio.gather(*(_one_of_all(request, flag, unit) for flag in flags))
    answer: EvaluatedFlags = {"flags": [one for one in found if one is not None]}
    tag = f'"{hashlib.sha256(encode(answer).encode()).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if etags.known(tag, if_none_match):
        return Response(status_code=304, headers=headers)
    return json_answer(answer, headers=headers)


# --- a unit and its variant -------------------------------------------------------------------------------------


def unit_of(body: bytes) -> str:
    """The unit of a request."""
    check_parts(body)
    try:
        form = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise WrongContextError("PARSE_ERROR", f"the body must be JSON: {error}") from None
    context = form.get("context") if isinstance(form, dict) else None
    if not isinstance(context, dict):
        raise WrongContextError("INVALID_CONTEXT", 'the body must be an object with an object "context"')
    unit = context.get("targetingKey")
    if unit is None or unit == "":
        detail = "context.targetingKey must be given: it is the unit, such as a visitor, that keeps its variant"
        raise WrongContextError("TARGETING_KEY_MISSING", detail)
    if not isinstance(unit, str) or len(unit) > MAX_UNIT:
        detail = f"context.targetingKey must be text of at most {MAX_UNIT} characters"
        raise WrongContextError("INVALID_CONTEXT", detail)
    return unit


async def _evaluated(request: Request, flag: Flag, unit: str, assigns: bool) -> Evaluated:
    """What a unit gets: its own arm, or that of the winner, or what is shown without an experiment."""
    visits, actor = service_of(request).visits, request.scope["key"]
    try:
        if assigns:
            found = await visits.assign(flag.experiment, unit, serve_winner=True, actor=actor)
        elif (known := await visits.known(flag.experiment, unit)) is not None:
            found = known
        else:
            return _without_trial(flag, "not_assigned")
    except Refusal as refusal:
        if refusal.status != 409:
            raise
        return _without_trial(flag, "paused" if refusal.extra.get("paused") else "over")
    reason, arm, ticket = found["reason"], found["arm"], found["ticket"]
    if reason == "assigned" or reason == "returning":
        assert arm is not None
        assert ticket is not None
        own: Metadata = {"experiment": flag.experiment, "ticket": ticket}
        return {"key": flag.key, "value": flag.values[arm], "variant": arm, "reason": "SPLIT", "metadata": own}
    return _without_trial(flag, reason, arm, ticket)


def _without_trial(flag: Flag, why: Why, arm: str | None = None, ticket: str | None = None) -> Evaluated:
    """What a unit gets that has no trial: the winner, or else the control, or else the program's own default."""
    shown = flag.control if arm is None else arm
    found: Evaluated = {
        "key": flag.key,
        "variant": CODE_DEFAULT if shown is None else shown,
        "reason": REASONS.get(why, "DISABLED"),
        "metadata": {"experiment": flag.experiment, "why": why},
    }
    if shown is not None:
        found["value"] = flag.values[shown]
    if ticket is not None:
        found["metadata"]["ticket"] = ticket
    return found


async def _one_of_all(request: Request, flag: Flag, unit: str) -> Evaluated | Failure | None:
    """One of all flags; None if its experiment was just deleted."""
    try:
        return await _evaluated(request, flag, unit, assigns=flag.bulk)
    except Refusal as refusal:
        if refusal.status == 404:
            return None
        return {"key": flag.key, "errorCode": "GENERAL", "errorDetails": refusal.detail}


# --- failures ---------------------------------------------------------------------------------------------------


async def _answering(work: Awaitable[Response], key: str | None = None) -> Response:
    """A response; failures that the protocol describes are told as it says, and all others as everywhere."""
    try:
        return await work
    except WrongContextError as error:
        return _failure(400, error.code, str(error), key)
    except Refusal as refusal:
        if refusal.status != 404:
            raise
        return _failure(404, "FLAG_NOT_FOUND", refusal.detail, key)
    except (ClientDisconnect, *TROUBLE):
        raise
    except Exception:
        log.exception("the evaluation of a flag failed")
        return _failure(500, "GENERAL", failed().detail, key)


def _failure(status: int, code: str, details: str, key: str | None) -> Response:
    told: dict[str, Any] = {} if key is None else {"key": key}
    return json_answer({**told, "errorCode": code, "errorDetails": details}, status)
