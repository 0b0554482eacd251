"""Nodes that choose arms by themselves: policies and batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.running import Local, address, ask, create, play, running


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
    assert response.headers["cache-control"] == "private, max-age=60"
    tag = response.headers["etag"]
    same = client.get(f"{at}/policy", params={"trials": 500}, headers={"If-None-Match": tag})
    assert (same.status_code, same.content) == (304, b"")
    ask(client, at)
    assert client.get(f"{at}/policy", params={"trials": 500}, headers={"If-None-Match": tag}).status_code == 200


def test_batch_counts_once(client: Local) -> None:
    at = create(client, family="bernoulli")
    form = {"batch": "node 1/7", "pulls": {"a": 10, "b": 5}, "sums": {"a": 4.0}}
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
    form = {"batch": "one", "pulls": {"z": 1}, "sums": {}}
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


def test_ceilings_and_groups_have_no_edge_mode(client: Local) -> None:
    at = create(client, rates={"kind": "bounded", "floor": 0.1, "ceiling": 0.6})
    assert client.get(f"{at}/policy").status_code == 409
    refused = client.post(f"{at}/batches", json={"batch": "x", "pulls": {"a": 1}, "sums": {"a": 1.0}})
    assert refused.json()["title"] == "No edge mode"
    assert ask(client, at, 10)
