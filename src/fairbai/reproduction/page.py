"""The report as one self-contained HTML file, and pages with some of its sections."""

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from fairbai import __version__
from fairbai.reproduction.errata import Erratum
from fairbai.reproduction.figures.catalog import PaperFigure
from fairbai.reproduction.past.section import Section, Table

LONG = 40  # rows: longer tables are collapsed at first


@dataclass(frozen=True)
class Report:
    """What the page shows.

    Attributes:
        lead: Introductory paragraphs.
        tables: The results tables, as HTML.
        figures: The paper's figures and ours, in their order.
        findings: What each figure shows, by its name: a verdict, then details.
        errata: Claims of the paper that do not hold.
        past: The sections of the chapter "Past the paper"; without any, the chapter is left out.
    """

    lead: Sequence[str]
    tables: str
    figures: Sequence[PaperFigure]
    findings: Mapping[str, Sequence[str]]
    errata: Iterable[Erratum]
    past: Sequence[Section] = ()


def write_page(folder: Path, report: Report) -> None:
    """Write ``index.html`` into a folder whose ``figures`` and ``past`` hold the pictures as PNG files."""
    body = [
        "<header><h1>Fair best arm identification: the paper, reproduced</h1>",
        *(f"<p>{escape(sentence)}</p>" for sentence in report.lead),
        _contents(report),
        '</header><section id="tables"><h2>Tables</h2>',
        report.tables,
        '</section><section id="figures"><h2>Figures</h2>',
        *(_figure(folder, figure, report.findings[figure.name]) for figure in report.figures),
        '</section><section id="errata"><h2>Where the paper is wrong</h2>',
        *(_erratum(number, erratum) for number, erratum in enumerate(report.errata, 1)),
        "</section>",
        *_chapter(folder, report.past),
    ]
    _write(folder / "index.html", "fairbai: the paper, reproduced", body)


def write_sections(file: Path, title: str, lead: Sequence[str], sections: Sequence[Section]) -> None:
    """Write a page with these sections; a folder beside it that has its name holds the pictures as PNG files."""
    body = [
        f"<header><h1>{escape(title)}</h1>",
        *(f"<p>{escape(sentence)}</p>" for sentence in lead),
        '</header><section id="past">',
        *(_section(file.parent, one, file.stem) for one in sections),
        "</section>",
    ]
    _write(file, f"fairbai: {title}", body)


def _write(file: Path, title: str, body: Sequence[str]) -> None:
    style = files("fairbai.reproduction").joinpath("page.css").read_text(encoding="utf-8")
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style></head><body>"
    )
    foot = f"<footer>fairbai {__version__}</footer>"
    file.write_text("\n".join([head, *body, foot, "</body></html>\n"]), encoding="utf-8")


def _contents(report: Report) -> str:
    parts = [
        ("tables", "Tables", []),
        ("figures", "Figures", [(figure.name, figure.title) for figure in report.figures]),
        ("errata", "Where the paper is wrong", []),
    ]
    if report.past:
        parts.append(("past", "Past the paper", [(section.name, section.title) for section in report.past]))
    return f'<nav aria-label="Contents"><ul>{"".join(_entry(*part) for part in parts)}</ul></nav>'


def _entry(name: str, title: str, below: Sequence[tuple[str, str]] = ()) -> str:
    inner = f"<ul>{''.join(_entry(*one) for one in below)}</ul>" if below else ""
    return f'<li><a href="#{name}">{escape(title)}</a>{inner}</li>'


def _figure(folder: Path, figure: PaperFigure, findings: Sequence[str]) -> str:
    claim = f"<dt>The paper</dt><dd>{escape(figure.claim)}</dd>" if figure.claim else ""
    return (
        f'<figure id="{figure.name}"><h3>{escape(figure.title)} <small>{escape(figure.place)}</small></h3>'
        f"{_image(folder, f'figures/{figure.name}', figure.caption)}"
        f"<dl>{claim}<dt>Here</dt><dd>{escape(findings[0])}{_list(findings[1:])}</dd></dl></figure>"
    )


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>" if lines else ""


def _image(folder: Path, name: str, caption: str) -> str:
    """An embedded picture with its caption, and links to its files."""
    embedded = base64.b64encode((folder / f"{name}.png").read_bytes()).decode()
    links = " ".join(f'<a href="{name}.{kind}">{kind.upper()}</a>' for kind in ("png", "svg", "pdf"))
    return (
        f'<img alt="{escape(caption)}" src="data:image/png;base64,{embedded}">'
        f"<figcaption>{escape(caption)} <span>{links}</span></figcaption>"
    )


def _chapter(folder: Path, past: Sequence[Section]) -> list[str]:
    if not past:
        return []
    return [
        '<section id="past"><h2>Past the paper</h2>',
        *(_section(folder, one, "past") for one in past),
        "</section>",
    ]


def _section(folder: Path, section: Section, place: str) -> str:
    """A section whose files are in a folder ``place`` beside the page."""
    headline, *details = section.findings
    pictures = "".join(
        f'<figure id="figure-{picture.name}"><h4>{escape(picture.title)}</h4>'
        f"{_image(folder, f'{place}/{picture.name}', picture.caption)}</figure>"
        for picture in section.pictures
    )
    return (
        f'<section id="{section.name}"><h3>{escape(section.title)}</h3><p><strong>{escape(headline)}</strong></p>'
        f"{_list(details)}{''.join(_table(table, place) for table in section.tables)}{pictures}</section>"
    )


def _table(table: Table, place: str) -> str:
    """Words are aligned to the left, numbers to the right, and a heading like its column."""
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.header)
    head = "".join(
        f'<th scope="col"{_side("".join(column[:1]))}>{escape(name)}</th>'
        for name, column in zip(table.header, columns, strict=True)
    )
    rows = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        f"{''.join(f'<td{_side(cell)}>{escape(cell)}</td>' for cell in rest)}</tr>"
        for first, *rest in table.rows
    )
    whole = (
        f'<div class="scroll" tabindex="0"><table class="past"><caption>{escape(table.title)} '
        f'<a href="{place}/{table.name}.csv">CSV</a></caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    if len(table.rows) <= LONG:
        return whole
    return f"<details><summary>{escape(table.title)}: {len(table.rows)} rows</summary>{whole}</details>"


def _side(text: str) -> str:
    return ' class="words"' if text[:1].isalpha() else ""


def _erratum(number: int, erratum: Erratum) -> str:
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{_number(value)}</td></tr>" for name, value in erratum.figures.items()
    )
    return (
        f"<article><h3>{number}. {escape(erratum.claim)}</h3><p>{escape(erratum.counterexample)}</p>"
        f"<table>{rows}</table><p><strong>True:</strong> {escape(erratum.truth)}</p></article>"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == math.floor(value) else f"{value:,.4g}"
