"""Rows of text in aligned columns, for terminals."""

from collections.abc import Sequence


def aligned(header: Sequence[str] | None, rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """A table: the first ``words`` columns and a last one that is not numbers to the left, numbers to the right.

    Example:
        >>> print(aligned(["rule", "trials"], [["a", "9"], ["b", "10"]]))
        rule  trials
        ------------
        a          9
        b         10
    """
    lines = [*([] if header is None else [header]), *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = []
    prose = not any(character.isdigit() for character in lines[-1][-1][:1])
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line[:words], widths[:words], strict=True)]
        cells += [cell.rjust(width) for cell, width in zip(line[words:], widths[words:], strict=True)]
        if prose:
            cells[-1] = line[-1]
        text.append("  ".join(cells).rstrip())
    if header is not None:
        text.insert(1, "-" * max(len(line) for line in text))
    return "\n".join(text)
