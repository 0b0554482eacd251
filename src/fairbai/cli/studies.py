"""``fairbai simulate``, ``compare`` and ``reproduce``: many runs."""

import argparse
import json
import sys
from pathlib import Path

from fairbai.cli.printing import finite
from fairbai.simulation import Study, sweep
from fairbai.simulation.sweep import read_study

SIMULATE_EXAMPLES = """examples:
  fairbai simulate study.toml
  fairbai simulate study.toml --runs 10000 --output results

a study file:
  deltas = [0.1, 0.01]
  runs = 1000                      # also: seed, settle, maximum_rounds, histogram

  [instances.linear]
  means = [1.0, 0.5, 0.0]
  family = "gaussian"              # or { kind = "gaussian", variance = 2.0 }
  rates = { kind = "constant", floor = 0.1 }

  [sampling]
  f-tas = "fair_track_and_stop"
  top-two = { kind = "fair_top_two", margin = 1.0 }

  [stopping]
  proved = "mixture"
  paper = "heuristic"
"""
COMPARE_EXAMPLES = """examples:
  fairbai compare study-results
  fairbai compare study-results --json
"""
REPRODUCE_EXAMPLES = """examples:
  fairbai reproduce tables --runs 100 --output reproduction
  fairbai reproduce all --runs 1000 --output reproduction

Runs are kept in the output folder: after Ctrl-C, or with more runs, the same command goes on.
"""


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai simulate``."""
    parser.add_argument("study", type=Path, help="the study, a TOML file")
    parser.add_argument("--output", type=Path, metavar="DIR", help="where results go (default: STUDY-results)")
    parser.add_argument("--runs", type=int, metavar="N", help="runs of every cell, instead of the file's")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def add_reproduce(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai reproduce``."""
    parser.add_argument("what", choices=["tables", "all"], help="the two tables, or tables, figures and report")
    parser.add_argument("--runs", type=int, default=100, metavar="N", help="runs of every cell (default: 100)")
    parser.add_argument("--output", type=Path, default=Path("reproduction"), metavar="DIR", help="where it all goes")
    parser.add_argument("--seed", type=int, default=0, help="of the random streams (default: 0)")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")


def add_compare(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai compare``."""
    parser.add_argument("folder", type=Path, help="the output of fairbai simulate, finished or not")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run_simulate(options: argparse.Namespace) -> None:
    """Simulate a study, or what is missing of it, and print its table."""
    form = read_study(options.study)
    if options.runs is not None:
        form["runs"] = options.runs
    output = options.output or Path(f"{options.study.stem}-results")
    try:
        study = sweep(**form, output=output, progress=not options.quiet)
    except KeyboardInterrupt:
        print(f"fairbai: what is done is in {output}; the same command goes on from there", file=sys.stderr)
        raise
    _print_study(study, options.json)
    if not options.json:
        print(f"\nruns are in {output}")


def run_compare(options: argparse.Namespace) -> None:
    """Print the table of a study."""
    _print_study(Study.open(options.folder), options.json)


def run_reproduce(options: argparse.Namespace) -> None:
    """Redo the evaluation of the paper."""
    from fairbai.report import reproduce  # needs the extra `report`

    function = reproduce.reproduce_tables if options.what == "tables" else reproduce.reproduce_all
    try:
        print(function(options.runs, options.output, options.seed, not options.quiet))
    except KeyboardInterrupt:
        print(f"fairbai: what is done is in {options.output}; the same command goes on from there", file=sys.stderr)
        raise
    name = "tables.csv" if options.what == "tables" else "index.html"
    print((options.output / name).resolve())


def _print_study(study: Study, as_json: bool) -> None:
    print(json.dumps(finite(study.to_dicts()), indent=2, allow_nan=False) if as_json else study)
