"""The ``fairbai`` command."""

import os
import sys
import traceback
from collections.abc import Sequence

from fairbai.cli.parser import Command, make_parser

WRONG_INPUT = (ValueError, OSError, ImportError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        Its exit code: 0, 1 where a check failed, 2 where the input is wrong, 130 after Ctrl-C.
    """
    parser = make_parser()
    if not (sys.argv[1:] if arguments is None else arguments):
        parser.print_help()
        return 0
    options = parser.parse_args(arguments)
    command: Command = options.command
    try:
        if getattr(options, "quiet", False):
            _be_quiet()
        code = command.run(options) or 0
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("fairbai: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read the output has had enough, such as head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        return _failure(error, "debug" in options)


def _failure(error: Exception, debug: bool) -> int:
    """Say what went wrong, in one line; the exit code."""
    if debug:
        traceback.print_exception(error)
    if isinstance(error, WRONG_INPUT):
        print(f"fairbai: {_reason(error)}", file=sys.stderr)
        return 2
    hint = "" if debug else " (--debug shows where)"
    print(f"fairbai: failed with {type(error).__name__}: {_first_line(error)}{hint}", file=sys.stderr)
    return 1


def _reason(error: Exception) -> str:
    """What was wrong with the input; what the system says of a file as a sentence."""
    if not isinstance(error, OSError) or error.filename is None:
        return str(error)
    known = {
        FileNotFoundError: "does not exist",
        FileExistsError: "exists already",
        IsADirectoryError: "is a folder, not a file",
        NotADirectoryError: "is not in a folder",
        PermissionError: "may not be read or written by this user",
    }
    return f"{error.filename} {known.get(type(error), f'cannot be used: {error.strerror}')}"


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "no reason given")


def _be_quiet() -> None:
    """Show no progress, also where a kernel has to be waited for; that of simulations has its own flag."""
    from fairbai.compiling import waiting

    waiting.be_quiet()
