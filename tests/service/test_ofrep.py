"""OpenFeature's remote evaluation protocol: every answer has the form that the protocol describes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from fairbai.service.domain.refusals import unavailable
from fairbai.service.http import ofrep, quotas
from fairbai.service.reading import flags
from fairbai.service.storage.keys import create_key
from fairbai.service.storage.projects import create_project
from tests.service.running import Local, address, create, opened, play, running

ALL = "/ofrep/v1/evaluate/flags"
SCHEMA = json.loads(Path(__file__).with_name("ofrep.schema.json").read_text(encoding="utf-8"))
FORMS = {200: "evaluated", 400: "failure", 404: "not_found", 500: "failure"}
BULK_FORMS = {200: "evaluated_flags", 400: "bulk_failure", 404: "bulk_failure", 500: "bulk_failure"}


def check(name: str, body: Any) -> None:
    """The body has a form of the protocol."""
    Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"}).validate(body)


def evaluate(client: Local, key: str | None, unit: str, **headers: str) -> httpx.Response:
    """Evaluate a flag, or all of them, with a request and a response as the protocol has them."""
    form = {"context": {"targetingKey": unit, "plan": "premium"}}
    check("request", form)
    return send(client, key, json.dumps(form), **headers)


def send(client: Local, key: str | None, body: str, **headers: str) -> httpx.Response:
    path = ALL if key is None else f"{ALL}/{key}"
    response = client.post(path, content=body, headers={"Content-Type": "application/json", **headers})
    forms = BULK_FORMS if key is None else FORMS
    if response.status_code in forms:
        assert response.headers["Content-Type"] == "application/json"
        check(forms[response.status_code], response.json())
    return response


def told(client: Local, key: str, unit: str) -> dict[str, Any]:
    response = evaluate(client, key, unit)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def trials(client: Local, at: str) -> int:
    return int(client.get(at).json()["trials"])


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with running(address(tmp_path_factory.mktemp("ofrep"))) as client:
        yield client


# --- one flag ---------------------------------------------------------------------------------------------------


def test_a_unit_keeps_its_variant(client: Local) -> None:
    values = {"a": {"color": "red"}, "b": {"color": "blue"}, "c": {"color": "green"}}
    at = create(client, flag="button", values=values)
    first = told(client, "button", "user-7")
    assert first["reason"] == "SPLIT"
    assert first["value"] == values[first["variant"]]
    assert first["metadata"]["experiment"] == at.rpartition("/")[2]
    assert told(client, "button", "user-7") == first
    reward = [{"ticket": first["metadata"]["ticket"], "reward": 1.0}]
    assert client.post(f"{at}/tell", json={"rewards": reward}).json()["counted"] == 1
    assert trials(client, at) == 1
    assert told(client, "button", "user-8")["metadata"]["ticket"] != first["metadata"]["ticket"]
    assert trials(client, at) == 2


def test_an_experiment_without_a_flag_is_evaluated_by_its_id(client: Local) -> None:
    at = create(client)
    found = told(client, at.rpartition("/")[2], "user-7")
    assert found["value"] == found["variant"]
    assert found["key"] == at.rpartition("/")[2]


def test_numbers_stay_floats(client: Local) -> None:
    """Some clients refuse 1 where they expect 1.0."""
    create(client, flag="price", values={"a": 1, "b": 2.5, "c": 3})
    for unit in range(6):
        assert isinstance(told(client, "price", f"user-{unit}")["value"], float)


def test_after_the_decision_new_units_get_the_winner(client: Local) -> None:
    at = create(client, flag="decided", values={"a": 1, "b": 2, "c": 3})
    early = [told(client, "decided", f"early-{unit}") for unit in range(9)]
    play(client, at, 1000, best=20.0)
    assert client.get(at).json()["decided"]
    late = told(client, "decided", "late")
    assert (late["value"], late["variant"], late["reason"]) == (1, "a", "STATIC")
    assert late["metadata"]["why"] == "winner"
    assert [told(client, "decided", f"early-{unit}") for unit in range(9)] == early
    assert len({one["variant"] for one in early}) > 1
    among = {one["key"]: one for one in evaluate(client, None, "later").json()["flags"]}
    assert among["decided"] == late


@pytest.mark.parametrize("control", [None, "b"])
def test_without_a_trial_there_is_still_something_to_show(client: Local, control: str | None) -> None:
    """The control, or without a value, which stands for the program's own default."""
    flag = f"without-trial-{control}"
    asked = {} if control is None else {"control": control, "tolerance": 0.1}
    at = create(client, flag=flag, values={"a": True, "b": False, "c": True}, **asked)
    own = told(client, flag, "returning")
    expected = {"variant": "default"} if control is None else {"variant": "b", "value": False}

    def deferred(why: str) -> dict[str, Any]:
        metadata = {"experiment": at.rpartition("/")[2], "why": why}
        return {"key": flag, **expected, "reason": "DISABLED", "metadata": metadata}

    client.post(f"{at}/pause")
    assert told(client, flag, "new") == deferred("paused")
    assert told(client, flag, "returning") == own
    client.post(f"{at}/resume")
    off = {"arm": own["variant"], "reason": "broken"}
    if own["variant"] != control:
        assert client.post(f"{at}/switch-off", json=off).status_code == 200
        assert told(client, flag, "returning") == deferred("switched_off")
    client.post(f"{at}/close")
    assert told(client, flag, "new") == deferred("over")


def test_a_share_of_the_traffic_is_enrolled(client: Local) -> None:
    at = create(client, flag="share", enrol=0.5)
    found = [told(client, "share", f"user-{unit}") for unit in range(20)]
    left = [one for one in found if one["metadata"].get("why") == "not_enrolled"]
    assert {(one["reason"], one["variant"]) for one in left} == {("SPLIT", "default")}
    assert 0 < len(left) < 20
    assert trials(client, at) == 20 - len(left)


def test_an_end_without_a_decision_serves_the_leader(client: Local) -> None:
    at = create(client, flag="leader", max_trials=12)
    for unit in range(12):
        found = told(client, "leader", f"user-{unit}")
        reward = {"ticket": found["metadata"]["ticket"], "reward": float(found["variant"] == "c")}
        client.post(f"{at}/tell", json={"rewards": [reward]})
    late = told(client, "leader", "late")
    assert (late["variant"], late["reason"], late["metadata"]["why"]) == ("c", "STATIC", "leader")


def test_a_new_experiment_takes_the_flag_over(client: Local) -> None:
    first = create(client, flag="reused")
    told(client, "reused", "user-7")
    client.post(f"{first}/close")
    second = create(client, flag="reused")
    assert told(client, "reused", "user-7")["metadata"]["experiment"] == second.rpartition("/")[2]
    listed = client.get("/v1/experiments?flag=reused").json()["experiments"]
    assert [one["id"] for one in listed] == [second.rpartition("/")[2], first.rpartition("/")[2]]
    client.request("DELETE", second)
    client.request("DELETE", first)
    assert evaluate(client, "reused", "user-7").status_code == 404


# --- all flags --------------------------------------------------------------------------------------------------


def test_all_flags_assign_only_where_it_is_wanted(tmp_path: Path) -> None:
    """Web clients evaluate all flags when they start: a visitor is not part of experiments that it never sees."""
    with running(address(tmp_path)) as client:
        bulk, single = create(client, flag="web", bulk=True), create(client, flag="server")
        create(client)  # which has no flag
        first = evaluate(client, None, "user-7")
        server, web = first.json()["flags"]
        assert (web["key"], web["reason"]) == ("web", "SPLIT")
        assert (server["key"], server["reason"], server["metadata"]["why"]) == ("server", "DISABLED", "not_assigned")
        assert "value" not in server
        assert (trials(client, bulk), trials(client, single)) == (1, 0)
        again = evaluate(client, None, "user-7", **{"If-None-Match": first.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["ETag"] == first.headers["ETag"]
        own = told(client, "server", "user-7")
        changed = evaluate(client, None, "user-7", **{"If-None-Match": first.headers["ETag"]})
        assert (changed.status_code, changed.json()["flags"]) == (200, [own, web])
        assert (trials(client, bulk), trials(client, single)) == (1, 1)


def test_one_failure_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(address(tmp_path)) as client:
        broken = create(client, flag="broken", bulk=True).rpartition("/")[2]
        create(client, flag="whole", bulk=True)
        gone = create(client, flag="gone", bulk=True)
        assign = client.app.service.visits.assign
        evaluate(client, None, "user-7")

        async def fail(experiment: str, *given: Any, **named: Any) -> Any:
            if experiment == broken:
                raise unavailable("Too many requests are waiting")
            return await assign(experiment, *given, **named)

        monkeypatch.setattr(client.app.service.visits, "assign", fail)
        monkeypatch.setattr(client.app.service.flags, "forget", lambda: None)  # as in another worker
        client.request("DELETE", gone)
        found = {one["key"]: one for one in evaluate(client, None, "user-7").json()["flags"]}
        assert set(found) == {"broken", "whole"}
        assert found["broken"]["errorDetails"] == "Too many requests are waiting"
        assert found["whole"]["reason"] == "SPLIT"
        alone = client.post(f"{ALL}/broken", json={"context": {"targetingKey": "user-7"}})
        assert (alone.status_code, alone.headers["Retry-After"]) == (503, "1")


def test_the_newest_flags_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "MAX_FLAGS", 2)
    with running(address(tmp_path)) as client:
        for name in ("x", "y", "z"):
            create(client, flag=name)
        assert [one["key"] for one in evaluate(client, None, "user-7").json()["flags"]] == ["y", "z"]


def test_a_worker_forgets_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while, as another worker may have created one, and if it knows too many."""
    monkeypatch.setattr(flags, "MAX_REMEMBERED", 2)
    monkeypatch.setattr(flags, "SECONDS", 3600.0)
    with running(address(tmp_path)) as client:
        monkeypatch.setattr(client.app.service.flags, "forget", lambda: None)  # as in another worker
        assert evaluate(client, "x", "user-7").status_code == 404
        create(client, flag="x")
        assert evaluate(client, "x", "user-7").status_code == 404
        known = client.app.service.flags._known
        known.update({key: (0.0, found) for key, (_, found) in known.items()})  # an hour later
        for name in ("u", "v", "x", "w"):
            assert evaluate(client, name, "user-7").status_code == (200 if name == "x" else 404)
        assert len(client.app.service.flags._known) <= 2


# --- failures ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["failing", None])
def test_wrong_requests(client: Local, key: str | None) -> None:
    if key is not None:
        create(client, flag=key)
    for body, code in (
        ("", "PARSE_ERROR"),
        ("{", "PARSE_ERROR"),
        ('{"context": {"targetingKey": "user-7", "age": NaN}}', "PARSE_ERROR"),
        ("[]", "INVALID_CONTEXT"),
        ("{}", "INVALID_CONTEXT"),
        ('{"context": 3}', "INVALID_CONTEXT"),
        ('{"context": {}}', "TARGETING_KEY_MISSING"),
        ('{"context": {"targetingKey": ""}}', "TARGETING_KEY_MISSING"),
        ('{"context": {"targetingKey": 7}}', "INVALID_CONTEXT"),
        ('{"context": {"targetingKey": "%s"}}' % ("x" * 501), "INVALID_CONTEXT"),
    ):
        response = send(client, key, body)
        assert (response.status_code, response.json()["errorCode"]) == (400, code), body
        assert response.json()["errorDetails"]
        assert response.json().get("key") == key


def test_unknown_flags(client: Local) -> None:
    for key in ("nope", "0123456789abcdef", "%00", "two%20words", "x" * 200):
        response = evaluate(client, key, "user-7")
        assert (response.status_code, response.json()["errorCode"]) == (404, "FLAG_NOT_FOUND")


def test_a_bug_is_told_without_its_details(client: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    create(client, flag="bug")
    monkeypatch.setattr(ofrep, "unit_of", lambda _: 1 / 0)
    for key in ("bug", None):
        response = send(client, key, "{}")
        assert (response.status_code, response.json()["errorCode"]) == (500, "GENERAL")
        assert "division" not in response.text


def test_who_may_evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same role as for ask, and only the flags of the project of the key."""
    url, now = address(tmp_path), time.monotonic()
    monkeypatch.setattr(quotas, "time", SimpleNamespace(monotonic=lambda: now))
    with running(url, key_rate=1.0) as client, opened(url) as database:
        create_project(database, "shop")
        at = create(client, flag="checkout")
        del client.http.headers["Authorization"]
        roles = {role: create_key(database, role) for role in ("reader", "writer")}
        foreign = create_key(database, "writer", "shop", "shop")
        for headers, status in (
            ({}, 401),
            ({"X-API-Key": "nonsense"}, 401),
            ({"X-API-Key": roles["reader"]}, 403),
            ({"X-API-Key": roles["writer"]}, 200),
            ({"Authorization": f"Bearer {foreign}"}, 404),
        ):
            assert evaluate(client, "checkout", "user-7", **headers).status_code == status
        own_id = evaluate(client, at.rpartition("/")[2], "user-7", **{"X-API-Key": foreign})
        assert own_id.status_code == 404
        limited = [evaluate(client, "checkout", "user-7", **{"X-API-Key": roles["writer"]}) for _ in range(3)]
        assert limited[-1].status_code == 429
        assert int(limited[-1].headers["Retry-After"]) >= 1


def test_a_server_admin_names_a_project(tmp_path: Path) -> None:
    url = address(tmp_path)
    with running(url) as client, opened(url) as database:
        create_project(database, "shop")
        client.post("/v1/experiments?project=shop", json={"name": "x", "arms": ["a", "b"], "delta": 0.1,
                                                          "family": "poisson", "flag": "theirs"})  # fmt: skip
        assert evaluate(client, "theirs", "user-7").status_code == 404
        assert evaluate(client, "theirs?project=shop", "user-7").status_code == 200
        form = {"context": {"targetingKey": "user-7"}}
        assert [one["key"] for one in client.post(f"{ALL}?project=shop", json=form).json()["flags"]] == ["theirs"]
        assert client.post(f"{ALL}?project=none", json=form).status_code == 404


def test_openapi_describes_the_failures(client: Local) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    one, everything = paths[f"{ALL}/{{key}}"]["post"], paths[ALL]["post"]
    assert (one["x-role"], everything["x-role"]) == ("writer", "writer")
    for status, name in ((200, "Evaluated"), (400, "Failure"), (404, "NotFound"), (500, "Failure")):
        schema = one["responses"][str(status)]["content"]["application/json"]["schema"]
        assert schema == {"$ref": f"#/components/schemas/{name}"}
    assert {"304", "400", "401", "403", "429", "503"} <= set(everything["responses"])
