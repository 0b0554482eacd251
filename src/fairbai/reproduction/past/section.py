"""The parts of a section of the chapter "Past the paper"."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Table:
    """A table of formatted cells; ``name`` is that of its CSV file."""

    name: str
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    """A figure; ``name`` is that of its files, and ``caption`` says what it shows."""

    name: str
    title: str
    caption: str
    figure: "Figure"


@dataclass(frozen=True)
class Section:
    """A section: what the runs show, in sentences with computed numbers, and the tables and pictures that back them.

    Attributes:
        name: Its anchor in the page.
        title: Its heading.
        findings: Sentences; the first is the headline.
        tables: In the order of the page.
        pictures: In the order of the page, after the tables.
    """

    name: str
    title: str
    findings: Sequence[str]
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
