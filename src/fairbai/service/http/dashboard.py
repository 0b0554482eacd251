"""The calls that only the dashboard makes."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from fairbai import __version__
from fairbai.service.domain import answers
from fairbai.service.domain.encoding import parse
from fairbai.service.domain.refusals import Refusal
from fairbai.service.http import answers as http_answers
from fairbai.service.http import forms, planning, sessions, views
from fairbai.service.http.calls import call
from fairbai.service.http.replay import Replays
from fairbai.service.http.routes import json_answer, service_of
from fairbai.service.http.streams import Streams
from fairbai.service.storage.keys import Keyring, find_key, key_id

router = APIRouter(prefix="/v1", tags=["dashboard"])
HTML: dict[str, Any] = {"content": {"text/html": {"schema": {"type": "string"}}}}


@router.get("/session", response_model=http_answers.Session)
async def session(request: Request) -> Response:
    """The key of this request, and what a page needs to use it."""
    service = service_of(request)
    token, _ = sessions.token_of(dict(request.scope["headers"]))
    key = await run_in_threadpool(find_key, service.database, key_id(token))
    assert key is not None  # or the request would have been refused
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


@router.post("/plan", response_model=http_answers.Planned)
@call(role="reader", body=forms.Plan)
async def plan(request: Request) -> Response:
    """Estimate what an experiment will cost: its trials, the price of its floors, the shares of its arms."""
    form = parse(forms.Plan, await request.body())
    return json_answer(await run_in_threadpool(planning.planned, form))


# --- one experiment ---------------------------------------------------------------------------------------------


@router.get("/experiments/{experiment}/figures", response_model=answers.Figures)
async def figures(request: Request, experiment: str) -> Response:
    """The charts of an experiment, for plotly."""
    return json_answer(await run_in_threadpool(views.figures, service_of(request).reader, experiment))


@router.get("/experiments/{experiment}/summary", response_model=answers.Summary)
async def summary(request: Request, experiment: str) -> Response:
    """The experiment in one sentence."""
    return json_answer(await run_in_threadpool(views.summary, service_of(request).reader, experiment))


@router.get("/experiments/{experiment}/audit", response_model=answers.Audit)
async def audit(request: Request, experiment: str) -> Response:
    """What was guaranteed, and whether it was kept."""
    replay = replays_of(request).result(experiment)
    return json_answer(await run_in_threadpool(views.audit, service_of(request).reader, experiment, replay))


@router.get("/experiments/{experiment}/report", response_class=Response, responses={200: HTML})
async def report(request: Request, experiment: str) -> Response:
    """A report as one self-contained HTML file."""
    replay = replays_of(request).result(experiment)
    page = await run_in_threadpool(views.report, service_of(request).reader, experiment, replay)
    headers = {
        "Content-Disposition": f'attachment; filename="fairbai-{experiment}.html"',
        "Content-Security-Policy": "sandbox",  # it is a file to download, not one of our pages
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return Response(page, headers=headers, media_type="text/html; charset=utf-8")


@router.get("/experiments/{experiment}/stream", include_in_schema=False)
async def stream(request: Request, experiment: str) -> Response:
    """The status whenever it changes, as server-sent events."""
    streams: Streams = request.app.state.streams
    keyring = service_of(request).keyring
    token, _ = sessions.token_of(dict(request.scope["headers"]))
    address = request.client.host if request.client else ""
    return await streams.open(experiment, lambda: _good(keyring, token, address))


async def _good(keyring: Keyring, token: str, address: str) -> bool:
    """Whether a key is still valid; as for requests, remembered for a few seconds."""
    try:
        return bool(keyring.recall(token) or await run_in_threadpool(keyring.role, token, address))
    except Refusal:
        return False


@router.get("/experiments/{experiment}/audit/replay", include_in_schema=False)
async def replay(request: Request, experiment: str) -> Response:
    """Replay the log: lines of JSON with the progress, then with what differs."""
    await run_in_threadpool(service_of(request).labels, experiment)  # 404 before anything begins
    return replays_of(request).begin(experiment)


def replays_of(request: Request) -> Replays:
    """The replays of the worker that a request came to."""
    replays: Replays = request.app.state.replays
    return replays
