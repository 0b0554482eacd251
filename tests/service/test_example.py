"""The example over HTTP, run as a user would run it: with a service of its own, and with one that runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.service.running import address
from tests.service.test_served import served

EXAMPLE = Path(__file__).parents[2] / "examples" / "http_ab_test.py"


def run(*arguments: str) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLE), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(printed: str) -> None:
    assert re.search(r"Decision: show 'classic'; it is wrong with probability at most 5% \(this is proved\)", printed)
    rows = re.findall(r"^.{12} +([\d,]+) +([\d.]+)% +10% ", printed, re.MULTILINE)
    assert len(rows) == 4
    assert all(float(share) >= 10.0 for _, share in rows)
    assert "is served 'classic'" in printed


def test_with_a_service_of_its_own() -> None:
    check(run())


def test_with_a_service_that_runs(tmp_path: Path) -> None:
    with served(address(tmp_path)) as server:
        check(run("--url", server.url, "--key", server.key))
