"""``fairbai completion``: what a real bash offers, and that no command or flag is forgotten for any shell."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from fairbai.cli.completion import VALUES
from fairbai.cli.parser import make_parser, parsers
from fairbai.problems import Family, rates
from tests.cli.commands import Capture, run

ASK = """
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
complete -p fairbai > /dev/null || exit 1
_fairbai; printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(script: str, *words: str) -> list[str]:
    """What bash offers for the last of the words."""
    command = ["bash", "--noprofile", "--norc", "-uc", script + ASK, "bash", "fairbai", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("s", "solve serve simulate"),
        ("--debug pl", "plan"),
        ("keys ", "create list rotate revoke"),
        ("keys create --role ", "admin writer reader"),
        ("keys create --role writer --na", "--name"),
        ("solve --f", "--file --family --floors --factors"),
        ("solve --family b", "bernoulli bounded"),
        ("solve --rates inv", "inverse_gap"),
        ("solve --file ", ""),  # bash itself offers files where a script offers nothing
        ("solve --means 1 0 --del", "--delta"),
        ("simulate ", ""),
        ("analyze ", ""),
        ("analyze log.csv --pro", "--probability"),
        ("analyze log.csv --family g", "gaussian"),
        ("plan --from ", ""),
        ("simulate study.toml --o", "--output"),
        ("reproduce ", "tables archive all"),
        ("doctor ", "--help --database --json --quiet --debug"),
        ("completion z", "zsh"),
        (
            "fly ",
            "solve plan analyze serve keys projects verify backup restore simulate compare reproduce doctor warm "
            "completion",
        ),
    ],
)
def test_bash(capsys: Capture, words: str, expected: str) -> None:
    assert offered(run(capsys, "completion", "bash"), *words.split(" ")) == expected.split()


def test_every_command_and_flag_is_offered_by_bash(capsys: Capture) -> None:
    script = run(capsys, "completion", "bash")
    for parser in parsers(make_parser()):
        flags = [action.option_strings[-1] for action in parser._actions if action.option_strings]
        assert offered(script, *parser.prog.split()[1:], "--") == flags


def test_zsh_reads_the_script_of_bash(capsys: Capture) -> None:
    first, _, rest = run(capsys, "completion", "zsh").partition("\n")
    assert first == "autoload -U +X bashcompinit && bashcompinit"
    assert rest == run(capsys, "completion", "bash")


def test_fish_has_every_command_and_flag(capsys: Capture) -> None:
    lines = run(capsys, "completion", "fish").splitlines()
    assert all(line.startswith("complete -c fairbai ") for line in lines)
    for parser in parsers(make_parser()):
        path = parser.prog.split()[1:]
        where = "; and ".join(f"__fish_seen_subcommand_from {name}" for name in path) or "__fish_use_subcommand"
        here = [line for line in lines if f" -n {shlex.quote(where)} " in line]
        for action in parser._actions:
            if action.option_strings:
                assert any(f" -l {action.option_strings[-1][2:]} " in line for line in here), (path, action)


def test_values_are_those_of_the_library() -> None:
    """What the completion offers can be made, and no family is missing but those that need a table of features."""
    assert set(VALUES["family"]) == {kind.from_dict(name).kind for kind in (Family,) for name in VALUES["family"]}
    for name in VALUES["rates"]:
        assert rates.Rate.from_dict({"kind": name, "p0": 0.5}).kind == name
    known = sorted([*VALUES["family"], "factorial", "linear"])
    with pytest.raises(ValueError, match=", ".join(known)):
        Family.from_dict("nothing")
