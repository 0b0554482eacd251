"""Pages open at once, however long the log is: they read aggregates."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text

from fairbai.service.storage.database import Database
from tests.service.large import LARGE, build
from tests.service.running import address, ask, running, tell

CALLS = {
    "list": "/v1/experiments",
    "filtered list": "/v1/experiments?sort=progress&state=running&search=experiment",
    "status": f"/v1/experiments/{LARGE}",
    "figures": f"/v1/experiments/{LARGE}/figures",
    "summary": f"/v1/experiments/{LARGE}/summary",
    "history": f"/v1/experiments/{LARGE}/history",
    "audit": f"/v1/experiments/{LARGE}/audit",
    "report": f"/v1/experiments/{LARGE}/report",
}


def counted(database: Database) -> Counter[str]:
    """A count that grows with every hundred instructions of SQLite."""
    count: Counter[str] = Counter()

    def watch(connection: sqlite3.Connection, *_: Any) -> None:
        connection.set_progress_handler(lambda: count.update(["steps"]), 100)

    for engine in (database.reader, database.writer):
        event.listen(engine, "checkout", watch)
    return count


def steps_of_calls(folder: Path, events: int) -> dict[str, int]:
    """How much SQLite does for each page, when the log of an experiment has so many events."""
    folder.mkdir()
    build(folder / "test.db", events, experiments=20)
    found = {}
    with running(address(folder)) as client:
        count = counted(client.app.service.database)
        for name, path in CALLS.items():
            count.clear()
            assert client.get(path).status_code == 200, name
            found[name] = count["steps"]
        assert client.get("/v1/experiments").json()["experiments"][0]["trials"] > 0.49 * events
        count.clear()
        assert client.get(f"/v1/experiments/{LARGE}/events").status_code == 200  # this one reads the log
        found["log"] = count["steps"]
    return found


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_a_long_log_costs_the_pages_nothing(tmp_path: Path) -> None:
    """The history has a point per 5 % more trials, so that it grows with the logarithm of the log."""
    few, many = (steps_of_calls(tmp_path / str(events), events) for events in (4_000, 100_000))
    for name in CALLS:
        assert many[name] <= 2 * few[name] + 10, name
    assert many["log"] > 10 * few["log"]  # the control


@pytest.mark.slow_without_jit
def test_a_slow_reader_does_not_hold_up_a_writer(tmp_path: Path) -> None:
    build(tmp_path / "test.db", 4_000, experiments=2)
    with running(address(tmp_path)) as client, client.app.service.database.snapshot() as reader:
        before = reader.execute(text("SELECT sum(assigned) FROM experiments")).scalar()
        other = f"/v1/experiments/{0:016x}"
        tell(client, other, {ticket["ticket"]: 1.0 for ticket in ask(client, other)})
        assert reader.execute(text("SELECT sum(assigned) FROM experiments")).scalar() == before
