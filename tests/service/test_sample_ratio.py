"""Policies that assign units by a hash, and the check that arms come as often as they are drawn."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from fairbai.client import Tally, assign
from fairbai.service.domain import edges
from fairbai.service.domain.book import Book, new_book
from fairbai.service.storage.database import Database
from tests.service.running import FORM, Clock, Local, address, ask, create, opened, running, tell
from tests.service.test_design_based import DRAWN
from tests.service.test_log import differences
from tests.service.test_webhooks import Receiver

WINDOW = 60.0


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Local]:
    more: Any = {"webhook_hosts": ("127.0.0.1",), "webhook_secret": "a secret of the tests"}
    with running(address(tmp_path), policy_seconds=1.0, **more) as found:
        yield found


@pytest.fixture
def clock(client: Local, monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(client, monkeypatch)


@pytest.fixture(autouse=True)
def the_same_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no test depends on luck."""
    numbers = itertools.count(1)
    monkeypatch.setattr(edges, "new_seed", lambda: f"{next(numbers):032x}")


def report(client: Local, at: str, tally: Tally) -> Any:
    """Report what a node has of units that came a minute ago."""
    return client.post(f"{at}/batches", json=tally.batch(at=time.time() + WINDOW))


def follow(client: Local, clock: Clock, at: str, units: range, lost: int = 0) -> dict[str, Any]:
    """Assign units as a node does, and report them, but for one in ``lost`` of arms b and c; returns the policy.

    Then let time pass until they are counted.
    """
    policy: dict[str, Any] = client.get(f"{at}/policy").json()
    tally = Tally(policy, WINDOW / 2)
    for unit in units:
        name = f"user-{unit}"
        if not lost or unit % lost or assign(policy, name) == "a":
            tally.assign(name)
            tally.tell(name, float(unit % 3 == 0))
    trials = tally.open
    assert report(client, at, tally).json()["counted"] == trials
    clock.forward(2 * WINDOW)
    return policy


def test_units_are_assigned_under_versions(client: Local, clock: Clock, tmp_path: Path) -> None:
    at = create(client, **DRAWN, report_after=WINDOW)
    first = follow(client, clock, at, range(300))
    assert first["arms"] == ["a", "b", "c"]
    assert len(bytes.fromhex(first["seed"])) == 16
    units = [f"user-{number}" for number in range(300)]
    third = client.get(f"{at}/policy").json()
    assert (third["version"], third["seed"]) != (first["version"], first["seed"])
    moved = sum(assign(first, unit) != assign(third, unit) for unit in units)
    assert 100 < moved < 290  # drawn anew, and not only where a probability moved
    assert differences(tmp_path) == [[]]


def test_other_stops_publish_seeds_too(client: Local, clock: Clock) -> None:
    at = create(client, family="bernoulli")
    first = client.get(f"{at}/policy").json()
    tally = Tally(first, WINDOW)
    tally.assign("user-7")
    assert report(client, at, tally).json()["counted"] == 1
    clock.forward(2.0)
    assert client.get(f"{at}/policy").json()["seed"] != first["seed"]
    assert client.get(at).json()["sample_ratio"] is None


def test_batches_of_a_lost_history_are_refused(client: Local) -> None:
    at = create(client, **DRAWN, report_after=WINDOW)
    policy = client.get(f"{at}/policy").json()
    batch = {"batch": "x", "pulls": {"a": 1}, "sums": {"a": 1.0}, "policy": policy["version"], "seed": "0" * 32}
    refused = client.post(f"{at}/batches", json=batch)
    assert (refused.status_code, refused.json()["title"]) == (410, "Policy of a lost history")
    wrong = client.post(f"{at}/batches", json={**batch, "seed": "7"})
    assert wrong.json()["detail"] == 'seed must be the seed of a policy, 32 hexadecimal digits, got "7"'
    assert client.get(at).json()["trials"] == 0


def test_as_drawn(client: Local, clock: Clock, tmp_path: Path) -> None:
    at = create(client, **DRAWN, report_after=WINDOW, delta=1e-9)
    assert client.get(at).json()["sample_ratio"]["sentence"] == "Sample ratio: no drawn trials yet."
    tickets = ask(client, at, 20)
    tell(client, at, {ticket["ticket"]: float(number % 2) for number, ticket in enumerate(tickets)})
    for part in range(3):
        follow(client, clock, at, range(500 * part, 500 * part + 500))
    status = client.get(at).json()
    ratio = status["sample_ratio"]
    assert (ratio["mismatch"], ratio["level"], status["doubts"]) == (False, 0.0005, [])
    assert ratio["p_value"] > 0.01
    assert ratio["sentence"].startswith("Sample ratio: no mismatch (p = ")
    assert ratio["sentence"] in client.get(f"{at}/audit").json()["findings"]
    assert ratio["sentence"] in client.get(f"{at}/report").text
    assert differences(tmp_path) == [[]]


def test_a_mismatch_is_shown_everywhere(client: Local, clock: Clock, tmp_path: Path) -> None:
    receiver = Receiver()
    at = create(client, **DRAWN, report_after=WINDOW, delta=1e-9, webhook=receiver.url)
    for part in range(8):
        follow(client, clock, at, range(500 * part, 500 * part + 500), lost=4)
    status = client.get(at).json()
    (doubt,) = status["doubts"]
    assert (doubt["kind"], doubt["arm"], status["proved"], status["confidence"]) == ("sample_ratio", "a", False, None)
    assert doubt["reason"].startswith("Arm “a” has 1.")
    assert status["sample_ratio"]["mismatch"] is True
    assert status["sample_ratio"]["sentence"].startswith("Sample ratio: not as drawn (p = ")
    audit = client.get(f"{at}/audit").json()
    assert "not proved, as arms do not come as often as they are drawn" in audit["promise"]["sentences"][0]
    assert "For such trials neither the error probability" in " ".join(audit["findings"])
    client.post(f"{at}/close")
    closed = client.get(at).json()
    assert "because arms do not come as often as they are drawn" in closed["sentence"]
    assert "In doubt: arm “a” has 1." in client.get(f"{at}/summary").json()["sentence"]
    receiver.wait_for(2)
    told = {event["event"]: event for event in (json.loads(body) for _, body in receiver.got)}
    assert told["doubt"]["doubt"] == doubt["reason"]
    receiver.close()
    assert differences(tmp_path) == [[]]


def forget(database: Database, experiment: str) -> None:
    """Let an experiment be one that an earlier version has created: without a check, and without seeds."""
    with database.writing() as connection:
        row = connection.execute(text("select config, state from experiments where id = :id"), {"id": experiment}).one()
        config, state = json.loads(row.config), json.loads(row.state)
        del config["sample_ratio"], state["identifier"]["doubts"]["ratio"], state["published"]["seed"]
        del state["published"]["until"], state["digest"]
        given = {"id": experiment, "config": json.dumps(config), "state": json.dumps(state)}
        connection.execute(text("update experiments set config = :config, state = :state where id = :id"), given)


def test_experiments_of_earlier_versions_have_no_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = {**FORM, **DRAWN, "report_after": WINDOW}
    with running(address(tmp_path)) as client:
        created = client.post("/v1/experiments", json=form, headers={"Idempotency-Key": "one"}).json()
        at = f"/v1/experiments/{created['id']}"
        first = client.get(f"{at}/policy").json()
        with opened(address(tmp_path)) as database:
            forget(database, created["id"])
        again = client.post("/v1/experiments", json=form, headers={"Idempotency-Key": "one"})
        assert (again.status_code, again.json()["id"]) == (201, created["id"])
    with running(address(tmp_path)) as client:
        assert client.get(at).json()["sample_ratio"] is None
        policy = client.get(f"{at}/policy").json()
        assert policy["version"] == first["version"] + 1  # whose end and seed were not known then
        follow(client, Clock(client, monkeypatch), at, range(100))
        assert client.get(at).json()["observed"] == 100


def test_an_earlier_log_replays_as_it_was() -> None:
    """A book without the check has the state that it had then, and one with it reads its own back."""
    config = {**FORM, "sampling": None, "stopping": "design_based", "family": "bernoulli", "settle": True, "seed": 1}
    config |= {"lease": None, "report_after": 60.0, "silence": 0.0, "floors": 0.2}
    old, new = new_book(config), new_book({**config, "sample_ratio": 0.0005})
    for book in (old, new):
        book.publish(2, 100, None, 0.0, None)
        book.tell_batch([60, 20, 20], [1.0, 1.0, 1.0], None, [0.6, 0.2, 0.2])
    assert "ratio" not in json.loads(old.row()["state"])["identifier"]["doubts"]
    assert old.policies == [json.loads(old.row()["state"])["published"]]
    assert old.policies[0].keys() == {"version", "trials", "probabilities"}
    again = Book.read(json.dumps(new.config), new.row()["state"])
    assert again.row()["state"] == new.row()["state"]
