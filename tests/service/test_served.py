"""The command ``fairbai serve``, in a process of its own, and the client."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
from pathlib import Path
from typing import Any

import httpx
import pytest

from fairbai.cli import main
from fairbai.client import Answer, AsyncClient, Client, ExperimentOverError, ServiceError
from fairbai.service.storage import settings
from tests.service.conftest import Start
from tests.service.running import address, create, play, running
from tests.service.server import free_port


def reward(arm: str, rng: random.Random) -> float:
    return rng.gauss(1.0 if arm == "b" else 0.0, 1.0)


def test_whole_experiment_with_the_client(start: Start, sqlite: str, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(1)
    server = start(sqlite, workers=1)  # not in a fork, which has no exit code
    with Client(server.address, server.key) as client:
        experiment = client.create(
            "test", ["a", "b", "c"], 0.1, family={"kind": "gaussian", "variance": 1.0}, floors=0.2, seed=1
        )
        answer = Answer(decided=False, stopped=False, recommendation=None)
        while not answer.stopped:
            tickets = client.ask(experiment, 5)
            answer = client.tell(experiment, {ticket: reward(arm, rng) for ticket, arm in tickets})
        with pytest.raises(ExperimentOverError) as over:
            client.ask(experiment)
        assert over.value.recommendation == "b" == answer.recommendation
        assert client.ask(experiment, serve_winner=True)[0].arm == "b"
        assert client.status(experiment)["stopped"]
        assert client.experiments()["experiments"][0]["id"] == experiment
        assert client.history(experiment)["points"]
        assert client.events(experiment, "ndjson").count(b'"kind":"told"') == client.status(experiment)["observed"]
        assert client.close(experiment) == Answer(decided=True, stopped=True, recommendation="b", ended_by="decision")
        with pytest.raises(ServiceError, match="404: No such experiment"):
            client.status("nothing")
    assert server.stop() in (0, -signal.SIGTERM)
    assert main(["verify", "--database", sqlite]) == 0
    assert "0 of 1 experiments differ from their log" in capsys.readouterr().out


def test_server_that_is_killed_loses_nothing_and_clients_go_on(start: Start, sqlite: str) -> None:
    """The client repeats what the kill interrupted, when the server is back on the same port."""
    server = start(sqlite)
    with Client(server.address, server.key) as client:
        experiment = client.create("test", ["a", "b"], 1e-9, family={"kind": "gaussian", "variance": 1.0})
        tickets = client.ask(experiment, 50)
        client.tell(experiment, {ticket: 1.0 for ticket, _ in tickets})
    server.kill()
    server.start()
    with Client(server.address, server.key) as client:
        status = client.status(experiment)
        assert (status["trials"], status["observed"]) == (50, 50)
        assert client.tell(experiment, {ticket: 1.0 for ticket, _ in tickets}).counted == 0
        assert client.ask(experiment)[0].ticket.startswith("50-")


def test_client_repeats_calls_with_the_same_key() -> None:
    seen: list[httpx.Request] = []
    answers: list[Any] = [httpx.ConnectError("down"), httpx.Response(503, headers={"Retry-After": "0"})]
    answers.append(httpx.Response(200, json={"tickets": [{"ticket": "0", "arm": "a"}]}))

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with Client("http://test", "fb_x_y", transport=httpx.MockTransport(handle)) as client:
        assert client.ask("x")[0].arm == "a"
    assert len({request.headers["Idempotency-Key"] for request in seen}) == 1
    assert len(seen) == 3


def test_client_repeats_a_full_disk_quotes_ids_and_leaves_out_what_it_does_not_know() -> None:
    seen: list[httpx.Request] = []
    answers = [httpx.Response(507, headers={"Retry-After": "0"})]
    answers.append(httpx.Response(200, json={"decided": True, "stopped": False, "recommendation": "a", "new": 1}))
    answers.append(httpx.Response(200, json={"tickets": [{"ticket": "0", "arm": "a", "new": 1}], "new": 1}))

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return answers.pop(0)

    with Client("http://test", "fb_x_y", transport=httpx.MockTransport(handle)) as client:
        assert client.tell("../a/b?c#d", {"0": 1.0}) == Answer(True, False, "a")
        assert client.ask("x") == [("0", "a")]
    assert seen[0].url.raw_path == b"/v1/experiments/..%2Fa%2Fb%3Fc%23d/tell"
    assert len(seen) == 3


def test_client_gives_up() -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/ask"):
            raise httpx.ConnectError("down")
        return httpx.Response(503, text="not JSON", headers={"Retry-After": "0"})

    with Client("http://test", "k", retries=1, transport=httpx.MockTransport(handle)) as client:
        with pytest.raises(ServiceError, match="503: error"):
            client.status("x")
        with pytest.raises(httpx.ConnectError):
            client.ask("x")


def test_async_client(start: Start, sqlite: str) -> None:
    async def whole(url: str, key: str) -> None:
        async with AsyncClient(url, key) as client:
            experiment = await client.create("test", ["a", "b"], 0.1, family="bernoulli", settle=False)
            policy = await client.policy(experiment, trials=100)
            assert sum(policy["probabilities"].values()) == pytest.approx(1.0)
            answer = await client.report(experiment, "one", {"a": 500, "b": 500}, {"a": 300, "b": 100})
            assert answer == Answer(True, True, "a", accepted=1000, counted=1000, ended_by="decision")
            with pytest.raises(ExperimentOverError):
                await client.ask(experiment)
            assert (await client.ask(experiment, 2, serve_winner=True))[1].arm == "a"
            assert (await client.tell(experiment, {"winner": 1.0})).counted == 0
            assert (await client.status(experiment))["recommendation"] == "a"
            assert (await client.experiments())["next"] is None
            assert len((await client.history(experiment))["points"]) == 1
            assert (await client.events(experiment)).startswith(b"sequence,at,kind")
            assert (await client.close(experiment)).stopped

    server = start(sqlite)
    asyncio.run(whole(server.address, server.key))


def test_workers_on_sqlite_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--database", address(tmp_path), "--workers", "2"]) == 2
    assert "use PostgreSQL for more" in capsys.readouterr().err
    assert main(["serve", "--database", address(tmp_path), "--workers", "0"]) == 2


def test_serve_prints_a_key_once_and_hands_its_settings_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(
        "fairbai.service.serve._run_one", lambda _, sockets, __: started.append(sockets[0].getsockname())
    )
    monkeypatch.setenv(settings.VARIABLE, "{}")  # so that it is put back afterwards
    port = str(free_port())
    for _ in range(2):
        assert main(["serve", "--database", address(tmp_path), "--port", port]) == 0
    assert capsys.readouterr().out.count("admin key") == 1
    assert started == [("127.0.0.1", int(port))] * 2
    assert settings.ServerSettings.from_environment().database == address(tmp_path)


def test_keys_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = ["--database", address(tmp_path)]
    assert main(["keys", "create", "--role", "writer", "--name", "web shop", *database]) == 0
    key = capsys.readouterr().out.strip()
    name = key.split("_")[1]
    assert main(["keys", "list", *database]) == 0
    shown = capsys.readouterr().out
    assert name in shown
    assert "web shop" in shown
    assert key not in shown
    assert main(["keys", "revoke", name, *database]) == 0
    assert main(["keys", "revoke", "nothing", *database]) == 2
    assert "No key has the id 'nothing'" in capsys.readouterr().err


def test_keys_are_listed_without_a_new_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for action in (["list"], ["revoke", "x"]):
        assert main(["keys", *action, "--database", address(tmp_path)]) == 2
        assert "no such file" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "test.db").touch()
    assert main(["keys", "list", "--database", address(tmp_path)]) == 2
    assert "start fairbai serve on it" in capsys.readouterr().err


def test_verify_says_where_a_database_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(address(tmp_path)) as client:
        at = create(client)
        play(client, at, 3)
    connection = sqlite3.connect(tmp_path / "test.db")
    with connection:
        connection.execute("UPDATE experiments SET assigned = 0")
    connection.close()
    assert main(["verify", "--database", address(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "assigned is 0, replayed" in printed
    assert "1 of 1 experiments differ from their log" in printed
