"""The calls that only the dashboard makes."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Scope

from fairbai import __version__
from fairbai.service.domain import audit_answers, status_answers
from fairbai.service.domain.encoding import parse
from fairbai.service.domain.refusals import Refusal
from fairbai.service.http import answers as http_answers
from fairbai.service.http import forms, planning, sessions, views
from fairbai.service.http.calls import call
from fairbai.service.http.heavy import heavy_of
from fairbai.service.http.replay import Replays
from fairbai.service.http.responses import json_answer
from fairbai.service.http.routes import service_of
from fairbai.service.http.streams import Streams
from fairbai.service.storage.keyring import Keyring
from fairbai.service.storage.projects import DEFAULT_PROJECT

router = APIRouter(prefix="/v1", tags=["dashboard"])
HTML: dict[str, Any] = {"content": {"text/html": {"schema": {"type": "string"}}}}


@router.get("/session", response_model=http_answers.Session)
async def session(request: Request) -> Response:
    """The key of this request, and what a page needs to use it."""
    service, scope = service_of(request), request.scope
    headers = dict(scope["headers"])
    key = await sessions.identify(service.keyring, scope, headers)
    return json_answer(
        {
            "key": key.id,
            "role": key.role,
            "name": key.name,
            "project": key.project,
            "csrf": sessions.csrf_token(sessions.token_of(scope, headers)[0]),
            "version": __version__,
            "demo": service.demo if key.project in (None, DEFAULT_PROJECT) else None,
        },
        headers={"Cache-Control": "no-store"},
    )


@router.post("/plan", response_model=http_answers.Planned)
@call(role="reader", body=forms.Plan)
async def plan(request: Request) -> Response:
    """Estimate what an experiment will cost: its trials, the price of its floors, the shares of its arms."""
    form = parse(forms.Plan, await request.body())
    key = request.scope.get("key") or request.scope["role"]
    return json_answer(await heavy_of(request).plan(key, lambda: planning.planned(form)))


# --- one experiment ---------------------------------------------------------------------------------------------


@router.get("/experiments/{experiment}/figures", response_model=status_answers.Figures)
async def figures(request: Request, experiment: str) -> Response:
    """The charts of an experiment, for plotly."""
    reader = service_of(request).reader
    return json_answer(await heavy_of(request).run(lambda: views.figures(reader, experiment)))


@router.get("/experiments/{experiment}/summary", response_model=status_answers.Summary)
async def summary(request: Request, experiment: str) -> Response:
    """The experiment in one sentence."""
    reader = service_of(request).reader
    return json_answer(await heavy_of(request).run(lambda: views.summary(reader, experiment)))


@router.get("/experiments/{experiment}/audit", response_model=audit_answers.Audit)
async def audit(request: Request, experiment: str) -> Response:
    """What was guaranteed, and whether it was kept."""
    replay, reader = replays_of(request).result(experiment), service_of(request).reader
    return json_answer(await heavy_of(request).run(lambda: views.audit(reader, experiment, replay)))


@router.get("/experiments/{experiment}/report", response_class=Response, responses={200: HTML})
async def report(request: Request, experiment: str) -> Response:
    """A report as one self-contained HTML file."""
    replay, reader = replays_of(request).result(experiment), service_of(request).reader
    page = await heavy_of(request).run(lambda: views.report(reader, experiment, replay))
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
    keyring, scope = service_of(request).keyring, request.scope
    return await streams.open(experiment, scope["key"], lambda: _good(keyring, scope))


async def _good(keyring: Keyring, scope: Scope) -> bool:
    """Whether a key or a session is still valid; as for requests, remembered for a few seconds."""
    try:
        return bool(await sessions.identify(keyring, scope, dict(scope["headers"])))
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
