"""The calls of the API. Bodies are parsed here and not by FastAPI: once, straight from bytes, with our own errors."""

import math
import secrets
import time
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from fairbai.service.domain import answers, asking, edges, operations, status_answers
from fairbai.service.domain.book import Book, new_book
from fairbai.service.domain.chain import head_text
from fairbai.service.domain.encoding import parse, timestamp
from fairbai.service.domain.ranges import check_scale
from fairbai.service.domain.refusals import Refusal, invalid
from fairbai.service.domain.webhooks import check_allowed
from fairbai.service.domain.wording import AN_ID, FLAG, PRINTABLE_OR_EMPTY, by_label
from fairbai.service.http import accounts, etags, forms, trial_forms
from fairbai.service.http.accounts import InProject
from fairbai.service.http.calls import call
from fairbai.service.http.fields import MAX_LABEL
from fairbai.service.http.heavy import Export, heavy_of
from fairbai.service.http.idempotency import key_of
from fairbai.service.http.responses import NOSNIFF, QuickAnswer, json_answer
from fairbai.service.reading import export, listing
from fairbai.service.reading.history import points
from fairbai.service.reading.reader import row_of
from fairbai.service.service import Service
from fairbai.service.storage.projects import DEFAULT_PROJECT
from fairbai.service.writing.ledger import Origin

router = APIRouter(prefix="/v1")
EXPORTS: dict[str, Any] = {"content": {kind.split(";")[0]: {"schema": {}} for kind in export.MEDIA.values()}}


def service_of(request: Request) -> Service:
    """The service behind a request."""
    service: Service = request.app.state.service
    return service


# --- experiments ------------------------------------------------------------------------------------------------


@router.post(
    "/experiments",
    status_code=201,
    response_model=answers.Created,
    tags=["experiments"],
)
@call(body=forms.Experiment, keyed=True)
async def create(request: Request, project: InProject = None) -> Response:
    """Create an experiment, in the project of the key; a server admin may name another than ``default``."""
    form = parse(forms.Experiment, await request.body())
    origin = _origin(request, key_of(request), await accounts.chosen_project(request, project) or DEFAULT_PROJECT)
    _check_webhook(form, service_of(request).webhooks.hosts)
    name, book = secrets.token_hex(8), await run_in_threadpool(_book, form)
    writer = service_of(request).writer
    experiment, found = await writer.submit(lambda ledger: ledger.create(name, book, origin), origin.actor)
    service_of(request).flags.forget()
    if experiment != name and not _same(form, found):
        raise Refusal(409, "Key already used", "This Idempotency-Key was already used for another experiment")
    return json_answer({"id": experiment, **found}, 201, {"Location": f"/v1/experiments/{experiment}"})


def _origin(request: Request, key: str | None, project: str) -> Origin:
    """Where an experiment comes from. The names of calls belong to the key that made them.

    Before there were projects they belonged to all keys, of which those that could create experiments are server
    admins now: only these find experiments from then.
    """
    actor = request.scope["key"]
    if key is None:
        return Origin(project, actor)
    return Origin(project, actor, f"{actor}:{key}", key if request.scope["project"] is None else None)


def _check_webhook(form: forms.Experiment, hosts: Sequence[str]) -> None:
    """Refuse an address that this server does not call."""
    try:
        if form.webhook is not None:
            check_allowed(form.webhook, hosts)
    except ValueError as error:
        raise invalid(str(error)) from None


def _book(form: forms.Experiment) -> Book:
    try:
        book = new_book(form.config())
        check_scale(book.identifier.family)
    except ValueError as error:
        raise invalid(by_label(str(error), form.arms)) from None
    return book


def _same(form: forms.Experiment, found: dict[str, Any]) -> bool:
    """Whether an experiment is the one that a form describes."""
    wanted = _book(form).config
    seed = found["seed"] if form.seed is None else form.seed
    same = {name: value for name, value in wanted.items() if name in found or name != "sample_ratio"}  # older lack it
    return {**same, "seed": seed} == found


@router.get("/experiments", response_model=answers.List, tags=["experiments"])
async def list_experiments(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[
        str | None, Query(max_length=32, pattern=AN_ID, description="the `next` of the page before")
    ] = None,
    state: answers.State | None = None,
    search: Annotated[
        str, Query(max_length=MAX_LABEL, pattern=PRINTABLE_OR_EMPTY, description="part of the name")
    ] = "",
    sort: listing.Sort = "created",
    descending: bool = True,
    outcome: Annotated[
        listing.Outcome | None,
        Query(
            description="open: not ended; decided: has an answer, also if it was closed later; undecided: ended without"
        ),
    ] = None,
    project: InProject = None,
    flag: Annotated[str | None, Query(pattern=FLAG, description="only those with this flag")] = None,
) -> Response:
    """One page of experiments, by default newest first."""
    chosen = await accounts.chosen_project(request, project)
    order = (limit, after, state, search, sort, descending, chosen, outcome, flag)
    return json_answer(await run_in_threadpool(listing.listed, service_of(request).database, *order))


@router.get("/experiments/{experiment}", response_model=status_answers.Status, tags=["experiments"])
async def status(request: Request, experiment: str) -> Response:
    """Everything that is known about an experiment."""
    return json_answer(await heavy_of(request).run(lambda: service_of(request).reader.read(experiment).status))


@router.post("/experiments/{experiment}/close", response_model=answers.Closed, tags=["experiments"])
async def close(request: Request, experiment: str) -> Response:
    """End an experiment permanently. Rewards of pending tickets are still counted, but do not change the answer."""
    operation = operations.Close(experiment, actor=request.scope["key"])
    return json_answer(await service_of(request).writer.submit(operation))


# --- trials -----------------------------------------------------------------------------------------------------


@router.post("/experiments/{experiment}/ask", response_model=answers.Asked, tags=["trials"])
@call(role="writer", body=trial_forms.Ask, keyed=True)
async def ask(request: Request, experiment: str) -> Response:
    """Tickets for the next trials, each with its arm."""
    form = parse(trial_forms.Ask, await request.body())
    if form.unit is not None:
        return QuickAnswer(await _ask_by_unit(request, experiment, form.unit, form.serve_winner))
    key = key_of(request)
    actor: str = request.scope["key"]
    name = None if key is None else f"{experiment}:ask:{actor}:{key}"  # such names belong to the key that made them
    operation = asking.Ask(experiment, name, form.n, form.serve_winner, actor=actor)
    if form.available is not None:
        operation.available = await _numbers(request, experiment, form.available)
    return QuickAnswer(await service_of(request).writer.submit(operation))


async def _numbers(request: Request, experiment: str, arms: Iterable[str]) -> list[int]:
    """The numbers of arms, in order, each once."""
    labels = await run_in_threadpool(service_of(request).labels, experiment)
    _check_labels(arms, labels)
    some = set(arms)
    return [number for number, label in enumerate(labels) if label in some]


def _check_labels(arms: Iterable[str], labels: Sequence[str]) -> None:
    """404 for an arm that there is not."""
    known = set(labels)
    for label in arms:
        if label not in known:
            raise Refusal(404, "No such arm", f"This experiment has no arm {label!r}")


async def _ask_by_unit(request: Request, experiment: str, unit: str, serve_winner: bool) -> answers.Asked:
    """The trial of a unit, or what it gets without one; repeating it changes nothing, with or without a key."""
    visits = service_of(request).visits
    found = await visits.assign(experiment, unit, serve_winner, request.scope["key"])
    given: list[answers.Ticket] = []
    if found["ticket"] is not None and found["arm"] is not None:
        given.append({"ticket": found["ticket"], "arm": found["arm"]})
        if "probability" in found:
            given[0]["probability"] = found["probability"]
    reason = found["reason"]
    return {"tickets": given, "expires_at": found["expires_at"], "winner": reason == "winner", "reason": reason}


@router.post("/experiments/{experiment}/tell", response_model=answers.Told, tags=["trials"])
@call(role="writer", body=trial_forms.Tell)
async def tell(request: Request, experiment: str) -> Response:
    """The rewards of tickets, all or none. Telling the same reward again changes nothing."""
    form = parse(trial_forms.Tell, await request.body())
    rewards = [(operations.read_ticket(told.ticket), told.reward) for told in form.rewards]
    operation = operations.Tell(experiment, None, rewards, actor=request.scope["key"])
    return QuickAnswer(await service_of(request).writer.submit(operation))


# --- edge mode --------------------------------------------------------------------------------------------------


@router.get("/experiments/{experiment}/policy", response_model=answers.Policy, responses={304: {}}, tags=["edge mode"])
async def policy(
    request: Request,
    experiment: str,
    trials: Annotated[int, Query(ge=1, le=2**53, description="trials of all nodes until they ask again")] = 1000,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """The share of every arm in the next trials, for nodes that choose arms themselves; the same for a while."""
    service = service_of(request)
    seconds = service.settings.policy_seconds
    reading = await run_in_threadpool(lambda: service.reader.read(experiment))
    valid = edges.valid_policy(reading.book, trials, time.time())
    if valid is not None:
        found = edges.shown(reading.book, valid, seconds)
    else:
        operation = edges.Publish(experiment, None, trials, seconds, actor=request.scope["key"])
        found = await service.writer.submit(operation)
    left = min(found["seconds"], timestamp(found["until"]) - time.time())
    tag = f'"{found["version"]}"'
    headers = {"ETag": tag, "Cache-Control": f"private, max-age={max(1, math.ceil(left))}"}
    if etags.known(tag, if_none_match):
        return Response(status_code=304, headers=headers)
    return json_answer(found, headers=headers)


@router.post("/experiments/{experiment}/batches", response_model=answers.Batched, tags=["edge mode"])
@call(role="writer", body=trial_forms.Batch)
async def batches(request: Request, experiment: str) -> Response:
    """Trials that a node assigned itself, as counts and sums. Sending the same batch again changes nothing."""
    form = parse(trial_forms.Batch, await request.body())
    service = service_of(request)
    labels = await run_in_threadpool(service.labels, experiment)
    _check_labels((*form.pulls, *form.sums, *(form.squares or ())), labels)
    pulls = [form.pulls.get(label, 0) for label in labels]
    sums = [float(form.sums.get(label, 0.0)) for label in labels]
    squares = None if form.squares is None else [float(form.squares.get(label, 0.0)) for label in labels]
    name, quota = f"{experiment}:batch:{form.batch}", form.draws == "quota"
    given = (pulls, sums, squares, form.policy, quota, form.seed)
    operation = edges.Batch(experiment, name, *given, actor=request.scope["key"])
    return json_answer(await service.writer.submit(operation))


# --- the log ----------------------------------------------------------------------------------------------------


@router.get("/experiments/{experiment}/events", response_class=Response, responses={200: EXPORTS}, tags=["log"])
async def events(
    request: Request,
    experiment: str,
    form: Annotated[Literal["csv", "ndjson", "parquet"], Query(alias="format")] = "csv",
) -> Response:
    """The whole log, one row per ticket."""
    chunks = await run_in_threadpool(export.export, service_of(request).database, experiment, form)
    disposition = f'attachment; filename="{experiment}.{form}"'
    headers = {**NOSNIFF, "Content-Disposition": disposition, "Cache-Control": "no-store"}
    return Export(chunks, heavy_of(request), request.scope["key"], headers=headers, media_type=export.MEDIA[form])


@router.get("/experiments/{experiment}/head", response_model=answers.Proof, tags=["log"])
async def head(request: Request, experiment: str) -> Response:
    """The number and the hash of the last event of the log."""
    row = await run_in_threadpool(row_of, service_of(request).database, experiment)
    return json_answer({"head": head_text(row.version, row.head)})


@router.get("/experiments/{experiment}/history", response_model=status_answers.History, tags=["log"])
async def history(
    request: Request, experiment: str, most: Annotated[int, Query(alias="points", ge=2, le=1000)] = 200
) -> Response:
    """Shares, means and GLR over time, at numbers of trials that grow geometrically."""
    return json_answer(await run_in_threadpool(points, service_of(request).database, experiment, most))
