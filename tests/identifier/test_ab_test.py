"""The example of a live A/B/n test, run as a user would run it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import run_python

EXAMPLE = Path(__file__).parents[2] / "examples" / "ab_test.py"


def run(*arguments: str) -> str:
    return run_python(EXAMPLE, *arguments)


def check(printed: str) -> None:
    """The decision, all floors, and the price."""
    assert re.search(r"Decision: show 'classic' to everybody\.", printed)
    assert re.search(r"at most 5% \(this is proved\)\. It took [\d,]+ visitors\.", printed)
    rows = re.findall(r"^ +(.+?) +([\d,]+) of ([\d,]+) = +([\d.]+)%, floor 10%: met", printed, re.MULTILINE)
    assert len(rows) == 5
    counts, totals = ([int(row[i].replace(",", "")) for row in rows] for i in (1, 2))
    assert [sum(counts)] * 5 == totals
    assert min(counts) >= 0.1 * sum(counts)
    found = re.search(
        r"an estimate.*\n +about ([\d,]+) visitors .* and ([\d,]+) without, a factor of ([\d.]+)", printed
    )
    assert found is not None
    fair, free = (float(found[i].replace(",", "")) for i in (1, 2))
    assert fair / free == pytest.approx(float(found[3]), rel=0.01)


@pytest.mark.parametrize("seed", ["1", pytest.param("2", marks=pytest.mark.system)])
def test_quick(seed: str) -> None:
    printed = run("--quick", "--seed", seed)
    check(printed)
    assert "\x1b" not in printed  # not a terminal: plain lines
    progress = re.findall(r"^ +([\d,]+) visitors  shares .* evidence +[\d.]+ of [\d.]+  (.*)$", printed, re.MULTILINE)
    assert len(progress) >= 2
    assert progress[-1][1] == "done"
    assert max(map(len, printed.splitlines())) <= 110


@pytest.mark.system
def test_same_seed_same_experiment() -> None:
    assert run("--quick") == run("--quick", "--seed", "1") != run("--quick", "--seed", "2")


@pytest.mark.slow_without_jit
def test_whole() -> None:
    check(run())


def test_live_display_in_a_terminal() -> None:
    terminal, inside = pty.openpty()
    child = subprocess.Popen([sys.executable, str(EXAMPLE), "--quick"], stdout=inside, stderr=subprocess.STDOUT)
    os.close(inside)
    printed = b""
    try:
        while part := os.read(terminal, 65536):
            printed += part
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(terminal)
    assert child.wait(timeout=300) == 0
    text = printed.decode().replace("\r\n", "\n")
    check(text)
    assert text.count("\x1b[8F") >= 5  # drawn over and over in the same place
    frame = text.split("\x1b[8F")[-1]
    assert re.search(r"^classic +[\d,]+ +[\d,]+ +[\d.]+%   #+\|\++ +[\d.]+%", frame, re.MULTILINE)
    assert re.search(r"^evidence +\[=+\.*\] [\d.]+ of [\d.]+", frame, re.MULTILINE)
