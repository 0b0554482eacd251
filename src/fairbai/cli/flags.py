"""The flags that mean the same in every command that has them."""

import argparse
import re
from pathlib import Path

from fairbai.service.domain.cycles import as_duration, in_seconds


def add_json(parser: argparse.ArgumentParser) -> None:
    """For commands that print a result."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """For commands that compute: what they say meanwhile goes to standard error."""
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def add_seed(parser: argparse.ArgumentParser, default: int | None, about: str) -> None:
    """For commands that draw random numbers."""
    parser.add_argument("--seed", type=int, default=default, metavar="N", help=f"of the random streams {about}")


def add_output(parser: argparse.ArgumentParser, default: Path | None, about: str) -> None:
    """For commands that write files: the folder that gets them."""
    parser.add_argument("--output", type=Path, default=default, metavar="DIR", help=f"the folder of results {about}")


def add_runs(parser: argparse.ArgumentParser, default: int | None, about: str) -> None:
    """For commands that simulate."""
    parser.add_argument("--runs", type=int, default=default, metavar="N", help=f"runs of every cell {about}")


def add_question(parser: argparse.ArgumentParser) -> None:
    """For commands that ask for the best arm: what the answer must be."""
    parser.add_argument("--tolerance", metavar="T", help="how far from the best the answer may be: 0.01, or 10%% of it")
    parser.add_argument("--goal", choices=["max", "min"], help="min if less is better (default max)")
    parser.add_argument("--control", metavar="LABEL", help="the arm that another must beat by more than the tolerance")


def add_variance(parser: argparse._ActionsContainer) -> None:
    """For commands with Gaussian rewards: how much they vary."""
    parser.add_argument("--variance", nargs="+", metavar="V", help="of Gaussian rewards: one, one per arm, or unknown")


def fraction_of(text: str) -> float:
    """The number that ``0.12`` or ``12%`` stands for."""
    from fairbai.problems.checks import fraction  # here, as --help does without the library

    return float(fraction(text))


def number(text: str) -> float:
    """The same, for a flag."""
    try:
        return fraction_of(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, or percent such as 12%, got {text!r}") from None


def add_limits(parser: argparse._ActionsContainer) -> None:
    """For commands with bounded rewards: between which limits they are."""
    parser.add_argument("--low", type=number, metavar="X", help="the least possible reward, for bounded rewards")
    parser.add_argument("--high", type=number, metavar="X", help="the largest possible reward, for bounded rewards")


def variance_of(texts: list[str]) -> float | list[float] | None:
    """The variance that ``2``, ``1 4`` or ``unknown`` stands for; None if it is unknown."""
    if texts == ["unknown"]:
        return None
    try:
        numbers = [fraction_of(text) for text in texts]
    except ValueError:
        raise ValueError(f"variance must be one number, one per arm, or unknown, got {' '.join(texts)!r}") from None
    return numbers[0] if len(numbers) == 1 else numbers


def tolerance_of(text: str) -> float | str:
    """The tolerance that ``0.01`` or ``10%`` stands for."""
    try:
        return text if text.rstrip().endswith("%") else float(text)
    except ValueError:
        raise ValueError(f"tolerance must be a number, or percent such as 10%, got {text!r}") from None


def duration(text: str) -> float:
    """The seconds that ``90d``, ``24h`` or ``30``, for seconds, stands for."""
    found = float(text) if re.fullmatch(r"\d+(\.\d*)?", text) else in_seconds(text)
    if isinstance(found, str):
        expected = "must be a whole number of s, m, h, d or w, such as 24h or 90d, or seconds"
        raise argparse.ArgumentTypeError(f"{expected}, got {text!r}")
    return float(found)


def time_span(text: str) -> str:
    """The same, as a duration."""
    return str(as_duration(int(text)) if text.isdecimal() else text)
