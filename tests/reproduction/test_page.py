"""The report: one file, whatever is said in it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from fairbai.reproduction.errata import Erratum
from fairbai.reproduction.figures.catalog import PaperFigure
from fairbai.reproduction.page import LONG, Report, _table, write_page
from fairbai.reproduction.past.section import Picture, Section, Table

VOID = {"meta", "img", "br", "link", "input"}


class Balanced(HTMLParser):
    """Checks that every element is closed, and notes what there is."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        self.sources += [str(given[name]) for name in ("src", "href") if given.get(name)]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def figure(*words: str) -> PaperFigure:
    return PaperFigure(*words, draw=lambda _: Figure(), finding=lambda _: [])


@pytest.fixture
def page(tmp_path: Path) -> str:
    for name in ("figures/one", "figures/two", "past/curve"):
        image = tmp_path / f"{name}.png"
        image.parent.mkdir(exist_ok=True)
        image.write_bytes(b"\x89PNG")
    findings = {"one": ["Agrees.", "<i>more</i>"], "two": ["Better."]}
    one = figure("one", "appendix", "A <b>title</b>", 'a "caption"', "x < y & z")
    own = figure("two", "beyond the paper", "Ours", "caption", "")
    erratum = Erratum("claim < 1", "truth & more", "two arms", {"price": 25.2525, "count": 3.0})
    table = Table(
        "numbers", "<Numbers>", ["rule", "trials", "why"], [["a & b", "1.5 ± 0.1", "luck"], ["c", "none", ""]]
    )
    picture = Picture("curve", "A curve", "falls <fast>", Figure())
    section = Section("limit", "The <limit>", ["Met.", "x < 1"], [table], [picture])
    write_page(tmp_path, Report(["It's <done>."], "<table></table>", [one, own], findings, [erratum], [section]))
    return (tmp_path / "index.html").read_text(encoding="utf-8")


def test_it_is_well_formed_and_links_work(page: str) -> None:
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    anchors = {source[1:] for source in parser.sources if source.startswith("#")}
    assert anchors <= set(parser.ids)
    assert {"tables", "figures", "errata", "one", "two", "past", "limit"} <= anchors


def test_it_needs_nothing_beside_it(page: str) -> None:
    """Images are inside; the only files it points to are the same figures and tables in other formats."""
    parser = Balanced()
    parser.feed(page)
    outside = [source for source in parser.sources if not source.startswith(("#", "data:image/png;base64,"))]
    kept = r"(figures/(one|two)|past/curve)\.(png|svg|pdf)|past/numbers\.csv"
    assert all(re.fullmatch(kept, source) for source in outside)
    assert "http" not in page
    assert "@import" not in page


def test_text_is_text(page: str) -> None:
    assert "<b>title" not in page
    assert "<i>more" not in page
    assert "A &lt;b&gt;title&lt;/b&gt;" in page
    assert "x &lt; y &amp; z" in page
    assert "It&#x27;s &lt;done&gt;." in page


def test_our_own_figures_have_no_claim_of_the_paper(page: str) -> None:
    assert page.count("<dt>The paper</dt>") == 1
    assert page.count("<dt>Here</dt>") == 2
    assert ">25.25<" in page
    assert ">3<" in page


def test_past_the_paper_has_findings_tables_and_pictures(page: str) -> None:
    chapter = page[page.index('<section id="past">') :]
    assert "<strong>Met.</strong>" in chapter
    assert "<li>x &lt; 1</li>" in chapter
    assert '<th scope="row">a &amp; b</th><td>1.5 ± 0.1</td><td class="words">luck</td>' in chapter
    assert '<td class="words">none</td>' in chapter
    assert '<th scope="col">trials</th><th scope="col" class="words">why</th>' in chapter
    assert "falls &lt;fast&gt;" in chapter
    assert "<h3>The &lt;limit&gt;</h3>" in chapter


def test_a_page_without_that_chapter(tmp_path: Path) -> None:
    write_page(tmp_path, Report(["Done."], "<table></table>", [], {}, []))
    assert "Past the paper" not in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_long_tables_are_closed_until_they_are_asked_for() -> None:
    rows = [[str(number), "1"] for number in range(LONG + 1)]
    assert _table(Table("t", "Many", ["a", "b"], rows), "past").startswith(
        f"<details><summary>Many: {LONG + 1} rows</summary>"
    )
    assert "<details>" not in _table(Table("t", "Few", ["a", "b"], rows[:LONG]), "past")
