"""The chapter past the paper becomes files."""

from __future__ import annotations

import csv
from pathlib import Path

from fairbai.charts import style
from fairbai.reproduction.past.chapter import save_section
from fairbai.reproduction.past.section import Picture, Section, Table


def test_tables_become_csv_and_pictures_three_files(tmp_path: Path) -> None:
    table = Table("numbers", "Numbers", ["rule", "trials, mean"], [["a", "1.5 ± 0.1"], ["b", "2"]])
    with style.applied():
        figure, (axes,) = style.panels(2.0, 1.5)
        axes.plot([0, 1])
    section = Section("one", "One", ["Good."], [table], [Picture("line", "A line", "It rises.", figure)])
    save_section(section, tmp_path / "past")
    assert {path.name for path in (tmp_path / "past").iterdir()} == {"numbers.csv", "line.png", "line.svg", "line.pdf"}
    with (tmp_path / "past" / "numbers.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["rule", "trials, mean"], ["a", "1.5 ± 0.1"], ["b", "2"]]
