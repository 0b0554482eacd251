"""The ``fairbai`` command."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from fairbai import __version__
from fairbai.cli import instances, service, studies

Command = Callable[[argparse.Namespace], int | None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit code is 0, 1 where a check failed, 2 where the input is wrong, 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    command: Command = options.command
    try:
        return command(options) or 0
    except (ValueError, OSError, ImportError) as error:
        print(f"fairbai: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fairbai: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fairbai",
        description="Find the best of K options with confidence 1 - delta, while every option gets its share.",
    )
    parser.add_argument("--version", action="version", version=f"fairbai {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    about = "the optimal allocation of an instance beside its floors, and the price of fairness"
    epilog = instances.SOLVE_EXAMPLES + instances.FILE_HELP
    instances.add_instance(_add(commands, "solve", about, instances.run_solve, epilog))

    about = "how many trials an experiment will take, with its floors and without"
    epilog = instances.PLAN_EXAMPLES + instances.FILE_HELP
    plan = _add(commands, "plan", about, instances.run_plan, epilog)
    instances.add_instance(plan)
    plan.add_argument("--per-day", type=float, metavar="N", help="trials a day, to tell the days as well")

    about = "many runs of rules on instances, as a study file describes them; the same command resumes"
    studies.add_simulate(_add(commands, "simulate", about, studies.run_simulate, studies.SIMULATE_EXAMPLES))

    about = "the table of a study: stopping time, errors, violation, efficiency"
    studies.add_compare(_add(commands, "compare", about, studies.run_compare, studies.COMPARE_EXAMPLES))

    about = "the paper's tables, or all of its evaluation as a report beside the paper"
    studies.add_reproduce(_add(commands, "reproduce", about, studies.run_reproduce, studies.REPRODUCE_EXAMPLES))
    _add_service(commands)
    return parser


def _add_service(commands: Any) -> None:
    about = "live experiments over HTTP"
    service.add_serve(_add(commands, "serve", about, service.run_serve, service.SERVE_EXAMPLES))

    about = "the keys of the service"
    service.add_keys(_add(commands, "keys", about, service.run_keys, service.KEYS_EXAMPLES))

    about = "replay the logs of the service, and compare with what is stored"
    service.add_verify(_add(commands, "verify", about, service.run_verify, service.VERIFY_EXAMPLES))


def _add(commands: Any, name: str, about: str, command: Command, epilog: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=about,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=command)
    return parser
