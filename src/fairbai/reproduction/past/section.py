"""What a section of the chapter "Past the paper" is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Table:
    """A table: ``name`` is that of its CSV file, cells are written as they stand."""

    name: str
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    """A figure: ``name`` is that of its files, ``caption`` says what it shows."""

    name: str
    title: str
    caption: str
    figure: "Figure"


@dataclass(frozen=True)
class Section:
    """A section: what came out, in sentences whose numbers are computed (the first is the headline), and the proof.

    Attributes:
        name: The anchor of the section in the page.
        title: Its heading.
        findings: Sentences; the first is the headline.
        tables: Their order is that of the page.
        pictures: Likewise, after the tables.
    """

    name: str
    title: str
    findings: Sequence[str]
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
