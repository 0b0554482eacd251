"""``fairbai completion``: a script for the shell, made from the parser, that needs nothing else to be installed."""

import argparse
import shlex
from pathlib import Path

COMPLETION_EXAMPLES = """examples:
  fairbai completion bash
  eval "$(fairbai completion bash)"                                        # in ~/.bashrc
  eval "$(fairbai completion zsh)"                                         # in ~/.zshrc, after compinit
  fairbai completion fish > ~/.config/fish/completions/fairbai.fish
"""
VALUES = {  # of flags whose mistakes the library explains better than argparse would
    "family": ["gaussian", "bernoulli", "poisson", "exponential", "bounded"],
    "rates": ["proportional", "softmax", "inverse_gap", "gap"],
}
BASH = """# Completion of the command fairbai, printed by `fairbai completion`.
_fairbai() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=fairbai part offered=
    for part in "${{COMP_WORDS[@]:1:$((COMP_CWORD-1))}}"; do
        case "$command $part" in
            {commands}) command="$command $part" ;;
        esac
    done
    COMPREPLY=()
    case "$command $before" in
{values}
    esac
    case "$command" in
{words}
    esac
    case "$word" in
        -*) case "$command" in
{flags}
        esac ;;
    esac
    COMPREPLY=($(compgen -W "$offered" -- "$word"))
}}
complete -o default -F _fairbai fairbai
"""


def add_completion(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai completion``."""
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="for which shell")


def run_completion(options: argparse.Namespace) -> None:
    """Print the script."""
    from fairbai.cli.parser import make_parser

    parser = make_parser()
    if options.shell == "fish":
        print("\n".join(["complete -c fairbai -f", *_fish(parser, [])]))
        return
    if options.shell == "zsh":
        print("autoload -U +X bashcompinit && bashcompinit")
    print(_bash(parser), end="")


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the subcommands, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _flags(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.option_strings]


def _long(action: argparse.Action) -> str:
    return action.option_strings[-1]


def _values(action: argparse.Action) -> list[str]:
    return [str(choice) for choice in action.choices or VALUES.get(action.dest, [])]


def _positional(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if not action.option_strings]


def _takes_files(parser: argparse.ArgumentParser) -> bool:
    return any(action.type is Path for action in _positional(parser))


def _walk(parser: argparse.ArgumentParser, path: str = "fairbai") -> list[tuple[str, argparse.ArgumentParser]]:
    found = [(path, parser)]
    for name, child in subcommands(parser).items():
        found += _walk(child, f"{path} {name}")
    return found


# --- bash, and zsh, which reads its completions ----------------------------------------------------------------


def _bash(parser: argparse.ArgumentParser) -> str:
    every = _walk(parser)
    values, words, flags = [], [], []
    for path, one in every:
        names = " ".join(_long(action) for action in _flags(one))
        choices = " ".join(word for action in _positional(one) for word in _values(action))
        # an empty word shows what comes next: subcommands, else files, else flags
        words.append(f'        "{path}") offered="{choices or ("" if _takes_files(one) else names)}" ;;')
        flags.append(f'            "{path}") offered="{names}" ;;')
        for action in _flags(one):
            if action.nargs != 0:  # after it comes a value: one of these, else a file
                found = " ".join(_values(action))
                reply = f'COMPREPLY=($(compgen -W "{found}" -- "$word")); ' if found else ""
                values.append(f'        "{path} {_long(action)}") {reply}return ;;')
    commands = "|".join(f'"{path}"' for path, _ in every[1:])
    return BASH.format(commands=commands, values="\n".join(values), words="\n".join(words), flags="\n".join(flags))


# --- fish -------------------------------------------------------------------------------------------------------


def _fish(parser: argparse.ArgumentParser, path: list[str]) -> list[str]:
    here = [f"__fish_seen_subcommand_from {name}" for name in path]
    lines = []
    children = subcommands(parser)
    if children:
        first = shlex.quote("; and ".join([*here, f"not __fish_seen_subcommand_from {' '.join(children)}"]))
        for name, child in children.items():
            lines.append(f"complete -c fairbai -n {first} -a {name} -d {shlex.quote(child.description or '')}")
    condition = shlex.quote("; and ".join(here) or "__fish_use_subcommand")
    start = f"complete -c fairbai -n {condition}"
    if _takes_files(parser):
        lines.append(f"{start} -F")
    values = [value for action in _positional(parser) for value in _values(action)]
    if values and not children:
        lines.append(f"{start} -a {shlex.quote(' '.join(values))}")
    for action in _flags(parser):
        kind = f" -x -a {shlex.quote(' '.join(_values(action)))}" if _values(action) else " -r -F"
        about = shlex.quote(action.help or "")
        lines.append(f"{start} -l {_long(action)[2:]}{'' if action.nargs == 0 else kind} -d {about}")
    for name, child in children.items():
        lines += _fish(child, [*path, name])
    return lines
