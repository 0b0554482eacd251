"""The log proves itself: every change breaks its hashes, and a kept head shows what is missing at its end."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from fairbai.cli import main
from fairbai.client import Client
from fairbai.service.domain.chain import Head
from fairbai.service.reading.chains import read_heads
from fairbai.service.reading.verify import verify
from fairbai.service.storage.schema import SCHEMA
from tests.service.earlier import take_back
from tests.service.running import Local, address, ask, create, opened, play, running, tell


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Local]:
    with running(address(tmp_path)) as found:
        yield found


def change(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "test.db")) as connection, connection:
        for statement in statements:
            assert connection.execute(statement).rowcount > 0


def differences(folder: Path, *heads: str) -> list[str]:
    """What is wrong with the experiments of a database."""
    with opened(address(folder)) as database:
        return [difference for _, found in verify(database, read_heads(heads)) for difference in found]


def head_of(client: Local, at: str) -> str:
    """As ``--head`` takes it."""
    return f"{at.rsplit('/', 1)[1]}={client.get(f'{at}/head').json()['head']}"


def test_answers_have_the_head_of_the_log(client: Local) -> None:
    at = create(client)
    tickets = ask(client, at, 5)
    first = tell(client, at, {one["ticket"]: 1.0 for one in tickets})["head"]
    assert first.startswith("3:")
    assert client.get(f"{at}/head").json() == {"head": first}
    assert tell(client, at, {tickets[0]["ticket"]: 1.0})["head"] == first  # nothing was new
    batch = {"batch": "x", "pulls": {"a": 300, "b": 10, "c": 10}, "sums": {"a": 600.0, "b": 0.0, "c": 0.0}}
    answer = client.post(f"{at}/batches", json=batch).json()
    assert answer["decided"]
    assert answer["head"].startswith("5:")  # that of the decision
    closed = client.post(f"{at}/close").json()["head"]
    assert closed.startswith("6:")
    assert client.get(f"{at}/head").json() == {"head": closed}


def test_hashes_can_be_computed_by_anybody(client: Local, tmp_path: Path) -> None:
    """By what docs/service.md says, with code of our own."""
    at = create(client)
    play(client, at, 10)
    client.post(f"{at}/ask", json={}, headers={"Idempotency-Key": "k"})
    with closing(sqlite3.connect(tmp_path / "test.db")) as connection:
        columns = "experiment, sequence, at, kind, key, actor, data, hash"
        rows = connection.execute(f"SELECT {columns} FROM events ORDER BY sequence").fetchall()
        (head,) = connection.execute("SELECT head FROM experiments").fetchone()
    before = ""
    for *names, data, found in rows:
        line = json.dumps([before, *names], separators=(",", ":"))
        before = hashlib.sha256(f"{line}\n{data}".encode()).hexdigest()
        assert found == before
    assert head == before
    assert len(rows) > 20


@pytest.mark.parametrize(
    ("change_", "found"),
    [
        ("UPDATE events SET at = at + 1 WHERE sequence = 3", "event 3 (told) has hash"),
        ("UPDATE events SET actor = 'somebody' WHERE sequence = 5", "event 5 (told) has hash"),
        ("UPDATE events SET hash = NULL WHERE sequence = 5", "event 5 (told) has hash None"),
        ("UPDATE events SET hash = NULL WHERE sequence <= 5", "event 6 (asked) has hash"),
        ("UPDATE experiments SET head = 'f'", "the head is f, but"),
        ("UPDATE experiments SET restores = 2", "restores is 2, replayed 0"),
    ],
)
def test_verify_sees_what_a_replay_does_not(client: Local, tmp_path: Path, change_: str, found: str) -> None:
    play(client, create(client), 5)
    assert differences(tmp_path) == []
    change(tmp_path, change_)
    (difference,) = differences(tmp_path)
    assert found in difference


def test_a_lost_tail_is_seen_with_a_kept_head_only(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, delta=1e-9)
        play(client, at, 5)
        early = head_of(client, at)
    shutil.copy(tmp_path / "test.db", tmp_path / "earlier.db")
    with running(address(tmp_path)) as client:
        play(client, at, 5, seed=1)
        late = head_of(client, at)
    assert differences(tmp_path, early, late) == []
    shutil.copy(tmp_path / "earlier.db", tmp_path / "test.db")
    assert differences(tmp_path, early) == []
    assert differences(tmp_path, early, late) == [
        "the log ends with event 11, the kept head is of event 21: 10 acknowledged events are lost"
    ]
    with running(address(tmp_path)) as client:
        play(client, at, 5, seed=2)
    (another,) = differences(tmp_path, early, late)
    assert another.startswith("event 21 has hash")
    assert "replica that lagged" in another


def test_a_flipped_bit_in_the_wal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SQLite drops what follows it without a word; the last head that a client was told shows the loss."""
    (tmp_path / "crashed").mkdir()
    with running(address(tmp_path)) as client:
        at = create(client, delta=1e-9)
        for ticket in ask(client, at, 50):
            head = tell(client, at, {ticket["ticket"]: 0.5})["head"]
        for file in tmp_path.glob("test.db*"):  # as a kill would leave them
            if not file.name.endswith("-shm"):
                shutil.copy(file, tmp_path / "crashed")
    experiment = at.rsplit("/", 1)[1]
    wal = tmp_path / "crashed" / "test.db-wal"
    data = bytearray(wal.read_bytes())
    data[len(data) * 3 // 4] ^= 1
    wal.write_bytes(data)
    url = f"sqlite:///{tmp_path / 'crashed' / 'test.db'}"
    assert main(["verify", "--database", url]) == 0
    said = capsys.readouterr().out
    assert "no head was given for 1 of 1 experiments: that events are missing at the end" in said
    assert main(["verify", "--database", url, "--head", f"{experiment}={head}"]) == 1
    said = capsys.readouterr().out
    assert "the kept head is of event 52: " in said
    assert "acknowledged events are lost" in said


def test_heads_are_read_from_files_and_wrong_ones_refused(
    client: Local, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = ["--database", address(tmp_path)]
    heads = []
    for _ in range(2):
        play(client, at := create(client), 3)
        heads.append(head_of(client, at))
    (tmp_path / "heads").write_text("\n".join(heads) + "\n\n")
    assert main(["verify", *url, "--head", str(tmp_path / "heads"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["compared"], said["unchained"], said["deleted"]) == (2, [], [])
    assert sorted(f"{experiment}={head}" for experiment, head in said["heads"].items()) == sorted(heads)
    for wrong in ("a=1", "a=1:xyz", "nowhere"):
        assert main(["verify", *url, "--head", wrong]) == 2
    (tmp_path / "heads").write_text("nonsense\n")
    assert main(["verify", *url, "--head", str(tmp_path / "heads")]) == 2
    assert "a line must be EXPERIMENT=SEQUENCE:HASH, got 'nonsense'" in capsys.readouterr().err


def test_an_experiment_that_is_missing(client: Local, tmp_path: Path) -> None:
    """Is lost, unless its deletion is recorded, with as many events."""
    head = f"abc=7:{'0' * 64}"
    assert differences(tmp_path, head) == ["the experiment is lost: a head of it was kept, and no deletion is recorded"]
    change(tmp_path, "INSERT INTO deletions VALUES ('abc', 'default', 'x', 1.0, NULL, 7, '" + "0" * 64 + "')")
    assert differences(tmp_path, head) == []
    assert differences(tmp_path, f"abc=6:{'1' * 64}") == []  # of which nothing is left to compare it with
    assert differences(tmp_path, head, f"abc=7:{'1' * 64}") == [
        f"it was deleted when event 7 had hash {'0' * 64}, the kept head has {'1' * 64}"
    ]
    later = f"abc=8:{'0' * 64}"
    assert differences(tmp_path, head, later) == ["it was deleted with 7 events, the kept head is of event 8"]


def test_logs_of_an_earlier_version_are_chained_from_the_next_event_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, lease=None)
        tickets = ask(client, at, 4)
    take_back(address(tmp_path), "0005")
    with running(address(tmp_path)) as client:
        assert client.get(f"{at}/head").json() == {"head": None}
        head = tell(client, at, {tickets[0]["ticket"].split("-")[0]: 1.0})["head"]
        assert head.startswith("3:")
    assert differences(tmp_path, f"{at.rsplit('/', 1)[1]}={head}") == []
    assert main(["verify", "--database", address(tmp_path)]) == 0
    assert f"which have no hashes: {at.rsplit('/', 1)[1]}" in capsys.readouterr().out
    change(tmp_path, "UPDATE events SET at = at + 1 WHERE sequence = 3")
    assert "event 3 (told) has hash" in differences(tmp_path)[0]


def test_clients_keep_the_last_head() -> None:
    heads = iter([Head(3, "a" * 64), Head(9, "b" * 64), Head(5, "c" * 64), None])
    answer: dict[str, Any] = {"decided": False, "stopped": False, "recommendation": None, "ended_by": None}

    def reply(request: httpx.Request) -> httpx.Response:
        head = next(heads)
        return httpx.Response(200, json={**answer, "head": None if head is None else str(head)})

    with Client("http://test", "key", transport=httpx.MockTransport(reply)) as client:
        assert client.tell("x", {"0": 1.0}).head == f"3:{'a' * 64}"
        client.report("x", "batch", {}, {})
        assert client.heads == {"x": f"9:{'b' * 64}"}
        client.tell("x", {"1": 1.0})  # an answer that was overtaken
        client.close("y")
        assert client.heads == {"x": f"9:{'b' * 64}"}


def test_events_are_counted_in_metrics(client: Local) -> None:
    play(client, create(client, delta=1e-9), 5)
    assert "fairbai_events_total 11.0" in client.get("/metrics").text


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.system)])
def test_a_server_stops_writing_once_a_newer_one_has_upgraded_the_database(
    request: pytest.FixtureRequest, database: str
) -> None:
    with running(request.getfixturevalue(database)) as client:
        check_upgrade(client)


def check_upgrade(client: Local) -> None:
    at = create(client)
    (ticket,) = ask(client, at)
    with client.app.service.database.writer.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for path, body in ((f"{at}/ask", {}), (f"{at}/tell", {"rewards": [{"ticket": ticket["ticket"], "reward": 1.0}]})):
        refused = client.post(path, json=body)
        assert refused.status_code == 503
        assert "upgraded to schema 9999 while this server was running" in refused.json()["detail"]
    form = {"name": "x", "arms": ["a", "b"], "delta": 0.1, "family": {"kind": "gaussian", "variance": 1.0}}
    assert client.post("/v1/experiments", json=form).status_code == 503
    assert client.get("/readyz").status_code == 503
    with client.app.service.database.writer.begin() as connection:
        connection.execute(text(f"UPDATE alembic_version SET version_num = '{SCHEMA}'"))
    status = client.get(at).json()
    assert (status["trials"], status["observed"]) == (1, 0)
    assert len(client.get("/v1/experiments").json()["experiments"]) == 1
