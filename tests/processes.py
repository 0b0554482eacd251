"""Python in a new process."""

import os
import subprocess
import sys
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
