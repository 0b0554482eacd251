"""The calls that the pages make, beside those of all clients."""

from fastapi import APIRouter, Request
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from fairbai import __version__
from fairbai.service import answers, forms, planning, sessions, trials
from fairbai.service.keys import find_key, key_id
from fairbai.service.routes import described_body, json_answer, service_of

router = APIRouter(prefix="/v1", tags=["dashboard"])
PLAN = TypeAdapter(forms.Plan)


@router.get("/session", response_model=answers.Session)
async def session(request: Request) -> Response:
    """Whose key this is, and what a page needs to know to use it."""
    service = service_of(request)
    token, _ = sessions.token_of(dict(request.scope["headers"]))
    key = await run_in_threadpool(find_key, service.database, key_id(token))
    assert key is not None  # the gate has seen it
    return json_answer(
        {
            "role": key.role,
            "name": key.name,
            "csrf": sessions.csrf_token(token),
            "version": __version__,
            "demo": service.demo,
        },
        headers={"Cache-Control": "no-store"},
    )


@router.post("/plan", response_model=answers.Planned, openapi_extra=described_body("Plan"))
async def plan(request: Request) -> Response:
    """What an experiment will cost, about: its trials, the price of its floors, the shares of its arms."""
    form: forms.Plan = trials.parse(PLAN, await request.body())
    return json_answer(await run_in_threadpool(planning.planned, form))
