"""Measure fairbai against its peers: ``python -m benchmarks [suite ...]``.

A suite is a function that yields rows (``measure.Ratio``); its docstring says what is compared and why that is fair.
To add one, write the function in its own file and add it to ``SUITES``. Running all suites writes RESULTS.md; running
some only prints. The exit code is always 0: this is a measurement, not a test. With ``FAIRBAI_BENCH_QUICK=1``
everything is as small as it can be, so that the tests can run all suites; the figures then mean nothing.
"""

import argparse
import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import (
    earning,
    first_minute,
    identifier,
    linear,
    past,
    service,
    simulation,
    solver,
    structure,
    units,
    wireless,
)
from benchmarks.machine import Watch
from benchmarks.measure import HEADER, QUICK, Ratio, line, markdown

SUITES: dict[str, Callable[[], Iterator[Ratio]]] = {
    "solver": solver.suite,
    "linear": linear.suite,
    "identifier": identifier.suite,
    "simulation": simulation.suite,
    "past": past.suite,
    "earning": earning.suite,
    "structure": structure.suite,
    "wireless": wireless.suite,
    "service": service.suite,
    "units": units.suite,
    "first-minute": first_minute.suite,
}
RESULTS = Path(__file__).with_name("RESULTS.md")


def main() -> None:
    """Run the suites named on the command line, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure fairbai against its peers.")
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"any of: {', '.join(SUITES)} (default: all)")
    named = parser.parse_args().suites
    for name in named:
        if name not in SUITES:
            parser.error(f"suite must be one of {', '.join(SUITES)}, got {name!r}")
    watch = Watch()
    tables = {name: _run(name, watch) for name in named or SUITES}
    conditions, closing = watch.report(), _closing(tables)
    print("\n", "\n".join(conditions), "\n\n", closing, sep="")
    if set(tables) == set(SUITES) and not QUICK:
        _write(tables, conditions, closing)


def _run(name: str, watch: Watch) -> list[Ratio]:
    """Run one suite and print its rows as they come."""
    print(f"\n{name}\n{line(HEADER)}", flush=True)
    rows = []
    for row in SUITES[name]():
        print(line(row.cells()), flush=True)
        rows.append(row)
        watch.look()
    return rows


def _closing(tables: dict[str, list[Ratio]]) -> str:
    promised = [row for rows in tables.values() for row in rows if row.met is not None]
    missed = [f"{row.what} (against {row.peer})" for row in promised if not row.met]
    return f"{len(missed)} of {len(promised)} targets missed{': ' if missed else ''}{'; '.join(missed)}"


def _write(tables: dict[str, list[Ratio]], conditions: Sequence[str], closing: str) -> None:
    lines = ["# Benchmark results", "", "Written by `make bench`; do not edit.", "", *conditions, "", f"{closing}."]
    for name, rows in tables.items():
        lines += ["", f"## {name}", "", inspect.getdoc(SUITES[name]) or "", "", *markdown(rows)]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
