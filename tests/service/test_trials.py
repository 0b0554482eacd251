"""Ask and tell over HTTP: what they promise to clients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import fairbai as fb
from fairbai.problems.short_forms import FAMILY_MISSING
from fairbai.service.domain.book import Book
from fairbai.service.http.middleware import Authenticate
from fairbai.service.http.quotas import Quota
from tests.service.running import FORM, Local, address, ask, create, play, running, tell


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Local]:
    with running(address(tmp_path)) as found:
        yield found


def test_same_arms_as_an_identifier(client: Local) -> None:
    at = create(client)
    ident = fb.Identifier(["a", "b", "c"], delta=0.1, family=fb.Gaussian(), floors=fb.rates.Constant(0.2), seed=7)
    for number in range(40):
        (ticket,) = ask(client, at)
        assert (ticket["ticket"].split("-")[0], ticket["arm"]) == (str(number), ident.ask())
        ident.tell(ticket["arm"], number % 3 - 1.0)
        tell(client, at, {ticket["ticket"]: number % 3 - 1.0})
    status = client.get(at).json()
    expected = ident.status()
    assert [arm["mean"] for arm in status["arms"]] == expected.means.tolist()
    assert [arm["assigned"] for arm in status["arms"]] == expected.assigned.tolist()
    assert (status["glr"], status["threshold"]) == (expected.glr, expected.threshold)


def test_whole_experiment_ends_with_its_answer(client: Local) -> None:
    at = create(client)
    play(client, at, 2000)
    status = client.get(at).json()
    assert status["stopped"]
    assert status["decided"]
    assert status["recommendation"] == "a"
    assert status["expected_trials_to_go"] == 0.0
    assert all(arm["share"] >= arm["floor"] - 1e-12 for arm in status["arms"])
    refused = client.post(f"{at}/ask", json={})
    assert refused.status_code == 409
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["recommendation"] == "a"


def test_learned_floors_are_settled_with_a_margin(client: Local) -> None:
    at = create(client, floors={"kind": "gap", "p0": 0.5}, settle={"margin": 1})
    assert client.get(at).json()["config"]["settle"] == {"margin": 1.0, "learn": True}
    settling = fb.Settling(margin=1.0)
    ident = fb.Identifier(
        ["a", "b", "c"], delta=0.1, family=fb.Gaussian(), floors=fb.rates.Gap(0.5), settle=settling, seed=7
    )
    while not ident.stopped:
        (ticket,) = ask(client, at)
        arm, reward = ident.ask(), 3.0 if ticket["arm"] == "a" else 0.0
        assert ticket["arm"] == arm
        ident.tell(arm, reward)
        tell(client, at, {ticket["ticket"]: reward})
    status = client.get(at).json()
    assert status["stopped"]
    assert [arm["floor"] for arm in status["arms"]] == ident.status().floors.tolist()


def test_winner_is_served_after_the_stop_and_its_rewards_are_not_counted(client: Local) -> None:
    at = create(client)
    assert client.post(f"{at}/tell", json={"rewards": [{"ticket": "winner", "reward": 1.0}]}).status_code == 404
    play(client, at, 2000)
    before = client.get(at).json()
    served = client.post(f"{at}/ask", json={"n": 2, "serve_winner": True}).json()
    assert served == {"tickets": [{"ticket": "winner", "arm": "a"}] * 2, "expires_at": None, "winner": True}
    assert tell(client, at, {"winner": 1.0})["counted"] == 0
    assert client.get(at).json() == before


def test_same_reward_again_changes_nothing_and_another_one_is_refused(client: Local) -> None:
    at = create(client)
    first, second = (ticket["ticket"] for ticket in ask(client, at, 2))
    assert tell(client, at, {first: 1.0})["counted"] == 1
    before = client.get(at).json()
    again = tell(client, at, {first: 1.0})
    assert (again["accepted"], again["counted"]) == (1, 0)
    rewards = [{"ticket": second, "reward": 0.5}, {"ticket": first, "reward": 2.0}]
    refused = client.post(f"{at}/tell", json={"rewards": rewards})
    assert refused.status_code == 409
    assert refused.json()["reward"] == 1.0
    assert client.get(at).json() == before  # the second was not taken either
    assert tell(client, at, {first: 1.0, second: 0.5})["counted"] == 1


def test_intervals_are_those_of_the_mixture_that_was_asked_for(client: Local) -> None:
    widths = []
    for stopping in ({"kind": "two_sided_mixture", "kappa": 0.01}, {"kind": "two_sided_mixture"}, "heuristic"):
        at = create(client, stopping=stopping, delta=1e-9)
        tell(client, at, {ticket["ticket"]: 0.5 for ticket in ask(client, at, 30)})
        low, high = client.get(at).json()["arms"][0]["interval"]
        widths.append(high - low)
    assert widths[0] != widths[1] == widths[2]


def test_ticket_twice_in_a_request(client: Local) -> None:
    at = create(client)
    (ticket,) = ask(client, at)
    twice = [{"ticket": ticket["ticket"], "reward": reward} for reward in (1.0, 2.0)]
    assert client.post(f"{at}/tell", json={"rewards": twice}).status_code == 409
    same = [{"ticket": ticket["ticket"], "reward": 1.0}] * 2
    assert client.post(f"{at}/tell", json={"rewards": same}).json()["counted"] == 1


@pytest.mark.parametrize("ticket", ["1", "-1", "x", "00", "١", "999999999999999999", "winner", "leader"])
def test_unknown_ticket(client: Local, ticket: str) -> None:
    at = create(client)
    (known,) = ask(client, at)
    rewards = [{"ticket": known["ticket"], "reward": 1.0}, {"ticket": ticket, "reward": 1.0}]
    refused = client.post(f"{at}/tell", json={"rewards": rewards})
    assert refused.status_code == 404
    assert refused.json()["ticket"] == ticket
    assert client.get(at).json()["observed"] == 0


def test_reward_that_the_family_cannot_produce(client: Local) -> None:
    at = create(client, family="bernoulli")
    first, second = (ticket["ticket"] for ticket in ask(client, at, 2))
    rewards = [{"ticket": first, "reward": 1.0}, {"ticket": second, "reward": 0.5}]
    refused = client.post(f"{at}/tell", json={"rewards": rewards})
    assert refused.status_code == 422
    assert "must be 0 or 1" in refused.json()["detail"]
    assert client.get(at).json()["observed"] == 0


def test_error_after_a_change_is_ours_and_undone(client: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is wrong with a request is answered as such; memory and database never differ."""
    at = create(client)
    first, second = (ticket["ticket"] for ticket in ask(client, at, 2))
    tell(client, at, {first: 1.0})
    before = client.get(at).json()
    told, batched = Book.tell, Book.tell_batch

    def fail(real: Any) -> Any:
        def call(*arguments: Any) -> None:
            real(*arguments)
            raise ValueError("too late")

        return call

    with monkeypatch.context() as patched:
        patched.setattr(Book, "tell", fail(told))
        patched.setattr(Book, "tell_batch", fail(batched))
        rewards = {"rewards": [{"ticket": second, "reward": 0.5}]}
        batch = {"batch": "x", "pulls": {"a": 1}, "sums": {"a": 1.0}}
        for path, form in (("tell", rewards), ("batches", batch)):
            answer = client.post(f"{at}/{path}", json=form)
            assert answer.status_code == 500
            assert "too late" not in answer.text
    assert client.get(at).json() == before
    assert tell(client, at, {second: 0.5})["counted"] == 1
    status = client.get(at).json()
    assert (status["trials"], status["observed"]) == (2, 2)


def test_ask_with_a_key_happens_once(client: Local) -> None:
    at = create(client)
    headers = {"Idempotency-Key": "one"}
    first = client.post(f"{at}/ask", json={"n": 3}, headers=headers)
    assert client.post(f"{at}/ask", json={"n": 3}, headers=headers).json() == first.json()
    assert client.get(at).json()["trials"] == 3
    assert client.post(f"{at}/ask", json={"n": 2}, headers=headers).status_code == 409
    other = client.post(f"{at}/ask", json={"n": 3, "serve_winner": True}, headers=headers)
    assert other.status_code == 409
    assert "already used for an ask of n = 3, got an ask of n = 3 with serve_winner" in other.json()["detail"]
    assert client.post(f"{at}/ask", json={"n": 3}, headers={"Idempotency-Key": "two"}).json() != first.json()
    assert client.post(f"{at}/ask", json={"n": 3}, headers={"Idempotency-Key": "t o"}).status_code == 422


def test_create_with_a_key_happens_once(client: Local) -> None:
    headers = {"Idempotency-Key": "one"}
    form = {**FORM, "seed": None}
    first = client.post("/v1/experiments", json=form, headers=headers)
    assert client.post("/v1/experiments", json=form, headers=headers).json() == first.json()
    assert len(client.get("/v1/experiments").json()["experiments"]) == 1
    assert client.post("/v1/experiments", json={**form, "delta": 0.2}, headers=headers).status_code == 409


def test_close_is_final_and_freezes_the_answer(client: Local) -> None:
    at = create(client)
    tickets = ask(client, at, 6)
    tell(client, at, {ticket["ticket"]: float(ticket["arm"] == "b") for ticket in tickets[:3]})
    closed = client.post(f"{at}/close").json()
    answer = {"decided": False, "stopped": True, "recommendation": "b", "ended_by": "closed"}
    assert closed == {**answer, "head": client.get(f"{at}/head").json()["head"]}
    assert client.post(f"{at}/close").json() == closed
    assert client.post(f"{at}/ask", json={}).status_code == 409
    assert client.get(f"{at}/policy").status_code == 409
    late = tell(client, at, {ticket["ticket"]: 5.0 * (ticket["arm"] == "a") for ticket in tickets[3:]})
    assert late["counted"] == 3
    assert late["recommendation"] == "b"
    status = client.get(at).json()
    assert status["closed"]
    assert status["observed"] == 6


def test_no_such_experiment(client: Local) -> None:
    for method, path in [("GET", ""), ("POST", "/ask"), ("POST", "/close"), ("GET", "/events"), ("GET", "/history")]:
        response = client.request(method, f"/v1/experiments/nothing{path}")
        assert response.status_code == 404, path
        assert response.json()["title"] == "No such experiment"


@pytest.mark.parametrize(
    ("short", "full"),
    [
        (0.1, {"kind": "constant", "floor": 0.1}),
        ([0.1, 0.2, 0.3], {"kind": "constant", "floor": [0.1, 0.2, 0.3]}),
        ({"b": 0.3}, {"kind": "constant", "floor": [0.0, 0.3, 0.0]}),
        (
            {"kind": "bounded", "floor": {"a": 0.1}, "groups": [{"arms": ["a", "c"], "floor": 0.5}]},
            {"kind": "bounded", "floor": [0.1, 0.0, 0.0], "ceiling": 1.0, "groups": [{"arms": [0, 2], "floor": 0.5}]},
        ),
        (
            {"kind": "bounded", "groups": [{"arms": ["b", "c"], "ceiling": 0.5}]},
            {
                "kind": "bounded",
                "floor": 0.0,
                "ceiling": 1.0,
                "groups": [{"arms": [1, 2], "floor": 0.0, "ceiling": 0.5}],
            },
        ),
    ],
    ids=repr,
)
def test_short_forms_are_stored_in_full(client: Local, short: Any, full: dict[str, Any]) -> None:
    config = client.get(create(client, floors=short, family="bernoulli")).json()["config"]
    assert (config["floors"], config["family"]) == (full, {"kind": "bernoulli"})


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({"rates": {"a": "30%", "b": 0.1}}, {"floors": {"kind": "constant", "floor": [0.3, 0.1, 0.0]}}),
        ({"floors": "10 %"}, {"floors": {"kind": "constant", "floor": 0.1}}),
        ({"rates": {"kind": "gap", "p0": "50%"}}, {"floors": {"kind": "gap", "p0": 0.5}}),
        ({"delta": "5%", "tolerance": "10 %", "enrol": "50%"}, {"delta": 0.05, "tolerance": "10%", "enrol": 0.5}),
        ({"lease": "12h"}, {"lease": 43_200.0}),
        ({"report_after": "1d", "silence": 0}, {"report_after": 86_400.0}),
        ({"cycle": 604_800, "min_duration": 5400.0}, {"cycle": "1w", "min_duration": "90m"}),
        ({"retention": 86_400}, {"retention": "1d"}),
    ],
    ids=repr,
)
def test_percents_durations_and_the_other_name_of_floors(
    client: Local, given: dict[str, Any], stored: dict[str, Any]
) -> None:
    form = {name: value for name, value in FORM.items() if name != "floors"}
    response = client.post("/v1/experiments", json={**form, **given})
    assert response.status_code == 201, response.text
    config = response.json()
    assert {name: config[name] for name in stored} == stored
    assert "rates" not in config


def test_limits_that_contradict_each_other_are_explained(client: Local) -> None:
    rates = {"kind": "bounded", "ceiling": {"a": 0.3}, "groups": [{"arms": ["b", "c"], "ceiling": 0.5}]}
    response = client.post("/v1/experiments", json={**FORM, "floors": rates})
    assert response.status_code == 422
    assert response.json()["detail"].endswith(
        "all arms but 'a' may have at most 50 % together and 'a' at most 30 %: "
        "that leaves 20 % of the trials for nobody"
    )


@pytest.mark.parametrize("given", [{}, {"family": None}], ids=repr)
def test_an_experiment_needs_a_family(client: Local, given: dict[str, Any]) -> None:
    form = {name: value for name, value in FORM.items() if name != "family"}
    response = client.post("/v1/experiments", json=form | given)
    assert response.status_code == 422
    assert response.json()["detail"] == FAMILY_MISSING.replace("None", "null")


@pytest.mark.parametrize(
    "changes",
    [
        {"arms": ["a"]},
        {"arms": ["a", "a"]},
        {"arms": ["a", "x" * 201]},
        {"arms": ["a", "b\u0000"]},
        {"arms": [str(number) for number in range(1001)]},
        {"delta": 0.5},
        {"delta": "0.1"},
        {"family": "cauchy"},
        {"family": {"kind": "gaussian", "variance": -1}},
        {"floors": {"kind": "constant", "floor": 0.4}},
        {"floors": {"kind": "custom", "function": "print"}},
        {"floors": {"d": 0.1}},
        {"floors": [0.1, 0.1]},
        {"floors": {"kind": "bounded", "groups": [{"arms": ["d"], "floor": 0.1}]}},
        {"floors": {"kind": "bounded", "groups": [{"arms": ["a", "b"]}]}},
        {"floors": {"kind": "bounded", "groups": [{"arms": ["a", "b"], "ceiling": None}]}},
        {"floors": {"kind": "bounded", "groups": [{"arms": ["a", "b"], "ceiling": 0.0}]}},
        {"floors": {"kind": "bounded", "groups": [{"arms": ["a", "b"], "floor": 0.5, "ceiling": 0.4}]}},
        {"settle": {"margin": -1.0}},
        {"settle": {"margin": True}},
        {"settle": {"spread": 1.0}},
        {"settle": 1},
        {"lease": 0},
        {"seed": -1},
        {"surplus": 1},
    ],
)
def test_bad_experiments(client: Local, changes: dict[str, object]) -> None:
    response = client.post("/v1/experiments", json={**FORM, **changes})
    assert response.status_code == 422, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert client.get("/v1/experiments").json()["experiments"] == []


@pytest.mark.parametrize(
    "body", ["[]", "{", '{"n": 0}', '{"n": 10001}', '{"n": true}', '{"n": 1.5}', '{"m": 1}', "\xff"]
)
def test_bad_asks(client: Local, body: str) -> None:
    at = create(client)
    assert client.post(f"{at}/ask", content=body.encode("latin-1")).status_code == 422


@pytest.mark.parametrize("reward", ["NaN", "1e400", "1e101", '"1"', "true", "null"])
def test_bad_rewards(client: Local, reward: str) -> None:
    at = create(client)
    ask(client, at)
    response = client.post(f"{at}/tell", content=f'{{"rewards": [{{"ticket": "0", "reward": {reward}}}]}}')
    assert response.status_code == 422


def test_fastapi_answers_as_the_fast_lane_does(client: Local) -> None:
    """The fast lane calls ask and tell directly; FastAPI comes to the same endpoints."""
    at = create(client)
    client.http._transport = httpx.ASGITransport(
        Authenticate(client.app.fastapi, lambda: client.app.service, Quota(0.0))
    )
    (ticket,) = ask(client, at)
    assert ticket["arm"] in ("a", "b", "c")
    assert tell(client, at, {ticket["ticket"]: 1.0})["counted"] == 1
    assert client.post(f"{at}/tell", json={"rewards": [{**ticket, "reward": 2.0}]}).status_code == 422
    again = {"ticket": ticket["ticket"], "reward": 2.0}
    assert client.post(f"{at}/tell", json={"rewards": [again]}).status_code == 409
    first = client.post(f"{at}/ask", json={"n": 2}, headers={"Idempotency-Key": "x"}).json()
    assert client.post(f"{at}/ask", json={"n": 2}, headers={"Idempotency-Key": "x"}).json() == first


@pytest.mark.parametrize("name", ["%00", "a%20b", "x" * 40])
def test_an_id_that_no_experiment_can_have(client: Local, name: str) -> None:
    """It never reaches the database, which might not even take it as text."""
    assert client.post(f"/v1/experiments/{name}/ask", json={"n": 1}).status_code == 404
    assert client.get(f"/v1/experiments/{name}").status_code == 404
