"""Rewards that are counted at a fixed age, over HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.service.reading import verify
from tests.service.running import FORM, Local, address, ask, create, opened, running, tell
from tests.service.test_cycles import Clock
from tests.service.test_log import differences, expire

LATER = 1e12  # seconds since 1970: every ticket is of age


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Local]:
    with running(address(tmp_path)) as found:
        yield found


def counts(client: Local, at: str) -> tuple[int, int, int, int, int]:
    status = client.get(at).json()
    names = ("observed", "pending", "held", "expired", "late")
    return tuple(status[name] for name in names)  # type: ignore[return-value]


def test_rewards_are_held_until_their_age(client: Local, tmp_path: Path) -> None:
    at = create(client, report_after=1000.0, silence=0.5)
    given = ask(client, at, 6)
    tickets = [ticket["ticket"] for ticket in given]
    assert tell(client, at, {tickets[3]: 1.0, tickets[0]: 2.0})["counted"] == 2
    assert tell(client, at, {tickets[3]: 1.0})["counted"] == 0  # told before
    assert counts(client, at) == (0, 6, 2, 0, 0)
    assert expire(client, time.time()) == 0
    assert expire(client, LATER) == 6
    assert counts(client, at) == (6, 0, 0, 0, 0)
    means = {arm["arm"]: arm["mean"] for arm in client.get(at).json()["arms"]}
    rewards = [2.0, 0.5, 0.5, 1.0, 0.5, 0.5]
    for label, mean in means.items():
        assert mean == np.mean([reward for one, reward in zip(given, rewards, strict=True) if one["arm"] == label])
    assert differences(tmp_path) == [[]]


def test_silence_is_lost_without_a_value_for_it(client: Local, tmp_path: Path) -> None:
    at = create(client, report_after=1000.0)
    first, *_ = ask(client, at, 3)
    tell(client, at, {first["ticket"]: 1.0})
    assert expire(client, LATER) == 3
    assert counts(client, at) == (1, 0, 0, 2, 0)
    assert differences(tmp_path) == [[]]


def test_late_reward_is_stored_and_not_counted(client: Local, tmp_path: Path) -> None:
    at = create(client, report_after=1000.0, silence=0.0)
    first, _ = ask(client, at, 2)
    expire(client, LATER)
    answer = tell(client, at, {first["ticket"]: 5.0})
    assert (answer["accepted"], answer["counted"], answer["late"]) == (1, 0, 1)
    assert tell(client, at, {first["ticket"]: 5.0})["late"] == 0  # told before
    refused = client.post(f"{at}/tell", json={"rewards": [{"ticket": first["ticket"], "reward": 1.0}]})
    assert refused.status_code == 409
    assert counts(client, at) == (2, 0, 0, 0, 1)
    assert {arm["mean"] for arm in client.get(at).json()["arms"]} <= {0.0, None}
    assert expire(client, LATER) == 0
    assert differences(tmp_path) == [[]]


def test_reward_between_its_age_and_the_next_sweep_is_late(client: Local, tmp_path: Path) -> None:
    at = create(client, report_after=0.01, silence=0.0)
    (ticket,) = ask(client, at)
    time.sleep(0.05)
    assert tell(client, at, {ticket["ticket"]: 5.0})["late"] == 1
    assert expire(client, time.time()) == 1
    assert counts(client, at) == (1, 0, 0, 0, 1)
    assert {arm["mean"] for arm in client.get(at).json()["arms"]} <= {0.0, None}
    assert differences(tmp_path) == [[]]


def test_counted_in_the_order_of_assignment_as_an_identifier_does(client: Local, tmp_path: Path) -> None:
    """Ones are told at once, zeros never; arms, decision and stop are those of a library with the same age."""
    at = create(client, report_after=1000.0, silence=0.0, family="bernoulli", settle=False)
    rates = fb.rates.Constant(0.2)
    ident = fb.Identifier(["a", "b", "c"], 0.1, fb.Bernoulli(), rates, settle=False, seed=7)
    while not ident.decided:
        tickets = ask(client, at, 10)
        arms = ident.ask(10)
        assert [ticket["arm"] for ticket in tickets] == arms
        ones = [
            ticket["ticket"]
            for ticket in tickets
            if ticket["arm"] == "a" or int(ticket["ticket"].split("-")[0]) % 5 == 0
        ]
        tell(client, at, dict.fromkeys(reversed(ones), 1.0))
        assert expire(client, LATER) == 10
        ident.tell(arms, [float(ticket["ticket"] in ones) for ticket in tickets])
    status = client.get(at).json()
    assert (status["decided"], status["recommendation"]) == (True, "a")
    assert [arm["mean"] for arm in status["arms"]] == ident.status().means.tolist()
    assert differences(tmp_path) == [[]]


def test_service_counts_by_itself_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        Clock(client)  # so that no ticket is of age yet, however long this takes
        at = create(client, report_after=0.2, silence=0.0)
        tickets = ask(client, at, 3)
        tell(client, at, {tickets[0]["ticket"]: 1.0})
        assert counts(client, at)[:3] == (0, 3, 1)
    with running(address(tmp_path), sweep=0.05) as client:
        deadline = time.monotonic() + 120.0
        while client.get(at).json()["observed"] < 3:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert counts(client, at) == (3, 0, 0, 0, 0)
    assert differences(tmp_path) == [[]]


def test_held_rewards_on_postgresql(postgresql: str) -> None:
    with running(postgresql) as client:
        at = create(client, report_after=1000.0, silence=0.5)
        tickets = [ticket["ticket"] for ticket in ask(client, at, 4)]
        tell(client, at, {tickets[2]: 1.0, tickets[0]: 2.0})
        assert counts(client, at) == (0, 4, 2, 0, 0)
        assert expire(client, LATER) == 4
        assert counts(client, at) == (4, 0, 0, 0, 0)
    with opened(postgresql) as database:
        assert [found for _, found in verify.verify(database)] == [[]]


def test_many_tickets_of_one_ask_are_counted_in_order(client: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairbai.service.writing.leases.MAX_AT_ONCE", 4)
    at = create(client, report_after=1000.0, silence=0.0)
    ask(client, at, 11)
    assert expire(client, LATER) == 11
    lines = client.get(f"{at}/events", params={"format": "ndjson"}).text.splitlines()
    counted = [line for line in map(json.loads, lines) if line["kind"] == "counted"]
    assert [line["ticket"] for line in counted] == [str(number) for number in range(11)]
    assert {line["reward"] for line in counted} == {0.0}


def test_impossible_rewards_are_refused_when_they_are_told(client: Local) -> None:
    at = create(client, report_after=1000.0, silence=0.0, family="bernoulli")
    first, second = (ticket["ticket"] for ticket in ask(client, at, 2))
    rewards = [{"ticket": first, "reward": 1.0}, {"ticket": second, "reward": 0.5}]
    assert client.post(f"{at}/tell", json={"rewards": rewards}).status_code == 422
    assert counts(client, at) == (0, 2, 0, 0, 0)


def test_batches_are_refused(client: Local) -> None:
    at = create(client, report_after=1000.0)
    refused = client.post(f"{at}/batches", json={"batch": "x", "pulls": {"a": 3}, "sums": {"a": 1.5}})
    assert refused.status_code == 422
    assert "report_after" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"report_after": 10.0, "lease": 10.0}, "give one of them"),
        ({"silence": 0.0}, "silence needs report_after"),
        ({"report_after": 10.0, "silence": 0.5, "family": "bernoulli"}, "silence must be a reward"),
        ({"report_after": 0.0}, "report_after"),
    ],
)
def test_bad_settings(client: Local, changes: dict[str, Any], detail: str) -> None:
    response = client.post("/v1/experiments", json={**FORM, **changes})
    assert response.status_code == 422
    assert detail in response.text


def test_settings_are_shown(client: Local) -> None:
    created = client.post("/v1/experiments", json={**FORM, "report_after": 60, "silence": 0, "lease": None}).json()
    assert (created["lease"], created["report_after"], created["silence"]) == (None, 60.0, 0.0)
    assert "report_after" not in client.post("/v1/experiments", json=FORM).json()
    page = client.get(f"/v1/experiments/{created['id']}/report").text
    assert "Rewards count at the age of" in page
