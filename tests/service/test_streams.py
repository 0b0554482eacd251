"""Server-sent events."""

from __future__ import annotations

import asyncio
import http.client
import json
from pathlib import Path
from typing import Any

import pytest

from fairbai.service.http import streams
from fairbai.service.storage import keyring
from fairbai.service.storage.keys import create_key, revoke_key
from tests.service.conftest import Start
from tests.service.running import Local, address, create, opened, play, running


class Listener:
    """A client of a stream, which hears it as it comes."""

    def __init__(self, client: Local, path: str) -> None:
        self.status, self.text, self.gone = 0, "", asyncio.Event()
        self.client = client
        headers = [(b"authorization", client.http.headers["Authorization"].encode())]
        self.scope: dict[str, Any] = {
            "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": headers, "client": ("::1", 1), "server": ("test", 80), "scheme": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
        }  # fmt: skip

    async def listen(self) -> None:
        await self.client.app(self.scope, self._receive, self._send)

    async def _receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        self.text += message.get("body", b"").decode()

    def events(self) -> list[tuple[str, Any]]:
        lines = [dict(line.split(": ", 1) for line in part.splitlines()) for part in self.text.split("\n\n") if part]
        return [(line["event"], json.loads(line["data"])) for line in lines if "event" in line]


async def until(condition: Any) -> None:
    for _ in range(6000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "EVERY", 0.02)


def test_a_stream_tells_every_change_and_ends(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client)
        listener = Listener(client, f"{at}/stream")
        heard = asyncio.run_coroutine_threadsafe(listener.listen(), client._loop)
        client.wait(until(lambda: len(listener.events()) == 1))
        play(client, at, 500)
        heard.result(timeout=60)
        events = listener.events()
        assert listener.status == 200
        assert [kind for kind, _ in events][-2:] == ["status", "end"]
        versions = [data["version"] for kind, data in events if kind == "status"]
        assert versions == sorted(set(versions))
        assert events[0][1]["trials"] == 0
        assert events[-2][1] == client.get(at).json()


def test_a_silent_stream_beats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT", 0.05)
    with running(address(tmp_path)) as client:
        listener = Listener(client, f"{create(client)}/stream")
        heard = asyncio.run_coroutine_threadsafe(listener.listen(), client._loop)
        client.wait(until(lambda: listener.text.count(": still here") >= 2))
        assert len(listener.events()) == 1
        client._loop.call_soon_threadsafe(listener.gone.set)
        heard.result(timeout=60)


def test_streams_are_limited_and_those_that_have_gone_are_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MAX_STREAMS", 2)
    with running(address(tmp_path)) as client:
        at = create(client)
        for _ in range(3):
            listeners = [Listener(client, f"{at}/stream") for _ in range(2)]
            heard = [asyncio.run_coroutine_threadsafe(one.listen(), client._loop) for one in listeners]
            client.wait(until(lambda opened=listeners: all(one.events() for one in opened)))
            refused = client.get(f"{at}/stream")
            assert (refused.status_code, "poll the status instead" in refused.text) == (503, True)
            for one in listeners:
                client._loop.call_soon_threadsafe(one.gone.set)
            for each in heard:
                each.result(timeout=60)


def test_streams_end_when_the_service_stops(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        listener = Listener(client, f"{create(client)}/stream")
        heard = asyncio.run_coroutine_threadsafe(listener.listen(), client._loop)
        client.wait(until(lambda: listener.events()))
        client.app.fastapi.state.streams.close()
        heard.result(timeout=60)


def test_streams_end_when_their_key_is_revoked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "REMEMBERED", 0.1)
    url = address(tmp_path)
    with running(url) as client, opened(url) as database:
        at = create(client)
        other = create_key(database, "reader")
        listeners = [Listener(client, f"{at}/stream") for _ in range(2)]
        listeners[1].scope["headers"] = [(b"authorization", f"Bearer {other}".encode())]
        heard = [asyncio.run_coroutine_threadsafe(one.listen(), client._loop) for one in listeners]
        client.wait(until(lambda: all(one.events() for one in listeners)))
        revoke_key(database, other)
        heard[1].result(timeout=60)
        assert [kind for kind, _ in listeners[1].events()] == ["status"]
        client.wait(asyncio.sleep(0.3))
        assert not heard[0].done()  # the other key is good
        client._loop.call_soon_threadsafe(listeners[0].gone.set)
        heard[0].result(timeout=60)


@pytest.mark.system
@pytest.mark.slow_without_jit
@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_stops_although_streams_are_open(start: Start, request: pytest.FixtureRequest, workers: int) -> None:
    server = start(request.getfixturevalue("sqlite" if workers == 1 else "postgresql"), workers=workers)
    experiment = server.create()
    connections = []
    for call in ("stream", "stream", "audit/replay"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request(
            "GET", f"/v1/experiments/{experiment}/{call}", headers={"Authorization": f"Bearer {server.key}"}
        )
        if call == "stream":
            response = connection.getresponse()
            assert response.readline().startswith(b"id: ")
        connections.append(connection)
    server.stop()
    for connection in connections:
        connection.close()
    said = server.log.read_text()
    assert "Traceback" not in said
    assert "graceful shutdown exceeded" not in said  # what uvicorn says when it has lost its patience
