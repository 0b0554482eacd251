"""``fairbai analyze``, and the flags that name the columns of a log."""

import argparse
from pathlib import Path
from typing import Any

from fairbai.cli.flags import (
    add_json,
    add_limits,
    add_question,
    add_quiet,
    add_variance,
    fraction_of,
    number,
    tolerance_of,
    variance_of,
)
from fairbai.cli.printing import print_json

ANALYZE_EXAMPLES = """examples:
  fairbai analyze log.csv --arm variant --reward bought
  fairbai analyze log.csv --arm variant --reward bought --time t --shares A=0.5,B=0.5 --html report.html
  fairbai analyze log.parquet --arm variant --reward revenue --low 0 --high 500 --probability p --floor 0.1
  fairbai analyze log.csv --arm variant --reward seconds --goal min --tolerance 5%
  fairbai analyze totals.csv --arm variant --trials visitors --sum bought --family bernoulli

a log is a CSV or Parquet file with one row per trial:
  t,variant,p,bought
  2026-05-01T00:00:12,A,0.5,0
  2026-05-01T00:01:07,B,0.5,1
or, with --trials and --sum, one row per arm.

To plan the next experiment from a log: fairbai plan --from log.csv --arm variant --reward bought
"""
COLUMNS = {
    "arm": "the label of the arm (default: arm)",
    "reward": "the reward (default: reward)",
    "time": "the time of assignment: ISO 8601, or numbers (default: rows are in the order of assignment)",
    "probability": "the probability with which the arm was drawn: for a comparison that holds whatever the drift",
    "trials": "totals: the number of trials of an arm",
    "sum": "totals: the sum of their rewards",
    "squares": "totals: the sum of their squared rewards",
}
FIGURES = (".png", ".svg", ".pdf")
KNOWN = ("shares", "silence")  # beside the columns


def add_columns(parser: argparse._ActionsContainer) -> None:
    """The flags that name the columns of a log, and what is known beside it."""
    for name, about in COLUMNS.items():
        parser.add_argument(f"--{name}", metavar="COLUMN", help=f"column of a log: {about}")
    parser.add_argument(
        "--silence",
        type=float,
        metavar="X",
        help="what a trial without a reward counts as, such as 0 (default: such a trial is refused)",
    )
    parser.add_argument(
        "--shares",
        metavar="SHARES",
        help="in which arms were to be assigned, such as A=0.5,B=0.5 (default: equal); any: do not test them",
    )


def add_analyze(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai analyze``."""
    parser.add_argument("log", type=Path, help="the log: a CSV or Parquet file")
    add_columns(parser)
    add_limits(parser)
    parser.add_argument("--family", metavar="NAME", help="what a reward is (default: guessed from the rewards)")
    add_variance(parser)
    parser.add_argument("--delta", type=number, default=0.05, help="probability of a wrong answer (default 0.05)")
    add_question(parser)
    parser.add_argument(
        "--floor",
        metavar="P",
        help="least probability of a draw, fixed beforehand: one, or A=0.1,B=0.2 (default: the least in the log)",
    )
    parser.add_argument(
        "--planned", type=float, metavar="N", help="trials that were planned before the experiment, if they were"
    )
    parser.add_argument("--figure", type=Path, metavar="FILE", help="also draw a figure: .png, .svg or .pdf")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a self-contained HTML page")
    add_json(parser)
    add_quiet(parser)


def run_analyze(options: argparse.Namespace) -> None:
    """Print what a log says."""
    _check_files(options.figure, options.html)
    found = analyzed(options.log, options)
    if options.figure is not None:
        found.figure().savefig(options.figure, dpi=200)
    if options.html is not None:
        found.save_html(options.html)
    if options.json:
        print_json(found.to_dict())
        return
    print(found)
    for kind, file in (("figure", options.figure), ("page", options.html)):
        if file is not None:
            print(f"\nThe {kind} is in {file}")


def _check_files(figure: Path | None, page: Path | None) -> None:
    """Refuse files that cannot be written, before the work."""
    if figure is not None and figure.suffix.lower() not in FIGURES:
        raise ValueError(f"figure must end in {FIGURES[0]}, {FIGURES[1]} or {FIGURES[2]}, got {str(figure)!r}")
    for name, file in (("figure", figure), ("html", page)):
        if file is not None and (file.is_dir() or not file.parent.is_dir()):
            raise ValueError(f"{name} must be a file in a folder that exists, got {str(file)!r}")


def analyzed(log: Path, options: argparse.Namespace) -> Any:
    """The analysis of a log, by the flags."""
    from fairbai.analysis import analyze

    given = vars(options)
    columns = {name: given[name] for name in COLUMNS if given[name] is not None}
    known = {
        name: given[name]
        for name in ("low", "high", "delta", "planned", "goal", "control", "silence")
        if given.get(name) is not None
    }
    if options.tolerance is not None:
        known["tolerance"] = tolerance_of(options.tolerance)
    shares = options.shares if options.shares in (None, "any") else _numbers("shares", options.shares)
    floor: Any = None if given.get("floor") is None else _numbers("floor", given["floor"])
    if isinstance(floor, list):
        if len(floor) > 1:
            raise ValueError(f"floor must be one number, or by label such as A=0.1,B=0.2, got {given['floor']!r}")
        floor = floor[0]
    return analyze(log, **columns, **known, family=_family(options), shares=shares, floor=floor)


def _family(options: argparse.Namespace) -> Any:
    variance = options.variance
    if variance is None:
        return options.family
    if options.family not in (None, "gaussian"):
        raise ValueError(f"variance is for Gaussian rewards, got --family {options.family} beside it")
    return {"kind": "gaussian", "variance": variance_of(variance)}


def _numbers(name: str, text: str) -> dict[str, float] | list[float]:
    """What ``A=0.5,B=0.5`` or ``0.5,0.5`` stands for."""
    pairs = [part.rpartition("=") for part in text.split(",")]
    try:
        if all(equals for _, equals, _ in pairs):
            return {label.strip(): fraction_of(value) for label, _, value in pairs}
        return [fraction_of(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{name} must be numbers, or all by label such as A=0.5,B=0.5, got {text!r}") from None
