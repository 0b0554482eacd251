"""The command as a whole: its map, its flags, its exit codes, and errors in one sentence."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import fairbai as fb
from fairbai.cli import main
from fairbai.cli.parser import GROUPS, make_parser, parsers
from fairbai.compiling import waiting
from tests.cli.commands import Capture, help_of, run

COMMANDS = {command.name: command for group in GROUPS.values() for command in group}


def flags(name: str) -> list[set[str]]:
    """The flags of a command, or of each of its actions."""
    (found,) = (parser for parser in parsers(make_parser()) if parser.prog == f"fairbai {name}")
    leaves = [parser for parser in parsers(found) if parser.prog != found.prog] or [found]
    return [{flag for action in parser._actions for flag in action.option_strings} for parser in leaves]


def process(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fairbai", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)  # type: ignore[call-overload]


def test_help_is_a_map(capsys: Capture) -> None:
    """Every command once, in a line, under what it is for."""
    lines = help_of(capsys).splitlines()
    assert lines[0] == "usage: fairbai [--version] [--debug] COMMAND ..."
    assert all(len(line) <= 100 for line in lines)
    for title, group in GROUPS.items():
        start = lines.index(f"{title}:") + 1
        shown = [line.split(maxsplit=1) for line in lines[start : start + len(group)]]
        assert shown == [[command.name, command.about] for command in group]


def test_without_arguments_the_map_is_shown(capsys: Capture) -> None:
    assert main([]) == 0
    assert capsys.readouterr() == (help_of(capsys), "")


def test_examples_of_the_map_run(capsys: Capture) -> None:
    examples = [line.strip() for line in help_of(capsys).splitlines() if line.startswith("  fairbai ")]
    assert len(examples) >= 3
    for example in examples:
        assert run_quietly(shlex.split(example.replace("COMMAND", "solve"))[1:]) == 0


def run_quietly(arguments: list[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as ended:
        return int(ended.code or 0)


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_a_command_are_parsed(name: str, capsys: Capture) -> None:
    """They may need files or a server, so they are read, not run; those of solve and plan run elsewhere."""
    examples = [line for line in help_of(capsys, name).splitlines() if line.startswith("  fairbai ")]
    assert examples
    for example in examples:
        arguments = shlex.split(re.split(r"\s[|>#]", example)[0])
        assert make_parser().parse_args(arguments[1:]).command.name == name


def test_help_and_version_do_without_the_library() -> None:
    """They answer at once: nothing that takes long is imported."""
    code = "import sys; from fairbai.cli.parser import make_parser; make_parser(); print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_version(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"fairbai {fb.__version__}\n"


def test_installed_command_is_this_one() -> None:
    script = Path(sys.executable).with_name("fairbai")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, f"fairbai {fb.__version__}\n")


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"serve", "completion"}))
def test_every_command_that_prints_a_result_prints_json(name: str) -> None:
    assert all("--json" in found for found in flags(name))


@pytest.mark.parametrize("name", COMMANDS)
def test_what_computes_can_be_quiet(name: str) -> None:
    computes = name in ("solve", "plan", "analyze", "simulate", "compare", "reproduce", "doctor", "warm")
    assert all(("--quiet" in found) == computes for found in flags(name))


@pytest.mark.parametrize("name", ["simulate", "reproduce"])
def test_what_draws_takes_a_seed_and_a_folder(name: str) -> None:
    assert all({"--seed", "--output", "--runs"} <= found for found in flags(name))


def test_a_flag_means_the_same_everywhere() -> None:
    """One help and one kind of value, but for what its default is."""
    meanings: dict[str, set[tuple[str, object]]] = {}
    for parser in parsers(make_parser()):
        for action in parser._actions:
            for flag in {"--json", "--quiet", "--debug", "--seed", "--output", "--runs"} & {*action.option_strings}:
                meanings.setdefault(flag, set()).add(((action.help or "").split(" (")[0], action.type))
    assert len(meanings) == 6
    assert all(len(found) == 1 for found in meanings.values()), meanings


# Exit codes


WRONG = ["solve", "--means", "1"]


@pytest.mark.parametrize("arguments", [["fly"], ["solve", "--means", "one", "two"], ["solve", "--colour", "red"]])
def test_flags_that_do_not_exist(capsys: Capture, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: fairbai" in capsys.readouterr().err


@pytest.mark.slow_without_jit
def test_exit_codes_of_the_process() -> None:
    assert process("solve", "--means", "1", "0").returncode == 0
    wrong = process(*WRONG)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "fairbai: means must hold at least two arms, got 1\n"


@pytest.mark.parametrize("arguments", [["--debug", *WRONG], [*WRONG, "--debug"]])
def test_debug_shows_the_traceback(capsys: Capture, arguments: list[str]) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback (most recent call last):\n")
    assert shown.endswith("\nfairbai: means must hold at least two arms, got 1\n")


def test_debug_may_follow_an_action() -> None:
    assert "debug" in make_parser().parse_args(["keys", "list", "--debug"])
    assert "debug" not in make_parser().parse_args(["keys", "list"])


@pytest.mark.parametrize("reason", ["the roof\nis leaking", ""])
def test_mistakes_of_ours_are_told_in_one_line(capsys: Capture, monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    def broken(options: argparse.Namespace) -> None:
        raise KeyError(reason) if not reason else RuntimeError(reason)

    monkeypatch.setattr("fairbai.cli.solving.print_solution", broken)
    assert main(["solve", "--means", "1", "0"]) == 1
    said = capsys.readouterr().err
    assert re.fullmatch(r"fairbai: failed with \w+Error: .+ \(--debug shows where\)\n", said)
    assert main(["solve", "--means", "1", "0", "--debug"]) == 1
    assert "in broken\n" in capsys.readouterr().err


def test_interrupted(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(options: argparse.Namespace) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fairbai.cli.solving.print_solution", interrupt)
    assert main(["solve", "--means", "1", "0"]) == 130
    assert capsys.readouterr().err == "fairbai: interrupted\n"


def test_a_reader_that_has_had_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """``fairbai ... | head -1`` ends without a word."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "fairbai", "completion", "bash"], stdout=write, stderr=subprocess.PIPE, timeout=60
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


def test_quiet_silences_the_wait_for_the_compiler(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_quiet", threading.Event())
    monkeypatch.setattr(waiting, "SILENCE", -1.0)
    monkeypatch.setattr("fairbai.compiling.requests.ask", lambda *_: True)

    def waits() -> str:
        looks = iter([False, False, True])
        assert waiting.wait(lambda: None, (), lambda: next(looks))
        return capsys.readouterr().err

    run(capsys, "solve", "--means", "1", "0")
    assert "compiling for this machine" in waits()
    run(capsys, "solve", "--means", "1", "0", "--quiet")
    assert waits() == ""
