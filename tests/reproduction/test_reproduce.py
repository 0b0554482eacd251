"""The whole evaluation, small: every table and figure is made, and the same seed makes the same report."""

from __future__ import annotations

import csv
import importlib
import json
import pkgutil
import re
import shutil
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from fairbai.charts import style
from fairbai.cli import main
from fairbai.reproduction import past, reproduce
from fairbai.reproduction.figures.catalog import FIGURES
from fairbai.reproduction.past.chapter import SECTIONS
from tests.processes import run_and_interrupt
from tests.reproduction.conftest import SmallReport

pytestmark = [pytest.mark.slow_without_jit, pytest.mark.xdist_group("report")]

KINDS = ("png", "svg", "pdf")


@pytest.fixture
def folder(report: SmallReport) -> Path:
    return report.folder


def test_everything_is_there(folder: Path) -> None:
    names = {figure.name for figure in FIGURES}
    assert len(names) == len(FIGURES) == 19
    for kind in KINDS:
        assert {path.stem for path in (folder / "figures").glob(f"*.{kind}")} == names
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert all(f'id="{name}"' in page for name in names)
    with (folder / "tables.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    published = [row for row in rows if row["paper_mean"]]
    assert len(published) == 144
    assert len(rows) > 144
    assert (folder / "tables.tex").read_text(encoding="utf-8").count(r"\begin{tabular") == 2


def test_the_chapter_past_the_paper_is_there(folder: Path) -> None:
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert 'id="past"' in page
    kept = {path.name for path in (folder / "past").iterdir()}
    assert any(name.endswith(".csv") for name in kept)
    assert set(re.findall(r'href="past/([^"]+)"', page)) == kept


def test_every_module_of_the_chapter_has_a_section(report: SmallReport) -> None:
    """A section that is written but not listed in ``chapter.SECTIONS`` would be missing from the report."""
    modules = [
        importlib.import_module(f"{past.__name__}.{found.name}") for found in pkgutil.iter_modules(past.__path__)
    ]
    assert len(report.sections) == sum(hasattr(module, "section") for module in modules) == len(SECTIONS)


def test_tables_alone_and_the_same_report_from_there(
    report: SmallReport, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same seed gives the same tables, and the same page when ``all`` continues from their runs.

    Pictures, sections and errata are taken from the first report: other tests compare those with their runs.
    """
    arguments = ["--runs", str(report.runs), "--output", str(tmp_path), "--quiet"]
    assert main(["reproduce", "tables", *arguments]) == 0
    printed = capsys.readouterr().out
    assert "F-TaS" in printed
    assert "agree" in printed
    assert printed.splitlines()[-1] == str(tmp_path / "tables.csv")
    assert (tmp_path / "tables.csv").read_bytes() == (report.folder / "tables.csv").read_bytes()
    assert not (tmp_path / "index.html").exists()

    def copied(figure: Figure, folder: Path, name: str) -> None:
        folder.mkdir(exist_ok=True)
        shutil.copy(report.folder / folder.name / f"{name}.png", folder)

    monkeypatch.setattr(style, "save", copied)
    monkeypatch.setattr(reproduce, "sections", lambda *_: report.sections.values())
    monkeypatch.setattr(reproduce, "errata", lambda: report.errata)
    assert main(["reproduce", "all", *arguments]) == 0
    for name in ("index.html", "tables.csv", "tables.tex"):
        assert (tmp_path / name).read_bytes() == (report.folder / name).read_bytes()


def test_tables_as_json(report: SmallReport, capsys: pytest.CaptureFixture[str]) -> None:
    """From the runs that are there."""
    folder = report.folder
    assert main(["reproduce", "tables", "--runs", str(report.runs), "--output", str(folder), "--quiet", "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["file"] == str(folder / "tables.csv")
    published = [cell for cell in form["cells"] if cell["paper_mean"] is not None]
    assert len(published) == 144
    assert {type(cell["agrees"]) for cell in published} == {bool}
    assert {type(cell["mean"]) for cell in form["cells"]} == {float}


@pytest.mark.system
def test_an_interrupted_command_goes_on(tmp_path: Path) -> None:
    """Ctrl-C in the middle of the runs; then the same command, with the same result."""
    command = [sys.executable, "-m", "fairbai", "reproduce", "tables", "--runs", "400", "--output", str(tmp_path)]
    code, _, errors = run_and_interrupt(command, lambda: any((tmp_path / "runs").rglob("*.parquet")))
    assert code == 130
    assert "the same command goes on" in errors
    kept = list((tmp_path / "runs").rglob("*.parquet"))
    before = {path: path.stat().st_mtime_ns for path in kept}
    assert main(["reproduce", "tables", "--runs", "4", "--output", str(tmp_path), "--quiet"]) == 0
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
    assert (tmp_path / "tables.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reproduce", "tables", "--runs", "1"], "runs must be"),
        (["reproduce", "tables", "--runs", "10", "--seed", "-1"], "seed must be"),
    ],
)
def test_bad_input(arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--output", str(tmp_path / "new")]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
