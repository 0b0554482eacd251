"""The tables as plain text, LaTeX and HTML."""

import html
import itertools
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fairbai.reproduction.scenarios import CONSTRAINTS, SIDES
from fairbai.reproduction.studies import ALGORITHMS
from fairbai.reproduction.tables.cells import TOLERANCE, TableCell, agreement
from fairbai.simulation.tables import aligned

QUANTITIES = {"sample_complexity": "trials", "violation_percent": "violation in %"}
TITLES = {"synthetic": "Synthetic experiments", "scheduling": "Wireless scheduling"}
COLUMNS = tuple(itertools.product(CONSTRAINTS, QUANTITIES, SIDES))
NOTES = (
    "Numbers are means ± half the width of their 95 % interval. Rows marked “in the paper” are from Russo and "
    "Vannella, Fair Best Arm Identification with Fixed Confidence.",
    f"Two numbers differ if the distance between them is more than {TOLERANCE:g} times the root of the sum of both "
    "squared half-widths.",
    "Rows marked “proved” use a threshold that is proved to err with probability at most δ; all others use "
    "log((1 + log t)/δ), a heuristic without a proof.",
    "The violation is measured at the stop, against the floors at the true means. As in the paper, the rows of its "
    "three algorithms divide by one trial more than were made; all others divide by the number of trials.",
    "Settled runs meet floors that are known beforehand exactly; floors that depend on the means are met at the "
    "estimated means.",
)


@dataclass(frozen=True)
class _Entry:
    mean: float
    ci95: float
    differs: bool


@dataclass(frozen=True)
class _Line:
    """A line of a table, with one entry per column: our numbers, or the published ones of the same algorithm."""

    algorithm: str
    kind: str  # "ours", "paper", or "own" for rows that are not in the paper
    entries: tuple[_Entry | None, ...]

    @property
    def label(self) -> str:
        return f"{self.algorithm}, in the paper" if self.kind == "paper" else self.algorithm


def _blocks(cells: Iterable[TableCell]) -> dict[str, dict[float, list[_Line]]]:
    """The lines by table and delta."""
    grid: dict[tuple[str, float, str], dict[tuple[str, str, str], TableCell]] = {}
    for cell in cells:
        row = grid.setdefault((cell.table, cell.delta, cell.algorithm), {})
        row[cell.constraints, cell.quantity, cell.setting] = cell
    blocks: dict[str, dict[float, list[_Line]]] = {}
    for (table, delta, algorithm), row in grid.items():
        lines = blocks.setdefault(table, {}).setdefault(delta, [])
        there = [row.get(column) for column in COLUMNS]
        kind = "ours" if algorithm in ALGORITHMS else "own"
        ours = (None if cell is None else _Entry(cell.mean, cell.ci95, cell.agrees is False) for cell in there)
        lines.append(_Line(algorithm, kind, tuple(ours)))
        if any(cell is not None and cell.paper_mean is not None for cell in there):
            lines.append(_Line(algorithm, "paper", tuple(map(_published, there))))
    return blocks


def _published(cell: TableCell | None) -> _Entry | None:
    if cell is None or cell.paper_mean is None or cell.paper_ci95 is None:
        return None
    return _Entry(cell.paper_mean, cell.paper_ci95, differs=False)


def to_text(cells: Sequence[TableCell]) -> str:
    """Tables for a terminal, one per table of the paper and kind of floors; "!" marks numbers that differ."""
    parts = []
    for table, blocks in _blocks(cells).items():
        for place, constraints in enumerate(CONSTRAINTS):
            chosen = slice(4 * place, 4 * place + 4)
            rows: list[list[str]] = []
            for delta, lines in blocks.items():
                rows += [[""] * 6] if rows else []
                for line in lines:
                    rows.append([f"{delta:g}", line.label, *map(_plain, line.entries[chosen])])
            header = [f"{QUANTITIES[quantity].split()[0]}, {side} " for _, quantity, side in COLUMNS[chosen]]
            title = f"{TITLES.get(table, table)}, {CONSTRAINTS[constraints]}: trials until the stop, violation in %"
            parts.append(f"{title}\n\n{aligned(['delta', 'algorithm', *header], rows, words=2)}\n")
    for table, (agreeing, total) in agreement(cells).items():
        parts.append(f"{TITLES.get(table, table)}: {agreeing} of {total} published numbers agree with ours.")
    notes = " ".join([*NOTES, "An exclamation mark follows a number that differs."])
    return "\n".join([*parts, "", textwrap.fill(notes, 120, break_on_hyphens=False), ""])


def _plain(entry: _Entry | None) -> str:
    return "- " if entry is None else f"{entry.mean:.2f} ± {entry.ci95:.2f}{'!' if entry.differs else ' '}"


def to_latex(cells: Sequence[TableCell]) -> str:
    """One float with a tabular per table; needs the packages booktabs and graphicx. A dagger marks what differs."""
    kinds = ("", "", *(rf"\multicolumn{{4}}{{c}}{{{_tex(name)}}}" for name in CONSTRAINTS.values()))
    wanted = ("", "", *(rf"\multicolumn{{2}}{{c}}{{{_tex(QUANTITIES[name])}}}" for _, name, _ in COLUMNS[::2]))
    parts = [r"% Needs \usepackage{booktabs} and \usepackage{graphicx}."]
    for table, blocks in _blocks(cells).items():
        parts += [
            r"\begin{table*}",
            r"\centering",
            rf"\caption{{{_tex(TITLES.get(table, table))}. {_tex(' '.join(NOTES))} Daggers mark numbers that differ.}}",
            r"\resizebox{\textwidth}{!}{%",
            rf"\begin{{tabular}}{{ll{'r' * len(COLUMNS)}}}",
            r"\toprule",
            _tex_row(kinds),
            r"\cmidrule(lr){3-6} \cmidrule(lr){7-10}",
            _tex_row(wanted),
            _tex_row([r"$\delta$", "algorithm", *(side for _, _, side in COLUMNS)]),
        ]
        for delta, lines in blocks.items():
            parts.append(r"\midrule")
            for line, first in zip(lines, [f"${delta:g}$", *[""] * len(lines)], strict=False):
                parts.append(_tex_row([first, _tex(line.label), *map(_tex_entry, line.entries)]))
        parts += [r"\bottomrule", r"\end{tabular}}", r"\end{table*}"]
    return "\n".join([*parts, ""])


_TEX = {
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"“": "``", "”": "''", "±": r"$\pm$", "δ": r"$\delta$", "θ": r"$\theta$"},
}


def _tex(text: str) -> str:
    return "".join(_TEX.get(sign, sign) for sign in text)


def _tex_row(texts: Iterable[str]) -> str:
    return " & ".join(texts) + r" \\"


def _tex_entry(entry: _Entry | None) -> str:
    if entry is None:
        return "--"
    mark = r"^{\dagger}" if entry.differs else ""
    return rf"${entry.mean:.2f} \pm {entry.ci95:.2f}{mark}$"


def to_html(cells: Sequence[TableCell]) -> str:
    """Per table a heading and two <table class="results">, one per kind of floors; then the notes.

    Rows have the class "ours", "paper" (the published numbers for the row above) or "own" (not in the paper); numbers
    that differ are in cells of class "differs" and followed by that word.
    """
    counts, parts = agreement(cells), []
    for table, blocks in _blocks(cells).items():
        agreeing, total = counts.get(table, (0, 0))
        heading = f"{TITLES.get(table, table)}: {agreeing} of {total} published numbers agree with ours"
        parts.append(f"<h3>{html.escape(heading)}</h3>")
        for place, constraints in enumerate(CONSTRAINTS.values()):
            parts += _html_table(f"With {constraints}", blocks, slice(4 * place, 4 * place + 4))
    return "\n".join([*parts, *(f'<p class="note">{html.escape(note)}</p>' for note in NOTES), ""])


def _html_table(caption: str, blocks: dict[float, list[_Line]], chosen: slice) -> Iterator[str]:
    columns = COLUMNS[chosen]
    yield '<div class="scroll" tabindex="0"><table class="results">'
    yield f"<caption>{html.escape(caption)}</caption>\n<thead>"
    yield f'<tr><td colspan="2"></td>{_heads((QUANTITIES[name] for _, name, _ in columns[::2]), 2)}</tr>'
    yield f"<tr>{_heads(['δ', 'algorithm', *(side for _, _, side in columns)], 1)}</tr>\n</thead>"
    for delta, lines in blocks.items():
        yield "<tbody>"
        first = f'<th scope="rowgroup" rowspan="{len(lines)}">{delta:g}</th>'
        for line in lines:
            label = f'<th scope="row">{html.escape(line.label)}</th>'
            yield f'<tr class="{line.kind}">{first}{label}{"".join(map(_html_entry, line.entries[chosen]))}</tr>'
            first = ""
        yield "</tbody>"
    yield "</table></div>"


def _heads(names: Iterable[str], columns: int) -> str:
    span = f'colspan="{columns}" scope="colgroup"' if columns > 1 else 'scope="col"'
    return "".join(f"<th {span}>{html.escape(name)}</th>" for name in names)


def _html_entry(entry: _Entry | None) -> str:
    if entry is None:
        return "<td>–</td>"
    text = f"{entry.mean:.2f} ± {entry.ci95:.2f}"
    return f'<td class="differs">{text} differs</td>' if entry.differs else f"<td>{text}</td>"
