"""``fairbai simulate``, ``compare`` and ``reproduce``: many runs."""

import argparse
import csv
import sys
from pathlib import Path
from typing import Any

from fairbai.cli.flags import add_json, add_output, add_quiet, add_runs, add_seed
from fairbai.cli.instances import add_instance
from fairbai.cli.printing import print_json

SIMULATE_EXAMPLES = """examples:
  fairbai simulate study.toml
  fairbai simulate study.toml --runs 10000 --seed 7 --output results
  fairbai simulate study.toml --figures figures
  fairbai simulate plan.json

a study file:
  deltas = [0.1, 0.01]
  runs = 1000                      # also: seed, settle, maximum_rounds, histogram

  [instances.linear]
  means = [1.0, 0.5, 0.0]
  family = { kind = "gaussian", variance = 1.0 }   # this one if there is none; or "bernoulli", ...
  floors = 0.1                     # or [0.1, 0.2, 0.3]; rates = { kind = "gap", p0 = 0.5 } if learned

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
  fairbai compare --rules all --means 0.5 0.4 0.3 --family bernoulli --floors 0.1
  fairbai compare --rules fair_top_two uniform_fair --means 1 0.5 0 --floors 0.1 --horizon 5000 --figures figures

With --rules, every rule runs on the instance until a proved answer, for at most --horizon trials.
"""
REPRODUCE_EXAMPLES = """examples:
  fairbai reproduce tables --runs 100 --output reproduction
  fairbai reproduce all --runs 1000 --output reproduction
  fairbai reproduce archive --output reproduction

Runs are kept in the output folder: after Ctrl-C, or with more runs, the same command goes on.
"""


RUNS, REPLAYS, COMPARED = 100, 4, 200


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai simulate``."""
    parser.add_argument("study", type=Path, help="the study: a TOML file, or the output of fairbai plan --json")
    add_runs(parser, None, "(default: what the file says)")
    add_seed(parser, None, "(default: what the file says)")
    add_output(parser, None, "(default: STUDY-results)")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="also draw the results, as files in this folder")
    add_json(parser)
    add_quiet(parser)


def add_compare(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai compare``."""
    parser.add_argument("folder", type=Path, nargs="?", help="the output of fairbai simulate, finished or not")
    parser.add_argument("--rules", nargs="+", metavar="KIND", help="instead of a folder: sampling rules to run, or all")
    parser.add_argument("--horizon", type=int, metavar="N", help="trials to count regret over (default: 4 x expected)")
    add_runs(parser, None, f"(default: {COMPARED})")
    add_seed(parser, None, "(default: 0)")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="also draw regret against trials, into this folder")
    add_instance(parser)


def add_reproduce(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai reproduce``."""
    parser.add_argument(
        "what",
        choices=["tables", "archive", "all"],
        help="the two tables; replays of 2,491 real tests; or tables, figures and report",
    )
    add_runs(parser, None, f"(default: {RUNS}; of every real test: {REPLAYS})")
    add_seed(parser, 0, "(default: 0)")
    add_output(parser, Path("reproduction"), "(default: reproduction)")
    add_json(parser)
    add_quiet(parser)


def run_simulate(options: argparse.Namespace) -> None:
    """Simulate a study, or what is missing of it, and print its table."""
    from fairbai.simulation.sweep import read_study, sweep

    if options.figures is not None:
        from fairbai.charts.studies import save_figures  # before the work, because it needs the extra `report`
    form = read_study(options.study)
    form |= {name: value for name in ("runs", "seed") if (value := getattr(options, name)) is not None}
    output = options.output or Path(f"{options.study.stem}-results")
    try:
        study = sweep(**form, output=output, progress=not options.quiet)
    except KeyboardInterrupt:
        _say_what_is_kept(output)
        raise
    _print_study(study, options.json)
    if options.figures is not None:
        save_figures(study, options.figures)
    if not options.json:
        print(f"\nruns are in {output}")
        if options.figures is not None:
            print(f"figures are in {options.figures}")


def run_compare(options: argparse.Namespace) -> None:
    """Print the table of a study, or that of rules on one instance."""
    if (options.folder is None) == (options.rules is None):
        raise ValueError("give the folder of a study, or --rules and an instance")
    if options.rules is not None:
        from fairbai.cli.comparing import print_comparison

        print_comparison(options)
        return
    from fairbai.problems.factor_forms import KEYS as FACTOR_KEYS
    from fairbai.simulation import Study

    for name in ("means", *FACTOR_KEYS, "file", "horizon", "runs", "seed", "figures"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} belongs to --rules, which is missing: a folder holds its runs already")
    _print_study(Study.open(options.folder), options.json)


def run_reproduce(options: argparse.Namespace) -> None:
    """Redo the evaluation of the paper, or replay real tests."""
    from fairbai.reproduction import reproduce  # needs the extra `report`

    function, name = {
        "tables": (reproduce.reproduce_tables, "tables.csv"),
        "archive": (reproduce.reproduce_archive, "archive.html"),
        "all": (reproduce.reproduce_all, "index.html"),
    }[options.what]
    runs = (REPLAYS if options.what == "archive" else RUNS) if options.runs is None else options.runs
    try:
        text = function(runs, options.output, options.seed, not options.quiet)
    except KeyboardInterrupt:
        _say_what_is_kept(options.output)
        raise
    file = (options.output / name).resolve()
    if not options.json:
        print(text, file, sep="\n")
    elif options.what == "archive":
        tables = sorted((options.output / "archive").glob("*.csv"))
        print_json({"file": str(file), "tables": {table.stem: _cells(table) for table in tables}})
    else:
        print_json({"file": str(file), "cells": _cells(options.output / "tables.csv")})


def _say_what_is_kept(output: Path) -> None:
    print(f"fairbai: what is done is in {output}; the same command goes on from there", file=sys.stderr)


def _print_study(study: Any, as_json: bool) -> None:
    if as_json:
        print_json(study.to_dicts())
    else:
        print(study)


def _cells(file: Path) -> list[dict[str, Any]]:
    """The rows of a table, with numbers, truth values and null instead of text."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(lines)]


def _value(text: str) -> Any:
    words = {"True": True, "False": False, "": None}
    if text in words:
        return words[text]
    try:
        return float(text)
    except ValueError:
        return text
