"""How long the writer takes, whether the service calls itself ready, and streams without a database."""

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from fairbai.service.domain.asking import Ask
from fairbai.service.http.streams import Streams
from fairbai.service.storage import keyring
from fairbai.service.storage.database import Database
from fairbai.service.writing import probe
from fairbai.service.writing.backlog import Backlog
from fairbai.service.writing.ledger import Ledger
from fairbai.service.writing.watch import Watch
from tests.service.running import address, create, running


def test_the_watch_of_the_writer() -> None:
    now = [100.0]
    watch = Watch(lambda: now[0])
    assert (watch.busy, watch.waiting) == (0.0, 0)
    watch.submit()
    watch.submit()
    now[0] += 1.0
    assert (watch.busy, watch.waiting) == (0.0, 2)
    watch.begin(1)
    now[0] += 4.0
    assert (watch.busy, watch.waiting) == (4.0, 1)
    watch.end()
    watch.begin(1)
    watch.end()
    assert (watch.busy, watch.waiting) == (0.0, 0)


def test_who_has_waited_longest_for_a_turn() -> None:
    """Not who has queued most: an experiment that is answered now and then has its turns."""
    now = [100.0]
    backlog = Backlog(lambda: now[0])
    busy = [backlog.add(Ask("busy", n=10)) for _ in range(100)]
    now[0] += 2.0
    other = backlog.add(Ask("other"))
    assert backlog.oldest == 2.0
    for entry in busy[:-1]:
        now[0] += 1.0
        backlog.remove(entry)
    assert backlog.oldest == 99.0  # of the other
    backlog.remove(other)
    assert backlog.oldest == 0.0
    now[0] += 3.0
    assert backlog.oldest == 3.0
    backlog.remove(busy[-1])
    assert backlog.oldest == 0.0


def test_a_writer_that_hangs_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so at once, and in the metrics; and is ready again when it goes on."""
    monkeypatch.setattr(probe, "SLOW", 0.2)
    monkeypatch.setattr(probe, "MAX_WAIT", 60.0)  # so that whoever waits is noticed, and a busy machine is not
    go_on, real = threading.Event(), Ledger.run

    def run(self: Ledger, operations: Any) -> Any:
        assert go_on.wait(60)
        return real(self, operations)

    with running(address(tmp_path)) as client:
        at = create(client)
        assert client.get("/readyz").status_code == 200
        monkeypatch.setattr(Ledger, "run", run)

        async def send() -> Any:
            asked = asyncio.ensure_future(client.http.post(f"{at}/ask", json={}))
            while client.app.service.writer.watch.busy < 0.3:
                await asyncio.sleep(0.01)
            began.append(time.monotonic())
            return await client.http.get("/readyz"), await client.http.get("/metrics"), asked

        began: list[float] = []
        ready, metrics, asked = client.wait(send())
        assert time.monotonic() - began[0] < 30.0
        assert ready.status_code == 503
        assert "The writer has been at one transaction for" in ready.json()["detail"]
        assert "fairbai_writer_busy_seconds 0.0" not in metrics.text
        go_on.set()
        client.wait(asyncio.wait_for(asked, 60))
        assert client.get("/readyz").status_code == 200
        assert "fairbai_writer_busy_seconds 0.0" in client.get("/metrics").text


def test_a_write_that_is_not_confirmed_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nothing else is being written: `/readyz` writes something itself, and does not wait long for it."""
    monkeypatch.setattr(probe, "MAX_WAIT", 0.3)
    monkeypatch.setattr(probe, "EVERY", 0.0)
    monkeypatch.setattr(probe.Probe, "_answers", answers)
    go_on, real = threading.Event(), Ledger.touch

    def touch(self: Ledger) -> None:
        assert go_on.wait(60)
        real(self)

    with running(address(tmp_path)) as client:
        monkeypatch.setattr(Ledger, "touch", touch)
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert "has not confirmed a write" in answer.json()["detail"]
        monkeypatch.setattr(probe, "MAX_WAIT", 60.0)
        go_on.set()
        assert client.get("/readyz").status_code == 200


async def answers(_: probe.Probe) -> None:
    """The database answers, however busy this machine is."""


def test_who_watches_does_not_wait_for_a_database_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that was right a while ago may still ask how the service is, and nothing else."""
    monkeypatch.setattr(probe, "MAX_WAIT", 0.3)
    go_on = threading.Event()

    def hangs(*_: Any) -> Any:
        assert go_on.wait(60)
        raise OperationalError("SELECT", {}, Exception("the database did not answer within 10 seconds"))

    with running(address(tmp_path)) as client:
        at, lookups = create(client), client.app.service.keyring._keys
        monkeypatch.setattr(keyring, "REMEMBERED", 0.0)
        monkeypatch.setattr(keyring, "SOON", 0.3)
        monkeypatch.setattr(lookups, "_find", hangs)
        monkeypatch.setattr(Database, "ping", hangs)
        began = time.monotonic()
        assert client.get("/readyz").status_code == 503
        assert "fairbai_writer_busy_seconds 0.0" in client.get("/metrics").text
        assert time.monotonic() - began < 30.0  # it would hang for twice as long
        go_on.set()
        assert client.get("/metrics").status_code == 200
        assert client.get("/metrics", headers={"Authorization": "Bearer fb_1_1"}).status_code == 503
        assert client.get(at).status_code == 503
        monkeypatch.setattr(lookups, "_find", lambda names: {})
        assert client.get("/metrics").status_code == 401  # it was revoked


def test_a_stream_ends_quietly_when_the_database_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The browser connects again; there is no traceback in the log."""

    def away(*_: Any) -> int:
        raise OperationalError("SELECT", {}, Exception("the database did not answer within 10 seconds"))

    async def good() -> bool:
        return True

    with running(address(tmp_path)) as client:
        streams, experiment = client.app.fastapi.state.streams, create(client).rpartition("/")[2]

        async def read() -> list[str]:
            found = []
            async for event in streams._events(experiment, good):
                found.append(event)
                monkeypatch.setattr(Streams, "_version", away)
            return found

        events = client.wait(read())
    assert len(events) == 1
    assert "a stream ended" in caplog.text
    assert "did not answer within 10 seconds" in caplog.text
