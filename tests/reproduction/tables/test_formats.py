"""The tables as text, LaTeX and HTML."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from fairbai.reproduction.studies import Results
from fairbai.reproduction.tables import cells as tables
from fairbai.reproduction.tables import formats
from fairbai.reproduction.tables.cells import TableCell
from tests.reproduction.made import made_results

CELL = TableCell("synthetic", 0.1, "F-TaS", "prespecified", "agonistic", "sample_complexity", 100.0, 4.0, 107.0, 3.0)


@pytest.fixture(scope="module")
def results() -> Results:
    return made_results()


@pytest.fixture(scope="module")
def cells(results: Results) -> list[TableCell]:
    return tables.table_cells(results)


def test_text_fits_a_terminal_and_marks_what_differs(cells: list[TableCell]) -> None:
    agreeing = [replace(cell, mean=cell.paper_mean) for cell in cells[:144] if cell.paper_mean is not None]
    text = formats.to_text([*agreeing, *cells[144:]])
    assert max(map(len, text.splitlines())) <= 150
    assert "72 of 72" in text
    assert "!" not in text
    assert text.count("F-TaS, in the paper") == 12
    assert "258.63 ± 27.56" in text
    changed = formats.to_text([replace(agreeing[0], mean=1e4, ci95=1.0), *agreeing[1:]])
    assert "10000.00 ± 1.00!" in changed
    assert "71 of 72" in changed


@pytest.mark.parametrize("write", [formats.to_text, formats.to_latex, formats.to_html])
def test_all_say_which_threshold_is_proved(cells: list[TableCell], write: object) -> None:
    text = " ".join(write(cells).split())  # type: ignore[operator]
    assert "use a threshold that is proved to err with probability at most" in text
    assert "a heuristic without a proof" in text
    assert "F-TaS, Kaufmann-Koolen, all arms (proved)" in text


def test_latex_has_ten_columns_in_every_row(cells: list[TableCell]) -> None:
    text = formats.to_latex(cells)
    for name in ("table*", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 2
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 2
    assert text.count("{") == text.count("}")
    assert text.isascii()
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 2 * (3 + 3 * (6 + 14))
    for row in rows:
        spans = [int(span) for span in re.findall(r"\\multicolumn\{(\d)\}", row)]
        assert row.count("&") + 1 + sum(span - 1 for span in spans) == 10
    assert len(re.findall(r"(?<!\\)%", text)) == 3  # the comment at the top, and the ends of two lines


def test_latex_and_html_escape_names() -> None:
    strange = replace(CELL, algorithm=r"<b>50 % & a_b \ {x}", table="<i>&", mean=1.0)
    latex = formats.to_latex([strange])
    assert r"<b>50 \% \& a\_b \textbackslash{} \{x\}" in latex
    assert r"$1.00 \pm 4.00^{\dagger}$" in latex
    page = formats.to_html([strange])
    assert "&lt;b&gt;50 % &amp; a_b" in page
    assert "&lt;i&gt;&amp;: 0 of 1 published" in page
    assert '<td class="differs">1.00 ± 4.00 differs</td>' in page
    assert "<b>" not in page


class Rows(HTMLParser):
    """The cells of every row, and whether tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.widths: list[int] = []
        self.left = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        given = dict(attributes)
        if tag == "tr":
            self.left -= 1
            self.widths.append(1 if self.left > 0 else 0)
        elif tag in ("td", "th"):
            self.widths[-1] += int(given.get("colspan") or 1)
            if "rowspan" in given:
                self.left = int(given["rowspan"] or 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_whole(cells: list[TableCell]) -> None:
    page = Rows()
    page.feed(formats.to_html(cells))
    assert page.open == []
    assert page.widths == [6] * 4 * (2 + 3 * (6 + 14))


def test_missing_cells_are_dashes() -> None:
    assert formats.to_text([CELL]).count(" - ") > 2
    assert formats.to_latex([CELL]).count("& --") == 14
    assert formats.to_html([CELL]).count("<td>–</td>") == 14


def test_the_same_cells_give_the_same_text(results: Results, cells: list[TableCell]) -> None:
    again = tables.table_cells(results)
    assert again == cells
    for write in (formats.to_text, formats.to_latex, formats.to_html):
        assert write(again) == write(cells)
