"""The paper's whole evaluation, done again and laid beside the paper: tables, figures, and one page with both."""

from pathlib import Path

from fairbai.charts import style
from fairbai.reproduction import table_formats
from fairbai.reproduction import tables
from fairbai.reproduction.errata import errata
from fairbai.reproduction.page import Exhibit, PastSection, write_page
from fairbai.reproduction.paper import FIGURES, PaperFigure
from fairbai.reproduction.past.chapter import save_section, sections
from fairbai.reproduction.studies import Results, run_studies
from fairbai.reproduction.tables import TableCell
from fairbai.simulation.progress import progress_bar


def reproduce_tables(runs: int, output: Path, seed: int = 0, progress: bool = False) -> str:
    """Write ``tables.csv`` and ``tables.tex`` into a folder; returns the tables as text.

    The runs are kept there too: after an interruption, or with more ``runs``, the same call goes on.
    """
    _, cells = _tables(runs, output, seed, progress)
    return table_formats.to_text(cells)


def reproduce_all(runs: int, output: Path, seed: int = 0, progress: bool = False) -> str:
    """Write the tables, all figures, what is past the paper and ``index.html``, the report.

    Returns:
        What agrees, in a sentence.
    """
    results, cells = _tables(runs, output, seed, progress)
    exhibits = []
    with progress_bar(len(FIGURES), progress, unit="figures") as bar:
        for figure in FIGURES:
            exhibits.append(_exhibit(figure, results, output / "figures"))
            bar.update(1)
    past = [
        PastSection(section, save_section(section, output / "past"))
        for section in sections(results, runs, seed, progress)
    ]
    lead = [
        "Russo and Vannella's paper “Fair Best Arm Identification with Fixed Confidence” introduces F-TaS and compares "
        "it with TaS and Uniform Fair. Here its tables and figures are computed anew by fairbai and stand beside what "
        "the paper says of them.",
        f"Every mean is over {runs:,} runs or more of seed {seed}. {_verdict(cells)}",
        "The paper's rows use the threshold log((1 + log t)/δ), which is a heuristic; the rows marked as proved use "
        "thresholds whose error is at most δ.",
        "The last chapter goes past the paper: what our own rules do that the paper's do not.",
    ]
    write_page(output / "index.html", lead, table_formats.to_html(cells), exhibits, errata(), past)
    return _verdict(cells)


def _tables(runs: int, output: Path, seed: int, progress: bool) -> tuple[Results, list[TableCell]]:
    results = run_studies(runs, seed, output, progress)
    cells = tables.table_cells(results)
    tables.write_csv(cells, output / "tables.csv")
    (output / "tables.tex").write_text(table_formats.to_latex(cells), encoding="utf-8")
    return results, cells


def _exhibit(figure: PaperFigure, results: Results, folder: Path) -> Exhibit:
    image, _, _ = style.save(figure.draw(results), folder, figure.name)
    return Exhibit(
        figure.name, figure.place, figure.title, figure.caption, figure.claim, figure.finding(results), image
    )


def _verdict(cells: list[TableCell]) -> str:
    parts = [f"{same} of {total} cells of the {name} table" for name, (same, total) in tables.agreement(cells).items()]
    return (
        f"{' and '.join(parts)} agree with the paper (within {tables.TOLERANCE:g} times both intervals in quadrature)."
    )
