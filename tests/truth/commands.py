"""Findings about commands and versions of dependencies."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.compiling.broken import REASON, broken_numba
from tests.truth.finding import Figure, Finding

ROOT = Path(__file__).parents[2]


def _suites() -> Figure:
    """The light suites of the benchmarks, and what the solver's suite died of."""
    program = (
        "from benchmarks import solver, linear, structure; solver.overhead(); solver.planning(); "
        "print(len([*linear.suite(), *structure.suite()]))"
    )
    environment = {**os.environ, "FAIRBAI_BENCH_QUICK": "1"}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True)
    return Figure(f"exit code {done.returncode}, {done.stdout.strip() or 0} rows", done.stdout.strip() == "5")


def _doctor() -> Figure:
    """What the doctor says of a Numba with which nothing can be compiled."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **broken_numba(Path(folder))}
        command = [sys.executable, "-m", "fairbai", "doctor", "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    said = REASON in done.stdout
    return Figure(
        f"exit code {done.returncode}, {'with' if said else 'without'} the reason", done.returncode == 1 and said
    )


def _warning() -> Figure:
    """What a program says whose kernels cannot be compiled."""
    program = """
import time
from fairbai import Instance, solve
end = time.monotonic() + 60
while time.monotonic() < end:
    solve(Instance([1.0, 0.0]))
    time.sleep(0.05)
    try:
        from fairbai.compiling.requests import trouble
    except ImportError:
        break
    if trouble():
        break
"""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **broken_numba(Path(folder))}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    lines = done.stderr.count("Kernels are not compiled")
    return Figure(f"{lines} warning" + "s" * (lines != 1), lines == 1 and done.returncode == 0)


FINDINGS: list[Finding] = [
    Finding("build 3", "`make bench` runs", "crashes in its first suite (TypeError in allocate)", _suites),
    Finding("build 4", "`fairbai doctor` notices that nothing can be compiled", "says ok (numba 0.62.1)", _doctor),
    Finding("build 4, programs", "a program says that its kernels cannot be compiled", "silence", _warning),
]
