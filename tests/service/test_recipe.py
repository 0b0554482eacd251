"""A toy endpoint, added as "How to add an endpoint" in CONTRIBUTING.md says."""

from collections.abc import Iterator

import pytest
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from typing_extensions import TypedDict

from fairbai.service.domain.answers import exact
from fairbai.service.domain.encoding import parse
from fairbai.service.http.calls import call
from fairbai.service.http.forms import Form
from fairbai.service.http.responses import json_answer
from fairbai.service.http.routes import service_of
from fairbai.service.reading.reader import Reading
from fairbai.service.storage.keys import create_key
from tests.service.running import Local, address, ask, create, opened, running

PATH = "/v1/experiments/{experiment}/lead"


@exact
class Lead(TypedDict):
    """How many trials an arm is ahead of the others."""

    arm: str
    trials: int


class Against(Form):
    """The arm to compare with the others."""

    arm: str


def lead(reading: Reading, arm: str) -> Lead:
    counts = {one["arm"]: one["assigned"] for one in reading.status["arms"]}
    return {"arm": arm, "trials": counts.pop(arm) - max(counts.values())}


router = APIRouter(prefix="/v1")


@router.get("/experiments/{experiment}/lead", response_model=Lead)
async def read_lead(request: Request, experiment: str, arm: str = "a") -> Response:
    """The lead of an arm."""
    return json_answer(await run_in_threadpool(lambda: lead(service_of(request).reader.read(experiment), arm)))


@router.post("/experiments/{experiment}/lead", response_model=Lead)
@call(role="writer", body=Against)
async def post_lead(request: Request, experiment: str) -> Response:
    """The lead of an arm that the body names."""
    form = parse(Against, await request.body())
    return json_answer(await run_in_threadpool(lambda: lead(service_of(request).reader.read(experiment), form.arm)))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with running(address(tmp_path_factory.mktemp("recipe"))) as client:
        client.app.include(router)
        yield client


def test_it_answers(client: Local) -> None:
    at = create(client)
    arms = [ticket["arm"] for ticket in ask(client, at, 4)]  # three arms: one of them twice
    lead = {"arm": max("abc", key=arms.count), "trials": 1}
    assert client.get(f"{at}/lead?arm={lead['arm']}").json() == lead
    assert client.post(f"{at}/lead", json={"arm": lead["arm"]}).json() == lead


def test_it_is_refused_as_every_other(client: Local) -> None:
    at = create(client)
    assert client.get("/v1/experiments/nope/lead").json()["detail"] == "No experiment has the id 'nope'"
    assert client.post(f"{at}/lead", json={}).json()["detail"] == "arm must be given"
    anonymous = {"Authorization": ""}
    assert [client.request(method, f"{at}/lead", headers=anonymous).status_code for method in ("GET", "POST")] == [
        401
    ] * 2


def test_it_has_its_role(client: Local) -> None:
    at = create(client)
    with opened(str(client.app.service.database.url.set(drivername="sqlite"))) as database:
        keys = {role: {"Authorization": f"Bearer {create_key(database, role)}"} for role in ("reader", "writer")}
    form = {"arm": "a"}
    assert client.get(f"{at}/lead", headers=keys["reader"]).status_code == 200
    assert client.post(f"{at}/lead", json=form, headers=keys["reader"]).status_code == 403
    assert client.post(f"{at}/lead", json=form, headers=keys["writer"]).status_code == 200


def test_it_is_described_and_counted(client: Local) -> None:
    document = client.get("/openapi.json").json()
    reading, writing = document["paths"][PATH]["get"], document["paths"][PATH]["post"]
    assert (reading["x-role"], writing["x-role"]) == ("reader", "writer")
    assert writing["requestBody"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Against"}
    assert set(document["components"]["schemas"]["Lead"]["properties"]) == {"arm", "trials"}
    assert document["components"]["schemas"]["Against"]["additionalProperties"] is False
    assert set(reading["responses"]) >= {"200", "401", "403", "404", "422"}
    client.get(f"{create(client)}/lead")
    assert f'method="GET",route="{PATH}",status="200"' in client.get("/metrics").text
