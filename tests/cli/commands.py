"""Running the command in this process, and what it prints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairbai.cli import main

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *arguments: str) -> str:
    """What the command prints."""
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def report(capsys: Capture, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(capsys, *arguments, "--json"))
    return found


def complaint(capsys: Capture, *arguments: str) -> str:
    """What the command says about wrong input: one line on stderr, exit code 2, nothing else."""
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("fairbai: ")
    assert printed.err.count("\n") == 1
    return printed.err.removeprefix("fairbai: ").strip()


def help_of(capsys: Capture, *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out
