"""The flags that mean the same in every command that has them."""

import argparse
from pathlib import Path


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
