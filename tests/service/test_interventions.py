"""Pausing, switching arms off and voiding wrong rewards: what they change, what they leave, and that logs replay."""

from __future__ import annotations

import asyncio
import pickle
import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter
from sqlalchemy import delete

from fairbai.client import AsyncClient, Client, ExperimentPausedError, ServiceError
from fairbai.client.calls import checked
from fairbai.service.domain import audit_answers, status_answers
from fairbai.service.domain.book import new_book
from fairbai.service.domain.encoding import decode
from fairbai.service.domain.interventions import Void
from fairbai.service.domain.operations import Expire
from fairbai.service.domain.tally import LogChangedError, Tally
from fairbai.service.http import forms
from fairbai.service.http.heavy import HeavyWork
from fairbai.service.reading.reader import row_of
from fairbai.service.reading.verify import verify_experiment
from fairbai.service.storage import logs
from fairbai.service.storage.logs import part_of_log, recount
from fairbai.service.storage.schema import events
from tests.service.running import FORM, Local, address, ask, create, running, tell
from tests.service.test_endings import log_of, read

WRONG = 1.7e9  # a timestamp in place of a latency


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with running(address(tmp_path_factory.mktemp("interventions"))) as found:
        yield found


def differences(client: Local, *at: str) -> list[str]:
    """Where experiments differ from their logs."""
    with client.app.service.database.snapshot() as connection:
        return [found for one in at for found in verify_experiment(connection, one.rpartition("/")[2])]


def void(client: Local, at: str, *tickets: str, reason: str = "sent twice") -> dict[str, Any]:
    response = client.post(f"{at}/void", json={"tickets": list(tickets), "reason": reason})
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def number_of(ticket: str) -> int:
    """The number of a ticket, without its token."""
    return int(ticket.partition("-")[0])


def expire(client: Local, at: str, numbers: list[int]) -> None:
    async def submit() -> int:
        return await client.app.service.writer.submit(Expire(at.rpartition("/")[2], tickets=numbers))

    assert client.wait(submit()) == len(numbers)


def refused(client: Local, path: str, **form: Any) -> tuple[int, str, str]:
    response = client.post(path, json=form)
    assert response.status_code >= 400, response.text
    return response.status_code, response.json()["title"], response.json()["detail"]


def trials(client: Local, at: str, n: int, seed: int = 0, best: str = "b", lead: float = 0.6) -> dict[str, float]:
    """Rewards of new tickets, of which one arm has more; told one by one."""
    rng = random.Random(seed)
    given = {one["ticket"]: rng.gauss(lead * (one["arm"] == best), 1.0) for one in ask(client, at, n)}
    for ticket, reward in given.items():
        tell(client, at, {ticket: reward})
    return given


# --- pausing ----------------------------------------------------------------------------------------------------


def test_paused_experiment_gives_no_tickets_and_counts_rewards(client: Local) -> None:
    at = create(client)
    tickets = ask(client, at, 6)
    for _ in range(2):  # again changes nothing
        assert client.post(f"{at}/pause").json()["paused"] is True
    assert read(client, at)["paused"] is True
    assert read(client, "/v1/experiments")["experiments"][0]["paused"] is True
    tell(client, at, {one["ticket"]: float(one["arm"] == "b") for one in tickets})
    for response in (client.post(f"{at}/ask", json={"serve_winner": True}), client.get(f"{at}/policy")):
        assert response.status_code == 409
        assert response.json()["title"] == "The experiment is paused"
        assert response.json()["recommendation"] == "b"  # for a page to fall back to
    with pytest.raises(ExperimentPausedError) as raised:
        checked(client.post(f"{at}/ask"))
    assert raised.value.recommendation == "b"
    assert read(client, at)["observed"] == 6
    assert client.post(f"{at}/resume").json()["paused"] is False
    assert len(ask(client, at, 2)) == 2
    assert [row["kind"] for row in log_of(client, at) if row["kind"] in ("paused", "resumed")] == ["paused", "resumed"]
    assert differences(client, at) == []


def test_ask_that_was_answered_before_the_pause_is_repeated(client: Local) -> None:
    at = create(client)
    headers = {"Idempotency-Key": "one"}
    first = client.post(f"{at}/ask", json={"n": 2}, headers=headers)
    client.post(f"{at}/pause")
    assert client.post(f"{at}/ask", json={"n": 2}, headers=headers).json() == first.json()


def test_ended_experiment_cannot_be_paused(client: Local) -> None:
    at = create(client)
    client.post(f"{at}/close")
    assert refused(client, f"{at}/pause")[:2] == (409, "The experiment is over")


# --- switching off ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rates", [0.25, {"kind": "gap", "p0": 0.3}])
def test_arm_that_is_switched_off_gets_no_tickets_and_is_not_the_answer(client: Local, rates: Any) -> None:
    at = create(client, floors=rates, arms=["a", "b", "c"], delta=0.05)
    rng = random.Random(3)
    mean = {"a": 0.0, "b": 0.9, "c": 2.0}  # c is the best, and broken
    given = ask(client, at, 12)
    tell(client, at, {one["ticket"]: rng.gauss(mean[one["arm"]], 1.0) for one in given[:9]})
    assert read(client, at)["recommendation"] == "c"
    for _ in range(2):
        answer = client.post(f"{at}/switch-off", json={"arm": "c", "reason": "its page is empty"}).json()
        assert answer["switched_off"] == ["c"]
        assert answer["recommendation"] == "b"
    status = TypeAdapter(status_answers.Status).validate_python(read(client, at), strict=True)
    assert status["switched_off"] == [{"arm": "c", "trial": 12, "reason": "its page is empty"}]
    assert status["arms"][2]["candidate"] is False
    assert status["arms"][2]["floor"] == 0.0
    tell(client, at, {one["ticket"]: rng.gauss(mean[one["arm"]], 1.0) for one in given[9:]})  # c too
    while not read(client, at)["stopped"]:
        tickets = ask(client, at, 5)
        assert all(one["arm"] != "c" for one in tickets)
        tell(client, at, {one["ticket"]: rng.gauss(mean[one["arm"]], 1.0) for one in tickets})
    status = read(client, at)
    assert (status["decided"], status["recommendation"], status["proved"]) == (True, "b", True)
    audit = TypeAdapter(audit_answers.Audit).validate_python(read(client, f"{at}/audit"), strict=True)
    assert audit["kept"] is True
    assert any("“c” was switched off after 12 trials: its page is empty" in line for line in audit["findings"])
    assert any("of the remaining arms" in line for line in audit["promise"]["sentences"])
    assert any("before and after that together, one of them is wrong" in line for line in audit["promise"]["sentences"])
    assert read(client, f"{at}/summary")["fairness_trials"] is None
    assert differences(client, at) == []


def test_edge_nodes_get_no_share_of_an_arm_that_is_off(client: Local) -> None:
    at = create(client)
    trials(client, at, 6)
    client.post(f"{at}/switch-off", json={"arm": "a", "reason": "broken"})
    shares = read(client, f"{at}/policy")["probabilities"]
    assert shares["a"] == 0.0
    assert sum(shares.values()) == pytest.approx(1.0)


def test_settling_leaves_out_an_arm_that_is_off(client: Local) -> None:
    at = create(client, sampling="top_two", floors=[0.3, 0.3, 0.3], delta=0.1)
    rng = random.Random(1)
    while not (status := read(client, at))["decided"]:
        given = ask(client, at, 1)
        tell(client, at, {given[0]["ticket"]: rng.gauss(4.0 * (given[0]["arm"] == "b"), 1.0)})
    assert not status["stopped"]
    assert refused(client, f"{at}/switch-off", arm="b", reason="no")[2] == "Arm 'b' is the answer, which is final"
    client.post(f"{at}/switch-off", json={"arm": "a", "reason": "broken"})
    while not read(client, at)["stopped"]:
        assert ask(client, at)[0]["arm"] != "a"
    assert differences(client, at) == []


@pytest.mark.parametrize(
    ("changes", "arm", "detail"),
    [
        ({"arms": ["a", "b"]}, "a", "Two arms must remain"),
        ({"control": "a", "tolerance": 0.1}, "a", "is the control"),
        ({"stopping": "design_based", "family": "bernoulli"}, "a", "Design_based compares averages"),
    ],
)
def test_arms_that_cannot_be_switched_off(client: Local, changes: dict[str, Any], arm: str, detail: str) -> None:
    at = create(client, **changes)
    status, title, said = refused(client, f"{at}/switch-off", arm=arm, reason="broken")
    assert (status, title) == (409, "The arm cannot be switched off")
    assert detail in said
    assert refused(client, f"{at}/switch-off", arm="nope", reason="broken")[:2] == (404, "No such arm")
    assert refused(client, f"{at}/switch-off", arm="a")[0] == 422  # a reason is needed
    assert read(client, at)["version"] == 1


# --- voiding ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "family",
    [
        {"kind": "gaussian", "variance": 1.0},
        {"kind": "gaussian", "variance": None},
        {"kind": "bounded", "low": -10, "high": 1e10},
        "poisson",
    ],
)
def test_evidence_is_that_without_the_wrong_reward(client: Local, family: Any) -> None:
    """However large it was: no rounding of it is left."""
    whole = family == "poisson"
    rng = random.Random(5)
    both = [create(client, family=family, seed=1, sampling="uniform_fair", min_duration="1d") for _ in "xy"]
    tickets = [ask(client, at, 90) for at in both]
    assert [one["arm"] for one in tickets[0]] == [one["arm"] for one in tickets[1]]
    rewards = [rng.gauss(1.0 * (one["arm"] == "b"), 1.0) + 3.0 for one in tickets[0]]
    rewards = [float(max(0, round(reward))) for reward in rewards] if whole else rewards
    wrong = tickets[0][40]["ticket"]
    for at, given in zip(both, tickets, strict=True):
        for place, one in enumerate(ask_order(given)):
            if place != 40:
                tell(client, at, {one["ticket"]: rewards[place]})
            elif at == both[0]:
                tell(client, at, {wrong: WRONG})
    expire(client, both[1], [number_of(wrong)])
    assert read(client, both[0])["arms"] != read(client, both[1])["arms"]
    assert void(client, both[0], wrong, wrong)["voided"] == 1
    assert void(client, both[0], wrong)["voided"] == 0
    one, other = (read(client, at) for at in both)
    for name in ("glr", "threshold", "observed", "pending", "proved", "recommendation", "doubts"):
        assert one[name] == pytest.approx(other[name], rel=1e-12), name
    assert [arm["mean"] for arm in one["arms"]] == pytest.approx([arm["mean"] for arm in other["arms"]], rel=1e-13)
    assert (one["voided"], other["voided"], one["expired"], other["expired"]) == (1, 0, 0, 1)
    assert one["voids"][0] == {"tickets": 1, "trial": 90, "reason": "sent twice", "after_decision": False,
                               "told_before": 1}  # fmt: skip
    assert refused(client, f"{both[0]}/tell", rewards=[{"ticket": wrong, "reward": 1.0}])[1] == "Reward voided"
    for at in both:  # and from here on the same rewards decide alike
        tell(client, at, {one["ticket"]: 3.0 for one in ask(client, at, 3)})
    assert read(client, both[0])["glr"] == pytest.approx(read(client, both[1])["glr"], rel=1e-12)
    assert any("1 reward was voided after 90 trials: sent twice" in line for line in
               read(client, f"{both[0]}/audit")["findings"])  # fmt: skip
    assert differences(client, *both) == []


@pytest.mark.parametrize(
    "family",
    [
        "bernoulli",
        {"kind": "gaussian", "variance": 1.0},
        {"kind": "gaussian", "variance": None},
        {"kind": "bounded", "low": 0, "high": 9},
        "poisson",
    ],
)
def test_void_can_be_handed_over_to_another_worker(family: Any) -> None:
    """What the log said goes with it, and goes on there."""
    config = new_book(forms.Experiment.model_validate({**FORM, "family": family}).config()).config
    before = Tally(config, {2})
    for version, (kind, data) in enumerate(
        [
            ("asked", {"arms": [0, 1, 2, 0]}),
            ("told", {"tickets": [1, 2, 3], "arms": [0, 1, 2], "rewards": [1.0, 1.0, 0.0], "late": []}),
            ("told", {"tickets": [4], "arms": [0], "rewards": [1.0], "late": []}),
            ("batch", {"pulls": [3, 2, 0], "sums": [2.0, 1.0, 0.0], "squares": [2.0, 1.0, 0.0]}),
        ],
        1,
    ):
        there = pickle.loads(pickle.dumps(Void("x", tickets=[2], tokens=[None], before=before))).before
        for tally in (before, there):
            tally.take(version, kind, data)
    assert said(there) == said(before)
    assert there.counted == {2}


def said(tally: Tally) -> dict[str, Any]:
    """All that a tally says."""
    names = ("without", "version", "told", "in_time", "counted")
    found = {name: getattr(tally, name) for name in names} | {"doubts": tally.doubts.to_dict()}
    return found | {str(arm): tally.rewards(arm) for arm in range(3)}


def ask_order(tickets: list[dict[str, str]]) -> list[dict[str, str]]:
    return sorted(tickets, key=lambda one: number_of(one["ticket"]))


def test_what_was_read_before_is_not_read_again(tmp_path: Path) -> None:
    """The writer, for whom everybody waits, reads only what came since, whatever was voided earlier."""
    with running(address(tmp_path)) as client:
        at = create(client)
        tickets = [one["ticket"] for one in ask(client, at, 6)]
        tell(client, at, dict.fromkeys(tickets[:4], 1.0))
        void(client, at, tickets[0])
        name = at.rpartition("/")[2]
        config = decode(row_of(client.app.service.database, name).config)
        wrong = frozenset(map(number_of, tickets[1:3]))
        with client.app.service.database.writer.begin() as connection:
            before, other = (recount(connection, name, config, wrong, 4) for _ in "xy")
        void(client, at, tickets[2])
        tell(client, at, {tickets[4]: 1.0})
        end = read(client, at)["version"]
        with client.app.service.database.writer.begin() as connection:
            expected = recount(connection, name, config, wrong, end)
            connection.execute(delete(events).where(events.c.sequence <= 4))
            found = recount(connection, name, config, wrong - {number_of(tickets[2])}, end, before)
            with pytest.raises(LogChangedError):  # a void since that was not known
                recount(connection, name, config, frozenset({number_of(tickets[3])}), end, other)
            with pytest.raises(LogChangedError):  # a database that was restored
                recount(connection, name, config, wrong, before.version - 1, before)
        assert found is before
        assert [found.rewards(arm) for arm in range(3)] == [expected.rewards(arm) for arm in range(3)]


@pytest.mark.parametrize("workers", ["one", "several"])
def test_the_writer_never_reads_a_long_log(client: Local, monkeypatch: pytest.MonkeyPatch, workers: str) -> None:
    """Of voids at the same time, those that read the log too early read it again, in their own threads."""
    if workers == "several":  # which do not know of each other's voids
        monkeypatch.setattr(HeavyWork, "alone", lambda *_: nullcontext())
    at, read_by = create(client), Counter[str]()
    given = trials(client, at, 60)

    def counted(*some: Any) -> list[Any]:
        found = part_of_log(*some)
        read_by[threading.current_thread().name] += len(found)
        return found

    monkeypatch.setattr(logs, "part_of_log", counted)

    async def together() -> list[httpx.Response]:
        forms = [{"tickets": [ticket], "reason": "sent twice"} for ticket in list(given)[:4]]
        return await asyncio.gather(*(client.http.post(f"{at}/void", json=form) for form in forms))

    answers = client.wait(together())
    assert [answer.json().get("voided", answer.text) for answer in answers] == [1, 1, 1, 1]
    assert read_by.total() > 4 * 60
    assert read_by["fairbai-writer"] <= 4 * 4
    assert read(client, at)["voided"] == 4
    assert differences(client, at) == []


def test_void_forgets_how_sure_it_was_with_the_reward(client: Local) -> None:
    at = create(client, min_duration="1d")
    tickets = ask(client, at, 60)
    tell(client, at, {one["ticket"]: 3.0 * (one["arm"] == "b") for one in tickets})
    sure = read(client, at)["confidence"]
    void(client, at, *(one["ticket"] for one in tickets if one["arm"] == "b"))
    status = read(client, at)
    assert sure > 0.9
    assert (status["recommendation"], status["confidence"]) == (None, 0.0)  # b has no reward any more
    trials(client, at, 20)
    assert read(client, at)["confidence"] < 0.9
    assert differences(client, at) == []


@pytest.mark.parametrize("call", ["switch-off", "void"])
def test_lists_do_not_show_how_sure_it_was_before(client: Local, call: str) -> None:
    at = create(client, name=f"before {call}", min_duration="1d")
    tickets = ask(client, at, 60)
    tell(client, at, {one["ticket"]: 2.0 * (one["arm"] == "b") + number % 2 for number, one in enumerate(tickets)})
    if call == "void":
        void(client, at, *[one["ticket"] for one in tickets if one["arm"] == "b"][1:])
    else:
        assert client.post(f"{at}/switch-off", json={"arm": "b", "reason": "broken"}).status_code == 200
    (line,) = client.get("/v1/experiments", params={"search": f"before {call}"}).json()["experiments"]
    status = read(client, at)
    assert status["confidence"] < 0.9
    for name in ("progress", "confidence"):
        assert line[name] == pytest.approx(status[name])
    assert differences(client, at) == []


def test_void_after_the_decision_is_a_remark(client: Local) -> None:
    at = create(client, floors=0.0)
    told: list[str] = []
    while not read(client, at)["decided"]:
        given = ask(client, at, 3)
        tell(client, at, {one["ticket"]: 5.0 * (one["arm"] == "b") + 0.1 * len(told) % 0.7 for one in given})
        told += [one["ticket"] for one in given]
    before = read(client, at)
    assert void(client, at, told[0], reason="a robot")["voided"] == 1
    after = read(client, at)
    same = [name for name in before if name not in ("version", "voided", "voids")]
    assert {name: before[name] for name in same} == {name: after[name] for name in same}
    assert after["voids"][0]["after_decision"] is True
    findings = read(client, f"{at}/audit")["findings"]
    assert any("A reward that was told before the decision was voided after it: a robot" in line for line in findings)
    assert "voided" in read(client, f"{at}/summary")["more"]
    assert differences(client, at) == []


def test_void_takes_a_doubt_back_that_the_reward_caused(client: Local) -> None:
    at = create(client, min_duration="1d")
    trials(client, at, 30)
    (ticket,) = ask(client, at)
    tell(client, at, {ticket["ticket"]: 1e6})
    assert read(client, at)["proved"] is False
    void(client, at, ticket["ticket"])
    assert (read(client, at)["proved"], read(client, at)["doubts"]) == (True, [])
    assert differences(client, at) == []


def test_void_of_a_held_reward_and_of_one_that_is_of_age(client: Local) -> None:
    at = create(client, report_after=3600.0, silence=0.0, delta=1e-6)
    tickets = [one["ticket"] for one in ask(client, at, 9)]
    tell(client, at, dict.fromkeys(tickets[:6], 2.0))
    expire(client, at, [number_of(ticket) for ticket in tickets[:3]])
    expire(client, at, [number_of(tickets[8])])  # silent
    tell(client, at, {tickets[8]: 5.0})  # and late
    assert void(client, at, tickets[0], tickets[5])["voided"] == 2
    status = read(client, at)
    assert (status["observed"], status["held"], status["pending"], status["voided"]) == (3, 2, 4, 2)
    status_, _, said = refused(client, f"{at}/void", tickets=[tickets[8]], reason="late")
    assert (status_, said) == (409, f"Ticket {number_of(tickets[8])} has a reward that came late and was not counted")
    assert refused(client, f"{at}/void", tickets=[tickets[7]], reason="x")[2] == "Ticket 7 has no reward"
    assert refused(client, f"{at}/void", tickets=["77"], reason="x")[:2] == (404, "No such ticket")
    assert differences(client, at) == []


def test_void_with_design_based_only_until_the_reward_is_counted(client: Local) -> None:
    at = create(client, stopping="design_based", family="bernoulli")
    tickets = [one["ticket"] for one in ask(client, at, 6)]
    tell(client, at, dict.fromkeys(tickets[:2], 1.0))
    tell(client, at, {tickets[4]: 1.0})  # held: two before it are open
    assert void(client, at, tickets[4])["voided"] == 1
    assert "is in the evidence for good" in refused(client, f"{at}/void", tickets=tickets[:1], reason="x")[2]
    tell(client, at, dict.fromkeys(tickets[2:4], 1.0))
    status = read(client, at)
    assert (status["observed"], status["held"]) == (5, 0)  # it counts as silent
    assert differences(client, at) == []


def test_only_admins_intervene(tmp_path: Path) -> None:
    with running(address(tmp_path), role="writer") as client:
        for call in ("pause", "resume", "void", "switch-off"):
            with pytest.raises(ServiceError, match="needs a key with the role admin"):
                checked(client.post(f"/v1/experiments/12/{call}", json={}))


def test_on_postgresql(postgresql: str) -> None:
    with running(postgresql) as client:
        at = create(client, report_after=3600.0, silence=0.0, delta=1e-6)
        tickets = [one["ticket"] for one in ask(client, at, 9)]
        tell(client, at, dict.fromkeys(tickets[:6], 2.0))
        expire(client, at, [number_of(ticket) for ticket in tickets[:3]])
        assert void(client, at, tickets[0], tickets[5])["voided"] == 2
        client.post(f"{at}/pause")
        client.post(f"{at}/resume")
        client.post(f"{at}/switch-off", json={"arm": "a", "reason": "broken"})
        assert all(one["arm"] != "a" for one in ask(client, at, 6))
        assert differences(client, at) == []
        assert client.request("DELETE", at).json()["events"] == 9
        assert client.get(at).status_code == 404


def test_the_clients(client: Local) -> None:
    at = create(client)
    name = at.rpartition("/")[2]
    key = client.http.headers["Authorization"].split()[1]

    async def calls() -> dict[str, Any]:
        transport = httpx.ASGITransport(client.app)
        async with AsyncClient("http://test", key, transport=transport) as other:
            (ticket,) = await other.ask(name)
            await other.tell(name, {ticket.ticket: 1.0})
            assert (await other.void(name, [ticket.ticket], "a robot")).decided is False
            await other.pause(name)
            with pytest.raises(ExperimentPausedError):
                await other.ask(name)
            await other.resume(name)
            await other.switch_off(name, "c", "broken")
            return await other.delete(name)

    assert client.wait(calls())["events"] == 7
    sent: list[tuple[str, str, bytes]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append((request.method, request.url.path, request.content))
        return httpx.Response(200, json={"decided": False, "stopped": False, "recommendation": None})

    with Client("http://test", key, transport=httpx.MockTransport(answer)) as other:
        other.pause("1")
        other.resume("1")
        other.switch_off("1", "c", "broken")
        other.void("1", ["4"], "a robot")
        other.delete("1")
    assert sent == [
        ("POST", "/v1/experiments/1/pause", b""),
        ("POST", "/v1/experiments/1/resume", b""),
        ("POST", "/v1/experiments/1/switch-off", b'{"arm":"c","reason":"broken"}'),
        ("POST", "/v1/experiments/1/void", b'{"tickets":["4"],"reason":"a robot"}'),
        ("DELETE", "/v1/experiments/1", b""),
    ]


CONFIGS: dict[str, dict[str, Any]] = {
    "lease": {"floors": 0.2},
    "learned": {"floors": {"kind": "gap", "p0": 0.3}, "sampling": "fair_track_and_stop"},
    "unknown variance": {"family": {"kind": "gaussian", "variance": None}, "goal": "min"},
    "bounded": {"family": {"kind": "bounded", "low": -9.0, "high": 99.0}, "tolerance": 0.01, "control": "b"},
    "aged": {"report_after": 3600.0, "silence": 0.5},
    "lost": {"report_after": 3600.0},
    "drawn": {"stopping": "design_based", "family": "bernoulli"},
    "cycles": {"min_duration": "1d"},
}


@pytest.mark.parametrize("name", CONFIGS)
def test_any_interventions_replay(client: Local, name: str) -> None:
    """Random calls, with a server that forgets everything now and then; what is stored is what the log implies."""
    rng = random.Random(name)
    at = create(client, **{"delta": 1e-3, "arms": ["a", "b", "c", "d"], **CONFIGS[name]})
    whole, tickets = name == "drawn", list[dict[str, str]]()
    for step in range(150):
        call = rng.choice(["ask", "ask", "tell", "tell", "tell", "batch", "expire", "void", "void", "pause", "resume"])
        some = rng.sample(tickets, min(len(tickets), rng.randint(1, 4)))
        names = [one["ticket"] for one in some]
        if call == "ask":
            tickets += client.post(f"{at}/ask", json={"n": rng.randint(1, 6)}).json().get("tickets", [])
        elif call == "tell" and some:
            reward = {one: float(rng.random() < 0.5) if whole else rng.choice([0.5, 1.0, 1.5, 3.0]) for one in names}
            client.post(f"{at}/tell", json={"rewards": [{"ticket": one, "reward": reward[one]} for one in names]})
        elif call == "batch" and not whole and "report_after" not in CONFIGS[name]:
            form = {"pulls": {"a": 2, "b": 1}, "sums": {"a": 1.0, "b": 0.5}, "squares": {"a": 0.6, "b": 0.25}}
            assert client.post(f"{at}/batches", json={"batch": str(step), **form}).status_code == 200
        elif call == "expire" and some:
            operation = Expire(at.rpartition("/")[2], tickets=[number_of(one) for one in names])
            client.wait(submitted(client, operation))
        elif call == "void" and some:
            client.post(f"{at}/void", json={"tickets": names[:2], "reason": f"step {step}"})
        elif call in ("pause", "resume"):
            client.post(f"{at}/{call}")
        if step == 70:
            client.post(f"{at}/switch-off", json={"arm": "d", "reason": "broken"})
        if rng.random() < 0.1:
            client.app.service.writer._ledger._books.clear()
    assert any(not one["after_decision"] for one in read(client, at)["voids"])
    assert differences(client, at) == []


async def submitted(client: Local, operation: Expire) -> int:
    return await client.app.service.writer.submit(operation)
