"""Every suite of `make bench` runs, as small as it can be; what is measured is not looked at.

They run in this process, where `tests/conftest.py` has set `FAIRBAI_BENCH_QUICK` before they are imported.
"""

from __future__ import annotations

import math

import pytest

from benchmarks import __main__ as command
from benchmarks import adaptive_design
from tests.cli.commands import Capture

pytestmark = pytest.mark.slow_without_jit

LIGHT = {"linear", "identifier", "structure", "wireless"}
suites = pytest.mark.parametrize(
    "name", [name if name in LIGHT else pytest.param(name, marks=pytest.mark.system) for name in command.SUITES]
)


@suites
def test_every_suite_runs(name: str) -> None:
    rows = list(command.SUITES[name]())
    assert rows
    for row in rows:
        assert all(math.isfinite(number) and number > 0.0 for number in (row.ours, row.theirs)), row


def test_command(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """It prints the rows and what was missed; what is only tried out is never written into RESULTS.md."""
    monkeypatch.setattr("sys.argv", ["benchmarks", "linear"])
    monkeypatch.setattr(command, "SUITES", {"linear": command.SUITES["linear"]})
    before = command.RESULTS.read_bytes()
    command.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "linear"
    assert any(line.startswith("solve, linear arms with floors") for line in lines)
    assert "targets missed" in lines[-1]
    assert command.RESULTS.read_bytes() == before


def test_adaptive_design(capsys: Capture) -> None:
    adaptive_design.main("fairbai", 1, 0.9)
    assert capsys.readouterr().out.startswith("fairbai: 1 of 1 decided, 0 named the first arm;")
