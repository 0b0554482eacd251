"""The example over HTTP, run as a user would run it: with a service of its own, and with one that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.processes import run_python
from tests.service.conftest import Start

EXAMPLE = Path(__file__).parents[2] / "examples" / "http_ab_test.py"


def run(*arguments: str) -> str:
    return run_python(EXAMPLE, *arguments)


def check(printed: str) -> None:
    assert re.search(r"Decision: show 'classic'; it is wrong with probability at most 5% \(this is proved\)", printed)
    rows = re.findall(r"^.{12} +([\d,]+) +([\d.]+)% +10% ", printed, re.MULTILINE)
    assert len(rows) == 4
    assert all(float(share) >= 10.0 for _, share in rows)
    assert "is shown 'classic'" in printed


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_with_a_service_of_its_own() -> None:
    check(run())


@pytest.mark.slow_without_jit
def test_with_a_service_that_runs(start: Start, sqlite: str) -> None:
    server = start(sqlite)
    check(run("--url", server.address, "--key", server.key))


@pytest.mark.system
@pytest.mark.slow_without_jit
@pytest.mark.parametrize("own", [True, False])
def test_a_cell_schedules_its_slots(start: Start, sqlite: str, own: bool) -> None:
    arguments = ["-m", "examples.wireless_slots"]
    if not own:  # epochs are longer there
        server = start(sqlite, arguments=["--policy-seconds", "1"])
        arguments += ["--url", server.address, "--key", server.key]
    printed = run_python(*arguments, cwd=EXAMPLE.parents[1])
    rows = re.findall(r"^UE \d +([\d,]+) +([\d.]+)% +4% ", printed, re.MULTILINE)
    assert len(rows) == 10
    assert all(float(share) >= 4.0 for _, share in rows)
    total = re.search(r"^([\d,]+) slots in (\d+) reports", printed, re.MULTILINE)
    assert total is not None
    assert int(total[1].replace(",", "")) == 200 * int(total[2])
    assert "delivers most; wrong with probability at most 5% (" in printed
    assert "Sample ratio: " in printed
