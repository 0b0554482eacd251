"""The log: it replays to what is stored, expires tickets, and comes out in three formats."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from fairbai.service.domain import costs, interventions, ranges
from fairbai.service.reading import export, tickets, verify
from fairbai.service.storage import logs
from fairbai.service.storage.logs import part_of_log
from fairbai.service.writing.leases import sweep
from tests.service.running import Local, address, ask, create, opened, play, running, tell


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Local]:
    with running(address(tmp_path)) as found:
        yield found


def expire(client: Local, now: float) -> int:
    """Run the search for overdue tickets in the service's own event loop."""
    service = client.app.service
    found: int = client.wait(sweep(service.database, service.writer, now))
    return found


def differences(tmp_path: Path) -> list[list[str]]:
    with opened(address(tmp_path)) as database:
        return [found for _, found in verify.verify(database)]


def played(client: Local) -> str:
    """An experiment with everything in it."""
    at = create(client, lease=1000.0)
    play(client, at, 20, best=0.1)
    tickets = ask(client, at, 4)
    assert expire(client, 1e12) == 4
    tell(client, at, {ticket["ticket"]: 0.5 for ticket in tickets[:2]})
    client.post(f"{at}/batches", json={"batch": "x", "pulls": {"a": 3}, "sums": {"a": 1.5}})
    client.post(f"{at}/ask", json={"n": 2}, headers={"Idempotency-Key": "k"})
    return at


def test_replay_gives_the_stored_state(client: Local, tmp_path: Path) -> None:
    at = played(client)
    client.post(f"{at}/close")
    play(client, create(client), 2000)  # to the stop
    play(client, create(client, floors={"kind": "gap", "p0": 0.5}, sampling="fair_track_and_stop"), 60)
    assert differences(tmp_path) == [[], [], []]


def test_what_was_allowed_replays_under_smaller_limits(
    client: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = create(client, family="exponential")
    given = ask(client, at, 40)
    tell(client, at, {one["ticket"]: 1.0 for one in given})
    client.post(f"{at}/batches", json={"batch": "x", "pulls": {"a": 3}, "sums": {"a": 1.5}})
    client.post(f"{at}/void", json={"tickets": [given[0]["ticket"]], "reason": "x"})
    monkeypatch.setattr(costs, "MAX_OPERATION", 1e-9)
    monkeypatch.setattr(ranges, "MIN_POSITIVE", 10.0)
    monkeypatch.setattr(interventions, "MAX_VOIDS", 0)
    assert client.post(f"{at}/ask", json={"n": 40}).status_code == 413
    assert differences(tmp_path) == [[]]


OTHER = "(json_extract(data, '$.arms[0]') + 1) % 3"  # another arm than the first that was given out


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE experiments SET state = replace(state, '\"late\":2', '\"late\":1')", "state is"),
        ("UPDATE tickets SET reward = reward + 1 WHERE number = 3", "ticket 3 is"),
        ("DELETE FROM tickets WHERE number = 3", "there are"),
        (f"UPDATE events SET data = json_set(data, '$.arms[0]', {OTHER}) WHERE sequence = 2", "event 2: data"),
        ("DELETE FROM events WHERE sequence = 5", "event"),
        ("UPDATE experiments SET observed = observed + 1", "observed is"),
        ("DELETE FROM history WHERE trials < 9", "points of the history"),
        ("UPDATE events SET data = '{' WHERE sequence = 1", "event 1 (created) cannot be replayed"),
        ("UPDATE events SET kind = 'told' WHERE sequence = 1", "event 1 must be created, got told"),
    ],
)
def test_verify_sees_damage(client: Local, tmp_path: Path, change: str, found: str) -> None:
    played(client)
    connection = sqlite3.connect(tmp_path / "test.db")
    with connection:
        assert connection.execute(change).rowcount > 0
    connection.close()
    ((first, *_),) = differences(tmp_path)
    assert found in first


def made_earlier(tmp_path: Path) -> None:
    """As if the experiments of a database had been created under revision 1."""
    connection = sqlite3.connect(tmp_path / "test.db")
    with connection:
        for name, state in connection.execute("SELECT id, state FROM experiments").fetchall():
            form = json.loads(state)
            del form["revision"], form["identifier"]["state"]["lost"], form["digest"]
            connection.execute("UPDATE experiments SET state = ? WHERE id = ?", (json.dumps(form), name))
        for name, config in connection.execute("SELECT id, config FROM experiments").fetchall():
            form = json.loads(config)
            del form["stopping"]["alpha"]
            text = json.dumps(form, separators=(",", ":"))
            connection.execute("UPDATE experiments SET config = ? WHERE id = ?", (text, name))
            connection.execute("UPDATE events SET data = ? WHERE experiment = ? AND kind = 'created'", (text, name))
        connection.execute("UPDATE events SET hash = NULL")
        connection.execute("UPDATE experiments SET head = NULL")
    connection.close()


def test_an_earlier_revision_is_read_and_its_counts_are_compared(client: Local, tmp_path: Path) -> None:
    at = played(client)
    made_earlier(tmp_path)
    assert differences(tmp_path) == [[]]
    with opened(address(tmp_path)) as database:
        assert verify.earlier_experiments(database) == [at.rsplit("/", 1)[1]]
    assert client.get(at).json()["expired"] == 2


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE experiments SET state = replace(state, '\"late\": 2', '\"late\": 1')", "late is 1, replayed 2"),
        ("UPDATE tickets SET reward = reward + 1 WHERE number = 3", "ticket 3 is"),
        ("DELETE FROM tickets WHERE number = 3", "ticket 3 is None"),
        ("DELETE FROM events WHERE sequence = 5", "observed is"),
        ("UPDATE events SET data = replace(data, '\"sums\":[1.5', '\"sums\":[1.0')", "sums is"),
    ],
)
def test_damage_to_an_earlier_revision_is_seen(client: Local, tmp_path: Path, change: str, found: str) -> None:
    played(client)
    made_earlier(tmp_path)
    connection = sqlite3.connect(tmp_path / "test.db")
    with connection:
        assert connection.execute(change).rowcount > 0
    connection.close()
    ((first, *_),) = differences(tmp_path)
    assert found in first


@pytest.mark.parametrize(
    "options",
    [
        {"lease": 100.0},
        {"report_after": 100.0},
        {"report_after": 100.0, "silence": 0.0},
        {"report_after": 100.0, "silence": 0.0, "stopping": "design_based"},
    ],
)
def test_counts_of_revision_2_are_compared_however_rewards_are_counted(
    client: Local, tmp_path: Path, options: dict[str, Any]
) -> None:
    """Revision 2 did not keep how sure it was, so that the rest of its states differs."""
    at = create(client, family="bernoulli", **options)
    tickets = ask(client, at, 40)
    told = {one["ticket"]: float(number % 2) for number, one in enumerate(tickets)}
    tell(client, at, dict(list(told.items())[3:30]))
    expire(client, 1e12)
    assert tell(client, at, dict(list(told.items())[28:34]))["late"] == 4
    tell(client, at, {one["ticket"]: 1.0 for one in ask(client, at, 5)})
    connection = sqlite3.connect(tmp_path / "test.db")
    with connection:
        earlier = "replace(replace(state, '\"revision\":4', '\"revision\":2'), '\"standing\":', '\"unknown\":')"
        connection.execute(f"UPDATE experiments SET state = json_remove({earlier}, '$.digest'), confidence = NULL")
    with opened(address(tmp_path)) as database:
        assert verify.earlier_experiments(database) == [at.rsplit("/", 1)[1]]
    assert differences(tmp_path) == [[]]
    client.post(f"{at}/close")
    assert client.get(at).json()["candidates"] is not None
    assert differences(tmp_path) == [[]]
    with connection:
        connection.execute("UPDATE tickets SET reward = 1 - reward WHERE number = 5")
    connection.close()
    ((first, *_),) = differences(tmp_path)
    assert "ticket 5 is" in first


def test_expired_tickets_are_not_pending_and_late_rewards_count(client: Local) -> None:
    at = create(client, lease=1000.0)
    tickets = ask(client, at, 3)
    assert expire(client, 0.0) == 0
    assert expire(client, 1e12) == 3
    assert expire(client, 1e12) == 0
    status = client.get(at).json()
    assert (status["trials"], status["pending"], status["expired"]) == (3, 0, 3)
    assert tell(client, at, {tickets[0]["ticket"]: 1.0})["late"] == 1
    assert tell(client, at, {tickets[0]["ticket"]: 1.0})["late"] == 0  # told before
    status = client.get(at).json()
    assert (status["observed"], status["late"], status["expired"]) == (1, 1, 2)


def test_service_looks_for_overdue_tickets_by_itself(tmp_path: Path) -> None:
    with running(address(tmp_path), sweep=0.05) as client:
        at = create(client, lease=0.2)
        ask(client, at, 3)
        deadline = time.monotonic() + 120.0
        while client.get(at).json()["expired"] < 3:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert differences(tmp_path) == [[]]


def test_ticket_without_a_lease_waits_for_ever(client: Local) -> None:
    at = create(client, lease=None)
    assert client.post(f"{at}/ask", json={}).json()["expires_at"] is None
    assert expire(client, 1e15) == 0


def test_reward_after_the_lease_is_late_before_anybody_has_swept(client: Local) -> None:
    at = create(client, lease=1e-6)
    (ticket,) = ask(client, at)
    assert tell(client, at, {ticket["ticket"]: 1.0})["late"] == 1
    assert expire(client, 1e12) == 0
    assert client.get(at).json()["expired"] == 0


def test_formats_hold_the_same(client: Local) -> None:
    at = played(client)
    text = client.get(f"{at}/events", params={"format": "csv"}).text
    rows = list(csv.DictReader(io.StringIO(text)))
    lines = [json.loads(line) for line in client.get(f"{at}/events?format=ndjson").text.splitlines()]
    table = parquet.read_table(io.BytesIO(client.get(f"{at}/events?format=parquet").content)).to_pylist()
    assert table == lines
    assert [{name: "" if value is None else str(value) for name, value in line.items()} for line in lines] == rows
    assert {row["kind"] for row in rows} == {"created", "asked", "told", "expired", "batch"}
    assert sum(row["late"] == "True" for row in rows) == 2
    assert client.get(f"{at}/events?format=xml").status_code == 422


def test_tickets_are_also_exported_as_clients_know_them(client: Local) -> None:
    """So that a reward can be voided by what no other history can have given out."""
    at = create(client, delta=1e-9)
    given = [ticket["ticket"] for ticket in ask(client, at, 3)]
    tell(client, at, dict.fromkeys(given[1:], 0.5))
    client.post(f"{at}/void", json={"tickets": given[1:2], "reason": "sent twice"})
    lines = [json.loads(line) for line in client.get(f"{at}/events?format=ndjson").text.splitlines()]
    assert [line["full_ticket"] for line in lines] == [None, *given, *given[1:], given[1]]
    assert all(line["full_ticket"].split("-", 1)[0] == line["ticket"] for line in lines[1:])


def test_long_log_comes_in_pieces(client: Local) -> None:
    at = create(client)
    for _ in range(40):
        tell(client, at, {ticket["ticket"]: 0.0 for ticket in ask(client, at, 100)})
    text = client.get(f"{at}/events?format=ndjson").text
    tickets = [json.loads(line)["ticket"] for line in text.splitlines()[1:]]
    assert sorted(tickets) == sorted([str(number) for number in range(4000)] * 2)


def test_long_logs_are_read_in_parts(client: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in memory does not grow with the log, and the parts make a whole."""
    at = played(client)
    formats = ("csv", "ndjson")
    whole = [client.get(f"{at}/events?format={form}").content for form in formats]
    table = parquet.read_table(io.BytesIO(client.get(f"{at}/events?format=parquet").content))
    monkeypatch.setattr(logs, "MAX_TEXT", 500)
    monkeypatch.setattr(export, "MAX_LINES", 7)
    monkeypatch.setattr(tickets, "CHUNK", 5)
    monkeypatch.setattr(verify, "CHUNK", 5)
    largest = 0

    def part(*arguments: Any) -> list[Any]:
        nonlocal largest
        found = part_of_log(*arguments)
        largest = max(largest, len(found))
        return found

    monkeypatch.setattr(export, "part_of_log", part)
    assert [client.get(f"{at}/events?format={form}").content for form in formats] == whole
    assert 1 < largest <= 10
    again = parquet.ParquetFile(io.BytesIO(client.get(f"{at}/events?format=parquet").content))
    assert again.num_row_groups > 5
    assert again.read() == table
    assert differences(tmp_path) == [[]]


def test_labels_are_no_formulas_in_a_spreadsheet(client: Local) -> None:
    harmless = {
        "=1+1": "'=1+1",
        "-10 %": "'-10 %",
        "@x": "'@x",
        "+1": "'+1",
        " =1+1": "' =1+1",
        "\u3000\u200b=1+1": "'\u3000\u200b=1+1",
        "＝1+1": "'＝1+1",
        "＠x": "'＠x",
        '"=1+1"': '\'"=1+1"',
        "a;=1+1": "a;'=1+1",  # which spreadsheets split where a comma is the decimal sign
        'a; "-1"': 'a;\' "-1"',
        "a|@x": "a|'@x",
        "a=b": "a=b",
        "a; b": "a; b",
        "x - y": "x - y",
    }
    at = create(client, arms=list(harmless), floors="constant")
    ask(client, at, 30)
    batch = {"batch": 'n;=1+1;"-2', "pulls": {"a=b": 1}, "sums": {"a=b": 1.0}}
    assert client.post(f"{at}/batches", json=batch).status_code == 200
    text = client.get(f"{at}/events").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["arm"] for row in rows} == {*harmless.values(), ""}
    for line in text.splitlines():  # however a spreadsheet splits it
        assert not [cell for cell in re.split("[;|]", line) if re.match(r"[\s\"]*[=+@＝＠-]", cell)]
    details = [json.loads(row["detail"]) for row in rows if row["detail"]]
    lines = [json.loads(line) for line in client.get(f"{at}/events?format=ndjson").text.splitlines()]
    assert {line["arm"] for line in lines} == {*harmless, None}
    assert details == [json.loads(line["detail"]) for line in lines if line["detail"]]  # the same, with escapes
    assert {"batch": 'n;=1+1;"-2'} in details


def test_history_has_the_decision_the_stop_and_the_close(client: Local, tmp_path: Path) -> None:
    """Whatever else it leaves out; a point that was kept at the same number of trials gives way."""
    at = create(client)
    batch = {"batch": "x", "pulls": {"a": 100, "b": 10, "c": 10}, "sums": {"a": 200.0, "b": 0.0, "c": 0.0}}
    assert client.post(f"{at}/batches", json=batch).json()["decided"]
    play(client, at, 2000)
    status = client.get(at).json()
    points = {point["trials"]: point for point in client.get(f"{at}/history").json()["points"]}
    assert 120 < status["trials"] == max(points)
    assert points[120]["glr"] == status["glr"] >= status["threshold"]
    assert points[status["trials"]]["shares"] == [arm["share"] for arm in status["arms"]]
    other = create(client)
    tell(client, other, {ticket["ticket"]: 1.0 for ticket in ask(client, other, 50)})
    tell(client, other, {ticket["ticket"]: 1.0 for ticket in ask(client, other)})
    client.post(f"{other}/close")
    assert client.get(f"{other}/history").json()["points"][-1]["trials"] == 51
    client.post(f"{create(client)}/close")
    assert differences(tmp_path) == [[], [], []]


def test_history_is_short_and_in_order(client: Local) -> None:
    at = create(client, delta=1e-30)
    play(client, at, 150, best=0.0)
    history = client.get(f"{at}/history").json()
    trials = [point["trials"] for point in history["points"]]
    assert trials == sorted(set(trials))
    assert 40 < len(trials) < 100
    assert all(sum(point["shares"]) == pytest.approx(1.0) for point in history["points"])
    few = client.get(f"{at}/history", params={"points": 5}).json()["points"]
    assert [few[0], few[-1]] == [history["points"][0], history["points"][-1]]
    assert len(few) == 5


def test_list_in_pages(client: Local) -> None:
    ids = [create(client, name=str(number)).rsplit("/", 1)[1] for number in range(5)]
    first = client.get("/v1/experiments", params={"limit": 2}).json()
    second = client.get("/v1/experiments", params={"limit": 2, "after": first["next"]}).json()
    third = client.get("/v1/experiments", params={"limit": 2, "after": second["next"]}).json()
    shown = [entry["id"] for page in (first, second, third) for entry in page["experiments"]]
    assert shown == ids[::-1]
    assert third["next"] is None
    assert client.get("/v1/experiments", params={"after": "00"}).status_code == 404


def test_an_edited_state_is_refused_and_other_experiments_go_on(tmp_path: Path) -> None:
    """An edit that is possible: with these sums the experiment would decide, and say that it is proved."""
    with running(address(tmp_path)) as client:
        edited, other = create(client), create(client)
        for at in (edited, other):
            play(client, at, 3, best=0.1)
    name = edited.rsplit("/", 1)[1]
    connection = sqlite3.connect(tmp_path / "test.db")
    with connection:
        state = connection.execute("SELECT state FROM experiments WHERE id = ?", (name,)).fetchone()[0]
        form = json.loads(state)
        form["identifier"]["state"]["sums"][0] += 50.0
        text = json.dumps(form, separators=(",", ":"))
        connection.execute("UPDATE experiments SET state = ? WHERE id = ?", (text, name))
    connection.close()
    with running(address(tmp_path)) as client:
        for response in (client.get(edited), client.post(f"{edited}/ask", json={})):
            assert (response.status_code, response.json()["title"]) == (500, "The stored state is damaged")
        assert client.get(other).status_code == 200
        assert client.post(f"{other}/ask", json={}).status_code == 200
    ((first, *_),) = [found for found in differences(tmp_path) if found]
    assert "state is" in first
