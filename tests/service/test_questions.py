"""Tolerances, lower is better, and controls: over HTTP, in plans, and in what the pages say."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from fairbai.service.domain import status_answers
from fairbai.service.http.answers import Planned
from fairbai.service.storage.schema import experiments
from tests.service.running import FORM, Local, address, ask, create, opened, running, tell
from tests.service.test_dashboard import PLAN
from tests.service.test_log import differences


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("questions")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Local]:
    with running(address(folder)) as found:
        yield found


def read(client: Local, path: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(path).json()
    return found


def finish(client: Local, at: str, means: dict[str, float], deviation: float = 1.0) -> dict[str, Any]:
    """Play with Gaussian rewards until the stop; returns the status."""
    rng = random.Random(3)
    while True:
        response = client.post(f"{at}/ask", json={"n": 50})
        if response.status_code == 409:
            return dict(TypeAdapter(status_answers.Status).validate_python(read(client, at), strict=True))
        tickets = response.json()["tickets"]
        tell(client, at, {one["ticket"]: rng.gauss(means[one["arm"]], deviation) for one in tickets})


def test_ties_end_within_a_tolerance(client: Local) -> None:
    at = create(client, tolerance=0.5, floors=0.1)
    status = finish(client, at, {"a": 1.0, "b": 1.0, "c": 0.0})
    assert (status["decided"], status["tolerance"], status["goal"], status["control"]) == (True, 0.5, "max", None)
    assert status["recommendation"] in ("a", "b")
    assert status["question"] == "Which arm is best, or within 0.5 of the best?"
    named = status["recommendation"]
    summary = read(client, f"{at}/summary")
    assert summary["headline"].startswith(f"“{named}” is best or within 0.5 of the best, with 90 % confidence if ")
    promise = read(client, f"{at}/audit")["promise"]["sentences"][0]
    assert "is wrong with probability at most 10 %: not within 0.5 of the best (proved" in promise
    assert "Tolerance" in client.get(f"{at}/report").text


def test_lower_is_better(client: Local) -> None:
    at = create(client, goal="min", tolerance="20%", floors=0.1)
    status = finish(client, at, {"a": 8.0, "b": 5.0, "c": 7.0})
    assert (status["recommendation"], status["goal"], status["tolerance"]) == ("b", "min", "20%")
    arms = {arm["arm"]: arm for arm in status["arms"]}
    assert 4.0 < arms["b"]["mean"] < 6.0  # in the units and signs of the rewards
    low, high = arms["b"]["interval"]
    assert low < arms["b"]["mean"] < high
    assert (arms["b"]["candidate"], "b" in status["candidates"]) == (True, True)
    assert read(client, f"{at}/summary")["headline"].startswith(
        "“b” is best or within 20 % of the best (lower is better)"
    )
    means = read(client, f"{at}/figures")["figures"]["means"]
    assert means["layout"]["yaxis"]["title"]["text"] == "Mean reward per trial (lower is better)"
    assert 'Goal</th><td class="words">lower is better' in client.get(f"{at}/report").text


@pytest.mark.parametrize("better", [True, False])
def test_control(client: Local, better: bool) -> None:
    at = create(client, control="a", tolerance=0.5, floors={"a": 0.3}, name=f"control {better}")
    status = finish(client, at, {"a": 1.0, "b": 2.5 if better else 1.0, "c": 0.9})
    assert (status["recommendation"], status["control"]) == ("b" if better else "a", "a")
    assert status["question"] == "Is an arm better than the control, “a”, by more than 0.5, and which?"
    headline = read(client, f"{at}/summary")["headline"]
    if better:
        assert headline.startswith("“b” is better than the control, “a”, and best or within 0.5 of the best, with 90 %")
    else:
        assert headline.startswith("No arm is better than the control, “a”, by more than 0.5, with 90 % confidence")
    shares = read(client, f"{at}/figures")["figures"]["shares"]["data"][0]
    assert shares["x"] == ["a (control)", "b", "c"]


def test_settings_that_are_as_usual_are_not_stored(client: Local) -> None:
    """So that a configuration of an earlier version is the same as one of this version."""
    names = {"tolerance", "goal", "control", "max_trials", "deadline"}
    usual = {"tolerance": None, "goal": "max", "control": None, "max_trials": None, "deadline": None}
    created = client.post("/v1/experiments", json={**FORM, **usual}).json()
    assert not names & set(created)
    status = read(client, f"/v1/experiments/{created['id']}")
    assert {name: status[name] for name in usual} == usual
    assert not names & set(status["config"])
    others = {"tolerance": "10.0 %", "goal": "min", "control": "b", "max_trials": 1000.0}
    created = client.post("/v1/experiments", json={**FORM, **others}).json()
    assert {name: created[name] for name in others} == {**others, "tolerance": "10%", "max_trials": 1000}


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"tolerance": 0}, "tolerance must be a positive number in the unit of the rewards, or percent of the best"),
        ({"tolerance": -1.0}, "tolerance must be a positive number"),
        (
            {"tolerance": "ten"},
            "tolerance must be a positive number in the unit of the rewards, or percent of the best",
        ),
        ({"tolerance": "100%"}, "tolerance must be"),
        ({"tolerance": 1e200}, "tolerance must be"),
        ({"tolerance": True}, "tolerance must be"),
        ({"tolerance": [1]}, "tolerance must be"),
        ({"tolerance": 2.0, "family": "bernoulli"}, "tolerance must be less than the range of the means (1)"),
        ({"goal": "least"}, "goal must be 'max' or 'min', got "),
        ({"control": "a"}, "control needs a tolerance"),
        ({"control": "x", "tolerance": 1}, "control must be one of the arms 'a', 'b', 'c', got 'x'"),
        ({"goal": "min", "floors": {"kind": "proportional", "p0": 0.5}}, "rates in proportion to the means favour"),
    ],
)
def test_what_is_wrong_with_a_question(client: Local, changes: dict[str, Any], detail: str) -> None:
    response = client.post("/v1/experiments", json={**FORM, **changes})
    assert response.status_code == 422
    assert detail in response.json()["detail"]


def test_unknown_variances(client: Local) -> None:
    at = create(client, family={"kind": "gaussian", "variance": None}, delta=0.05)
    status = finish(client, at, {"a": 3.0, "b": 0.0, "c": 0.0}, deviation=2.0)
    assert (status["recommendation"], status["decided"], status["proved"]) == ("a", True, True)
    for arm in status["arms"]:
        assert arm["interval"][0] < arm["mean"] < arm["interval"][1]


def test_list_and_rows_keep_what_is_known(client: Local, folder: Path) -> None:
    at = create(client, name="how sure", delta=1e-9)
    tickets = ask(client, at, 40)
    tell(
        client,
        at,
        {one["ticket"]: 2.0 * (one["arm"] == "b") + 0.01 * int(one["ticket"].split("-")[0]) for one in tickets},
    )
    (listed,) = read(client, "/v1/experiments?search=how sure")["experiments"]
    assert listed["confidence"] == read(client, at)["confidence"] > 0.5
    assert listed["ended_by"] is None
    with opened(address(folder)) as database, database.reader.connect() as connection:
        (row,) = connection.execute(experiments.select().where(experiments.c.name == "how sure")).all()
    assert (row.confidence, row.ended_by, row.looks_at) == (listed["confidence"], None, None)


def test_all_logs_replay(client: Local, folder: Path) -> None:
    create(client)
    assert not any(differences(folder))


# --- plans ------------------------------------------------------------------------------------------------------


def test_plans_take_questions(client: Local) -> None:
    exact = client.post("/v1/plan", json={**PLAN, "drifts": False}).json()
    form = {**PLAN, "tolerance": "20%", "control": "a", "drifts": False}
    found = Planned.model_validate(client.post("/v1/plan", json=form).json())
    assert found.trials.proved < exact["trials"]["proved"]
    assert (found.experiment["tolerance"], found.experiment["control"]) == ("20%", "a")
    begun = client.post("/v1/experiments", json={"name": "planned", **found.experiment})
    assert begun.status_code == 201, begun.text
    lower = client.post("/v1/plan", json={**PLAN, "means": [0.12, 0.1, 0.12], "goal": "min"}).json()
    assert (lower["best"], lower["experiment"]["goal"]) == ("b", "min")
    ties = {**PLAN, "means": [0.1, 0.1, 0.1]}
    assert client.post("/v1/plan", json=ties).status_code == 422
    assert client.post("/v1/plan", json={**ties, "tolerance": 0.02}).status_code == 200
    spread = {"means": None, "baseline": 0.12, "difference": 0.02, "goal": "min"}
    assert client.post("/v1/plan", json={**PLAN, **spread}).json()["best"] == "c"
    wrong = client.post("/v1/plan", json={**PLAN, "control": "x", "tolerance": 0.1})
    assert (wrong.status_code, wrong.json()["detail"]) == (422, "control must be one of 'a', 'b', 'c', got 'x'")


@pytest.mark.slow_without_jit
def test_plan_with_a_guessed_variance(client: Local) -> None:
    form = {**PLAN, "means": [0.0, 1.0, 0.5], "family": {"kind": "gaussian", "variance": None, "guess": 4.0}}
    response = client.post("/v1/plan", json=form)
    assert response.status_code == 200, response.text
    family = response.json()["experiment"]["family"]
    assert family["variance"] is None
    begun = client.post("/v1/experiments", json={"name": "planned", **response.json()["experiment"]})
    assert begun.status_code == 201, begun.text
    less = {**form, "family": {"kind": "gaussian", "variance": None}}
    assert "guess must be given" in client.post("/v1/plan", json=less).json()["detail"]


def test_openapi_describes_questions_and_ends(client: Local) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    experiment = schemas["Experiment"]["properties"]
    assert {"type": "string", "format": "date-time"} in experiment["deadline"]["anyOf"]
    assert experiment["goal"]["enum"] == ["max", "min"]
    assert {"tolerance", "goal", "control"} <= set(schemas["Plan"]["properties"])
    status = schemas["Status"]
    assert {"confidence", "candidates", "ended_by", "sentence", "target_confidence", "question"} <= set(
        status["required"]
    )
    assert "stopped" in schemas["Listed"]["properties"]["state"]["enum"]
