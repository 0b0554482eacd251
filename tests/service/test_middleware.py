"""Who may do what, and what is too much."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fairbai.service.storage import keyring
from fairbai.service.storage.keys import create_key, first_key, list_keys, revoke_key
from fairbai.service.storage.limits import Limits
from fairbai.service.storage.metrics import Metrics
from tests.service.running import FORM, address, ask, create, opened, running, tell


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_everything_but_healthz_needs_a_key(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        del client.http.headers["Authorization"]
        assert client.get("/healthz").json() == {"status": "ok"}
        for path in ("/readyz", "/metrics", "/openapi.json", "/v1/experiments", "/nothing"):
            response = client.get(path)
            assert response.status_code == 401, path
            assert response.headers["www-authenticate"] == "Bearer"
            assert response.headers["content-type"] == "application/problem+json"
        for wrong in ("Basic x", "Bearer", "Bearer fb_", "Bearer fb_0_0", "Bearer ü"):
            headers = {"Authorization": wrong.encode("latin-1").decode("latin-1")}
            response = client.request("GET", "/readyz", headers=[(b"Authorization", headers["Authorization"].encode())])
            assert response.status_code == 401, wrong


def test_roles(tmp_path: Path) -> None:
    url = address(tmp_path)
    with running(url) as client, opened(url) as database:
        at = create(client)
        writer, reader = bearer(create_key(database, "writer")), bearer(create_key(database, "reader"))
        assert client.post("/v1/experiments", json=FORM, headers=writer).status_code == 403
        assert client.post(f"{at}/close", headers=writer).status_code == 403
        assert client.post(f"{at}/ask", json={}, headers=writer).status_code == 200
        refused = client.post(f"{at}/ask", json={}, headers=reader)
        assert refused.status_code == 403
        assert "This call needs a key with the role writer, got one with the role reader" in refused.json()["detail"]
        for path in (at, f"{at}/events", f"{at}/history", f"{at}/policy", "/v1/experiments", "/metrics", "/readyz"):
            assert client.get(path, headers=reader).status_code == 200, path


def test_revoked_key_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "REMEMBERED", 0.0)
    url = address(tmp_path)
    with running(url) as client, opened(url) as database:
        key = create_key(database, "reader", "somebody")
        assert client.get("/readyz", headers=bearer(key)).status_code == 200
        revoke_key(database, key.split("_")[1])
        assert client.get("/readyz", headers=bearer(key)).status_code == 401
        assert [entry["revoked_at"] is not None for entry in list_keys(database)] == [False, True]
        with pytest.raises(ValueError, match="No key has the id 'nothing'"):
            revoke_key(database, "nothing")


def test_revoked_keys_are_limited_as_wrong_ones_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "REMEMBERED", 0.0)
    url = address(tmp_path)
    with running(url, failures=3) as client, opened(url) as database:
        key = create_key(database, "reader")
        assert client.get("/readyz", headers=bearer(key)).status_code == 200
        revoke_key(database, key)
        answers = [client.get("/readyz", headers=bearer(key)).status_code for _ in range(5)]
        assert answers == [401, 401, 401, 429, 429]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_servers_that_start_at_once_make_one_first_key(request: pytest.FixtureRequest, kind: str) -> None:
    url = request.getfixturevalue(kind)
    with opened(url), ThreadPoolExecutor(4) as threads, ExitStack() as stack:
        databases = [stack.enter_context(opened(url)) for _ in range(4)]
        found = list(threads.map(first_key, databases))
        assert sum(key is not None for key in found) == 1
        assert [key["role"] for key in list_keys(databases[0])] == ["admin"]


def test_secrets_are_neither_stored_nor_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    url = address(tmp_path)
    with running(url) as client:
        key = client.http.headers["Authorization"].split()[1]
        create(client)
        client.get("/nothing")
        secret = key.split("_", 2)[2]
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes()
    assert secret not in caplog.text


def test_wrong_keys_are_limited_and_good_ones_always_pass(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    url = address(tmp_path)
    with running(url, failures=3) as client, opened(url) as database:
        assert client.get("/readyz").status_code == 200
        wrong = [client.get("/readyz", headers=bearer("fb_00_00")) for _ in range(5)]
        assert [response.status_code for response in wrong] == [401, 401, 401, 429, 429]
        assert 1 <= int(wrong[-1].headers["retry-after"]) <= 60
        assert client.get("/readyz").status_code == 200  # a key that is remembered
        known = client.http.headers["Authorization"].split()[1]
        assert client.get("/readyz", headers=bearer(known[:-1] + "?")).status_code == 429
        other = create_key(database, "reader")  # which this server has never seen
        assert client.get("/readyz", headers=bearer(other)).status_code == 200
        assert client.post("/sign-in", data={"key": other}).headers["location"] == "/"
        assert caplog.text.count("3 wrong keys within a minute from 127.0.0.1") == 1
        assert client.get("/readyz", headers=bearer(other[:-1] + "?")).status_code == 429


def test_large_bodies_are_refused(tmp_path: Path) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * 100

    with running(address(tmp_path), limits=Limits(body_bytes=1000)) as client:
        at = create(client)
        for path in (f"{at}/ask", f"{at}/batches", "/v1/experiments"):
            assert client.post(path, content=b" " * 1001).status_code == 413
            for stated in ({}, {"Transfer-Encoding": "chunked", "Content-Length": "5"}):  # which some servers let pass
                streamed = client.post(path, content=pieces(), headers=stated)
                assert streamed.status_code == 413, streamed.text
                assert streamed.headers["content-type"] == "application/problem+json"


def test_errors_are_problems_without_internals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(address(tmp_path)) as client:
        at = create(client)
        for method, path, status in [("GET", "/nothing", 404), ("PUT", at, 405), ("GET", f"{at}/ask", 405)]:
            response = client.request(method, path)
            assert response.status_code == status
            assert response.headers["content-type"] == "application/problem+json"
            assert response.json()["status"] == status
        assert client.request("DELETE", "/v1/experiments").headers["allow"] == "GET, POST"
        monkeypatch.setattr("fairbai.service.domain.book.Book.ask", lambda self, n: 1 / 0)
        monkeypatch.setattr("fairbai.service.reading.listing.listed", lambda *_: 1 / 0)
        for method, path in [("POST", f"{at}/ask"), ("GET", "/v1/experiments")]:
            response = client.request(method, path)
            assert response.status_code == 500
            assert "division" not in response.text


def test_metrics_count_requests_and_commits(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client)
        tell(client, at, {ticket["ticket"]: 1.0 for ticket in ask(client, at, 3)})
        client.get("/secret-words")
        client.request("SECRET", at)
        text = client.get("/metrics").text
        route = 'route="/v1/experiments/{experiment}/ask"'
        assert f'fairbai_requests_total{{method="POST",{route},status="200"}} 1.0' in text
        assert "fairbai_commits_total 2.0" in text
        assert "secret" not in text.lower()
        assert 'method="other",route="/v1/experiments/{experiment}",status="405"' in text


def test_operations_of_dead_workers_do_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    for process in (os.getpid(), 2**22 + 1):  # the second is more than Linux has
        (tmp_path / f"gauge_livesum_{process}.db").touch()
    Metrics()
    assert [file.name for file in tmp_path.iterdir()] == [f"gauge_livesum_{os.getpid()}.db"]


def test_service_that_cannot_write_is_not_ready(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        assert client.get("/readyz").status_code == 200
        client.wait(client.app.service.writer.stop())
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200


def test_openapi_takes_arms_or_factors(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        schemas = client.get("/openapi.json").json()["components"]["schemas"]
        for name in ("Experiment", "Plan"):
            assert "arms" not in schemas[name]["required"]
            assert [one["required"] for one in schemas[name]["anyOf"]] == [["arms"], ["factors"]]
        for example in schemas["Experiment"]["examples"]:
            assert client.post("/v1/experiments", json=example).status_code == 201
        neither = {"name": "none", "delta": 0.05, "family": "bernoulli"}
        assert client.post("/v1/experiments", json=neither).status_code == 422


def test_openapi_describes_every_call(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        document = client.get("/openapi.json").json()
    calls = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    at = "/v1/experiments/{experiment}"
    expected = {("POST", "/v1/experiments"), ("GET", "/v1/experiments"), ("GET", at)}
    expected |= {("POST", f"{at}/{call}") for call in ("ask", "tell", "batches", "close")}
    expected |= {("POST", f"{at}/{call}") for call in ("pause", "resume", "switch-off", "void")}
    expected |= {("POST", f"{at}/rewards"), ("POST", f"{at}/units/erase")}
    expected |= {("DELETE", at), ("GET", "/v1/deletions"), ("GET", f"{at}/deliveries")}
    expected |= {("GET", f"{at}/{call}") for call in ("policy", "events", "history", "head")}
    expected |= {("GET", f"{at}/{call}") for call in ("figures", "summary", "audit", "report")}
    expected |= {("GET", "/v1/session"), ("POST", "/v1/plan")}
    expected |= {(method, path) for path in ("/v1/keys", "/v1/projects") for method in ("GET", "POST")}
    expected |= {("POST", "/v1/keys/{key}/rotate"), ("POST", "/v1/keys/{key}/revoke")}
    expected |= {("GET", path) for path in ("/healthz", "/readyz", "/metrics")}
    expected |= {("POST", "/ofrep/v1/evaluate/flags"), ("POST", "/ofrep/v1/evaluate/flags/{key}")}
    assert calls == expected
    assert document["security"] == [{"key": []}, {"header": []}]
    assert all(
        document["components"]["schemas"][name]["examples"]
        for name in ("Experiment", "Plan", "Ask", "Tell", "Batch", "Earnings")
    )


def test_client_that_goes_away_in_the_middle_of_its_body_gets_no_ticket(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client)
        messages = [{"type": "http.request", "body": b"", "more_body": True}, {"type": "http.disconnect"}]
        sent: list[Any] = []

        async def receive() -> Any:
            return messages.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"authorization", client.http.headers["Authorization"].encode())]
        scope = {"type": "http", "method": "POST", "path": f"{at}/ask", "headers": headers, "client": ("::1", 1)}
        client.wait(client.app(scope, receive, send))
        assert sent[0]["status"] == 422
        assert client.get(at).json()["trials"] == 0
