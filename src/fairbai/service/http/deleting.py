"""Calls that delete experiments, and list the records of those that were."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from sqlalchemy import Row
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from fairbai.service.domain.encoding import iso
from fairbai.service.http.answers import Deleted, Deletions
from fairbai.service.http.calls import call
from fairbai.service.http.interventions import actor_of
from fairbai.service.http.responses import json_answer
from fairbai.service.http.routes import service_of
from fairbai.service.storage.deletions import recorded

router = APIRouter(prefix="/v1", tags=["experiments"])


@router.delete("/experiments/{experiment}", response_model=Deleted)
async def delete_experiment(request: Request, experiment: str) -> Response:
    """Delete an experiment with its whole log, permanently; a record of that is kept. Repeating it changes nothing."""
    return json_answer(_described(await service_of(request).delete(experiment, actor_of(request))))


@router.get("/deletions", response_model=Deletions)
@call(role="admin")
async def list_deletions(request: Request, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> Response:
    """The records of deleted experiments, newest first."""
    project: str | None = request.scope.get("project")  # of the key; None: all of them
    found = await run_in_threadpool(recorded, service_of(request).database, limit, project)
    return json_answer({"deletions": [_described(row) for row in found]})


def _described(row: Row[Any]) -> Deleted:
    return {
        "id": row.experiment,
        "project": row.project,
        "name": row.name,
        "deleted_at": iso(row.at),
        "deleted_by": row.actor,
        "events": row.events,
        "head": row.head,
    }
