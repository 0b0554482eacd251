"""Keys and projects, for admins: those of a project manage its keys, server admins manage all."""

import logging
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from fairbai.service.domain.cycles import seconds
from fairbai.service.domain.encoding import encode, iso, parse
from fairbai.service.domain.refusals import Refusal, invalid
from fairbai.service.http import answers
from fairbai.service.http.calls import call
from fairbai.service.http.fields import Duration
from fairbai.service.http.forms import Form
from fairbai.service.service import Service
from fairbai.service.storage import keys, projects
from fairbai.service.storage.keys import NoSuchKeyError

MAX_NAME = 200  # characters
HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}  # some answers hold secrets

log = logging.getLogger("fairbai.service")

router = APIRouter(prefix="/v1", tags=["keys"])
ProjectName = Annotated[str, Field(pattern=projects.NAME)]
InProject = Annotated[
    str | None, Query(pattern=projects.NAME, description="a project; other keys than a server admin's have one only")
]


class NewKey(Form):
    """A key to create."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"role": "writer", "name": "web shop", "project": "shop", "expires": "90d"}]}
    )

    role: answers.Role = Field(description="what it may do")
    name: str = Field("", max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]*$", description="who uses it")
    project: ProjectName | None = Field(
        None, description="null: that of the admin; of a server admin: none for an admin, else `default`"
    )
    expires: Duration | None = Field(None, description='after which it expires, such as "90d"; null: never')


class Rotation(Form):
    """How to rotate a key."""

    grace: Duration | None = Field("24h", description="how long the old key still works; null: not at all")
    expires: Duration | None = Field(
        None, description="after which the new key expires; null: as long as the old one was to live"
    )


class NewProject(Form):
    """A project to create."""

    name: ProjectName


@router.get("/projects", response_model=answers.Projects)
async def list_projects(request: Request) -> Response:
    """The projects that the key can see: its own, or all of them for a server admin."""
    own, known = request.scope["project"], await run_in_threadpool(projects.list_projects, _database(request))
    return _answer({"projects": [{"name": one["name"]} for one in known if own in (None, one["name"])]})


@router.post("/projects", status_code=201, response_model=answers.Project)
@call(body=NewProject)
async def create_project(request: Request) -> Response:
    """Create a project; only a server admin can."""
    form = parse(NewProject, await request.body())
    if request.scope["project"] is not None:
        raise Refusal(403, "Role too low", "Only a server admin, whose key has no project, can create projects")
    await _try(projects.create_project, _database(request), form.name)
    _note(request, "project created", project=form.name)
    return _answer({"name": form.name}, 201)


@router.get("/keys", response_model=answers.Keys)
@call(role="admin")
async def list_keys(request: Request) -> Response:
    """The keys of the project, or all of them for a server admin; without their secrets."""
    found = await run_in_threadpool(keys.list_keys, _database(request), request.scope["project"])
    return _answer({"keys": [_shown(key) for key in found]})


@router.post("/keys", status_code=201, response_model=answers.CreatedKey)
@call(body=NewKey)
async def create_key(request: Request) -> Response:
    """Create a key. The answer is the only one that has it in full."""
    form = parse(NewKey, await request.body())
    own = request.scope["project"]
    if own is not None and form.project not in (None, own):
        raise invalid(f"No project is called {form.project!r}")
    lifetime = None if form.expires is None else seconds(form.expires)
    key = await _try(keys.create_key, _database(request), form.role, form.name, form.project or own, lifetime)
    name = keys.key_id(key)
    _note(request, "key created", target=name, role=form.role)
    return _answer({"key": key, "id": name}, 201)


@router.post("/keys/{key}/rotate", status_code=201, response_model=answers.CreatedKey)
@call(body=Rotation)
async def rotate_key(request: Request, key: str) -> Response:
    """Create a key with the same role, project and name; the old one expires after the grace."""
    form = parse(Rotation, await request.body())
    grace = 0.0 if form.grace is None else seconds(form.grace)
    lifetime = None if form.expires is None else seconds(form.expires)
    given = (_id(key), grace, lifetime, request.scope["project"])
    new = await _try(keys.rotate_key, _database(request), *given)
    _service(request).keyring.forget_key(key)
    name = keys.key_id(new)
    _note(request, "key rotated", target=key, successor=name)
    return _answer({"key": new, "id": name}, 201)


@router.post("/keys/{key}/revoke", response_model=answers.Revoked)
async def revoke_key(request: Request, key: str) -> Response:
    """Revoke a key, and end its sessions."""
    await _try(keys.revoke_key, _database(request), _id(key), request.scope["project"])
    _service(request).keyring.forget_key(key)
    _note(request, "key revoked", target=key)
    return _answer({"revoked": key})


async def chosen_project(request: Request, given: str | None) -> str | None:
    """The project that a request is about: of its key, or the one that a server admin names; None for all."""
    own: str | None = request.scope["project"]
    known = own is None or given in (None, own)
    if known and own is None and given is not None:
        found = await run_in_threadpool(projects.list_projects, _database(request))
        known = any(one["name"] == given for one in found)
    if not known:
        raise Refusal(404, "No such project", f"No project is called {given!r}")
    return own or given


def _note(request: Request, what: str, **fields: Any) -> None:
    """Log who did something: unlike what happens to experiments, it is in no table."""
    log.info(what, extra={"fields": {"actor": request.scope["key"], **fields}})


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _database(request: Request) -> Any:
    return _service(request).database


async def _try(function: Any, *given: Any) -> Any:
    """What a function returns; what it finds wrong becomes a Refusal."""
    try:
        return await run_in_threadpool(function, *given)
    except NoSuchKeyError as error:
        raise Refusal(404, "No such key", str(error)) from None
    except ValueError as error:
        raise invalid(str(error)) from None


def _id(key: str) -> str:
    """The id of a key in an address; some databases reject arbitrary text."""
    if not (key.isascii() and key.isalnum() and len(key) <= 16):
        raise Refusal(404, "No such key", f"No key has the id {key!r}")
    return key


def _shown(key: dict[str, Any]) -> dict[str, Any]:
    times = {name: at and iso(at) for name, at in key.items() if name.endswith("_at")}
    return {name: times.get(name, value) for name, value in key.items()}


def _answer(content: Any, status: int = 200) -> Response:
    return Response(encode(content), status, HEADERS, media_type="application/json")
