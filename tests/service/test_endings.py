"""Budgets and deadlines: experiments that end without a decision, by themselves and for good."""

from __future__ import annotations

import csv
import io
import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from fairbai.client import ExperimentOverError
from fairbai.client.calls import checked
from fairbai.service.domain import answers, audit_answers, status_answers
from fairbai.service.domain.encoding import iso
from fairbai.service.reading import verify
from fairbai.service.reading.words import together
from tests.service.conftest import Start
from tests.service.running import FORM, Local, address, ask, create, opened, play, running, tell
from tests.service.test_cycles import DAY, Clock, gather
from tests.service.test_log import differences, expire


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Local]:
    with running(address(tmp_path)) as found:
        yield found


def read(client: Local, path: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(path).json()
    return found


def log_of(client: Local, at: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(client.get(f"{at}/events").text)))


def noisy(tickets: list[dict[str, str]], best: str = "b", lead: float = 1.5) -> dict[str, float]:
    """Rewards of which one arm has more."""
    rng = random.Random(len(tickets))
    return {one["ticket"]: rng.gauss(lead * (one["arm"] == best), 1.0) for one in tickets}


# --- budgets ----------------------------------------------------------------------------------------------------


def test_budget_ends_with_a_best_guess(client: Local, tmp_path: Path) -> None:
    at = create(client, max_trials=40, delta=1e-6)
    tickets = ask(client, at, 30)
    tell(client, at, noisy(tickets))
    rest = ask(client, at, 30)
    assert len(rest) == 10  # what is left
    status = read(client, at)
    assert (status["state"], status["stopped"], status["ended_by"]) == ("running", False, "max_trials")
    assert status["sentence"].startswith("No trials after 40, but rewards are still out: “b” looks best")
    refused = client.post(f"{at}/ask", json={})
    assert refused.status_code == 409
    assert refused.json()["title"] == "The experiment is over"
    assert refused.json()["detail"] == (
        "The experiment ended after 40 trials and rewards are still out, which may decide it; 'b' is ahead"
    )
    assert (refused.json()["ended_by"], refused.json()["decided"]) == ("max_trials", False)
    answer = tell(client, at, noisy(rest))
    assert (answer["decided"], answer["stopped"], answer["ended_by"]) == (False, True, "max_trials")
    status = TypeAdapter(status_answers.Status).validate_python(read(client, at), strict=True)
    assert (status["state"], status["proved"], status["progress"], status["closed"]) == ("stopped", False, None, False)
    assert status["confidence"] is not None
    assert 0.0 < status["confidence"] < 1.0
    assert status["sentence"].startswith("Stopped at the end of its budget without a decision. Best guess: “b”, ")
    for refused in (client.post(f"{at}/ask", json={}), client.get(f"{at}/policy")):
        assert refused.json()["detail"] == "The experiment ended after 40 trials without a decision; 'b' was ahead"
    assert [row["kind"] for row in log_of(client, at)][-1] == "stopped"
    assert differences(tmp_path) == [[]]


def test_what_comes_after_the_stop_changes_no_answer(client: Local, tmp_path: Path) -> None:
    at = create(client, max_trials=20, delta=1e-6, lease=1000.0)
    tickets = ask(client, at, 20)
    tell(client, at, noisy(tickets[:14]))
    assert expire(client, 1e12) == 6
    before = read(client, at)
    assert (before["state"], before["recommendation"]) == ("stopped", "b")
    late = tell(client, at, {one["ticket"]: 50.0 * (one["arm"] == "a") for one in tickets[14:]})
    batch = {"batch": "x", "pulls": {"a": 100, "b": 100}, "sums": {"a": 900.0, "b": 0.0}}
    counted = client.post(f"{at}/batches", json=batch).json()
    for answer in (late, counted):
        assert (answer["decided"], answer["stopped"], answer["recommendation"]) == (False, True, "b")
    after = read(client, at)
    assert after["observed"] == 220
    for name in ("confidence", "candidates", "sentence", "decided", "ended_by", "recommendation"):
        assert after[name] == before[name], name
    assert differences(tmp_path) == [[]]


def test_rewards_that_are_out_may_still_decide(client: Local, tmp_path: Path) -> None:
    at = create(client, max_trials=60)
    tickets = ask(client, at, 60)
    assert client.post(f"{at}/ask", json={}).status_code == 409
    answer = tell(client, at, noisy(tickets, lead=5.0))
    assert (answer["decided"], answer["stopped"], answer["ended_by"]) == (True, True, "decision")
    status = read(client, at)
    assert (status["state"], status["proved"]) == ("decided", True)
    assert status["confidence"] >= 0.9
    assert client.post(f"{at}/ask", json={"serve_winner": True}).json()["winner"] is True
    assert [row["kind"] for row in log_of(client, at)][-2:] == ["decided", "stopped"]
    assert differences(tmp_path) == [[]]


def test_settling_is_within_the_budget(client: Local, tmp_path: Path) -> None:
    rates = {"kind": "constant", "floor": [0.0, 0.0, 0.8]}
    at = create(client, sampling="top_two", floors=rates, max_trials=40)
    play(client, at, 100, best=5.0)
    status = read(client, at)
    assert (status["trials"], status["decided"], status["stopped"], status["ended_by"]) == (40, True, True, "decision")
    (listed,) = read(client, "/v1/experiments")["experiments"]
    assert (listed["state"], listed["floors_kept"]) == ("decided", None)
    (ended,) = (row for row in log_of(client, at) if row["kind"] == "ended")
    assert json.loads(ended["detail"])["by"] == "max_trials"
    audit = read(client, f"{at}/audit")
    assert audit["verdict"] == "Its shares were guaranteed at the stop, and it had all trials of its budget before."
    assert "It ends after 40 trials at the latest, with or without a decision." in audit["promise"]["sentences"]
    assert differences(tmp_path) == [[]]


def test_batches_use_up_the_budget(client: Local, tmp_path: Path) -> None:
    at = create(client, max_trials=50, delta=1e-9)
    batch = {"batch": "x", "pulls": {"a": 20, "b": 20, "c": 20}, "sums": {"a": 1.0, "b": 6.0, "c": 0.0}}
    answer = client.post(f"{at}/batches", json=batch).json()
    assert (answer["counted"], answer["stopped"], answer["ended_by"]) == (60, True, "max_trials")
    assert [row["kind"] for row in log_of(client, at)][-2:] == ["ended", "stopped"]
    assert differences(tmp_path) == [[]]


@pytest.mark.parametrize("drawn", [False, True])
def test_rewards_that_count_at_an_age(client: Local, tmp_path: Path, drawn: bool) -> None:
    clock = Clock(client)
    stop = {"stopping": "design_based"} if drawn else {}
    at = create(client, family="bernoulli", max_trials=30, report_after=60.0, silence=0.0, **stop)
    tickets = ask(client, at, 40)
    assert len(tickets) == 30
    tell(client, at, {one["ticket"]: float(number % 2) for number, one in enumerate(tickets[:-3])})
    assert read(client, at)["state"] == "running"  # three are silent, so far
    clock.now += 61.0
    expire(client, clock.now)
    status = read(client, at)
    assert (status["state"], status["ended_by"], status["observed"]) == ("stopped", "max_trials", 30)
    assert differences(tmp_path) == [[]]


# --- deadlines --------------------------------------------------------------------------------------------------


def test_deadline_ends_it_without_a_request(client: Local, tmp_path: Path) -> None:
    clock = Clock(client)
    deadline = iso(clock.now + 2 * DAY)
    at = create(client, deadline=deadline, delta=1e-6, lease=3600.0)
    tell(client, at, noisy(ask(client, at, 30)))
    clock.now += 2 * DAY - 60.0
    late = ask(client, at, 5)
    expire(client, clock.now)
    assert read(client, at)["ended_by"] is None
    clock.now += 60.0
    expire(client, clock.now)
    status = read(client, at)
    assert (status["state"], status["ended_by"], status["pending"]) == ("running", "deadline", 5)
    (ended,) = (row for row in log_of(client, at) if row["kind"] == "ended")
    assert (ended["arm"], json.loads(ended["detail"])["by"]) == ("b", "deadline")
    tell(client, at, noisy(late[:3]))
    assert read(client, at)["state"] == "running"
    clock.now += 3601.0
    expire(client, clock.now)  # the window of the other two closes
    status = read(client, at)
    assert (status["state"], status["decided"], status["proved"]) == ("stopped", False, False)
    assert status["sentence"].startswith("Stopped at the deadline without a decision. Best guess: “b”, ")
    assert status["deadline"] == deadline
    refused = client.post(f"{at}/ask", json={}).json()
    assert refused["detail"] == f"The experiment ended at its deadline, {deadline}, without a decision; 'b' was ahead"
    stopped = log_of(client, at)[-1]
    detail = json.loads(stopped["detail"])
    assert (stopped["kind"], stopped["arm"], detail["ended_by"]) == ("stopped", "b", "deadline")
    assert (detail["confidence"], detail["candidates"]) == (status["confidence"], status["candidates"])
    assert differences(tmp_path) == [[]]


def test_first_request_after_the_deadline_ends_it_too(client: Local, tmp_path: Path) -> None:
    clock = Clock(client)
    at = create(client, deadline=iso(clock.now + DAY), delta=1e-6)
    tell(client, at, noisy(ask(client, at, 30)))
    clock.now += DAY
    assert client.post(f"{at}/ask", json={}).status_code == 409
    served = client.post(f"{at}/ask", json={"n": 2, "serve_winner": True}).json()
    assert served == {"tickets": [{"ticket": "leader", "arm": "b"}] * 2, "expires_at": None, "winner": False}
    assert tell(client, at, {"leader": 1.0})["counted"] == 0
    assert read(client, at)["state"] == "stopped"
    assert [row["kind"] for row in log_of(client, at)][-2:] == ["ended", "stopped"]
    with pytest.raises(ExperimentOverError) as over:
        checked(client.post(f"{at}/ask", json={}))
    assert (over.value.ended_by, over.value.decided, over.value.recommendation) == ("deadline", False, "b")
    assert differences(tmp_path) == [[]]


def test_deadline_before_the_first_trial(client: Local, tmp_path: Path) -> None:
    clock = Clock(client)
    at = create(client, deadline=iso(clock.now + DAY))
    clock.now += DAY
    expire(client, clock.now)
    status, summary = read(client, at), read(client, f"{at}/summary")
    assert (status["state"], status["recommendation"], status["confidence"]) == ("stopped", None, 0.0)
    assert summary["sentence"] == "The deadline came before the first trial."
    assert client.post(f"{at}/ask", json={"serve_winner": True}).status_code == 409
    for path in ("audit", "figures", "report"):
        assert client.get(f"{at}/{path}").status_code == 200
    assert differences(tmp_path) == [[]]


def test_deadline_and_whole_cycles(client: Local, tmp_path: Path) -> None:
    """At the end of a cycle before the deadline it decides; at the deadline itself it does not."""
    clock = Clock(client)
    began = clock.now
    both = [create(client, cycle="7d", deadline=iso(began + days * DAY)) for days in (10, 7.01)]
    for at in both:
        gather(client, at, 60)
        assert read(client, at)["enough"]
    clock.now = began + 11 * DAY
    expire(client, clock.now)
    assert [read(client, at)["state"] for at in both] == ["decided", "decided"]
    late = create(client, cycle="7d", deadline=iso(clock.now + 10 * DAY))
    clock.now += 8 * DAY
    gather(client, late, 60)
    clock.now += 3 * DAY
    expire(client, clock.now)
    status = read(client, late)
    assert (status["state"], status["confidence"] > 0.9, status["decides_at"]) == ("stopped", True, None)
    assert differences(tmp_path) == [[], [], []]


def test_closing_after_the_deadline(client: Local, tmp_path: Path) -> None:
    """Rewards without a lease are waited for until somebody closes it; what ended it stays what it was."""
    clock = Clock(client)
    at = create(client, deadline=iso(clock.now + DAY), lease=None, delta=1e-6)
    tell(client, at, noisy(ask(client, at, 30)))
    ask(client, at)
    clock.now += 100 * DAY
    expire(client, clock.now)
    assert read(client, at)["state"] == "running"
    answer = client.post(f"{at}/close").json()
    del answer["head"]
    assert answer == {"decided": False, "stopped": True, "recommendation": "b", "ended_by": "deadline"}
    assert read(client, at)["state"] == "closed"
    assert differences(tmp_path) == [[]]


def test_times_with_zones(client: Local) -> None:
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=3)
    east = at.astimezone(timezone(timedelta(hours=5, minutes=30)))
    for text in (at.isoformat(), east.isoformat(), at.strftime("%Y-%m-%dT%H:%M:%SZ")):
        created = client.post("/v1/experiments", json={**FORM, "deadline": text}).json()
        assert created["deadline"] == at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"deadline": "2020-05-01T12:00:00Z"}, "deadline must be in the future, got 2020-05-01T12:00:00.000Z"),
        ({"deadline": "0001-01-01T00:00:00+14:00"}, "deadline must be in the future, and before the year 9999"),
        ({"deadline": "9999-12-31T23:59:59-14:00"}, "deadline must be in the future, and before the year 9999"),
        ({"deadline": "2030-05-01T12:00:00"}, "2030-05-01T12:00:00Z, got '2030-05-01T12:00:00', which has no zone"),
        ({"deadline": "2030-05-01"}, "deadline must be an ISO 8601 time with its zone"),
        ({"deadline": "tomorrow"}, "deadline must be an ISO 8601 time with its zone"),
        ({"deadline": 1900000000}, "deadline must be text, got 1900000000"),
        ({"max_trials": 2}, "max_trials must be a whole number from 3, the number of arms,"),
        ({"max_trials": 1}, "max_trials must be at least 2, got 1"),
        ({"max_trials": 10.5}, "max_trials must be a whole number, got 10.5"),
        ({"max_trials": "many"}, 'max_trials must be a whole number, got "many"'),
    ],
)
def test_what_is_wrong_with_an_end(client: Local, changes: dict[str, Any], detail: str) -> None:
    response = client.post("/v1/experiments", json={**FORM, **changes})
    assert response.status_code == 422
    assert detail in response.json()["detail"]


def test_deadline_must_leave_time_to_decide(client: Local) -> None:
    soon = iso(time.time() + 5 * DAY)
    for times in ({"cycle": "7d"}, {"min_duration": "6d"}):
        response = client.post("/v1/experiments", json={**FORM, **times, "deadline": soon})
        assert response.status_code == 422
        assert "deadline must not be before the first time at which the experiment may decide" in response.text


def test_repeating_a_creation_after_its_deadline(client: Local) -> None:
    clock = Clock(client)
    form = {**FORM, "deadline": iso(clock.now + DAY)}
    first = client.post("/v1/experiments", json=form, headers={"Idempotency-Key": "k"}).json()
    clock.now += 2 * DAY
    assert client.post("/v1/experiments", json=form, headers={"Idempotency-Key": "k"}).json() == first
    assert client.post("/v1/experiments", json=form, headers={"Idempotency-Key": "other"}).status_code == 422


# --- lists, audits and reports ------------------------------------------------------------------------------------


def test_pages_say_that_it_stopped_without_a_decision(client: Local, tmp_path: Path) -> None:
    at = create(client, name="over", max_trials=30, delta=1e-6)
    tell(client, at, noisy(ask(client, at, 30)))
    create(client, name="running")
    listed = {one["name"]: one for one in read(client, "/v1/experiments")["experiments"]}
    TypeAdapter(answers.List).validate_python(read(client, "/v1/experiments"), strict=True)
    over = listed["over"]
    assert (over["state"], over["ended_by"], over["progress"]) == ("stopped", "max_trials", None)
    assert over["confidence"] == read(client, at)["confidence"]
    for state, names in {"stopped": ["over"], "running": ["running"], "decided": [], "closed": []}.items():
        found = read(client, f"/v1/experiments?state={state}")["experiments"]
        assert [one["name"] for one in found] == names
    audit = TypeAdapter(audit_answers.Audit).validate_python(read(client, f"{at}/audit"), strict=True)
    assert (audit["state"], audit["promise"]["proved"], audit["decided_after"]) == ("stopped", False, None)
    assert audit["promise"]["sentences"][0].startswith(
        "The experiment stopped at the end of its budget without a decision: the arm that was ahead is a guess, with "
    )
    assert audit["findings"][0].startswith("After 30 trials: Stopped at the end of its budget without a decision.")
    summary = TypeAdapter(status_answers.Summary).validate_python(read(client, f"{at}/summary"), strict=True)
    assert (summary["decided"], summary["fairness_trials"]) == (False, None)
    page = client.get(f"{at}/report").text
    assert together(summary["headline"]) in page
    assert "best guess" in page
    assert "is best," not in page
    stream = client.get(f"{at}/stream").text  # which ends, as the experiment has
    assert "event: end" in stream
    history = TypeAdapter(status_answers.History).validate_python(read(client, f"{at}/history"), strict=True)
    assert history["points"][-1]["confidence"] == summary["confidence"]


def test_an_expected_end_beyond_the_budget_is_said(client: Local) -> None:
    at = create(client, max_trials=100, delta=1e-9)
    play(client, at, 12, best=0.6)
    assert ", of which the budget allows " in read(client, f"{at}/summary")["more"]


# --- restarts and workers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_deadline_passes_while_the_server_is_down(request: pytest.FixtureRequest, database: str) -> None:
    url = request.getfixturevalue(database)
    with running(url) as client:
        clock = Clock(client)  # so that it does not pass earlier, however long this takes
        at = create(client, deadline=iso(clock.now + 2.0), delta=1e-6, lease=1.0)
        tell(client, at, noisy(ask(client, at, 30)[:25]))
    with running(url, sweep=0.05) as client:
        give_up = time.monotonic() + 120.0
        while read(client, at)["state"] != "stopped":
            assert time.monotonic() < give_up
            time.sleep(0.05)
        before = read(client, at)
    with running(url) as client:
        assert read(client, at) == before
        assert before["ended_by"] == "deadline"
        assert client.post(f"{at}/ask", json={}).status_code == 409
    with opened(url) as stored:
        assert [found for _, found in verify.verify(stored)] == [[]]


@pytest.mark.system
def test_two_workers_end_it_once(start: Start, postgresql: str) -> None:
    server = start(postgresql, workers=2)
    experiment = server.create(deadline=iso(time.time() + 8.0), lease=2.0)
    at = f"/v1/experiments/{experiment}"
    asked, status = 0, 200
    while status != 409:
        answer = server.call("POST", f"{at}/ask", {"n": 3}, **{"Idempotency-Key": f"after-{asked}"})
        status = answer.status
        assert status in (200, 409, 503), answer  # 503 from a worker that did not hear of the other for too long
        if status == 200:
            tickets = [one["ticket"] for one in answer.body["tickets"]]
            asked += len(tickets)
            rewards = [{"ticket": ticket, "reward": 0.5} for ticket in tickets[:2]]
            server.call("POST", f"{at}/tell", {"rewards": rewards})
    assert asked > 0
    assert answer.body["ended_by"] == "deadline"
    give_up = time.monotonic() + 120.0
    while (found := server.call("GET", at).body)["state"] != "stopped":
        assert time.monotonic() < give_up
        time.sleep(0.2)
    assert (found["trials"], found["ended_by"]) == (asked, "deadline")
    kinds = [line.split(",")[2] for line in server.call("GET", f"{at}/events").body.splitlines()]
    assert (kinds.count("ended"), kinds.count("stopped")) == (1, 1)
    server.verify()
