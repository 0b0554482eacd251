"""Whether the service works, for those who run it."""

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response

from fairbai.compiling.tier import tier
from fairbai.service.domain.refusals import unavailable
from fairbai.service.http.answers import Health, Readiness
from fairbai.service.service import Service
from fairbai.service.storage.metrics import Metrics

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> Health:
    """Whether the process is alive; the only call that needs no key."""
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(request: Request) -> Readiness:
    """Whether the database answers and the writer can write, in time, and how the kernels run."""
    service: Service = request.app.state.service
    if (trouble := await service.probe.trouble()) is not None:
        raise unavailable(trouble)
    return {"status": "ready", "kernels": await run_in_threadpool(tier)}


@router.get("/metrics", response_class=PlainTextResponse)
async def prometheus(request: Request) -> Response:
    """Metrics for Prometheus."""
    metrics: Metrics = request.app.state.metrics
    return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
