"""The design-based stop over HTTP: tickets with probabilities, counted in the order of assignment."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import fairbai as fb
from fairbai.client import calls
from fairbai.service.domain import costs
from fairbai.service.domain.encoding import timestamp
from fairbai.service.domain.operations import Expire, Look
from fairbai.service.domain.waiting import least_epoch
from fairbai.service.reading import verify
from fairbai.service.reading.earlier import count_differences
from fairbai.service.storage.logs import whole_log
from fairbai.service.storage.schema import experiments
from tests.service.conftest import Start
from tests.service.running import FORM, Clock, Local, address, ask, create, opened, running, tell
from tests.service.test_log import differences, expire

LATER = 1e12  # seconds since 1970: every ticket is of age
DRAWN: dict[str, Any] = {"family": "bernoulli", "stopping": "design_based"}
MEANS = {"a": 0.9, "b": 0.3, "c": 0.3}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Local]:
    with running(address(tmp_path)) as found:
        yield found


def identifier(**changes: Any) -> fb.Identifier:
    stopping = fb.stopping.DesignBased()
    return fb.Identifier(["a", "b", "c"], 0.1, "bernoulli", floors=0.2, stopping=stopping, seed=7, **changes)


def counts(client: Local, at: str) -> tuple[int, ...]:
    status = client.get(at).json()
    return tuple(status[name] for name in ("observed", "pending", "held", "expired", "late"))


def told(tickets: list[dict[str, Any]], rng: random.Random) -> dict[str, float]:
    return {ticket["ticket"]: float(rng.random() < MEANS[ticket["arm"]]) for ticket in tickets}


def test_as_the_library_with_late_rewards_in_any_order(client: Local, tmp_path: Path) -> None:
    """Arms, probabilities, decision and averages are those of an identifier that holds its open trials itself."""
    at, ident, rng = create(client, **DRAWN), identifier(), random.Random(1)
    waiting: list[tuple[dict[str, Any], fb.Trial]] = []
    while not ident.stopped:
        tickets, trials = ask(client, at, 7), ident.ask_trial(7)
        assert [(one["arm"], one["probability"]) for one in tickets] == [(one.arm, one.probability) for one in trials]
        waiting += zip(tickets, trials, strict=True)
        rng.shuffle(waiting)
        now, waiting = waiting[5:], waiting[:5]
        rewards = told([ticket for ticket, _ in now], rng)
        tell(client, at, rewards)
        for ticket, trial in now:
            ident.tell(trial, rewards[ticket["ticket"]])
    status = client.get(at).json()
    assert (status["decided"], status["stopped"], status["recommendation"]) == (True, True, "a")
    assert status["observed"] == int(ident.status().observed.sum())
    assert status["held"] == status["pending"] - 5 >= 0
    assert [arm["mean"] for arm in status["arms"]] == ident.status().means.tolist()
    assert differences(tmp_path) == [[]]


def test_silent_tickets_count_at_their_age_and_late_rewards_do_not(client: Local, tmp_path: Path) -> None:
    at = create(client, **DRAWN, report_after=1000.0, silence=0.0)
    first, *others = (ticket["ticket"] for ticket in ask(client, at, 8))
    assert tell(client, at, dict.fromkeys(others[3:], 1.0))["counted"] == 4
    assert counts(client, at) == (0, 8, 4, 0, 0)  # all of them wait for the first
    assert tell(client, at, {first: 1.0})["counted"] == 1
    assert counts(client, at) == (1, 7, 4, 0, 0)
    assert expire(client, time.time()) == 0
    assert expire(client, LATER) == 3
    assert counts(client, at) == (8, 0, 0, 0, 0)
    means = {arm["arm"]: arm["mean"] for arm in client.get(at).json()["arms"]}
    answer = tell(client, at, {others[0]: 1.0})
    assert (answer["accepted"], answer["counted"], answer["late"]) == (1, 0, 1)
    assert tell(client, at, {others[0]: 1.0})["late"] == 0  # told before
    assert client.post(f"{at}/tell", json={"rewards": [{"ticket": first, "reward": 0.0}]}).status_code == 409
    assert {arm["arm"]: arm["mean"] for arm in client.get(at).json()["arms"]} == means
    assert differences(tmp_path) == [[]]


def test_reward_between_its_age_and_the_next_sweep_is_silence(client: Local, tmp_path: Path) -> None:
    at = create(client, **DRAWN, report_after=0.01, silence=0.0)
    (ticket,) = ask(client, at)
    time.sleep(0.05)
    assert tell(client, at, {ticket["ticket"]: 1.0})["late"] == 1
    assert expire(client, time.time()) == 1
    assert counts(client, at) == (1, 0, 0, 0, 1)
    assert [arm["mean"] for arm in client.get(at).json()["arms"] if arm["observed"]] == [0.0]
    assert differences(tmp_path) == [[]]


def test_goes_on_after_a_restart(tmp_path: Path) -> None:
    """Open tickets are in their own table: what was told out of order before a restart is counted after it."""
    ident, rng = identifier(), random.Random(2)
    with running(address(tmp_path)) as client:
        at = create(client, **DRAWN)
    for _ in range(6):
        with running(address(tmp_path)) as client:
            tickets, trials = ask(client, at, 6), ident.ask_trial(6)
            rewards = told(tickets, rng)
            rest = dict(list(rewards.items())[1:])
            tell(client, at, rest)
            assert counts(client, at)[2] == 5
        with running(address(tmp_path)) as client:
            tell(client, at, {ticket: rewards[ticket] for ticket in rewards if ticket not in rest})
            assert counts(client, at)[1:3] == (0, 0)
        ident.tell(trials, list(rewards.values()))
    with running(address(tmp_path)) as client:
        assert ask(client, at)[0]["probability"] == ident.ask_trial().probability
    assert differences(tmp_path) == [[]]


def test_long_runs_are_read_in_parts(client: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairbai.service.writing.rows.MAX_FOLLOWING", 3)
    at = create(client, **DRAWN)
    first, *others = (ticket["ticket"] for ticket in ask(client, at, 20))
    tell(client, at, dict.fromkeys(others[:-2], 0.0))
    tell(client, at, {first: 1.0})
    assert counts(client, at)[:3] == (18, 2, 0)
    assert differences(tmp_path) == [[]]


def test_a_late_reward_holds_nobody_up(client: Local, tmp_path: Path) -> None:
    """It makes thousands of tickets ready, which several operations count; the log says how far each got."""
    at = create(client, **DRAWN)
    first, *others = (ticket["ticket"] for _ in range(3) for ticket in ask(client, at, 2000))
    for start in range(0, len(others), 2000):
        tell(client, at, dict.fromkeys(others[start : start + 2000], 0.0))
    tell(client, at, {first: 1.0})
    some = counts(client, at)[0]
    assert 100 < some < 300  # and not all of them
    (still_open,) = ask(client, at)  # the others go on meanwhile
    tell(client, at, {others[0]: 0.0})  # told before, and counted: it makes nothing more ready
    void = {"tickets": [others[-1]], "reason": "sent twice"}
    assert client.post(f"{at}/void", json=void).json()["voided"] == 1
    assert counts(client, at)[:3] == (some, 6001 - some, 6000 - some - 1)
    assert differences(tmp_path) == [[]]
    assert look(client, at)
    more = counts(client, at)[0] - some
    assert 1000 < more <= 2500
    assert differences(tmp_path) == [[]]
    assert expire(client, time.time()) == 0  # goes on until all are counted
    assert counts(client, at)[:3] == (6000, 1, 0)
    assert not look(client, at)
    tell(client, at, {still_open["ticket"]: 1.0})
    assert counts(client, at)[:3] == (6001, 0, 0)
    assert differences(tmp_path) == [[]]


def look(client: Local, at: str) -> bool:
    """What the service does by itself now and then; returns whether more is to be counted."""

    async def submitted() -> bool:
        return await client.app.service.writer.submit(Look(at.rpartition("/")[2]))

    found: bool = client.wait(submitted())
    return found


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_counting_goes_on_after_a_restart(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """In small steps and with silent tickets in between; the end is what a single step gives."""
    url = address(request.getfixturevalue("tmp_path")) if kind == "sqlite" else request.getfixturevalue("postgresql")
    states = []
    for steps in ("small", "one"):
        with running(url) as client:
            at = create(client, **DRAWN, report_after=1000.0, silence=0.0)
            first, *others = (ticket["ticket"] for ticket in ask(client, at, 20))
            if steps == "small":
                monkeypatch.setattr(costs, "READY", 6e-5)
                monkeypatch.setattr(costs, "most_at_once", lambda *_: 4)
            for ticket in others[2:]:
                tell(client, at, {ticket: 1.0})
            assert expire_one(client, at, 2) == 1
            tell(client, at, {first: 1.0})
            tell(client, at, {others[0]: 1.0})
        with running(url) as client:
            if steps == "small":
                assert counts(client, at)[0] < 20
            assert expire(client, time.time()) == 0
            assert counts(client, at)[:3] == (20, 0, 0)
            states.append([arm["mean"] for arm in client.get(at).json()["arms"]])
        monkeypatch.undo()
    with opened(url) as database:
        assert [found for _, found in verify.verify(database)] == [[], []]
        with database.snapshot() as connection:  # as if earlier versions had created them
            for row in connection.execute(select(experiments)).all():
                log = islice(whole_log(connection, row.id, row.version), 1, None)
                assert count_differences(connection, row, log, lambda _: None) == []
    assert states[0] == states[1]


def test_voiding_what_a_unit_earned_while_more_is_to_be_counted(client: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is of age, so the log has it as counted, but its turn is still to come: it is no longer held."""
    at = create(client, **DRAWN, report_after=1000.0, silence=0.0)
    first, *others = (ask(client, at)[0]["ticket"] for _ in range(9))
    buyer = client.post(f"{at}/ask", json={"unit": "buyer"}).json()["tickets"][0]["ticket"]
    client.post(f"{at}/rewards", json={"unit": "buyer", "value": 1.0, "event_id": "order-1"})
    monkeypatch.setattr(costs, "READY", 6e-5)
    for ticket in others:
        tell(client, at, {ticket: 1.0})
    tell(client, at, {first: 1.0})  # makes all ready, of which some are left
    assert expire_one(client, at, 9) == 1
    assert counts(client, at)[0] < 9
    assert client.post(f"{at}/void", json={"tickets": [buyer], "reason": "a test"}).json()["voided"] == 1
    while look(client, at):
        pass
    status = client.get(at).json()
    assert (status["observed"], status["held"]) == (10, 0)


def expire_one(client: Local, at: str, number: int) -> int:
    async def submitted() -> int:
        return await client.app.service.writer.submit(Expire(at.rpartition("/")[2], tickets=[number]))

    found: int = client.wait(submitted())
    return found


def test_on_postgresql(postgresql: str) -> None:
    with running(postgresql) as client:
        at, rng = create(client, **DRAWN), random.Random(3)
        for _ in range(3):
            rewards = told(ask(client, at, 10), rng)
            tell(client, at, dict(reversed(rewards.items())))
        tickets = [ticket["ticket"] for ticket in ask(client, at, 4)]
        tell(client, at, dict.fromkeys(tickets[2:], 1.0))
        assert counts(client, at)[:3] == (30, 4, 2)
        assert expire(client, LATER) == 2
        assert counts(client, at)[:3] == (34, 0, 0)
    with opened(postgresql) as database:
        assert [found for _, found in verify.verify(database)] == [[]]


def test_bounded_rewards_in_their_own_units(client: Local, tmp_path: Path) -> None:
    family = {"kind": "bounded", "low": 0.0, "high": 10.0}
    at = create(client, family=family, stopping={"kind": "design_based", "bet": 0.1}, report_after=60.0, silence=2.5)
    tickets = [ticket["ticket"] for ticket in ask(client, at, 3)]
    refused = client.post(f"{at}/tell", json={"rewards": [{"ticket": tickets[0], "reward": 11.0}]})
    assert refused.status_code == 422
    tell(client, at, {tickets[0]: 7.5})
    assert expire(client, LATER) == 2
    status = client.get(at).json()
    assert sum(arm["mean"] * arm["observed"] for arm in status["arms"] if arm["observed"]) == 7.5 + 2 * 2.5
    assert differences(tmp_path) == [[]]


def test_repeated_ask_and_export_have_the_probabilities(client: Local) -> None:
    at = create(client, **DRAWN)
    answers = [client.post(f"{at}/ask", json={"n": 4}, headers={"Idempotency-Key": "k"}).json() for _ in range(2)]
    assert answers[0] == answers[1]
    chances = [ticket["probability"] for ticket in answers[0]["tickets"]]
    assert all(0.2 <= chance <= 0.6 for chance in chances)
    lines = client.get(f"{at}/events", params={"format": "ndjson"}).text.splitlines()
    asked = [line for line in map(json.loads, lines) if line["kind"] == "asked"]
    assert [line["probability"] for line in asked] == chances
    assert client.get(f"{at}/events", params={"format": "parquet"}).status_code == 200
    assert "probability" not in ask(client, create(client))[0]  # other stopping rules do not need it


def test_defaults_are_shown(client: Local) -> None:
    created = client.post("/v1/experiments", json={**FORM, **DRAWN}).json()
    assert (created["lease"], created["report_after"], created["silence"]) == (None, 86400.0, 0.0)
    assert (created["sampling"]["kind"], created["stopping"]["kind"]) == ("posterior_fair", "design_based")
    assert client.post("/v1/experiments", json=FORM).json()["sampling"]["kind"] == "fair_top_two"


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"family": {"kind": "gaussian", "variance": 1.0}}, "design_based"),
        ({"floors": 0.0}, "give one, such as floors=0.2, or use Mixture"),
        ({"floors": {"a": 0.3}}, "positive floor for every arm"),
        ({"floors": {"kind": "gap", "p0": 0.5}}, "constant ones"),
        ({"sampling": "fair_top_two"}, "a sampling rule that draws"),
        ({"lease": 60.0}, "report_after and silence instead of lease"),
        ({"family": {"kind": "bounded", "low": 0.0, "high": 1.0}}, "give report_after"),
        ({"family": {"kind": "bounded", "low": 1.0, "high": 2.0}, "report_after": 9.0, "silence": 0.0}, "silence must"),
    ],
)
def test_refusals_say_what_to_use(client: Local, changes: dict[str, Any], detail: str) -> None:
    response = client.post("/v1/experiments", json={**FORM, **DRAWN, **changes})
    assert response.status_code == 422
    assert detail in response.text


def test_averages_in_status_and_history(client: Local, tmp_path: Path) -> None:
    at, ident, rng = create(client, **DRAWN), identifier(), random.Random(4)
    assert client.get(at).json()["arms"][0]["average"] is None
    for _ in range(20):
        tickets, trials = ask(client, at, 5), ident.ask_trial(5)
        rewards = told(tickets, rng)
        tell(client, at, rewards)
        ident.tell(trials, list(rewards.values()))
    status, known = client.get(at).json(), ident.averages()
    assert status["estimand"] == fb.stopping.DesignBased.estimand
    assert [arm["average"] for arm in status["arms"]] == known.estimates.tolist()
    assert [arm["interval"] for arm in status["arms"]] == known.intervals.tolist()
    assert [arm["behind_leader"] for arm in status["arms"]] == known.differences.tolist()
    last = client.get(f"{at}/history").json()["points"][-1]
    assert len(last["averages"]) == len(last["bands"]) == 3
    assert all(low <= average <= high for average, (low, high) in zip(last["averages"], last["bands"], strict=True))
    assert "averages" not in client.get(f"{create(client)}/history").text
    assert differences(tmp_path) == [[], []]


def test_bounded_rewards_with_another_stop(client: Local) -> None:
    at = create(client, family={"kind": "bounded", "low": 0.0, "high": 10.0})
    tell(client, at, {ticket["ticket"]: 5.0 for ticket in ask(client, at, 300)})
    for arm in client.get(at).json()["arms"]:
        low, high = arm["interval"]
        assert 2.0 < low < 5.0 < high < 8.0


def test_page_summary_and_audit_say_what_is_proved(client: Local) -> None:
    at, rng = create(client, **DRAWN, settle=False), random.Random(6)
    while not client.get(at).json()["decided"]:
        tell(client, at, told(ask(client, at, 20), rng))
    sentence = client.get(f"{at}/summary").json()["sentence"]
    assert "“a” is best on average over the experiment" in sentence
    assert "with 90 % confidence, however rewards changed over time" in sentence
    promise = client.get(f"{at}/audit").json()["promise"]
    assert promise["proved"]
    assert "(proved, however the rewards change over time, if arms are shown as drawn and " in promise["sentences"][0]
    assert "Proved if arms are shown as drawn" in client.get(f"{at}/summary").json()["more"]
    assert fb.stopping.DesignBased.estimand in promise["sentences"][0]
    figures = client.get(f"{at}/figures").json()["figures"]
    assert list(figures) == ["shares", "means", "averages", "evidence", "trials"]
    curves = [trace for trace in figures["averages"]["data"] if trace.get("name")]
    assert [trace["name"] for trace in curves] == ["a", "b", "c"]
    assert all(len(trace["x"]) == len(trace["y"]) > 1 for trace in curves)
    assert "Averages over the experiment so far" in client.get(f"{at}/report").text
    assert "(proved if every arm keeps its mean" in client.get(f"{create(client)}/audit").text


# --- edge nodes -------------------------------------------------------------------------------------------------


def batch(name: str, policy: dict[str, Any] | None, rng: random.Random, trials: int = 200) -> dict[str, Any]:
    """Trials that a node drew from a policy."""
    chances = MEANS if policy is None else policy["probabilities"]
    arms = rng.choices(list(chances), list(chances.values()), k=trials)
    rewards = [(arm, float(rng.random() < MEANS[arm])) for arm in arms]
    pulls = {arm: arms.count(arm) for arm in MEANS}
    sums = {arm: sum(reward for one, reward in rewards if one == arm) for arm in MEANS}
    form = {"batch": name, "pulls": pulls, "sums": sums}
    return form if policy is None else {**form, "policy": policy["version"]}


def reported(client: Local, at: str, form: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(f"{at}/batches", json=form)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def count(ident: fb.Identifier, policy: dict[str, Any], *forms: dict[str, Any]) -> None:
    """Tell an identifier some batches of a policy as one."""
    pulls, sums = ([sum(form[name][arm] for form in forms) for arm in MEANS] for name in ("pulls", "sums"))
    ident.tell_batch(pulls, sums, probabilities=list(policy["probabilities"].values()))


def test_batches_of_a_policy_count_as_one_in_the_order_of_policies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever node is first, also beyond a restart of the service."""
    ident, rng = identifier(), random.Random(8)
    with running(address(tmp_path), policy_seconds=10.0) as client:
        clock, at = Clock(client, monkeypatch), create(client, **DRAWN, delta=1e-9, report_after=60.0)
        response = client.get(f"{at}/policy")
        first = response.json()
        assert list(first["probabilities"].values()) == ident.policy(1000).tolist()
        tag = response.headers["etag"]
        assert client.get(f"{at}/policy", headers={"If-None-Match": tag}).status_code == 304
        assert client.get(f"{at}/policy").json() == first  # nothing has happened since
        clock.forward(11.0)
        second = client.get(f"{at}/policy").json()
        assert timestamp(first["counted_at"]) - timestamp(first["until"]) == pytest.approx(60.0)
        assert timestamp(second["counted_at"]) > timestamp(first["counted_at"]) + 10.0
        forms = [batch(f"node/{n}", policy, rng, 30) for n, policy in enumerate((second, first, second, first))]
        for form, policy in zip(forms[:3], (second, first, second), strict=True):
            answer = reported(client, at, form)
            assert (answer["counted"], answer["counted_at"]) == (30, policy["counted_at"])
            assert reported(client, at, form)["counted"] == 0
        status = client.get(at).json()
        assert (status["trials"], status["observed"], status["pending"], status["held"]) == (90, 0, 90, 90)
        assert status["waiting"] == {"policies": 2, "trials": 90, "counted_at": first["counted_at"]}
        assert differences(tmp_path) == [[]]
    with running(address(tmp_path), policy_seconds=10.0) as client:
        clock = Clock(client, monkeypatch)
        reported(client, at, forms[3])
        clock.forward(60.0)
        count(ident, first, forms[1], forms[3])
        assert client.get(at).json()["waiting"]["policies"] == 1
        assert averages(client, at) == ident.averages().estimates.tolist()
        clock.forward(15.0)
        count(ident, second, forms[0], forms[2])
        assert averages(client, at) == ident.averages().estimates.tolist()
        status = client.get(at).json()
        assert "waiting" not in status
        assert (status["observed"], status["pending"], status["held"]) == (120, 0, 0)
    assert differences(tmp_path) == [[]]


def averages(client: Local, at: str) -> list[float]:
    return [arm["average"] for arm in client.get(at).json()["arms"]]


def test_batches_that_come_late_are_no_evidence(client: Local, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """But people have seen their arms, and so they count for the floors."""
    clock, at, rng = Clock(client, monkeypatch), create(client, **DRAWN, report_after=60.0), random.Random(9)
    policy = client.get(f"{at}/policy").json()
    reported(client, at, batch("early", policy, rng, 20))
    findings = " ".join(client.get(f"{at}/audit").json()["findings"])
    assert "The batches of a policy are counted as one, at a time that was fixed when it was published." in findings
    assert "20 trials in batches wait, the first until " in findings
    clock.forward(121.0)
    audit = client.get(f"{at}/audit").json()
    assert "and whether a batch comes in time does not depend on what it holds)" in audit["promise"]["sentences"][0]
    assert "wait" not in " ".join(audit["findings"])
    answer = reported(client, at, form := batch("late", policy, rng, 30))
    assert (answer["accepted"], answer["counted"], answer["counted_at"]) == (30, 0, policy["counted_at"])
    assert reported(client, at, form)["counted"] == 0
    status = client.get(at).json()
    assert (status["trials"], status["observed"], status["pending"], status["expired"]) == (50, 20, 0, 30)
    assert (status["late"], status["held"]) == (30, 0)
    findings = client.get(f"{at}/audit").json()["findings"]
    assert "30 trials came in batches after that, and are no evidence." in findings
    lines = [json.loads(line) for line in client.get(f"{at}/events?format=ndjson").text.splitlines()]
    assert [line["late"] for line in lines if line["kind"] == "batch"] == [None] * 3 + [True] * 3
    assert differences(tmp_path) == [[]]


def test_batches_decide_when_they_count(client: Local, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With nobody asking for anything; those that come after it count at once, for the floors."""
    clock, at, rng = Clock(client, monkeypatch), create(client, **DRAWN, report_after=60.0), random.Random(10)
    policy = client.get(f"{at}/policy").json()
    for number in range(5):
        assert not reported(client, at, batch(str(number), policy, rng, 400))["decided"]
    clock.forward(121.0)
    status = client.get(at).json()
    assert (status["decided"], status["recommendation"], status["observed"]) == (True, "a", 2000)
    after = reported(client, at, batch("after", policy, rng, 30))
    assert (after["counted"], after["counted_at"]) == (30, None)
    assert client.get(at).json()["observed"] == 2030
    assert differences(tmp_path) == [[]]


def test_tickets_do_not_come_between_the_batches_of_a_policy(
    client: Local, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock, at, rng = Clock(client, monkeypatch), create(client, **DRAWN, report_after=60.0), random.Random(11)
    policy = client.get(f"{at}/policy").json()
    (ticket,) = ask(client, at)
    tell(client, at, {ticket["ticket"]: 1.0})
    refused = client.post(f"{at}/batches", json=batch("x", policy, rng, 30))
    assert refused.status_code == 422
    assert "published after the last ticket, got " in refused.json()["detail"]
    clock.forward(61.0)
    policy = client.get(f"{at}/policy").json()
    reported(client, at, batch("x", policy, rng, 30))
    refused = client.post(f"{at}/ask", json={})
    assert (refused.status_code, refused.json()["title"]) == (409, "Batches wait")
    assert refused.json()["counted_at"] == policy["counted_at"]
    clock.forward(121.0)
    assert len(ask(client, at)) == 1
    assert differences(tmp_path) == [[]]


def test_epochs_are_no_shorter_than_a_part_of_the_wait(tmp_path: Path) -> None:
    """So that few policies have batches that wait, and the state stays small."""
    with running(address(tmp_path), policy_seconds=1.0) as client:
        found = {wait: client.get(f"{create(client, **DRAWN, report_after=wait)}/policy").json() for wait in (10, 1e6)}
        assert [policy["seconds"] for policy in found.values()] == [1.0, 1e4]
        assert client.get(f"{create(client)}/policy").json()["seconds"] == 1.0
    assert [least_epoch(1000.0, arms) for arms in (2, 10, 20, 100, 2000)] == [10.0, 10.0, 20.0, 100.0, 100.0]


def test_batches_that_were_not_drawn_from_a_policy_are_refused(client: Local) -> None:
    at, rng = create(client, **DRAWN), random.Random(9)
    policy = client.get(f"{at}/policy").json()
    form = batch("x", policy, rng, 20)
    other = client.get(f"{create(client, **DRAWN)}/policy").json()["version"]
    refusals = [
        (batch("y", None, rng, 20), "policy must be given"),
        ({**form, "draws": "quota"}, "not by quotas"),
        ({**form, "policy": other + 5}, "policy must be a version that this experiment published"),
        ({**form, "squares": dict.fromkeys(MEANS, 0.5)}, "squares"),
    ]
    for refused, detail in refusals:
        response = client.post(f"{at}/batches", json=refused)
        assert response.status_code == 422
        assert detail in response.json()["detail"]
    ask(client, at)
    assert "1 are open" in client.post(f"{at}/batches", json=form).json()["detail"]


def test_bounded_batches_need_squares(client: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(client, monkeypatch)
    family = {"kind": "bounded", "low": 0.0, "high": 10.0}
    at = create(client, family=family, stopping="design_based", report_after=60.0, silence=0.0)
    policy = client.get(f"{at}/policy").json()["version"]
    form = {"batch": "x", "pulls": {"a": 2, "b": 1, "c": 1}, "sums": {"a": 7.0, "b": 2.0, "c": 0.0}, "policy": policy}
    assert "squares must be given" in client.post(f"{at}/batches", json=form).json()["detail"]
    squares = {"a": 25.0, "b": 4.0, "c": 0.0}  # 3 and 4; 2; 0
    assert client.post(f"{at}/batches", json={**form, "squares": squares}).json()["counted"] == 4
    assert client.post(f"{at}/batches", json={**form, "squares": {"a": 26.0, "b": 4.0, "c": 0.0}}).status_code == 409
    clock.forward(121.0)
    assert [arm["mean"] for arm in client.get(at).json()["arms"]] == [3.5, 2.0, 0.0]
    tell(client, at, {ticket["ticket"]: 5.0 for ticket in ask(client, at, 3)})  # tickets go on after a batch
    assert client.get(at).json()["observed"] == 7
    assert client.get(f"{at}/events", params={"format": "ndjson"}).text.count("published") == 3
    assert differences(tmp_path) == [[]]


def test_python_client_has_probabilities_and_versions(tmp_path: Path) -> None:
    sent = calls.report("x", "b", {"a": 1}, {"a": 2.0}, {"a": 4.0}, 3)
    assert sent.json == {"batch": "b", "pulls": {"a": 1}, "sums": {"a": 2.0}, "squares": {"a": 4.0}, "policy": 3}
    assert calls.report("x", "b", {"a": 1}, {"a": 2.0}, None, None).json.keys() == {"batch", "pulls", "sums"}
    with running(address(tmp_path)) as client:
        response = client.post(f"{create(client, **DRAWN)}/ask", json={"n": 2})
        assert all(0.2 <= ticket.probability <= 0.6 for ticket in calls.tickets(response))


def test_killed_server_goes_on_with_its_open_tickets(start: Start, sqlite: str) -> None:
    server, rng = start(sqlite), random.Random(10)
    at = f"/v1/experiments/{server.create(family='bernoulli', stopping='design_based', floors=0.1)}"
    for _ in range(2):
        tickets = server.call("POST", f"{at}/ask", {"n": 6}).body["tickets"]
        rewards = [{"ticket": one["ticket"], "reward": float(rng.random() < 0.5)} for one in tickets]
        assert server.call("POST", f"{at}/tell", {"rewards": rewards[1:]}).body["counted"] == 5
        before = server.call("GET", at).body
        server.kill()
        server.start()
        assert server.call("GET", at).body == before
        assert before["held"] == 5
        server.call("POST", f"{at}/tell", {"rewards": rewards[:1]})
        assert server.call("GET", at).body["pending"] == 0
    server.verify()
