"""How the kernels of a server run: what /readyz, the log and the metrics say."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

import pytest

from fairbai.service import warming
from tests.service.running import address, running

Log = pytest.LogCaptureFixture

pytestmark = pytest.mark.slow_without_jit


def watched(log: Log, monkeypatch: pytest.MonkeyPatch, tiers: list[str]) -> tuple[list[str], list[bool]]:
    """What the log says and what is noted while the kernels run in these tiers."""
    noted: list[bool] = []
    left = iter(tiers)
    monkeypatch.setattr(warming, "PAUSE", 0.0)
    monkeypatch.setattr(warming, "tier", lambda: next(left))
    with log.at_level(logging.INFO, "fairbai.service"):
        asyncio.run(warming.watch(noted.append))
    assert next(left, None) is None
    return [record.getMessage() for record in log.records], noted


def test_ready_and_metrics_say_how_kernels_run(tmp_path: Path, caplog: Log) -> None:
    """Without any request in between."""
    with caplog.at_level(logging.INFO, "fairbai.service"), running(address(tmp_path)) as client:
        assert client.get("/readyz").json() == {"status": "ready", "kernels": "compiled"}
        give_up = time.monotonic() + 60.0
        while "fairbai_compiled 1.0" not in client.get("/metrics").text:
            assert time.monotonic() < give_up
            time.sleep(0.01)
    assert [record.getMessage() for record in caplog.records].count(
        "kernels are compiled; requests run at full speed"
    ) == 1


def test_first_answers_come_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairbai.service.http.health.tier", lambda: "python")
    with running(address(tmp_path)) as client:
        assert client.get("/readyz").json() == {"status": "ready", "kernels": "python"}
        ready = client.get("/openapi.json").json()["components"]["schemas"]["Readiness"]
    assert ready["properties"]["kernels"]["enum"] == ["compiled", "python", "off"]


def test_log_says_once_when_they_are_compiled(caplog: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming.requests, "trouble", lambda: None)
    said, noted = watched(caplog, monkeypatch, ["python", "python", "python", "compiled"])
    assert said == [
        "kernels run as Python while they are being compiled in the background",
        "kernels are compiled; requests run at full speed",
    ]
    assert noted == [False, True]


def test_log_says_that_they_never_will_be(caplog: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming.requests, "trouble", lambda: "the disk is full")
    said, noted = watched(caplog, monkeypatch, ["python", "python"])
    assert said[-1] == "kernels stay Python: the disk is full"
    assert noted == [False]


def test_log_says_that_nothing_is_compiled(caplog: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "MODE", "off")
    said, noted = watched(caplog, monkeypatch, [])
    assert said == ["kernels run as Python: nothing is compiled in this mode"]
    assert noted == [False]
