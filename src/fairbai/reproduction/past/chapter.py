"""The chapter "Past the paper": its sections in the order of the page, and how they are saved."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

from fairbai.charts import style
from fairbai.reproduction.past import (
    archive,
    dominance,
    drift,
    earning,
    edge,
    learned_floors,
    limits,
    optimality,
    proved_stopping,
    structure,
    tolerance,
)
from fairbai.reproduction.past.section import Section, Table
from fairbai.reproduction.studies import Results

Write = Callable[[Results, int, int, bool], Section]
"""Writes a section, given the runs of the report, the number of runs of its own, their seed, and ``progress``."""


def _without_results(section: Callable[[int, int, bool], Section]) -> Write:
    return lambda _, runs, seed, progress: section(runs, seed, progress)


SECTIONS: tuple[Write, ...] = (
    lambda results, *_: dominance.section(results),
    _without_results(learned_floors.section),
    _without_results(optimality.section),
    proved_stopping.section,
    _without_results(drift.section),
    _without_results(tolerance.section),
    _without_results(archive.section),
    _without_results(limits.section),
    _without_results(earning.section),
    _without_results(edge.section),
    _without_results(structure.section),
)


def sections(results: Results, runs: int, seed: int = 0, progress: bool = False) -> Iterator[Section]:
    """Simulate and write the sections, one after the other."""
    for write in SECTIONS:
        yield write(results, runs, seed, progress)


def save_section(section: Section, folder: Path) -> None:
    """Write every table as CSV and every picture as PNG, SVG and PDF."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in section.tables:
        _write_csv(table, folder / f"{table.name}.csv")
    for picture in section.pictures:
        style.save(picture.figure, folder, picture.name)


def _write_csv(table: Table, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.header)
        writer.writerows(table.rows)
