"""The two tiers: kernels run as Python until another process has compiled them; only the clock tells them apart."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from fairbai.compiling import requests
from fairbai.compiling.requests import name_of
from fairbai.compiling.waiting import Clock
from tests.compiling.broken import REASON, broken_numba
from tests.processes import run_python

pytestmark = pytest.mark.slow_without_jit

BACKGROUND = {"FAIRBAI_JIT": "background"}

EXPERIMENT = """
import sys, time
import numpy as np
import fairbai as fb
from fairbai.compiling.tier import tier

ident = fb.Identifier(3, delta=1e-9, family="bernoulli", floors=0.2, seed=1)
rng = np.random.default_rng(1)
def play(trials):
    for _ in range(trials):
        arm = ident.ask()
        ident.tell(arm, float(rng.random() < (0.5, 0.45, 0.3)[arm]))
"""
SWITCH = (
    EXPERIMENT
    + """
play(300)
before = tier()
deadline = time.monotonic() + 300
while tier() != "compiled" and time.monotonic() < deadline:
    time.sleep(0.1)
after = tier()
play(300)
status = ident.status()
print(before, after, status.assigned.tolist(), status.glr.hex())
"""
)
WHOLE = EXPERIMENT + "play(600); status = ident.status(); print(tier(), status.assigned.tolist(), status.glr.hex())"


def compilers(cache: Path) -> list[int]:
    """The compilers that work for this cache."""
    found = subprocess.run(["pgrep", "-f", f"fairbai.compiling.compiler {cache}"], capture_output=True, check=False)
    return [int(number) for number in found.stdout.split()]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    """An empty cache, whose compiler does not outlive the test."""
    yield tmp_path / "cache"
    for number in compilers(tmp_path / "cache"):
        os.kill(number, signal.SIGKILL)


@pytest.mark.system
def test_switch_in_the_middle_of_an_experiment_changes_nothing(cache: Path) -> None:
    switched = run_python("-c", SWITCH, FAIRBAI_CACHE_DIR=str(cache), **BACKGROUND).split(maxsplit=2)
    assert switched[:2] == ["python", "compiled"]
    off = run_python("-c", WHOLE, FAIRBAI_JIT="off").split(maxsplit=1)
    assert off[0] == "off"
    assert switched[2] == off[1]


@pytest.mark.system
def test_several_processes_compile_once(cache: Path) -> None:
    """They start at once and all wait; one compiler does the work, and each loads the same files."""
    code = "import fairbai as fb; fb.solve(fb.Instance([1.0, 0.0]))"
    variables = {**os.environ, "FAIRBAI_CACHE_DIR": str(cache), "FAIRBAI_JIT": "wait"}
    started = [subprocess.Popen([sys.executable, "-c", code], env=variables) for _ in range(3)]
    assert [process.wait(timeout=600) for process in started] == [0, 0, 0]
    (log,) = cache.rglob("log")
    assert log.read_text().count("allocate_gaussian: ") == 1
    assert len(list(cache.rglob("*.nbc"))) == 1


@pytest.mark.system
def test_compiler_ends_soon_after_its_last_client(cache: Path) -> None:
    """The client asks for a kernel that takes long, and ends: the compiler follows within 30 s, if it has the time."""
    code = """
import fairbai as fb
fb.simulate(fb.Instance([1.0, 0.0]), 0.1, runs=1, maximum_rounds=5)
"""
    run_python("-c", code, FAIRBAI_CACHE_DIR=str(cache), **BACKGROUND)
    assert compilers(cache)
    began = time.monotonic()
    while compilers(cache):
        assert time.monotonic() - began < 200.0
        time.sleep(0.2)
    assert time.monotonic() - began < 30.0 or not list(cache.rglob("*.nbc"))  # else it would have compiled to the end


def test_killed_compiler_is_started_again_a_few_times(cache: Path) -> None:
    """Each time it is killed; after three starts the experiment stays in Python, and goes on."""
    killed = (
        EXPERIMENT
        + """
import contextlib, os, signal, subprocess
from fairbai.compiling import entry, requests
deaths, deadline = set(), time.monotonic() + 240
while not requests._client.gave_up and time.monotonic() < deadline:
    play(1)
    found = subprocess.run(["pgrep", "-f", f"fairbai.compiling.compiler {sys.argv[1]}"], capture_output=True)
    for number in found.stdout.split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(number), signal.SIGKILL)
            deaths.add(number)  # a second time, if it is not dead yet
    time.sleep(0.05)
play(10)
print(len(deaths), requests._client.gave_up, tier())
"""
    )
    deaths, gave_up, tier = run_python("-c", killed, str(cache), FAIRBAI_CACHE_DIR=str(cache), **BACKGROUND).split()
    assert int(deaths) == 3
    assert (gave_up, tier) == ("True", "python")


def test_kernel_that_cannot_be_compiled_is_said_once(cache: Path, tmp_path: Path) -> None:
    """The experiment goes on in Python; a second process, which finds the failure, says it, too."""
    failing = EXPERIMENT + "from fairbai.compiling import requests\nwhile not requests.trouble(): play(1)\nplay(50)\n"
    for program in (failing, failing.replace("not requests.trouble()", "time.process_time() < 0")):
        command = [sys.executable, "-c", program + "print(tier())"]
        environment = {**os.environ, **broken_numba(tmp_path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
        assert done.stdout == "python\n"
        (line,) = done.stderr.splitlines()
        assert line.startswith("Kernels are not compiled, and run some 100 times slower: ")
        assert REASON in line
        assert line.endswith(". Try `fairbai doctor`.")


def test_directory_that_cannot_be_written_means_python(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    found = run_python("-c", WHOLE, FAIRBAI_CACHE_DIR=str(blocked), **BACKGROUND).split(maxsplit=1)
    off = run_python("-c", WHOLE, FAIRBAI_JIT="off").split(maxsplit=1)
    assert found == ["python", off[1]]


@pytest.mark.system
def test_long_work_waits_and_says_so(cache: Path) -> None:
    """Without tqdm and without a terminal: plain lines on standard error."""
    code = "import fairbai as fb; print(len(fb.simulate(fb.Instance([0.5, 0.0]), 0.1, runs=20_000)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "FAIRBAI_CACHE_DIR": str(cache), **BACKGROUND},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert done.stdout.split() == ["20000"]
    lines = done.stderr.splitlines()
    assert any("compiling for this machine, once: simulate_gaussian" in line for line in lines)
    assert lines[-1].startswith("fairbai: compiled after")


@pytest.mark.system
def test_nobody_can_compile_and_long_work_is_done_all_the_same(tmp_path: Path) -> None:
    """It is compiled in the process itself, and kept nowhere."""
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    code = "import fairbai as fb; print(fb.solve(fb.Instance([1.0] + [0.0] * 20_000)).best_arm)"
    assert run_python("-c", code, FAIRBAI_CACHE_DIR=str(blocked), **BACKGROUND).split() == ["0"]


def test_unknown_mode_is_refused() -> None:
    code = "import fairbai as fb; fb.solve"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "FAIRBAI_JIT": "sometimes"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "FAIRBAI_JIT must be background, wait or off, got 'sometimes'" in done.stderr


@pytest.mark.system
def test_progress_is_a_note_that_others_read(cache: Path) -> None:
    run_python("-c", "import fairbai as fb; fb.solve(fb.Instance([1.0, 0.0]))", FAIRBAI_CACHE_DIR=str(cache))
    (note,) = cache.rglob("progress")
    found = json.loads(note.read_text())
    assert found["kernel"] == "allocate_gaussian"
    assert found["of"] > 5
    assert found["done"] > 5


def test_clock_counts_time_in_which_somebody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that wait at the same time count once, and a wait counts while it lasts."""
    now = [0.0]
    monkeypatch.setattr("fairbai.compiling.waiting.time.monotonic", lambda: now[0])
    clock = Clock()
    with clock:
        now[0] = 2.0
        assert clock.seconds == 2.0
        with clock:
            now[0] = 3.0
    now[0] = 10.0
    assert clock.seconds == 3.0


def test_kernel_that_could_not_be_compiled_is_tried_again_after_an_hour(cache: Path) -> None:
    code = """
import os, time
import numba
from fairbai.compiling import requests
from fairbai.kernels.rates import fill_floors_batch as kernel
signature = (numba.int64,)
assert requests.ask(kernel.function, signature)
failed = requests.FOLDER / (requests.name_of(kernel.function, signature) + requests.FAILED)
failed.touch()
before = requests.ask(kernel.function, signature)
os.utime(failed, (time.time() - 4000, time.time() - 4000))
print(before, requests.ask(kernel.function, signature), failed.exists())
"""
    assert run_python("-c", code, FAIRBAI_CACHE_DIR=str(cache), **BACKGROUND).split() == ["False", "True", "False"]


@pytest.mark.parametrize(("code", "starts"), [(0, 10), (-signal.SIGKILL, requests.STARTS)])
def test_compilers_that_had_nothing_more_to_do_are_not_counted(
    code: int, starts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A process that lives long may need a new kernel every day; only if compilers keep dying it gives up, aloud."""
    started: list[None] = []

    def start() -> Mock:
        started.append(None)
        return Mock(poll=lambda: code, returncode=code)

    monkeypatch.setattr(requests, "_client", requests._Client())
    monkeypatch.setattr(requests, "_start", start)
    monkeypatch.setattr(requests, "FOLDER", tmp_path)
    for name in ("COMPILER", "CLIENTS"):
        monkeypatch.setattr(requests, name, tmp_path / name)
    hope = [requests.ask(name_of, (number,)) for number in range(10)]
    assert len(started) == starts
    assert hope == [number < starts for number in range(10)]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == (starts < 10)
    assert all("the compiler ended 3 times before it was done" in one for one in said)
    assert requests._client.hold is not None
    os.close(requests._client.hold)


def test_directory_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(requests, "_client", requests._Client())
    monkeypatch.setattr(requests, "FOLDER", tmp_path / "file" / "requests")
    assert not requests.ask(name_of, ())
    assert not requests.ask(name_of, ())
    (record,) = caplog.records
    assert f"the compiler cannot be asked in {tmp_path / 'file' / 'requests'} (Not a directory)" in record.getMessage()
