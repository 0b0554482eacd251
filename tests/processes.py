"""Python in a new process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path


def run_python(*arguments: str | Path, given: str | None = None, cwd: Path | None = None, **variables: str) -> str:
    """What it prints. Warnings are errors in it, and it must end well.

    Args:
        arguments: As on the command line: a script and its arguments, or ``-c`` and a program.
        given: What it can read from its standard input.
        cwd: Where it runs.
        variables: Of its environment, beside those of this process.
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        env={**os.environ, **variables},
        cwd=cwd,
        input=given,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_and_interrupt(command: Sequence[str | Path], started: Callable[[], bool]) -> tuple[int, str, str]:
    """Press Ctrl-C once a command has started its work; returns its exit code and what it says."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        give_up = time.monotonic() + 300.0
        while not started() and process.poll() is None and time.monotonic() < give_up:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
    return process.returncode, out, err
