"""Experiments as flags: keys that are unique while an experiment runs, and one value per arm."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fairbai.service.storage.keys import create_key
from fairbai.service.storage.projects import create_project
from tests.service.conftest import Start
from tests.service.running import FORM, Local, address, create, opened, running


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with running(address(tmp_path_factory.mktemp("flags"))) as client:
        yield client


def refused(client: Local, **changes: Any) -> str:
    response = client.post("/v1/experiments", json={**FORM, **changes})
    assert response.status_code == 422, response.text
    return str(response.json()["detail"])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"c": "x", "a": "y", "b": "z"}, {"a": "y", "b": "z", "c": "x"}),
        ({"a": True, "b": False, "c": True}, {"a": True, "b": False, "c": True}),
        ({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2, "c": 3}),
        ({"a": 1, "b": 2.5, "c": 3}, {"a": 1.0, "b": 2.5, "c": 3.0}),
        ({"a": {"x": [1, None]}, "b": {}, "c": {"y": {}}}, {"a": {"x": [1, None]}, "b": {}, "c": {"y": {}}}),
    ],
)
def test_values_are_kept_and_shown(client: Local, given: dict[str, Any], kept: dict[str, Any]) -> None:
    at = create(client, values=given)
    found = client.get(at).json()["config"]["values"]
    assert list(found.items()) == list(kept.items())
    assert [type(value) for value in found.values()] == [type(value) for value in kept.values()]


def test_reports_show_values(client: Local) -> None:
    at = create(client, flag="reported", values={"a": {"x": 1}, "b": {}, "c": {}})
    text = client.get(f"{at}/report").text
    assert "<td" in text
    assert "a: {&quot;x&quot;:1}; b: {}; c: {}" in text


@pytest.mark.parametrize(
    ("values", "detail"),
    [
        ({"a": 1, "b": 2}, "values must have an entry for every arm, got none for 'c'"),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, "values has an entry for 'd', which is none of the arms 'a', 'b', 'c'"),
        (
            {"a": "x", "b": 2, "c": "y"},
            "values must all be of one type, got a string for 'a' and a number for 'b'",
        ),
        (
            {"a": 1, "b": True, "c": 3},
            "values must all be of one type, got a number for 'a' and a boolean for 'b'",
        ),
        ({"a": [], "b": [], "c": []}, "values['a'] must be a boolean, a string, a number or an object"),
        ({"a": "x" * 70_000, "b": "", "c": ""}, "values must have at most 65,536 bytes of JSON together, got 70,022"),
    ],
)
def test_wrong_values_are_refused(client: Local, values: dict[str, Any], detail: str) -> None:
    assert refused(client, values=values) == detail


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        ("NaN", "values['a'] must be a number of at most 1e+300 in size"),
        ("1" + "0" * 400, "values['a'] must be a number of at most 1e+300 in size"),
        ('{"x": NaN}', "values must be JSON, whose numbers are finite and of less than 4,300 digits"),
    ],
)
def test_values_are_finite(client: Local, value: str, detail: str) -> None:
    other = "{}" if value.startswith("{") else "1.5"
    form = '{"name": "x", "arms": ["a", "b"], "delta": 0.1, "family": "poisson", "values": {"a": %s, "b": %s}}'
    response = client.post("/v1/experiments", content=form % (value, other))
    assert (response.status_code, response.json()["detail"]) == (422, detail)


def test_wrong_flags_are_refused(client: Local) -> None:
    for flag in ("", "two words", "-x", "a/b", "x" * 101):
        assert refused(client, flag=flag).startswith("flag must ")
    assert refused(client, flag="0123456789abcdef") == (
        "flag must not look like the id of an experiment, got '0123456789abcdef'"
    )
    assert refused(client, bulk=True).startswith("bulk needs a flag")


def test_a_flag_belongs_to_one_running_experiment(client: Local) -> None:
    at = create(client, flag="checkout")
    form = {**FORM, "flag": "checkout"}
    again = client.post("/v1/experiments", json=form)
    assert again.status_code == 409
    assert again.json()["title"] == "Flag already used"
    assert again.json()["experiment"] == at.rpartition("/")[2]
    client.post(f"{at}/close")
    after = create(client, flag="checkout")
    client.request("DELETE", after)
    create(client, flag="checkout")


def test_repeating_a_call_finds_the_experiment(client: Local) -> None:
    form, headers = {**FORM, "flag": "repeated"}, {"Idempotency-Key": "once"}
    first, second = (client.post("/v1/experiments", json=form, headers=headers) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()


def test_projects_have_their_own_flags(tmp_path: Path) -> None:
    url = address(tmp_path)
    with running(url) as client, opened(url) as database:
        create_project(database, "shop")
        create(client, flag="same")
        key = create_key(database, "admin", "shop", "shop")
        headers = {"X-API-Key": key}
        del client.http.headers["Authorization"]
        form = {**FORM, "flag": "same"}
        assert client.post("/v1/experiments", json=form, headers=headers).status_code == 201
        assert client.post("/v1/experiments", json=form, headers=headers).status_code == 409


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.system)])
def test_two_that_are_created_at_once(start: Start, request: pytest.FixtureRequest, database: str) -> None:
    server = start(request.getfixturevalue(database))
    form = {**FORM, "flag": "checkout"}

    def attempt(_: int) -> int:
        return server.call("POST", "/v1/experiments", form).status

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(attempt, range(16)))
    assert statuses == [201] + [409] * 15
    server.verify()
