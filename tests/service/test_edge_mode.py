"""Nodes that choose arms by themselves: policies and batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.running import Clock, Local, address, ask, create, play, running, tell
from tests.service.test_log import differences


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Local]:
    with running(address(tmp_path)) as found:
        yield found


def test_policy_holds_the_floors_and_has_an_etag(client: Local) -> None:
    at = create(client)
    play(client, at, 10, best=0.1)
    response = client.get(f"{at}/policy", params={"trials": 500})
    policy = response.json()
    assert sum(policy["probabilities"].values()) == pytest.approx(1.0)
    assert 1 <= int(response.headers["cache-control"].removeprefix("private, max-age=")) <= 60
    tag = response.headers["etag"]
    same = client.get(f"{at}/policy", params={"trials": 500}, headers={"If-None-Match": tag})
    assert (same.status_code, same.content) == (304, b"")
    for known in ("*", f"W/{tag}", f'"other", {tag}'):
        again = client.get(f"{at}/policy", params={"trials": 500}, headers={"If-None-Match": known})
        assert again.status_code == 304, known
    client.post(f"{at}/switch-off", json={"arm": "c", "reason": "broken"})  # which ends the epoch
    assert client.get(f"{at}/policy", params={"trials": 500}, headers={"If-None-Match": tag}).status_code == 200


def test_policies_for_other_numbers_of_trials_are_others(client: Local) -> None:
    """One for each number, which do not replace each other; and few, as everybody may read them."""
    at = create(client)
    one, other, same = (client.get(f"{at}/policy", params={"trials": trials}).json() for trials in (500, 5, 500))
    assert one == same
    assert (one["version"], one["trials"]) != (other["version"], other["trials"])
    assert one["seed"] != other["seed"]
    for trials in (1, 2):
        assert client.get(f"{at}/policy", params={"trials": trials}).status_code == 200
    refused = client.get(f"{at}/policy", params={"trials": 3})
    assert (refused.status_code, refused.json()["title"]) == (409, "Too many policies")
    assert "1, 2, 5, 500 trials" in refused.json()["detail"]
    assert client.get(f"{at}/policy", params={"trials": 500}).json() == one
    drawn = create(client, family="bernoulli", sampling="uniform_fair")  # whose policy is the same for all numbers
    assert len({client.get(f"{drawn}/policy", params={"trials": trials}).text for trials in range(1, 9)}) == 1


@pytest.mark.parametrize("stopping", ["mixture", "design_based"])
def test_policies_stay_for_an_epoch(tmp_path: Path, stopping: str) -> None:
    """Whatever happens and whoever asks, also after a restart; reading one changes nothing and logs nothing."""
    form = {"family": "bernoulli", "stopping": stopping, "settle": False}
    with running(address(tmp_path), policy_seconds=3600.0) as client:
        at = create(client, **form)
        first = client.get(f"{at}/policy")
        policy, tag = first.json(), first.headers["etag"]
    with running(address(tmp_path), role="reader", policy_seconds=3600.0) as reader:
        head = reader.get(f"{at}/head").json()
        for _ in range(3):
            assert reader.get(f"{at}/policy").json() == policy
            assert reader.get(f"{at}/policy", headers={"If-None-Match": tag}).status_code == 304
        assert reader.get(f"{at}/head").json() == head
    with running(address(tmp_path), policy_seconds=3600.0) as client:
        for ticket in ask(client, at, 20) if stopping == "mixture" else []:  # else there are tickets or batches
            tell(client, at, {ticket["ticket"]: 1.0})
        form = {"batch": "one", "pulls": {"a": 20, "b": 20, "c": 20}, "sums": {"a": 9.0, "b": 1.0, "c": 1.0}}
        form |= {"policy": policy["version"], "seed": policy["seed"]}
        assert client.post(f"{at}/batches", json=form).json()["counted"] == 60
        again = client.get(f"{at}/policy")
        assert (again.json(), again.headers["etag"]) == (policy, tag)
        assert 1 <= int(again.headers["cache-control"].removeprefix("private, max-age=")) <= 3600
    assert differences(tmp_path) == [[]]


def test_another_epoch_has_another_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(address(tmp_path), policy_seconds=10.0) as client:
        clock, policies = Clock(client, monkeypatch), []
        at = create(client, family="bernoulli", stopping="design_based", floors=0.1, report_after=60.0)
        for _ in range(3):
            policies.append(client.get(f"{at}/policy").json())
            clock.forward(10.0)
        assert len({(one["version"], one["seed"]) for one in policies}) == 3
        for number, policy in enumerate(policies):  # batches may follow any version that does not count yet
            form = {"batch": str(number), "pulls": {"a": 2, "b": 2, "c": 2}, "sums": {"a": 1.0, "b": 0.0, "c": 0.0}}
            told = client.post(f"{at}/batches", json={**form, "policy": policy["version"]})
            assert told.json()["counted"] == 6
    assert differences(tmp_path) == [[]]


def test_rules_that_choose_have_a_policy_for_so_many_trials(client: Local) -> None:
    """Ten trials of a policy for ten may well leave an arm out, whose turn is in the next policy."""
    at = create(client, floors={"a": 0.05}, family="bernoulli")
    seen = []
    for number in range(20):
        policy = client.get(f"{at}/policy", params={"trials": 10}).json()
        assert policy == client.get(f"{at}/policy", params={"trials": 10}).json()
        pulls = {arm: round(10 * share) for arm, share in policy["probabilities"].items()}
        half = {arm: pulls[arm] // 2 for arm in pulls}
        rest = {arm: pulls[arm] - half[arm] for arm in pulls}
        for part, made in (("first", half), ("second", rest)):
            form = {"batch": f"{number} {part}", "pulls": made, "sums": dict.fromkeys(made, 0.0)}
            assert client.post(f"{at}/batches", json=form).status_code == 200
            now = client.get(f"{at}/policy", params={"trials": 10}).json()
            assert (now == policy) is (part == "first")
        seen.append(policy["version"])
    assert seen == sorted(set(seen))


def test_a_decision_ends_the_epoch(client: Local) -> None:
    """After it, trials are for the floors, and an old policy would go on asking for evidence."""
    at = create(client, family="bernoulli")
    before = client.get(f"{at}/policy").json()
    form = {"batch": "one", "pulls": {"a": 900, "b": 90, "c": 90}, "sums": {"a": 800.0, "b": 1.0, "c": 1.0}}
    answer = client.post(f"{at}/batches", json=form).json()
    assert (answer["decided"], answer["stopped"]) == (True, False)
    after = client.get(f"{at}/policy").json()
    assert after["version"] > before["version"]
    assert after == client.get(f"{at}/policy").json()


def test_batch_counts_once(client: Local) -> None:
    at = create(client, family="bernoulli")
    form = {"batch": "node 1/7", "pulls": {"a": 10, "b": 5}, "sums": {"a": 4.0, "b": 0.0}}
    first = client.post(f"{at}/batches", json=form).json()
    assert (first["accepted"], first["counted"]) == (15, 15)
    assert client.post(f"{at}/batches", json=form).json()["counted"] == 0
    status = client.get(at).json()
    assert [arm["observed"] for arm in status["arms"]] == [10, 5, 0]
    assert [arm["mean"] for arm in status["arms"]] == [0.4, 0.0, None]
    other = client.post(f"{at}/batches", json={**form, "pulls": {"a": 11, "b": 5}})
    assert other.status_code == 409


@pytest.mark.parametrize(
    "changes",
    [
        {"pulls": {"a": -1}},
        {"pulls": {"a": 0}},
        {"pulls": {"a": 1}, "sums": {"a": 2.0}},
        {"sums": {"b": 1.0}},
        {"sums": {}},
        {"batch": ""},
    ],
)
def test_bad_batches(client: Local, changes: dict[str, object]) -> None:
    at = create(client, family="bernoulli")
    form = {"batch": "one", "pulls": {"a": 10}, "sums": {"a": 4.0}, **changes}
    assert client.post(f"{at}/batches", json=form).status_code == 422
    assert client.get(at).json()["trials"] == 0


def test_batch_of_an_unknown_arm(client: Local) -> None:
    at = create(client)
    form = {"batch": "one", "pulls": {"z": 1}, "sums": {"z": 0.0}}
    assert client.post(f"{at}/batches", json=form).json()["title"] == "No such arm"


@pytest.mark.slow_without_jit
def test_whole_experiment_in_batches(client: Local) -> None:
    at = create(client, family="bernoulli", settle=False)
    for number in range(200):
        response = client.get(f"{at}/policy", params={"trials": 1000})
        if response.status_code == 409:
            break
        shares = response.json()["probabilities"]
        pulls = {arm: round(1000 * share) for arm, share in shares.items()}
        sums = {arm: float(round(pulls[arm] * {"a": 0.2, "b": 0.1, "c": 0.1}[arm])) for arm in pulls}
        client.post(f"{at}/batches", json={"batch": str(number), "pulls": pulls, "sums": sums})
    assert client.get(at).json()["recommendation"] == "a"
    assert client.get(at).json()["stopped"]


def test_ceilings_and_groups_hold_in_edge_mode(client: Local) -> None:
    rates = {
        "kind": "bounded",
        "floor": 0.1,
        "ceiling": 0.5,
        "groups": [{"arms": [1, 2], "floor": 0.6, "ceiling": 0.75}],
    }
    at = create(client, floors=rates, delta=1e-9)
    for number in range(5):
        shares = client.get(f"{at}/policy", params={"trials": 100}).json()["probabilities"]
        pulls = {arm: round(100 * share) for arm, share in shares.items()}
        sums = {"a": 1.0 * pulls["a"], "b": 0.5 * pulls["b"], "c": 0.0}
        told = client.post(f"{at}/batches", json={"batch": str(number), "pulls": pulls, "sums": sums})
        assert told.json()["counted"] == sum(pulls.values())
        a, b, c = (arm["share"] for arm in client.get(at).json()["arms"])
        assert min(a, b, c) >= 0.1 - 1e-9
        assert max(a, b, c) <= 0.5 + 1e-9
        assert 0.6 - 1e-9 <= b + c <= 0.75 + 1e-9
    assert ask(client, at, 10)


def test_batch_after_the_stop_makes_an_experiment_go_on_until_its_floors_are_met(client: Local) -> None:
    at = create(client)
    play(client, at, 2000)
    before = client.get(at).json()
    assert before["stopped"]
    form = {"batch": "late", "pulls": {"a": 1000}, "sums": {"a": 0.0}}
    answer = client.post(f"{at}/batches", json=form).json()
    expected = {"accepted": 1000, "counted": 1000, "decided": True, "stopped": False, "recommendation": "a"}
    assert answer == {**expected, "counted_at": None, "ended_by": None, "head": client.get(f"{at}/head").json()["head"]}
    play(client, at, 2000)
    after = client.get(at).json()
    assert after["stopped"]
    assert all(arm["share"] >= arm["floor"] - 1e-12 for arm in after["arms"])
    kinds = [line.split(",")[2] for line in client.get(f"{at}/events").text.splitlines()]
    assert (kinds.count("decided"), kinds.count("stopped")) == (1, 2)
