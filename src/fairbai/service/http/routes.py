"""The calls. Bodies are parsed here rather than by FastAPI: once, straight from bytes, and with our own errors."""

import secrets
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from fairbai.service.domain import operations
from fairbai.service.domain.book import Book, new_book
from fairbai.service.domain.encoding import encode, parse
from fairbai.service.domain.refusals import Refusal, invalid
from fairbai.service.http import answers, etags, forms, trials
from fairbai.service.reading import export, listing
from fairbai.service.reading import status as reading
from fairbai.service.service import Service

router = APIRouter(prefix="/v1")
KEY_HEADER = "idempotency-key"
NOSNIFF = {"X-Content-Type-Options": "nosniff"}  # names and labels are text of people: no browser should guess
EXPORTS: dict[str, Any] = {"content": {kind.split(";")[0]: {"schema": {}} for kind in export.MEDIA.values()}}


def described_body(form: str, with_key: bool = False) -> dict[str, Any]:
    """The part of OpenAPI that describes the body of a request, and whether it may have an Idempotency-Key."""
    schema = {"$ref": f"#/components/schemas/{form}"}
    described: dict[str, Any] = {
        "requestBody": {"required": form != "Ask", "content": {"application/json": {"schema": schema}}}
    }
    if with_key:
        described["parameters"] = [
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "a name for the call; the same call with the same name happens once",
                "schema": {"type": "string", "minLength": 1, "maxLength": trials.MAX_KEY, "pattern": "^[!-~]+$"},
            }
        ]
    return described


def json_answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer as JSON."""
    return Response(encode(content), status, {**NOSNIFF, **(headers or {})}, media_type="application/json")


def service_of(request: Request) -> Service:
    """The service that a request came to."""
    service: Service = request.app.state.service
    return service


# --- experiments ------------------------------------------------------------------------------------------------


@router.post(
    "/experiments",
    status_code=201,
    response_model=answers.Created,
    openapi_extra=described_body("Experiment", with_key=True),
    tags=["experiments"],
)
async def create(request: Request) -> Response:
    """Begin an experiment."""
    form = parse(forms.Experiment, await request.body())
    key = trials.checked_key(request.headers.get(KEY_HEADER))
    name, book = secrets.token_hex(8), await run_in_threadpool(_book, form)
    experiment, found = await service_of(request).writer.submit(lambda ledger: ledger.create(name, book, key))
    if experiment != name and not _same(form, found):
        raise Refusal(409, "The key was used before", "Idempotency-Key must be new: it stands for another experiment")
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
        str | None, Query(max_length=32, pattern="^[0-9a-f]+$", description="the `next` of a list")
    ] = None,
    state: listing.State | None = None,
    search: Annotated[
        str, Query(max_length=forms.MAX_LABEL, pattern=r"^[^\x00-\x1f\x7f]*$", description="a part of the name")
    ] = "",
    sort: listing.Sort = "created",
    descending: bool = True,
) -> Response:
    """Experiments, newest first unless another order is asked for."""
    order = (limit, after, state, search, sort, descending)
    return json_answer(await run_in_threadpool(listing.listed, service_of(request).database, *order))


@router.get("/experiments/{experiment}", response_model=answers.Status, tags=["experiments"])
async def status(request: Request, experiment: str) -> Response:
    """All that is known of an experiment."""
    return json_answer(await run_in_threadpool(reading.status, service_of(request).database, experiment))


@router.post("/experiments/{experiment}/close", response_model=answers.Answer, tags=["experiments"])
async def close(request: Request, experiment: str) -> Response:
    """Stop by hand, for ever. Rewards of tickets that are out are still counted, and do not change the answer."""
    return json_answer(await service_of(request).writer.submit(operations.Close(experiment)))


# --- trials -----------------------------------------------------------------------------------------------------


@router.post(
    "/experiments/{experiment}/ask",
    response_model=answers.Asked,
    openapi_extra=described_body("Ask", with_key=True),
    tags=["trials"],
)
async def ask(request: Request, experiment: str) -> Response:
    """Tickets for the next trials, each with its arm."""
    key = request.headers.get(KEY_HEADER)
    text = await trials.ask(service_of(request).writer, experiment, await request.body(), key)
    return Response(text, media_type="application/json")


@router.post(
    "/experiments/{experiment}/tell", response_model=answers.Told, openapi_extra=described_body("Tell"), tags=["trials"]
)
async def tell(request: Request, experiment: str) -> Response:
    """What tickets earned. The same reward again is accepted and changes nothing."""
    text = await trials.tell(service_of(request).writer, experiment, await request.body(), None)
    return Response(text, media_type="application/json")


# --- edge mode --------------------------------------------------------------------------------------------------


@router.get("/experiments/{experiment}/policy", response_model=answers.Policy, responses={304: {}}, tags=["edge mode"])
async def policy(
    request: Request,
    experiment: str,
    trials: Annotated[int, Query(ge=1, le=2**53, description="of all nodes until they ask again")] = 1000,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """The share of every arm in the next trials, for nodes that choose by themselves."""
    service = service_of(request)
    seconds = service.settings.policy_seconds
    tag, found = await run_in_threadpool(reading.policy, service.database, experiment, trials, seconds)
    headers = {"ETag": tag, "Cache-Control": f"private, max-age={int(seconds)}"}
    if etags.known(tag, if_none_match):
        return Response(status_code=304, headers=headers)
    return json_answer(found, headers=headers)


@router.post(
    "/experiments/{experiment}/batches",
    response_model=answers.Reported,
    openapi_extra=described_body("Batch"),
    tags=["edge mode"],
)
async def batches(request: Request, experiment: str) -> Response:
    """Trials that a node assigned by itself, as counts and sums. The same batch again changes nothing."""
    form = parse(forms.Batch, await request.body())
    service = service_of(request)
    labels = await run_in_threadpool(service.labels, experiment)
    for label in (*form.pulls, *form.sums):
        if label not in labels:
            raise Refusal(404, "No such arm", f"arm must be one of this experiment, got {label!r}")
    pulls = [form.pulls.get(label, 0) for label in labels]
    sums = [float(form.sums.get(label, 0.0)) for label in labels]
    return json_answer(
        await service.writer.submit(operations.Batch(experiment, f"{experiment}:batch:{form.batch}", pulls, sums))
    )


# --- looking back -----------------------------------------------------------------------------------------------


@router.get("/experiments/{experiment}/events", response_class=Response, responses={200: EXPORTS}, tags=["log"])
async def events(
    request: Request,
    experiment: str,
    form: Annotated[Literal["csv", "ndjson", "parquet"], Query(alias="format")] = "csv",
) -> Response:
    """The whole log."""
    chunks = await run_in_threadpool(export.export, service_of(request).database, experiment, form)
    disposition = f'attachment; filename="{experiment}.{form}"'
    headers = {**NOSNIFF, "Content-Disposition": disposition, "Cache-Control": "no-store"}
    return StreamingResponse(chunks, headers=headers, media_type=export.MEDIA[form])


@router.get("/experiments/{experiment}/history", response_model=answers.History, tags=["log"])
async def history(
    request: Request, experiment: str, most: Annotated[int, Query(alias="points", ge=2, le=1000)] = 200
) -> Response:
    """Shares, means and GLR over time, at about geometrically growing numbers of trials."""
    return json_answer(await run_in_threadpool(reading.points, service_of(request).database, experiment, most))
