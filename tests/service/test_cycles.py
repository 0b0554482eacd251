"""Decisions at the end of whole cycles, and not before a minimum duration."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairbai.service.domain.cycles import Cycles, seconds
from fairbai.service.domain.encoding import iso
from fairbai.service.reading import verify
from fairbai.service.reading.words import moment
from tests.service.running import FORM, Local, address, ask, create, opened, running, tell
from tests.service.test_log import differences, expire

DAY = 86_400.0


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Local]:
    with running(address(tmp_path)) as found:
        yield found


class Clock:
    """The time of the ledger, which a test moves."""

    def __init__(self, client: Local) -> None:
        self.now = time.time()
        client.app.service.writer._ledger._clock = lambda: self.now


def gather(client: Local, at: str, trials: int = 60) -> None:
    """Clear evidence for arm a."""
    rng = random.Random(5)
    for _ in range(trials // 10):
        tell(client, at, {one["ticket"]: rng.gauss(5.0 * (one["arm"] == "a"), 1.0) for one in ask(client, at, 10)})


def test_durations() -> None:
    assert [seconds(text) for text in ("90s", "5m", "2h", "7d", "1w")] == [90.0, 300.0, 7200.0, 7 * DAY, 7 * DAY]


def test_ends_of_cycles() -> None:
    cycles = Cycles.of({"cycle": "7d", "min_duration": "10d"})
    assert cycles is not None
    cycles.begin(1000.0)
    assert cycles.next == 1000.0 + 14 * DAY
    assert not cycles.due(cycles.next - 1.0)
    assert cycles.due(cycles.next)
    cycles.passed(cycles.next)
    assert cycles.next == 1000.0 + 21 * DAY
    cycles.passed(1000.0 + 100 * DAY)
    assert cycles.next == 1000.0 + 105 * DAY
    assert Cycles.of({}) is None


@pytest.mark.parametrize("stopping", ["mixture", "design_based"])
def test_decides_at_the_end_of_the_cycle(client: Local, tmp_path: Path, stopping: str) -> None:
    clock = Clock(client)
    family = (
        {"kind": "bounded", "low": -20.0, "high": 20.0}
        if stopping == "design_based"
        else {"kind": "gaussian", "variance": 1.0}
    )
    late = {"report_after": 60.0, "silence": 0.0} if stopping == "design_based" else {}
    at = create(client, cycle="7d", stopping=stopping, family=family, **late)
    began = clock.now
    gather(client, at, 600 if stopping == "mixture" else 3000)
    status = client.get(at).json()
    assert (status["decided"], status["enough"], status["expected_trials_to_go"]) == (False, True, 0.0)
    ending = moment(iso(began + 7 * DAY))
    sentence = client.get(f"{at}/summary").json()["sentence"]
    assert f"It decides at the end of the week, on {ending}, if the evidence holds." in sentence
    assert "A decision is made only at the end of a whole week" in client.get(f"{at}/audit").text
    clock.now = began + 6.9 * DAY
    expire(client, clock.now)
    assert not client.get(at).json()["decided"]
    clock.now = began + 7.1 * DAY
    expire(client, clock.now)  # the service looks by itself
    status = client.get(at).json()
    assert (status["decided"], status["recommendation"], status["decides_at"]) == (True, "a", None)
    kinds = [line.split(",")[2] for line in client.get(f"{at}/events").text.splitlines()]
    assert kinds.index("decided") == kinds.index("looked") + 1
    assert differences(tmp_path) == [[]]


def test_what_comes_after_the_end_of_the_cycle_counts_for_the_next(client: Local, tmp_path: Path) -> None:
    clock = Clock(client)
    at, began = create(client, cycle="1d"), clock.now
    tickets = ask(client, at, 60)
    clock.now = began + 1.5 * DAY
    tell(
        client,
        at,
        {one["ticket"]: 9.0 * (one["arm"] == "a") + random.Random(one["ticket"]).random() for one in tickets},
    )
    status = client.get(at).json()
    assert (status["decided"], status["enough"]) == (False, True)
    clock.now = began + 2.5 * DAY
    client.post(f"{at}/ask", json={})  # looks first, if no sweep did
    assert client.get(at).json()["decided"]
    assert differences(tmp_path) == [[]]


def test_minimum_duration_without_cycles(client: Local, tmp_path: Path) -> None:
    clock = Clock(client)
    at, began = create(client, min_duration="2d"), clock.now
    gather(client, at)
    clock.now = began + 1.9 * DAY
    expire(client, clock.now)
    assert not client.get(at).json()["decided"]
    assert "not before 2d have passed" in client.get(f"{at}/audit").text
    clock.now = began + 2.0 * DAY
    expire(client, clock.now)
    assert client.get(at).json()["decided"]
    late = create(client, min_duration="1s")
    clock.now += 10.0
    gather(client, late, 40)
    client.post(f"{late}/ask", json={})
    assert client.get(late).json()["decided"]
    assert differences(tmp_path) == [[], []]


def test_goes_on_after_a_restart_and_on_postgresql(postgresql: str) -> None:
    with running(postgresql) as client:
        Clock(client)  # so that no cycle ends meanwhile, however long it takes
        at = create(client, cycle="1s")
        gather(client, at)
    with running(postgresql, sweep=0.05) as client:
        deadline = time.monotonic() + 120.0
        while not client.get(at).json()["decided"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    with opened(postgresql) as database:
        assert [found for _, found in verify.verify(database)] == [[]]


def test_closing_before_the_end_of_the_cycle_decides_nothing(client: Local) -> None:
    at = create(client, cycle="7d")
    gather(client, at)
    closed = client.post(f"{at}/close").json()
    del closed["head"]
    assert closed == {"decided": False, "stopped": True, "recommendation": "a", "ended_by": "closed"}
    assert client.get(at).json()["decides_at"] is None


def test_settings_are_shown_and_checked(client: Local) -> None:
    created = client.post("/v1/experiments", json={**FORM, "cycle": "7d", "min_duration": "14d"}).json()
    assert (created["cycle"], created["min_duration"]) == ("7d", "14d")
    assert "cycle" not in client.post("/v1/experiments", json=FORM).json()
    wrong: tuple[Any, ...] = ("7", "d", "0d", "-1d", "1y", "400d", 0.5)
    for cycle in wrong:
        assert client.post("/v1/experiments", json={**FORM, "cycle": cycle}).status_code == 422
