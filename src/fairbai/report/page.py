"""The report as one HTML file that needs nothing beside it."""

import base64
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from fairbai import __version__
from fairbai.report.errata import Erratum


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


def write_page(
    path: Path,
    lead: Sequence[str],
    tables: str,
    exhibits: Sequence[Exhibit],
    errata: Iterable[Erratum],
) -> None:
    """Write the report: sentences that lead in, the tables (HTML), the figures, and the errata."""
    body = [
        "<header><h1>Fair best arm identification: the paper, reproduced</h1>",
        *(f"<p>{escape(sentence)}</p>" for sentence in lead),
        _contents(exhibits),
        '</header><section id="tables"><h2>Tables</h2>',
        tables,
        '</section><section id="figures"><h2>Figures</h2>',
        *(_figure(exhibit) for exhibit in exhibits),
        '</section><section id="errata"><h2>Where the paper is wrong</h2>',
        *(_erratum(number, erratum) for number, erratum in enumerate(errata, 1)),
        f"</section><footer>fairbai {__version__}</footer>",
    ]
    style = files("fairbai.report").joinpath("page.css").read_text(encoding="utf-8")
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>fairbai: the paper, reproduced</title>\n<style>\n{style}</style></head><body>"
    )
    path.write_text("\n".join([head, *body, "</body></html>\n"]), encoding="utf-8")


def _contents(exhibits: Sequence[Exhibit]) -> str:
    links = [f'<li><a href="#{exhibit.name}">{escape(exhibit.title)}</a></li>' for exhibit in exhibits]
    return (
        '<nav aria-label="Contents"><ul><li><a href="#tables">Tables</a></li>'
        f'<li><a href="#figures">Figures</a><ul>{"".join(links)}</ul></li>'
        '<li><a href="#errata">Where the paper is wrong</a></li></ul></nav>'
    )


def _figure(exhibit: Exhibit) -> str:
    image = base64.b64encode(exhibit.image.read_bytes()).decode()
    kept = " ".join(f'<a href="figures/{exhibit.name}.{kind}">{kind.upper()}</a>' for kind in ("png", "svg", "pdf"))
    claim = f"<dt>The paper</dt><dd>{escape(exhibit.claim)}</dd>" if exhibit.claim else ""
    details = "".join(f"<li>{escape(line)}</li>" for line in exhibit.finding[1:])
    finding = escape(exhibit.finding[0]) + (f"<ul>{details}</ul>" if details else "")
    return (
        f'<figure id="{exhibit.name}"><h3>{escape(exhibit.title)} <small>{escape(exhibit.place)}</small></h3>'
        f'<img alt="{escape(exhibit.caption)}" src="data:image/png;base64,{image}">'
        f"<figcaption>{escape(exhibit.caption)} <span>{kept}</span></figcaption>"
        f"<dl>{claim}<dt>Here</dt><dd>{finding}</dd></dl></figure>"
    )


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
