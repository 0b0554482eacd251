"""Webhooks: durable, signed, repeated after failures, and only to hosts that the server allows."""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fairbai.service.domain import webhooks as rules
from fairbai.service.domain.encoding import iso
from fairbai.service.storage import deliveries
from fairbai.service.storage.metrics import Metrics
from fairbai.service.storage.schema import deliveries as table
from fairbai.service.storage.settings import ServerSettings
from fairbai.service.writing import webhooks
from tests.service.conftest import Start
from tests.service.running import FORM, Local, address, ask, create, opened, running, tell
from tests.service.test_cycles import Clock
from tests.service.test_log import expire

SECRET = "a secret of the tests"
DOCS = Path(__file__).parents[2] / "docs" / "operations.md"


class Receiver:
    """An HTTP server on loopback that keeps what it is sent, and answers with the given statuses, then with 200."""

    def __init__(self, *statuses: int) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.statuses = list(statuses)
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((dict(self.headers), body))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 200)
                self.send_header("Location", f"{receiver.url}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook?for=tests"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def events(self) -> list[str]:
        return [json.loads(body)["event"] for _, body in self.got]

    def wait_for(self, count: int, seconds: float = 60.0) -> None:
        until(lambda: len(self.got) >= count, seconds)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Local]:
    monkeypatch.setattr(webhooks, "POLL", 0.02)
    monkeypatch.setattr(webhooks, "FIRST_PAUSE", 0.05)
    with running(address(tmp_path), webhook_hosts=("127.0.0.1", "*"), webhook_secret=SECRET) as found:
        yield found


def genuine() -> Callable[..., bool]:
    """The receiver's check that the documentation shows."""
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.S) if "def genuine" in block]
    names: dict[str, Any] = {}
    exec(code, names)
    found: Callable[..., bool] = names["genuine"]
    return found


def listed(client: Local, at: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"{at}/deliveries").json()["deliveries"]
    return found


def decide(client: Local, at: str) -> None:
    while not tell(client, at, {one["ticket"]: 9.0 * (one["arm"] == "b") for one in ask(client, at, 3)})["decided"]:
        pass


def test_decision_and_stop_are_announced_and_signed(client: Local, receiver: Receiver) -> None:
    at = create(client, webhook=receiver.url, name="button", floors=0.0)
    decide(client, at)
    receiver.wait_for(2)
    assert sorted(receiver.events()) == ["decision", "stop"]
    headers, body = receiver.got[receiver.events().index("decision")]
    said = json.loads(body)
    assert (said["experiment"], said["name"], said["delivery"]) == (
        at.rpartition("/")[2],
        "button",
        headers["Fairbai-Delivery"],
    )
    assert (said["decided"], said["recommendation"], said["ended_by"]) == (True, "b", "decision")
    assert headers["Host"] == receiver.url.split("/")[2]
    given = headers["Fairbai-Signature"]
    check = genuine()
    assert check(SECRET, given, body)
    assert not check(SECRET, given, body.replace(b"true", b"false"))
    assert not check("another secret of the tests", given, body)
    assert not check(SECRET, given, body, now=time.time() + 600)  # sent again by somebody who saw it
    assert not check(SECRET, "nonsense", body)
    until(lambda: all(one["delivered_at"] for one in listed(client, at)))
    assert {(one["event"], one["attempts"], one["next_at"], one["error"]) for one in listed(client, at)} == {
        ("decision", 1, None, None),
        ("stop", 1, None, None),
    }
    assert 'fairbai_webhooks_total{outcome="delivered"} 2.0' in client.get("/metrics").text


def test_doubt_deadline_and_close_are_announced(client: Local, receiver: Receiver) -> None:
    clock = Clock(client)
    clock.now -= 200.0  # so that what happens at these times is due
    at = create(client, webhook=receiver.url, delta=1e-9)
    tell(client, at, {one["ticket"]: 40.0 * (int(one["ticket"].split("-")[0]) % 2) for one in ask(client, at, 30)})
    client.post(f"{at}/close")
    late = create(client, webhook=receiver.url, deadline=iso(clock.now + 100.0), lease=None)
    ask(client, late, 3)
    silent = create(client)
    decide(client, silent)  # without a webhook
    clock.now += 101.0
    expire(client, clock.now)
    receiver.wait_for(3)
    assert sorted(receiver.events()) == ["deadline", "doubt", "stop"]
    said = {json.loads(body)["event"]: json.loads(body) for _, body in receiver.got}
    assert said["doubt"]["doubt"].startswith("Rewards of ")
    assert said["stop"]["ended_by"] == "closed"
    assert said["deadline"]["experiment"] == late.rpartition("/")[2]


def test_failures_are_repeated_and_redirects_are_not_followed(client: Local, receiver: Receiver) -> None:
    receiver.statuses = [500, 302]
    at = create(client, webhook=receiver.url)
    client.post(f"{at}/close")
    receiver.wait_for(3)
    assert len({headers["Fairbai-Delivery"] for headers, _ in receiver.got}) == 1
    until(lambda: listed(client, at)[0]["delivered_at"] is not None)
    assert listed(client, at)[0]["attempts"] == 3
    metrics = client.get("/metrics").text
    assert 'fairbai_webhooks_total{outcome="failed"} 2.0' in metrics


def test_attempts_end(client: Local, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "MAX_ATTEMPTS", 2)
    receiver.statuses = [500, 500]
    at = create(client, webhook=receiver.url)
    client.post(f"{at}/close")
    until(lambda: listed(client, at)[0]["next_at"] is None)
    assert (listed(client, at)[0]["error"], listed(client, at)[0]["delivered_at"]) == ("status 500", None)
    assert len(receiver.got) == 2


def test_certificates_are_read_once_and_not_in_the_event_loop(
    client: Local, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes long, and everybody would wait."""
    threads, read, service = [], ssl.create_default_context, client.app.service
    until(lambda: service.webhooks._tls is not None)

    def noted(*options: Any, **others: Any) -> ssl.SSLContext:
        threads.append(threading.current_thread())
        return read(*options, **others)

    monkeypatch.setattr(ssl, "create_default_context", noted)
    service.webhooks._tls = None
    for _ in range(3):
        client.post(f"{create(client, webhook=receiver.url)}/close")
    receiver.wait_for(3)
    assert len(threads) == 1
    assert threads[0] is not client._thread


def test_pauses_grow_up_to_a_day() -> None:
    pauses = [webhooks.pause(attempt) for attempt in range(1, webhooks.MAX_ATTEMPTS)]
    assert all(2.5 * 2.0**n <= pause <= 5.0 * 2.0**n for n, pause in enumerate(pauses[:14]))
    assert 43_200 <= pauses[-1] <= 86_400


def test_names_that_lead_into_a_private_network_are_not_called(client: Local, receiver: Receiver) -> None:
    """A pattern allows public addresses only, and a name may turn out to be another."""
    url = receiver.url.replace("http://127.0.0.1", "https://localhost")
    at = create(client, webhook=url)
    client.post(f"{at}/close")
    until(lambda: listed(client, at)[0]["error"] is not None)
    assert "localhost has an address in a private network" in listed(client, at)[0]["error"]
    assert receiver.got == []


def test_names_that_are_found_slowly_hold_up_nobody(client: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the resolver is away: threads that wait for it are not those that look for keys."""
    asked, over, find = [], threading.Event(), socket.getaddrinfo

    def slow(host: Any, *given: Any, **options: Any) -> Any:
        if str(host).endswith(".example.com"):
            asked.append(host)
            over.wait(180.0)
        return find(host, *given, **options)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    try:
        for number in range(webhooks.MAX_AT_ONCE):
            client.post(f"{create(client, webhook=f'https://a{number}.example.com/')}/close")
        until(lambda: len(asked) == webhooks.MAX_AT_ONCE)
        client.app.service.keyring._keys.forget(lambda *_: True)
        began = time.monotonic()
        assert client.get("/readyz").status_code == 200
        assert time.monotonic() - began < 60.0  # it would wait for three times as long
    finally:
        over.set()


@pytest.mark.parametrize(
    ("address", "public"),
    [
        *[("8.8.8.8", True), ("2001:4860:4860::8888", True), ("64:ff9b::808:808", True)],
        *[(private, False) for private in ("127.0.0.1", "10.0.0.1", "100.64.0.1", "169.254.169.254", "0.0.0.0")],
        *[(private, False) for private in ("::1", "fd00::1", "fe80::1%eth0", "fec0::1", "ff02::1", "::ffff:10.0.0.1")],
        *[(tunnel, False) for tunnel in ("64:ff9b::10.0.0.1", "64:ff9b:1::1", "2002:a00:1::1", "::10.0.0.1")],
    ],
)
def test_public_addresses(address: str, public: bool) -> None:
    assert rules.is_public(address) == public


@pytest.mark.parametrize(
    ("url", "hosts", "said"),
    [
        ("https://hooks.example.com/x", (), "this server allows none"),
        ("https://evil.example.org/", ("hooks.example.com",), "evil.example.org is not allowed"),
        ("https://example.com.evil.org/", ("*.example.com",), "is not allowed"),
        ("http://a.example.com/", ("*.example.com",), "must be an https address"),
        ("https://169.254.169.254/", ("*",), "is not a public address"),
        ("https://[::ffff:10.0.0.1]/", ("*",), "is not a public address"),
    ],
)
def test_hosts_that_are_not_allowed(url: str, hosts: tuple[str, ...], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        rules.check_allowed(rules.checked_url(url), rules.checked_hosts(hosts))


def test_hosts_that_are_allowed() -> None:
    rules.check_allowed("https://hooks.example.com:8443/x", rules.checked_hosts(["Hooks.example.com"]))
    rules.check_allowed("https://a.b.example.com/", rules.checked_hosts(["*.example.com"]))
    rules.check_allowed("http://[::1]:80/", rules.checked_hosts(["[::1]"]))
    with pytest.raises(ValueError, match=r"such as hooks\.example\.com"):
        rules.checked_hosts(["https://example.com"])


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://a.example/", "https://me:pw@a.example/", "https:///x", "https://a.example/#x", 7),
        *("https://evil.org\\.a.example/", "https://evil.org%2f.a.example/", "https://[::1%25a]/"),
    ],
)
def test_addresses_that_cannot_be(client: Local, url: Any) -> None:
    refused = client.post("/v1/experiments", json={**FORM, "webhook": url})
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith("webhook")


def test_creation_is_refused_without_allowed_hosts(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        refused = client.post("/v1/experiments", json={**FORM, "webhook": "https://hooks.example.com/"})
        assert refused.status_code == 422
        assert "the host hooks.example.com is not allowed" in refused.json()["detail"]


def test_secret_is_needed_and_never_shown(sqlite: str) -> None:
    settings = ServerSettings(webhook_hosts=("a.example",), webhook_secret="short")
    with opened(sqlite) as database, pytest.raises(ValueError, match="need a secret of at least 16"):
        webhooks.Webhooks(database, Metrics(), settings)
    assert "short" not in repr(settings)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_no_two_workers_have_the_same_delivery(request: pytest.FixtureRequest, kind: str) -> None:
    with opened(request.getfixturevalue(kind)) as database:
        row = rules.delivery("12", {"name": "x", "webhook": "https://a.example/"}, "stop", 1.0, {})
        with database.writer.begin() as connection:
            connection.execute(table.insert(), [{**row, "id": f"{number:032x}"} for number in range(200)])

        def claim(_: int) -> list[str]:
            return [one.id for one in deliveries.claim(database, 2.0, 30.0, 7)]

        with ThreadPoolExecutor(4) as pool:
            found = [name for names in pool.map(claim, range(40)) for name in names]
        assert len(found) == len(set(found)) == 200
        assert deliveries.claim(database, 29.0, 60.0, 7) == []  # they are claimed until 30
        assert len(deliveries.claim(database, 31.0, 60.0, 7)) == 7  # whose worker was killed


@pytest.mark.system
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_announcement_survives_a_kill_before_its_delivery(
    request: pytest.FixtureRequest, start: Start, kind: str
) -> None:
    receiver = Receiver(*[503] * 1000)
    variables = {"FAIRBAI_WEBHOOK_HOSTS": "127.0.0.1", "FAIRBAI_WEBHOOK_SECRET": SECRET}
    workers = 2 if kind == "postgresql" else 1
    server = start(request.getfixturevalue(kind), environment=variables, workers=workers)
    made = server.call("POST", "/v1/experiments", {**FORM, "webhook": receiver.url})
    assert made.status == 201, made.body
    at = f"/v1/experiments/{made.body['id']}"
    assert server.call("POST", f"{at}/close").status == 200
    server.kill()  # committed, and not delivered
    count = -1
    while count != len(receiver.got):  # what was sent before is answered, too
        count = len(receiver.got)
        time.sleep(1.0)
    receiver.statuses = []
    server.start()
    receiver.wait_for(count + 1, 120.0)
    until(lambda: server.call("GET", f"{at}/deliveries").body["deliveries"][0]["delivered_at"] is not None)
    time.sleep(2.0)
    assert len(receiver.got) == count + 1  # once it is delivered, never again
    assert len({headers["Fairbai-Delivery"] for headers, _ in receiver.got}) == 1
    receiver.close()
