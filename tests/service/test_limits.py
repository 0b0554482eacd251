"""What a client can take of a server without being served: bytes, time, memory and connections are bounded."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from fairbai.service.http import connections
from fairbai.service.http.descriptors import affordable
from fairbai.service.http.middleware import LimitBody
from fairbai.service.http.protocol import LimitedProtocol
from fairbai.service.storage.limits import Limits
from fairbai.service.storage.settings import ServerSettings
from tests.service.wire import OK, Wire, listening, read, status

HEAD = b"GET /healthz HTTP/1.1\r\nHost: test\r\n"
SIGN_IN = b"POST /sign-in HTTP/1.1\r\nHost: test\r\n"
CLOSING = HEAD + b"Connection: close\r\n\r\n"
CHUNKED = SIGN_IN + b"Transfer-Encoding: chunked\r\n\r\n"


def flood(connection: socket.socket, size: int) -> None:
    """Send as much as the server takes."""
    try:
        for _ in range(size // 100_000):
            connection.sendall(b"a" * 100_000)
    except OSError:
        pass


def is_cut_off(connection: socket.socket, sent: bytes) -> bool:
    """Whether something can not be sent again and again for ever."""
    give_up = time.monotonic() + 60.0
    try:
        while time.monotonic() < give_up:
            connection.sendall(sent)
            time.sleep(0.05)
    except TimeoutError:  # it is not read, and goes on
        return False
    except OSError:
        return True
    return False


def served_soon(wire: Wire) -> None:
    """Wait until there is room for a new connection."""
    give_up = time.monotonic() + 60.0
    while not wire.answer(CLOSING).startswith(b"HTTP/1.1 200 "):
        assert time.monotonic() < give_up
        time.sleep(0.05)


def held(wire: Wire, size: int) -> None:
    """Wait until the service holds so many bytes of bodies that are being received."""
    found: Any = wire.client.app._http
    while not isinstance(found, LimitBody):
        found = found._app
    give_up = time.monotonic() + 60.0
    while found._held != size:
        assert time.monotonic() < give_up
        time.sleep(0.01)


def test_an_endless_header_is_refused_and_holds_up_nobody(tmp_path: Path) -> None:
    with listening(tmp_path) as wire:
        endless = wire.connect(HEAD + b"X-Long: ")
        other = wire.connect(OK)
        assert status(other) == 200
        sender = threading.Thread(target=flood, args=(endless, 50_000_000))
        sender.start()
        longest = 0.0
        while sender.is_alive():
            began = time.monotonic()
            other.sendall(OK)
            assert status(other) == 200
            longest = max(longest, time.monotonic() - began)
        assert longest < 15.0
        answer = read(endless)
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert b"at most 32,768 bytes" in answer


def test_headers_are_counted_however_they_come(tmp_path: Path) -> None:
    with listening(tmp_path, head_bytes=1000) as wire:
        room = 1000 - len(HEAD) - len(b"X: \r\n\r\n")
        assert status(wire.connect(HEAD + b"X: " + b"a" * room + b"\r\n\r\n")) == 200
        many = b"".join(b"X-%d: y\r\n" % number for number in range(200))
        target = b"GET /healthz?" + b"a" * 1000 + b" HTTP/1.1\r\n\r\n"
        for too_long in (HEAD + b"X: " + b"a" * (room + 1) + b"\r\n\r\n", HEAD + many + b"\r\n", target, b"\r\n" * 600):
            assert wire.answer(too_long).startswith(b"HTTP/1.1 431 ")
        slowly = wire.connect(HEAD)
        for _ in range(40):  # one header after another
            slowly.sendall(b"X-Long: " + b"a" * 20 + b"\r\n")
        assert status(slowly) == 431


@pytest.mark.parametrize("around", [b"0\r\nTrailer: ", b"5;extension="])
def test_what_stands_around_a_body_is_counted_too(tmp_path: Path, around: bytes) -> None:
    with listening(tmp_path, head_bytes=1000) as wire:
        assert wire.answer(CHUNKED + around + b"a" * 3000).startswith(b"HTTP/1.1 431 ")


def test_one_connection_serves_many_requests(tmp_path: Path) -> None:
    """Bytes and times are those of a request, not of its connection."""
    with listening(tmp_path, head_bytes=200, head_seconds=1.0, body_seconds=1.0) as wire:
        connection = wire.connect()
        form = b"key=" + b"x" * 400
        body = SIGN_IN + b"Content-Length: %d\r\n\r\n" % len(form) + form
        for _ in range(12):
            for sent, expected in ((OK, 200), (body, 303)):
                connection.sendall(sent)
                assert status(connection) == expected
            time.sleep(0.1)


def test_half_headers_are_ended(tmp_path: Path) -> None:
    with listening(tmp_path, head_seconds=1.0) as wire:
        served = wire.connect(OK)
        assert status(served) == 200
        served.sendall(HEAD)
        silent, half = wire.connect(), [wire.connect(HEAD) for _ in range(50)]
        assert is_cut_off(wire.connect(), b"\n")
        for one in (*half, served):
            answer = read(one)
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"connection: close" in answer
        assert read(silent) == b""  # a browser that only wanted to be quick


def test_a_client_is_not_blamed_for_a_server_that_was_held_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was sent in time but not yet read is read before the connection is judged."""
    with listening(tmp_path, head_seconds=0.3) as wire:
        assert status(wire.connect(OK)) == 200  # from now on the server looks at its connections
        begin = LimitedProtocol.__init__

        def slowly(self: LimitedProtocol, *given: Any) -> None:
            begin(self, *given)
            time.sleep(0.6)

        monkeypatch.setattr(LimitedProtocol, "__init__", slowly)
        assert wire.answer(HEAD).startswith(b"HTTP/1.1 408 ")
        assert status(wire.connect(OK)) == 200


class Held:
    """An event loop that runs only what is due, at times that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0
        self.next: Callable[[], None] | None = None

    def time(self) -> float:
        return self.now

    def call_at(self, _: float, function: Callable[[], None]) -> None:
        self.next = function

    def run_at(self, now: float) -> None:
        assert self.next is not None
        self.now = now
        self.next()


class Judged:
    """A connection that counts how often it was judged."""

    times = 0

    def end_if_overdue(self, now: float) -> None:
        self.times += 1


def test_a_connection_is_not_judged_before_it_could_be_read() -> None:
    """Also if the server was held up twice, the second time while it accepted the connection."""
    loop, first, second = Held(), Judged(), Judged()
    found = connections.Connections(ServerSettings("sqlite://"), loop)  # type: ignore[arg-type]
    assert found.admit(first, "127.0.0.1") is None
    loop.run_at(10.0)
    assert first.times == 0
    assert found.admit(second, "127.0.0.1") is None
    loop.run_at(20.0)
    assert (first.times, second.times) == (1, 0)
    loop.run_at(21.0)
    assert (first.times, second.times) == (2, 1)


def test_slow_bodies_are_ended_and_steady_ones_are_not(tmp_path: Path) -> None:
    with listening(tmp_path, body_seconds=1.0, body_rate=100.0) as wire:  # every part gives two seconds more
        stated = SIGN_IN + b"Content-Length: 2000\r\n\r\n"
        half, refused = wire.connect(stated + b"key="), wire.connect(SIGN_IN + b"Content-Length: 9999\r\n\r\n")
        steady = wire.connect(stated)
        for _ in range(10):  # one and a half seconds in all
            steady.sendall(b"a" * 200)
            time.sleep(0.15)
        assert status(steady) == 303
        assert read(half).startswith(b"HTTP/1.1 408 ")
        answer = read(refused)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert answer.count(b"HTTP/1.1") == 1


def test_idle_connections_are_closed(tmp_path: Path) -> None:
    with listening(tmp_path, idle_seconds=0.3) as wire:
        began = time.monotonic()
        connection = wire.connect(OK)
        assert status(connection) == 200
        assert read(connection) == b""
        assert 0.29 < time.monotonic() - began < 15.0  # without the setting it would be 20
        refused = wire.connect(SIGN_IN + b"Content-Length: 9000\r\n\r\n")
        assert status(refused) == 413
        began = time.monotonic()
        refused.sendall(b"a" * 9000)
        read(refused)
        assert 0.29 < time.monotonic() - began < 15.0


def test_an_upgrade_is_not_possible(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with listening(tmp_path) as wire:
        upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n\r\n"
        assert status(wire.connect(HEAD + upgrade)) == 200
    assert "upgrade" not in caplog.text.lower().replace("running upgrade", "")


def test_a_client_that_does_not_read_is_let_go(tmp_path: Path) -> None:
    with listening(tmp_path, stall_seconds=0.3, pipelined=1000) as wire:
        deaf = wire.connect()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = b"GET /static/plotly.min.js HTTP/1.1\r\nHost: test\r\n\r\n"
        deaf.sendall(request * 3)
        assert is_cut_off(deaf, OK)


def test_connections_are_limited_and_those_that_are_open_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with listening(tmp_path, connections=20, head_seconds=4.0, idle_seconds=60.0) as wire:
        good = wire.connect(OK)
        assert status(good) == 200
        half = [wire.connect(HEAD) for _ in range(19)]
        assert b"503 Service Unavailable" in wire.answer(b"")
        good.sendall(OK)
        assert status(good) == 200
        for one in half:
            assert read(one).startswith(b"HTTP/1.1 408 ")
            one.close()
        served_soon(wire)  # there is room again
    assert "connections refused: the server has 20 connections" in caplog.text


def test_connections_of_an_address_are_limited_unless_it_is_a_proxy(tmp_path: Path) -> None:
    for proxies, expected in (("", b"503"), ("10.0.0.0/8, 127.0.0.1", b"200")):
        (tmp_path / expected.decode()).mkdir()
        with listening(tmp_path / expected.decode(), proxies, connections_per_address=5) as wire:
            kept = [wire.connect(OK) for _ in range(5)]
            assert [status(one) for one in kept] == [200] * 5
            assert expected in wire.connect(OK).recv(1000)
            for one in kept[:3]:
                one.close()
            served_soon(wire)


def test_pipelined_requests_are_limited(tmp_path: Path) -> None:
    with listening(tmp_path, pipelined=10) as wire:
        connection = wire.connect(OK * 8)
        found = b""
        while found.count(b'{"status":"ok"}') < 8:
            found += connection.recv(65_536)
        assert wire.answer(OK * 50).count(b'{"status":"ok"}') < 12


def test_bodies_without_a_key_are_small_and_all_together_are_bounded(tmp_path: Path) -> None:
    with listening(tmp_path, bodies_bytes=1_000_000, body_seconds=60.0) as wire:
        for sent in (SIGN_IN + b"Content-Length: 8193\r\n\r\n", CHUNKED + b"4000\r\n" + b"a" * 0x4000 + b"\r\n"):
            assert status(wire.connect(sent)) == 413
        key = wire.client.http.headers["Authorization"].encode()
        large = b"POST /v1/experiments HTTP/1.1\r\nAuthorization: " + key + b"\r\nContent-Length: 900000\r\n\r\n"
        half = [wire.connect(large + b" " * 400_000) for _ in range(2)]
        held(wire, 800_000)
        third = wire.connect(large + b" " * 400_000)
        assert status(third) == 503
        for one in half:
            one.close()
        held(wire, 0)
        fourth = wire.connect(large + b" " * 900_000)  # what the others held is free again
        assert status(fourth) == 422


def test_a_client_that_goes_away_leaves_no_trace(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with listening(tmp_path) as wire:
        key = wire.client.http.headers["Authorization"].encode()
        keyed = b" HTTP/1.1\r\nHost: test\r\nAuthorization: " + key + b"\r\nContent-Length: 100\r\n\r\n{"
        for sent in (
            SIGN_IN + b"Content-Length: 100\r\n\r\nkey=",
            b"POST /v1/experiments/0/ask" + keyed,
            b"POST /v1/experiments" + keyed,
            b"POST /v1/plan" + keyed,
        ):
            wire.connect(sent).close()
        time.sleep(0.3)
        assert status(wire.connect(OK)) == 200
    assert [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR] == []


def test_forwarded_addresses_are_believed_of_trusted_proxies_only(tmp_path: Path) -> None:
    forged = {"X-Forwarded-For": "203.0.113.9", "Authorization": "Bearer fb_0_0"}
    for proxies, expected in (("", [401] * 20 + [429] * 2), ("127.0.0.1", [401] * 22)):
        (tmp_path / str(len(proxies))).mkdir()
        with listening(tmp_path / str(len(proxies)), proxies) as wire, httpx.Client(timeout=60.0) as http:
            at = f"http://127.0.0.1:{wire.port}/readyz"
            found = [
                http.get(at, headers={**forged, "X-Forwarded-For": f"203.0.113.{number}"}).status_code
                for number in range(22)
            ]
            assert found == expected


def test_descriptors_bound_connections() -> None:
    assert [affordable(4000, descriptors) for descriptors in (128, 256, 1024, 65_536)] == [64, 156, 924, 4000]
    assert affordable(10, 1024) == 10


def test_one_address_cannot_take_all_connections_where_descriptors_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "raise_descriptors", lambda: 1024)
    loop = asyncio.new_event_loop()
    found = connections.Connections(ServerSettings(), loop)
    assert [found.admit(Nobody(), "192.0.2.1") is None for _ in range(1100)] == [True] * 231 + [False] * 869
    assert found.admit(Nobody(), "192.0.2.2") is None
    loop.close()


def test_limits_are_checked() -> None:
    assert Limits().changed(["connections=7", "idle_seconds=1.5"]) == Limits(connections=7, idle_seconds=1.5)
    for wrong, said in (
        ("connection=7", "a limit must be one of head_bytes, "),
        ("connections=few", "connections must be a whole number, got 'few'"),
        ("connections=0", "connections must be positive, got 0"),
        ("body_rate=nan", "body_rate must be positive, got nan"),
    ):
        with pytest.raises(ValueError, match=said):
            Limits().changed([wrong])
    with pytest.raises(ValueError, match="trusted_proxies must be addresses or networks"):
        ServerSettings(trusted_proxies="proxy.example")


class Nobody:
    """A connection that is never overdue."""

    def end_if_overdue(self, now: float) -> None:
        pass


def test_refusals_are_logged_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.new_event_loop()
    found = connections.Connections(ServerSettings(limits=Limits(connections=1)), loop)
    assert [found.admit(Nobody(), "::1") is None for _ in range(100)] == [True] + [False] * 99
    loop.close()
    assert caplog.text.count("connections refused") == 1


def test_a_connection_that_fails_does_not_end_the_limits_of_others(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Nobody):
        def end_if_overdue(self, now: float) -> None:
            raise RuntimeError("broken")

    class Counting(Nobody):
        looks = 0

        def end_if_overdue(self, now: float) -> None:
            self.looks += 1

    async def go() -> None:
        limits = Limits(head_seconds=0.04)
        found = connections.Connections(ServerSettings(limits=limits), asyncio.get_running_loop())
        kept = [Counting(), Broken(), Counting()]
        for one in kept:
            found.admit(one, "::1")
        while min(one.looks for one in kept if isinstance(one, Counting)) < 3:
            await asyncio.sleep(0.01)
        for one in kept:
            found.forget(one, "::1")

    asyncio.run(asyncio.wait_for(go(), 60.0))
    assert "RuntimeError: broken" in caplog.text


def test_addresses_of_one_network_are_one(tmp_path: Path) -> None:
    loop = asyncio.new_event_loop()
    found = connections.Connections(ServerSettings(limits=Limits(connections_per_address=2)), loop)
    kept = [Nobody() for _ in range(4)]
    addresses = ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "192.0.2.1"]
    assert [found.admit(*pair) for pair in zip(kept, addresses, strict=True)] == [None] * 4
    assert "2001:db8::3 has 2 connections" in (found.admit(Nobody(), "2001:db8::3") or "")
    found.forget(kept[0], addresses[0])
    assert found.admit(Nobody(), "2001:db8::3") is None
    loop.close()
