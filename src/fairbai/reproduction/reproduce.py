"""Reproduces the paper's whole evaluation: tables, figures, and one page that puts them beside the paper's claims.

And what goes past it, of which the replays of real tests have a command of their own.
"""

from pathlib import Path

from fairbai.charts import style
from fairbai.reproduction.errata import errata
from fairbai.reproduction.figures.catalog import FIGURES
from fairbai.reproduction.page import Report, write_page, write_sections
from fairbai.reproduction.past import archive, tolerance
from fairbai.reproduction.past.archive_data import archive_tests
from fairbai.reproduction.past.archive_replays import replayed
from fairbai.reproduction.past.chapter import save_section, sections
from fairbai.reproduction.studies import Results, run_studies
from fairbai.reproduction.tables import cells as tables
from fairbai.reproduction.tables import formats
from fairbai.reproduction.tables.cells import TableCell
from fairbai.simulation.progress import progress_bar


def reproduce_tables(runs: int, output: Path, seed: int = 0, progress: bool = False) -> str:
    """Write ``tables.csv`` and ``tables.tex`` into a folder; returns the tables as text.

    The runs are kept there as well: after an interruption, or with more ``runs``, the same call continues from them.
    """
    _, cells = _tables(runs, output, seed, progress)
    return formats.to_text(cells)


def reproduce_all(runs: int, output: Path, seed: int = 0, progress: bool = False) -> str:
    """Write the tables, all figures, the chapter past the paper and ``index.html``, the report.

    Returns:
        A sentence that says how many cells of the tables agree.
    """
    results, cells = _tables(runs, output, seed, progress)
    _draw_figures(results, output / "figures", progress)
    past = []
    for section in sections(results, runs, seed, progress):
        save_section(section, output / "past")
        past.append(section)
    verdict = _verdict(cells)
    report = Report(
        lead=_lead(verdict, runs, seed),
        tables=formats.to_html(cells),
        figures=FIGURES,
        findings={figure.name: figure.finding(results) for figure in FIGURES},
        errata=errata(),
        past=past,
    )
    write_page(output, report)
    return verdict


def reproduce_archive(runs: int, output: Path, seed: int = 0, progress: bool = False) -> str:
    """Replay every test of the archive ``runs`` times; write ``archive.html``, and its tables and figures.

    At the edge of a tolerance there are 5,000 times as many runs. The replays are kept: after an interruption the same
    call continues from them.

    Returns:
        What they show, in sentences.
    """
    found = replayed(archive_tests(), runs, seed, progress, output / "runs" / "archive")
    parts = [archive.written(found), tolerance.written(*tolerance.simulated(5_000 * runs, 500 * runs, seed, progress))]
    for section in parts:
        save_section(section, output / "archive")
    lead = f"Real A/B/n tests, and what a tolerance is worth in them; the seed of all runs is {seed}."
    write_sections(output / "archive.html", "Real tests", [lead], parts)
    return "\n".join(sentence for section in parts for sentence in section.findings)


def _tables(runs: int, output: Path, seed: int, progress: bool) -> tuple[Results, list[TableCell]]:
    results = run_studies(runs, seed, output, progress)
    cells = tables.table_cells(results)
    tables.write_csv(cells, output / "tables.csv")
    (output / "tables.tex").write_text(formats.to_latex(cells), encoding="utf-8")
    return results, cells


def _draw_figures(results: Results, folder: Path, progress: bool) -> None:
    with progress_bar(len(FIGURES), progress, unit="figures") as bar:
        for figure in FIGURES:
            style.save(figure.draw(results), folder, figure.name)
            bar.update(1)


def _lead(verdict: str, runs: int, seed: int) -> list[str]:
    return [
        "Russo and Vannella's paper “Fair Best Arm Identification with Fixed Confidence” introduces F-TaS and compares "
        "it with TaS and Uniform Fair. This page shows the paper's tables and figures as recomputed by fairbai, next "
        "to what the paper says about them.",
        f"Every mean is over at least {runs:,} runs, with seed {seed}. {verdict}",
        "The paper's rows use the threshold log((1 + log t)/δ), which is a heuristic; the rows marked “proved” use "
        "thresholds whose error is at most δ.",
        "The last chapter goes past the paper: what our own rules achieve that the paper's do not.",
    ]


def _verdict(cells: list[TableCell]) -> str:
    parts = [f"{same} of {total} cells of the {name} table" for name, (same, total) in tables.agreement(cells).items()]
    return (
        f"{' and '.join(parts)} agree with the paper (within {tables.TOLERANCE:g} times both intervals in quadrature)."
    )
