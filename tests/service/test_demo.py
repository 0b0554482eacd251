"""The demonstration that plays by itself."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairbai.cli import main
from fairbai.service import demo, serve
from fairbai.service.listening import bind
from fairbai.service.reading.verify import verify
from fairbai.service.serve import demo_key
from fairbai.service.storage import deletions
from fairbai.service.storage.keys import create_key, list_keys
from fairbai.service.storage.metrics import Metrics
from fairbai.service.storage.settings import ServerSettings
from fairbai.service.writing.writer import Writer
from tests.service.running import Local, address, opened, running
from tests.service.server import free_port


def until_stopped(client: Local, experiment: str) -> None:
    give_up = time.monotonic() + 300.0
    while not client.get(f"/v1/experiments/{experiment}").json()["stopped"]:
        assert time.monotonic() < give_up
        time.sleep(0.05)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TICK": 0.001, "WAIT": 0.002, "LEASE": 0.5, "PACE": 5000.0, "GROWTH": 0.0}.items():
        monkeypatch.setattr(demo, name, value)


@pytest.mark.slow_without_jit
def test_it_plays_until_it_has_an_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    url = address(tmp_path)
    caplog.set_level("INFO", "fairbai.service")
    with running(url, demo=True, sweep=0.1) as client:
        first = client.get("/v1/session").json()["demo"]
        until_stopped(client, first)
        status = client.get(f"/v1/experiments/{first}").json()
        assert status["name"] == demo.NAME
        assert status["decided"]
        said = f"demo: decided: {status['recommendation']!r} is the best arm, with 99 % confidence"
        assert [message for message in caplog.messages if message.startswith(said)] != []
        assert status["trials"] > status["observed"]  # some are lost
        assert client.get(f"/v1/experiments/{first}/audit").json()["kept"] is True
    with opened(url) as database:
        assert [differences for _, differences in verify(database) if differences] == []
    with running(url, demo=True) as client:  # the next start begins another one
        second = client.get("/v1/session").json()["demo"]
        assert second != first
        client.post(f"/v1/experiments/{second}/close")
        until_stopped(client, second)


@pytest.mark.slow_without_jit
def test_a_demonstration_goes_on_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "PACE", 0.0)
    url = address(tmp_path)
    found = set()
    for _ in range(2):
        with running(url, demo=True) as client:
            found.add(client.get("/v1/session").json()["demo"])
    assert len(found) == 1


def test_a_deleted_demonstration_is_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "PACE", 0.0)
    with running(address(tmp_path), demo=True) as client:
        first = client.get("/v1/session").json()["demo"]
        with client.app.service.database.writer.begin() as connection:
            deletions.record(connection, first, 1.0, None)  # whose rows were not deleted before the server ended
    with opened(address(tmp_path)) as database:
        assert demo.Demo(database, Writer(database, Metrics()))._running() is None


def test_every_start_has_a_key_and_ends_the_last_one(tmp_path: Path) -> None:
    with opened(address(tmp_path)) as database:
        create_key(database, "reader", "demo")
        first, second = demo_key(database), demo_key(database)
        assert first != second
        assert [key["revoked_at"] is None for key in list_keys(database)] == [True, False, True]


@contextmanager
def demonstration(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The command in a process of its own: the process, its address and its key."""
    (folder / "tmp").mkdir()
    command = [sys.executable, "-m", "fairbai", "serve", "--demo", "--port", str(free_port()), *options]
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.fullmatch(r"demo: open (\S+/)sign-in#(fb_\S+)\n", process.stdout.readline())
        assert found is not None
        yield process, found[1], found[2]
    finally:
        process.kill()
        process.wait()
        process.stdout.close() if process.stdout else None


@pytest.mark.system
@pytest.mark.slow_without_jit
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 0), (signal.SIGTERM, 128 + signal.SIGTERM)],
)
def test_it_listens_when_it_says_so_and_leaves_nothing_behind(tmp_path: Path, number: int, code: int) -> None:
    with demonstration(tmp_path) as (process, address, key):
        request = urllib.request.Request(f"{address}readyz", headers={"Authorization": f"Bearer {key}"})
        with urllib.request.urlopen(request, timeout=60) as response:  # the first one, and not repeated
            assert response.status == 200
        (folder,) = tmp_path.glob("tmp/fairbai-demo-*")
        assert (folder / "demo.db").exists()
        process.send_signal(number)
        assert process.wait(240) == code
        assert not list(tmp_path.glob("tmp/*"))
        assert not list(tmp_path.glob("*.db"))


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_database_that_is_named_is_kept(tmp_path: Path) -> None:
    with demonstration(tmp_path, "--database", f"sqlite:///{tmp_path}/mine.db") as (process, _, _):
        assert not list(tmp_path.glob("tmp/fairbai-demo-*"))
        process.send_signal(signal.SIGINT)
        assert process.wait(240) == 0
    assert (tmp_path / "mine.db").exists()


def test_visitors_become_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The decision comes neither at once nor after hours; a comment in the module has the times."""
    monkeypatch.undo()
    after = {seconds: demo.PACE * seconds + demo.GROWTH * seconds**2 / 2 for seconds in (60, 180, 360)}
    assert 100 < after[60] < 200
    assert 600 < after[180] < 700  # fewer than one demo in 400 needs no more
    assert 2200 < after[360] < 2500  # nine in ten need no more


def test_it_is_for_one_worker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["serve", "--demo", "--workers", "2", "--database"]
    assert main([*options, "postgresql://nobody@127.0.0.1:9/none"]) != 0
    assert main([*options, f"sqlite:///{tmp_path}/x.db"]) != 0
    assert re.search("workers must be 1", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("host", "shown"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "localhost"), ("::", "localhost"), ("::1", "[::1]")],
)
def test_the_address_of_the_demonstration_can_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, shown: str
) -> None:
    monkeypatch.setattr(serve, "_run_one", lambda settings, sockets, listening: listening())
    monkeypatch.setattr(serve, "bind", lambda host, port: bind("127.0.0.1", 0))
    monkeypatch.setattr(ServerSettings, "to_environment", lambda _: None)
    said: list[str] = []
    serve.serve(ServerSettings(database=f"sqlite:///{tmp_path}/demo.db", demo=True), host, 8000, 1, said.append)
    assert re.fullmatch(rf"demo: open http://{re.escape(shown)}:\d+/sign-in#fb_\S+", said[-1])
