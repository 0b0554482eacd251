"""The chapter "Past the paper": its sections, in the order of the page, and the files that they become."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

from fairbai.charts import style
from fairbai.reproduction.past import dominance
from fairbai.reproduction.past import edge
from fairbai.reproduction.past import learned_floors
from fairbai.reproduction.past import limits
from fairbai.reproduction.past import optimality
from fairbai.reproduction.past import proved_stopping
from fairbai.reproduction.past.section import Section, Table
from fairbai.reproduction.studies import Results

Write = Callable[[Results, int, int, bool], Section]
"""Writes a section from the runs of the report, the number of its own runs, their seed, and whether to show bars."""


def _on_its_own(section: Callable[[int, int, bool], Section]) -> Write:
    return lambda _, runs, seed, progress: section(runs, seed, progress)


SECTIONS: tuple[Write, ...] = (
    lambda results, *_: dominance.section(results),
    _on_its_own(learned_floors.section),
    _on_its_own(optimality.section),
    proved_stopping.section,
    _on_its_own(limits.section),
    _on_its_own(edge.section),
)


def sections(results: Results, runs: int, seed: int = 0, progress: bool = False) -> Iterator[Section]:
    """Simulate and write one section after the other."""
    for write in SECTIONS:
        yield write(results, runs, seed, progress)


def save_section(section: Section, folder: Path) -> dict[str, Path]:
    """Write every table as CSV and every picture as PNG, SVG and PDF; returns the PNG files by name."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in section.tables:
        _write_csv(table, folder / f"{table.name}.csv")
    return {picture.name: style.save(picture.figure, folder, picture.name)[0] for picture in section.pictures}


def _write_csv(table: Table, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.header)
        writer.writerows(table.rows)
