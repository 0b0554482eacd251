"""Faults of a seeded schedule, under load, for a minute per database; `make faults` runs longer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import __main__ as command
from tests.faults.history import Kept
from tests.faults.runs import Report, run_postgresql, run_sqlite, verified
from tests.service.running import address, ask, create, running, tell
from tests.service.server import Server

pytestmark = [pytest.mark.system, pytest.mark.slow_without_jit]
SECONDS = 60.0


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`make faults`, for some seconds."""
    monkeypatch.setattr("sys.argv", ["faults", "5", "1"])
    with pytest.raises(SystemExit) as ended:
        command.main()
    printed = capsys.readouterr().out.splitlines()
    assert ended.value.code == 0, printed
    assert [line.partition(", seed 1, ")[0] for line in printed] == ["SQLite, 1 worker", "PostgreSQL, 2 workers"]


@pytest.mark.parametrize("run", [run_sqlite, run_postgresql])
def test_faults(run: Callable[[int, float], Report]) -> None:
    report = run(20, SECONDS)
    print(report)
    assert report.verdict.good, report
    assert report.verdict.acknowledged > 100, report
    assert report.faults.total() >= 5, report
    assert min(report.verdict.heads, report.verdict.voided, report.verdict.pauses) > 0, report


def test_a_head_that_a_client_was_told_must_be_in_the_log(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client)
        head = tell(client, at, {ask(client, at)[0]["ticket"]: 1.0})["head"]
    server, name = Server(address(tmp_path), tmp_path), at.rpartition("/")[2]
    assert verified(server, [Kept(name, head)]) == []
    later = f"4:{head.partition(':')[2]}"
    assert "1 acknowledged event is lost" in verified(server, [Kept(name, head), Kept(name, later)])[0]
