"""The calls of the API. Bodies are parsed here and not by FastAPI: once, straight from bytes, with our own errors."""

import secrets
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from fairbai.service.domain import answers, operations
from fairbai.service.domain.book import Book, new_book
from fairbai.service.domain.encoding import encode, parse
from fairbai.service.domain.refusals import Refusal, invalid
from fairbai.service.http import etags, forms
from fairbai.service.http.calls import call
from fairbai.service.http.trials import key_of, ticket_number
from fairbai.service.reading import export, listing
from fairbai.service.reading.history import points
from fairbai.service.reading.status import policy as policy_of
from fairbai.service.service import Service

router = APIRouter(prefix="/v1")
NOSNIFF = {"X-Content-Type-Options": "nosniff"}  # names and labels are arbitrary text
QUICK_HEADERS = [(b"content-type", b"application/json"), (b"x-content-type-options", b"nosniff")]
EXPORTS: dict[str, Any] = {"content": {kind.split(";")[0]: {"schema": {}} for kind in export.MEDIA.values()}}


def json_answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON response."""
    return Response(encode(content), status, {**NOSNIFF, **(headers or {})}, media_type="application/json")


class QuickAnswer(Response):
    """A JSON response whose headers take less time to make than Starlette's."""

    def __init__(self, content: Any) -> None:
        self.status_code, self.background = 200, None
        self.body = encode(content).encode()
        length = str(len(self.body)).encode()
        self.raw_headers = [*QUICK_HEADERS, (b"content-length", length)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body})


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
async def create(request: Request) -> Response:
    """Create an experiment."""
    form = parse(forms.Experiment, await request.body())
    key = key_of(request)
    name, book = secrets.token_hex(8), await run_in_threadpool(_book, form)
    experiment, found = await service_of(request).writer.submit(lambda ledger: ledger.create(name, book, key))
    if experiment != name and not _same(form, found):
        raise Refusal(409, "Key already used", "This Idempotency-Key was already used for another experiment")
    return json_answer({"id": experiment, **found}, 201, {"Location": f"/v1/experiments/{experiment}"})


def _book(form: forms.Experiment) -> Book:
    try:
        return new_book(form.config())
    except ValueError as error:
        raise invalid(str(error)) from None


def _same(form: forms.Experiment, found: dict[str, Any]) -> bool:
    """Whether an experiment is the one that a form describes."""
    wanted = _book(form).config
    seed = found["seed"] if form.seed is None else form.seed
    return {**wanted, "seed": seed} == found


@router.get("/experiments", response_model=answers.List, tags=["experiments"])
async def list_experiments(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[
        str | None, Query(max_length=32, pattern="^[0-9a-f]+$", description="the `next` of the page before")
    ] = None,
    state: answers.State | None = None,
    search: Annotated[
        str, Query(max_length=forms.MAX_LABEL, pattern=r"^[^\x00-\x1f\x7f]*$", description="part of the name")
    ] = "",
    sort: listing.Sort = "created",
    descending: bool = True,
) -> Response:
    """One page of experiments, by default newest first."""
    order = (limit, after, state, search, sort, descending)
    return json_answer(await run_in_threadpool(listing.listed, service_of(request).database, *order))


@router.get("/experiments/{experiment}", response_model=answers.Status, tags=["experiments"])
async def status(request: Request, experiment: str) -> Response:
    """Everything that is known about an experiment."""
    return json_answer(await run_in_threadpool(lambda: service_of(request).reader.read(experiment).status))


@router.post("/experiments/{experiment}/close", response_model=answers.Answer, tags=["experiments"])
async def close(request: Request, experiment: str) -> Response:
    """End an experiment permanently. Rewards of pending tickets are still counted, but do not change the answer."""
    return json_answer(await service_of(request).writer.submit(operations.Close(experiment)))


# --- trials -----------------------------------------------------------------------------------------------------


@router.post("/experiments/{experiment}/ask", response_model=answers.Asked, tags=["trials"])
@call(role="writer", body=forms.Ask, keyed=True)
async def ask(request: Request, experiment: str) -> Response:
    """Tickets for the next trials, each with its arm."""
    form = parse(forms.Ask, await request.body())
    key = key_of(request)
    name = None if key is None else f"{experiment}:ask:{key}"
    operation = operations.Ask(experiment, name, form.n, form.serve_winner)
    return QuickAnswer(await service_of(request).writer.submit(operation))


@router.post("/experiments/{experiment}/tell", response_model=answers.Told, tags=["trials"])
@call(role="writer", body=forms.Tell)
async def tell(request: Request, experiment: str) -> Response:
    """The rewards of tickets, all or none. Telling the same reward again changes nothing."""
    form = parse(forms.Tell, await request.body())
    rewards = [(ticket_number(told.ticket), told.reward) for told in form.rewards]
    return QuickAnswer(await service_of(request).writer.submit(operations.Tell(experiment, None, rewards)))


# --- edge mode --------------------------------------------------------------------------------------------------


@router.get("/experiments/{experiment}/policy", response_model=answers.Policy, responses={304: {}}, tags=["edge mode"])
async def policy(
    request: Request,
    experiment: str,
    trials: Annotated[int, Query(ge=1, le=2**53, description="trials of all nodes until they ask again")] = 1000,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """The share of every arm in the next trials, for nodes that choose arms themselves."""
    service = service_of(request)
    seconds = service.settings.policy_seconds
    book = await run_in_threadpool(lambda: service.reader.read(experiment).book)
    if book.drawn:
        found = await service.writer.submit(operations.Publish(experiment, None, trials, seconds))
        tag = f'"{found["version"]}"'
    else:
        tag, found = await run_in_threadpool(policy_of, book, trials, seconds)
    headers = {"ETag": tag, "Cache-Control": f"private, max-age={int(seconds)}"}
    if etags.known(tag, if_none_match):
        return Response(status_code=304, headers=headers)
    return json_answer(found, headers=headers)


@router.post("/experiments/{experiment}/batches", response_model=answers.Reported, tags=["edge mode"])
@call(role="writer", body=forms.Batch)
async def batches(request: Request, experiment: str) -> Response:
    """Trials that a node assigned itself, as counts and sums. Sending the same batch again changes nothing."""
    form = parse(forms.Batch, await request.body())
    service = service_of(request)
    labels = await run_in_threadpool(service.labels, experiment)
    for label in (*form.pulls, *form.sums, *(form.squares or ())):
        if label not in labels:
            raise Refusal(404, "No such arm", f"This experiment has no arm {label!r}")
    pulls = [form.pulls.get(label, 0) for label in labels]
    sums = [float(form.sums.get(label, 0.0)) for label in labels]
    squares = None if form.squares is None else [float(form.squares.get(label, 0.0)) for label in labels]
    name, quota = f"{experiment}:batch:{form.batch}", form.draws == "quota"
    operation = operations.Batch(experiment, name, pulls, sums, squares, form.policy, quota)
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
    return StreamingResponse(chunks, headers=headers, media_type=export.MEDIA[form])


@router.get("/experiments/{experiment}/history", response_model=answers.History, tags=["log"])
async def history(
    request: Request, experiment: str, most: Annotated[int, Query(alias="points", ge=2, le=1000)] = 200
) -> Response:
    """Shares, means and GLR over time, at numbers of trials that grow geometrically."""
    return json_answer(await run_in_threadpool(points, service_of(request).database, experiment, most))
