"""Experiments that were closed without a decision: nothing that the service says sounds like one."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairbai.client import ExperimentOverError
from fairbai.client.calls import checked
from tests.service.earlier import take_back
from tests.service.running import Local, address, ask, create, play, running, tell

GUESS = "Best guess: “b”, and that is no more than a guess; “a”, “b” and “c” are still in the race."
SAID = f"Closed by hand without a decision. {GUESS}"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with running(address(tmp_path_factory.mktemp("closing"))) as found:
        yield found


@pytest.fixture(scope="module")
def at(client: Local) -> str:
    """Closed when b was ahead; what came later would have decided for a."""
    at = create(client, name="closed by hand", delta=0.05)
    tickets = ask(client, at, 9)
    tell(client, at, {ticket["ticket"]: float(ticket["arm"] == "b") for ticket in tickets[:5]})
    client.post(f"{at}/close")
    told = tell(client, at, {ticket["ticket"]: 50.0 * (ticket["arm"] == "a") for ticket in tickets[5:]})
    assert (told["decided"], told["recommendation"]) == (False, "b")
    return at


def read(client: Local, path: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(path).json()
    return found


def test_status_and_list_show_no_proof_and_no_progress(client: Local, at: str) -> None:
    status, (listed,) = read(client, at), read(client, "/v1/experiments?search=closed by hand")["experiments"]
    assert status["glr"] > status["threshold"]  # too late
    assert status["proved"] is False
    assert (status["progress"], listed["progress"]) == (None, None)
    assert (listed["state"], listed["decided"], listed["recommendation"]) == ("closed", False, "b")


def test_list_does_not_sort_it_as_nearly_decided(client: Local, at: str) -> None:
    running = create(client, name="still running")
    play(client, running, 2)
    names = [one["name"] for one in read(client, "/v1/experiments?sort=progress")["experiments"]]
    assert names.index("still running") < names.index("closed by hand")


def test_summary_has_the_confidence_of_the_close_beside_its_target(client: Local, at: str) -> None:
    summary = read(client, f"{at}/summary")
    assert summary["headline"] == SAID == read(client, at)["sentence"]
    assert summary["sentence"] == f"{SAID} {summary['more']}"  # which says what the doubts are about
    assert (summary["decided"], summary["proved"], summary["best"]) == (False, False, "b")
    assert (summary["target_confidence"], summary["confidence"], summary["ended_by"]) == (0.95, 0.0, "closed")
    assert summary["candidates"] == ["a", "b", "c"]


def test_no_ticket_of_a_winner(client: Local, at: str) -> None:
    served = client.post(f"{at}/ask", json={"n": 2, "serve_winner": True}).json()
    assert served == {"tickets": [{"ticket": "leader", "arm": "b"}] * 2, "expires_at": None, "winner": False}
    before = read(client, at)
    assert tell(client, at, {"leader": 1.0, "winner": 1.0})["counted"] == 0  # old tickets stay valid
    assert read(client, at) == before


def test_refusals_do_not_recommend(client: Local, at: str) -> None:
    for refused in (client.post(f"{at}/ask", json={}), client.get(f"{at}/policy")):
        assert refused.status_code == 409
        assert refused.json()["detail"] == "The experiment was closed without a decision; 'b' was ahead"
    with pytest.raises(ExperimentOverError) as over:
        checked(client.post(f"{at}/ask", json={}))
    assert not over.value.decided
    empty = create(client)
    client.post(f"{empty}/close")
    assert client.post(f"{empty}/ask", json={"serve_winner": True}).json()["detail"].endswith("; no arm was ahead")


def test_audit_bounds_no_error(client: Local, at: str) -> None:
    audit = read(client, f"{at}/audit")
    assert (audit["promise"]["proved"], audit["decided_after"]) == (False, None)
    assert audit["promise"]["sentences"][0].startswith(
        "The experiment was closed by hand without a decision: the arm that was ahead is no more than a guess. "
    )
    assert audit["findings"][0] == f"After 9 trials: {SAID}"
    assert audit["findings"][1].startswith("Before the end, ")


def test_report_and_figures_name_no_best_arm(client: Local, at: str) -> None:
    page = re.sub(r"<(script|style).*?</\1>", "", client.get(f"{at}/report").text, flags=re.DOTALL)
    assert page.count(SAID) == 2
    for false in ("(proved)", "95 %", "at most 5 %", "is best,", "for the answer", "best arm"):
        assert false not in page, false
    means = read(client, f"{at}/figures")["figures"]["means"]
    assert [trace["name"] for trace in means["data"]] == ["best guess", "still in the race"]


def test_log_and_stream_say_so(client: Local, at: str) -> None:
    log = list(csv.DictReader(io.StringIO(client.get(f"{at}/events").text)))
    (closed,) = (line for line in log if line["kind"] == "closed")
    assert json.loads(closed["detail"])["decided"] is False
    assert not any(line["kind"] in ("decided", "stopped") for line in log)
    first = client.get(f"{at}/stream").text.splitlines()[2]
    assert json.loads(first.removeprefix("data: ")) == read(client, at)


def test_closing_after_the_decision_keeps_the_answer(client: Local) -> None:
    at = create(client, sampling="top_two", floors={"kind": "constant", "floor": [0.0, 0.0, 0.8]})
    while not read(client, at)["decided"]:
        play(client, at, 1)
    assert not read(client, at)["stopped"]
    client.post(f"{at}/close")
    status = read(client, at)
    assert (status["proved"], status["progress"], status["decided"]) == (True, 1.0, True)
    served = client.post(f"{at}/ask", json={"serve_winner": True}).json()
    assert (served["winner"], served["tickets"][0]["ticket"]) == (True, "winner")
    detail = client.post(f"{at}/ask", json={}).json()["detail"]
    assert detail == "The experiment was closed; its recommendation is 'a'"
    assert "with 90 % confidence" in read(client, f"{at}/summary")["sentence"]


def test_closed_by_an_earlier_version(tmp_path: Path) -> None:
    """Which did not keep how sure it was, nor the columns that say so in lists."""
    with running(address(tmp_path)) as client:
        at, decided = create(client, delta=1e-9), create(client)
        play(client, at, 5)
        play(client, decided, 500)
        client.post(f"{at}/close")
        before = read(client, at)
    connection = sqlite3.connect(tmp_path / "test.db")
    with connection:
        for name, state in connection.execute("SELECT id, state FROM experiments WHERE closed").fetchall():
            form = json.loads(state)
            form["closed"] = {key: form["closed"][key] for key in ("recommendation", "decided")}
            del form["identifier"]["standing"], form["digest"]
            form["revision"] = 2
            connection.execute("UPDATE experiments SET state = ? WHERE id = ?", (json.dumps(form), name))
    connection.close()
    take_back(address(tmp_path), "0004")
    with running(address(tmp_path)) as client:
        status = read(client, at)
        assert (status["confidence"], status["candidates"], status["ended_by"]) == (None, None, "closed")
        named = before["recommendation"]
        assert status["sentence"] == (
            f"Closed by hand without a decision. Best guess: “{named}”; how sure that is cannot be said, because an "
            "earlier version ended it."
        )
        listed = {one["id"]: one["ended_by"] for one in read(client, "/v1/experiments")["experiments"]}
        assert listed == {at.rsplit("/", 1)[1]: "closed", decided.rsplit("/", 1)[1]: "decision"}
        assert read(client, f"{at}/audit")["promise"]["sentences"][0] == (
            "The experiment was closed by hand without a decision: nothing is guaranteed about the arm that was ahead."
        )
