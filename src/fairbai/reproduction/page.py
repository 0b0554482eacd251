"""The report as one HTML file that needs nothing beside it."""

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from fairbai import __version__
from fairbai.reproduction.errata import Erratum
from fairbai.reproduction.past.section import Section, Table

LONG = 40  # rows: a longer table is closed until it is asked for


@dataclass(frozen=True)
class Exhibit:
    """A figure with what is to be said of it.

    Attributes:
        name: Of its files.
        place: Where it stands in the paper, such as "main text"; "beyond the paper" for our own.
        title: In a few words.
        caption: What it shows.
        claim: What the paper says about it; empty for our own.
        finding: What came out here: a verdict, then details.
        image: Its PNG file.
    """

    name: str
    place: str
    title: str
    caption: str
    claim: str
    finding: Sequence[str]
    image: Path


@dataclass(frozen=True)
class PastSection:
    """A section of the chapter "Past the paper", with the PNG files of its pictures by name."""

    section: Section
    images: Mapping[str, Path]


def write_page(
    path: Path,
    lead: Sequence[str],
    tables: str,
    exhibits: Sequence[Exhibit],
    errata: Iterable[Erratum],
    past: Sequence[PastSection] = (),
) -> None:
    """Write the report: sentences that lead in, the tables (HTML), the figures, the errata, and what is past them."""
    body = [
        "<header><h1>Fair best arm identification: the paper, reproduced</h1>",
        *(f"<p>{escape(sentence)}</p>" for sentence in lead),
        _contents(exhibits, past),
        '</header><section id="tables"><h2>Tables</h2>',
        tables,
        '</section><section id="figures"><h2>Figures</h2>',
        *(_figure(exhibit) for exhibit in exhibits),
        '</section><section id="errata"><h2>Where the paper is wrong</h2>',
        *(_erratum(number, erratum) for number, erratum in enumerate(errata, 1)),
        "</section>",
        *_chapter(past),
        f"<footer>fairbai {__version__}</footer>",
    ]
    style = files("fairbai.reproduction").joinpath("page.css").read_text(encoding="utf-8")
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>fairbai: the paper, reproduced</title>\n<style>\n{style}</style></head><body>"
    )
    path.write_text("\n".join([head, *body, "</body></html>\n"]), encoding="utf-8")


def _contents(exhibits: Sequence[Exhibit], past: Sequence[PastSection]) -> str:
    parts = [
        ("tables", "Tables", []),
        ("figures", "Figures", [(exhibit.name, exhibit.title) for exhibit in exhibits]),
        ("errata", "Where the paper is wrong", []),
    ]
    if past:
        parts.append(("past", "Past the paper", [(one.section.name, one.section.title) for one in past]))
    return f'<nav aria-label="Contents"><ul>{"".join(_entry(*part) for part in parts)}</ul></nav>'


def _entry(name: str, title: str, below: Sequence[tuple[str, str]] = ()) -> str:
    inner = f"<ul>{''.join(_entry(*one) for one in below)}</ul>" if below else ""
    return f'<li><a href="#{name}">{escape(title)}</a>{inner}</li>'


def _figure(exhibit: Exhibit) -> str:
    claim = f"<dt>The paper</dt><dd>{escape(exhibit.claim)}</dd>" if exhibit.claim else ""
    details = "".join(f"<li>{escape(line)}</li>" for line in exhibit.finding[1:])
    finding = escape(exhibit.finding[0]) + (f"<ul>{details}</ul>" if details else "")
    return (
        f'<figure id="{exhibit.name}"><h3>{escape(exhibit.title)} <small>{escape(exhibit.place)}</small></h3>'
        f"{_image(exhibit.image, exhibit.caption, f'figures/{exhibit.name}')}"
        f"<dl>{claim}<dt>Here</dt><dd>{finding}</dd></dl></figure>"
    )


def _image(image: Path, caption: str, files: str) -> str:
    """A picture inside the page, what it shows, and where its files are."""
    inside = base64.b64encode(image.read_bytes()).decode()
    kept = " ".join(f'<a href="{files}.{kind}">{kind.upper()}</a>' for kind in ("png", "svg", "pdf"))
    return (
        f'<img alt="{escape(caption)}" src="data:image/png;base64,{inside}">'
        f"<figcaption>{escape(caption)} <span>{kept}</span></figcaption>"
    )


def _chapter(past: Sequence[PastSection]) -> list[str]:
    """The chapter past the paper; nothing, if it has no sections."""
    if not past:
        return []
    return ['<section id="past"><h2>Past the paper</h2>', *(_past_section(one) for one in past), "</section>"]


def _past_section(past: PastSection) -> str:
    section = past.section
    headline, *rest = section.findings
    details = "".join(f"<li>{escape(line)}</li>" for line in rest)
    pictures = "".join(
        f'<figure id="figure-{picture.name}"><h4>{escape(picture.title)}</h4>'
        f"{_image(past.images[picture.name], picture.caption, f'past/{picture.name}')}</figure>"
        for picture in section.pictures
    )
    return (
        f'<section id="{section.name}"><h3>{escape(section.title)}</h3><p><strong>{escape(headline)}</strong></p>'
        f"{f'<ul>{details}</ul>' if details else ''}{''.join(map(_table, section.tables))}{pictures}</section>"
    )


def _table(table: Table) -> str:
    """Words stand to the left, numbers to the right; a heading stands where its column does."""
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
        f'<div class="scroll"><table class="past"><caption>{escape(table.title)} '
        f'<a href="past/{table.name}.csv">CSV</a></caption><thead><tr>{head}</tr></thead>'
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
