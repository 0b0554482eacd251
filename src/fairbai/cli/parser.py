"""The commands of ``fairbai``, by what one wants to do, and the parser of their flags."""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fairbai import __version__
from fairbai.cli import completion, doctor, factors, instances, keys, logs, service, studies, warm


@dataclass(frozen=True)
class Command:
    """A subcommand.

    Attributes:
        name: Its name.
        about: What it does, in a line.
        add: Adds its flags to a parser.
        run: Does it; returns the exit code, where None is 0.
        epilog: Examples, and what else the end of its help says.
    """

    name: str
    about: str
    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int | None]
    epilog: str


GROUPS = {
    "before an experiment": [
        Command(
            "solve",
            "the best division of trials among arms with floors, and the price of the floors",
            instances.add_instance,
            instances.run_solve,
            instances.SOLVE_EXAMPLES + instances.FILE_HELP + factors.FACTORS_HELP,
        ),
        Command(
            "plan",
            "how many trials and days an experiment will take, with its floors and without",
            instances.add_plan,
            instances.run_plan,
            instances.PLAN_EXAMPLES + instances.FAMILY_HELP + instances.FILE_HELP + factors.FACTORS_HELP,
        ),
    ],
    "after an experiment": [
        Command(
            "analyze",
            "what a log says: who leads, how sure that is, and what speaks against it",
            logs.add_analyze,
            logs.run_analyze,
            logs.ANALYZE_EXAMPLES,
        ),
    ],
    "a live experiment, over HTTP": [
        Command("serve", "run the service", service.add_serve, service.run_serve, service.SERVE_EXAMPLES),
        Command("keys", "make, list, rotate and end its keys", keys.add_keys, keys.run_keys, keys.KEYS_EXAMPLES),
        Command(
            "projects",
            "make and list projects, which keep teams apart",
            keys.add_projects,
            keys.run_projects,
            keys.PROJECTS_EXAMPLES,
        ),
        Command(
            "verify",
            "replay its logs, and compare with what is stored",
            service.add_verify,
            service.run_verify,
            service.VERIFY_EXAMPLES,
        ),
        Command(
            "backup",
            "write all its data to one file, while it runs",
            service.add_backup,
            service.run_backup,
            service.BACKUP_EXAMPLES,
        ),
        Command(
            "restore",
            "fill an empty database from a backup",
            service.add_restore,
            service.run_restore,
            service.RESTORE_EXAMPLES,
        ),
    ],
    "comparing rules by simulation": [
        Command(
            "simulate",
            "many runs of rules on instances, from a study file; the same command resumes",
            studies.add_simulate,
            studies.run_simulate,
            studies.SIMULATE_EXAMPLES,
        ),
        Command(
            "compare",
            "the table of a study; or rules side by side on one instance, with their regret",
            studies.add_compare,
            studies.run_compare,
            studies.COMPARE_EXAMPLES,
        ),
        Command(
            "reproduce",
            "the paper's tables, all of its evaluation as a report, or replays of real tests",
            studies.add_reproduce,
            studies.run_reproduce,
            studies.REPRODUCE_EXAMPLES,
        ),
    ],
    "this installation": [
        Command(
            "doctor",
            "check versions, extras, cores, the kernel cache and a database",
            doctor.add_doctor,
            doctor.run_doctor,
            doctor.DOCTOR_EXAMPLES,
        ),
        Command(
            "warm",
            "compile the kernels ahead of time, for images",
            warm.add_warm,
            warm.run_warm,
            warm.WARM_EXAMPLES,
        ),
        Command(
            "completion",
            "print the script that completes commands and flags in bash, zsh or fish",
            completion.add_completion,
            completion.run_completion,
            completion.COMPLETION_EXAMPLES,
        ),
    ],
}
ABOUT = "Find the best of K options with confidence 1 - delta, while every option gets its share."
EPILOG = """examples:
  fairbai plan --means 0.12 0.10 0.09 --family bernoulli --floors 0.2 --per-day 5000
  fairbai solve --means 1 0.5 0 --floors 0.1 --json
  fairbai COMMAND --help

exit codes: 0 done, 1 a check found something wrong, 2 wrong input, 130 interrupted
"""


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; ``command`` among the options is the Command."""
    parser = argparse.ArgumentParser(
        prog="fairbai",
        usage="fairbai [--version] [--debug] COMMAND ...",
        description=f"{ABOUT}\n\n{_map()}",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fairbai {__version__}")
    commands = parser.add_subparsers(prog="fairbai", required=True, metavar="COMMAND", help=argparse.SUPPRESS)
    for command in (command for group in GROUPS.values() for command in group):
        added = commands.add_parser(
            command.name,
            description=command.about,
            epilog=command.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add(added)
        added.set_defaults(command=command)
    for every in parsers(parser):  # so that it may stand anywhere; without it there is no option `debug`
        every.add_argument(
            "--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error"
        )
    return parser


def _map() -> str:
    lines = []
    for title, group in GROUPS.items():
        lines += [f"{title}:", *(f"  {command.name:<10}  {command.about}" for command in group), ""]
    return "\n".join(lines).rstrip()


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of its subcommands."""
    yield parser
    for child in completion.subcommands(parser).values():
        yield from parsers(child)
