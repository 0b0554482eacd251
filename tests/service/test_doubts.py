"""What the service says about rewards that contradict the declared family."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairbai.service.reading.verify import verify
from tests.service.running import Local, address, ask, create, opened, running, tell

REASON = " times the variance of Gaussian rewards of variance 1"


def play(client: Local, at: str, deviation: float, trials: int = 200) -> dict[str, Any]:
    """Run an experiment, and return its status."""
    rng = np.random.default_rng(2)
    for _ in range(trials):
        if client.get(at).json()["stopped"]:
            break
        ticket = ask(client, at)[0]
        tell(client, at, {ticket["ticket"]: float(rng.normal(2.0 * (ticket["arm"] == "a"), deviation))})
    status: dict[str, Any] = client.get(at).json()
    return status


def test_doubts_are_shown_everywhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    url = address(tmp_path)
    with running(url) as client, caplog.at_level(logging.WARNING, "fairbai"):
        at = create(client, family={"kind": "gaussian", "variance": 1.0}, delta=1e-4)
        status = play(client, at, 3.0)
        assert status["decided"]
        assert status["proved"] is False
        first = status["doubts"][0]
        assert first["kind"] == "family"
        assert first["reason"].endswith(REASON)
        assert first["after_decision"] is False
        if first["arm"] is not None:
            assert f"“{first['arm']}”" in first["reason"]
        logged = [record.getMessage() for record in caplog.records if "doubt" in record.getMessage()]
        assert len(logged) == 1
        assert logged[0].endswith(first["reason"])
        assert at.rsplit("/", 1)[1] in logged[0]

        summary = client.get(f"{at}/summary").json()
        assert summary["proved"] is False
        assert "looks best, but without the 99.99 % confidence that was the aim" in summary["sentence"]
        assert f" Not proved: r{first['reason'][1:]}" in summary["sentence"]

        audit = client.get(f"{at}/audit").json()
        assert audit["promise"]["proved"] is False
        assert "not proved, as the rewards contradict the declared family" in audit["promise"]["sentences"][0]
        assert f"{first['reason']} (found after {first['trial']} trials)." in audit["findings"]
        assert audit["doubts"] == status["doubts"]

        report = client.get(f"{at}/report").text
        assert "but without the 99.99\u202f% confidence" in report
        assert REASON in report
    with opened(url) as database:
        assert [differences for _, differences in verify(database)] == [[]]


@pytest.mark.parametrize(("stopping", "place"), [("mixture", "answer"), ("heuristic", "answer, not proved")])
def test_doubts_after_the_decision_leave_it_as_it_was(tmp_path: Path, stopping: str, place: str) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, family={"kind": "gaussian", "variance": 1.0}, delta=0.1, stopping={"kind": stopping})
        late = [ask(client, at)[0]["ticket"] for _ in range(2)]
        assert play(client, at, 1.0)["decided"]
        tell(client, at, dict.fromkeys(late, 1e6))
        status = client.get(at).json()
        assert {doubt["after_decision"] for doubt in status["doubts"]} == {True}
        assert status["proved"] is (stopping == "mixture")
        assert (status["confidence"] is not None) is status["proved"]
        assert (client.get("/v1/experiments").json()["experiments"][0]["confidence"] is not None) is status["proved"]
        summary = client.get(f"{at}/summary").json()["sentence"]
        assert ("is not proved, after" in summary) is not status["proved"]
        assert " In doubt since the decision: " in summary
        assert f'<td class="number">{place}</td>' in client.get(f"{at}/report").text


def test_an_experiment_whose_family_is_right(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, family={"kind": "gaussian", "variance": 1.0}, delta=1e-4)
        status = play(client, at, 1.0, trials=20)
        assert status["proved"] is True
        assert status["doubts"] == status["hints"] == []
        assert "proved" not in client.get(f"{at}/summary").json()["sentence"]


def test_hints_are_shown(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, family={"kind": "gaussian", "variance": 1.0}, delta=0.001)
        for number in range(24):
            tell(client, at, {ask(client, at)[0]["ticket"]: float(number % 4 == 0)})
        status = client.get(at).json()
        assert status["proved"] is True
        assert status["hints"] == ["All 24 rewards so far are 0 or 1: family='bernoulli' would need fewer trials"]
        assert f"{status['hints'][0]}." in client.get(f"{at}/audit").json()["findings"]
